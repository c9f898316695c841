"""`python -m launcher.dataset split`: the work is on a thread, so that TERM ends it at any moment."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback

from launcher.contract import Code
from launcher.dataset.arguments import Asked, asked
from launcher.dataset.problem import DatasetError
from launcher.dataset.progress import Telling
from launcher.dataset.splitting import raise_files, run, sentence


def main() -> int:
    """Split as the command line and the environment say, and return the exit code."""
    try:
        order = asked(sys.argv[1:], os.environ)
    except DatasetError as error:
        print(f"launcher.dataset: {error}", file=sys.stderr)
        return error.code
    telling = Telling(sys.stderr)
    codes: list[int] = []
    work = threading.Thread(target=lambda: codes.append(_work(order, telling)), daemon=True)

    def stop(number: int, _: object) -> None:
        telling.end(f"stopped after {telling.line()}; started again, it goes on")
        os._exit(128 + number)  # a thread that waits for a volume cannot be ended otherwise

    # As process 1 of a container there is no default: what is not caught is dropped.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    work.start()
    work.join()
    return codes[0]


def _work(order: Asked, telling: Telling) -> int:
    try:
        raise_files(order.shards)
        run(order, os.environ, telling)
    except DatasetError as error:
        telling.end(f"launcher.dataset: {error}")
        return error.code
    except OSError as error:
        telling.end(f"launcher.dataset: {sentence(error, order.out)}")
        return Code.SHARD
    except BaseException:
        traceback.print_exc()
        return Code.BUG
    return 0


if __name__ == "__main__":
    sys.exit(main())
