"""`python -m launcher.dataset split`: the work is on a thread, so that TERM ends it at any moment."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback

from launcher.contract import Code
from launcher.dataset.arguments import SplitOptions, split_options
from launcher.dataset.problem import DatasetError
from launcher.dataset.progress import SplitProgress
from launcher.dataset.splitting import raise_files, refusal_sentence, split_into_shards


def main() -> int:
    """Split by the command line and the environment, and return the exit code."""
    try:
        options = split_options(sys.argv[1:], os.environ)
    except DatasetError as error:
        print(f"launcher.dataset: {error}", file=sys.stderr)
        return error.code
    progress = SplitProgress(sys.stderr)
    codes: list[int] = []
    work = threading.Thread(target=lambda: codes.append(_work(options, progress)), daemon=True)

    def stop(number: int, _: object) -> None:
        progress.end(f"stopped after {progress.line()}; run it again to continue")
        os._exit(128 + number)  # a thread that waits for a volume cannot be ended otherwise

    # Process 1 of a container has no default handlers: a signal without a handler is dropped.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    work.start()
    work.join()
    return codes[0]


def _work(options: SplitOptions, progress: SplitProgress) -> int:
    try:
        raise_files(options.shards)
        split_into_shards(options, os.environ, progress)
    except DatasetError as error:
        progress.end(f"launcher.dataset: {error}")
        return error.code
    except OSError as error:
        progress.end(f"launcher.dataset: {refusal_sentence(error, options.out)}")
        return Code.SHARD
    except BaseException:
        traceback.print_exc()
        return Code.BUG
    return 0


if __name__ == "__main__":
    sys.exit(main())
