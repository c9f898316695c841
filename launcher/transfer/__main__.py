"""What runs in the pod: `hold` as its first process, and `serve DIRECTORY` for each desk that comes in."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from launcher.safefs.dirs import Tree
from launcher.safefs.refusals import reason
from launcher.transfer.agent import serve
from launcher.transfer.channel import Channel, Pipes
from launcher.transfer.problem import Broken, Garbled, TransferError

_IDLE = 30  # seconds without a desk, after which the pod ends by itself
LOOK = 5


def main(words: Sequence[str]) -> int:
    """Serve one desk or hold the pod, as the arguments say; return the exit code."""
    if words[:1] == ["serve"] and len(words) == 2:
        return _answer(words[1])
    if words == ["hold"]:
        return _hold()
    sys.stderr.write("usage: python -m launcher.files serve DIRECTORY | hold\n")
    return 2


def _answer(top: str) -> int:
    """Serve the desk at the other end of standard input and output; failures are told there."""
    channel = Channel(Pipes())
    try:
        with Tree(top, TransferError) as tree:
            serve(tree, channel)
    except Broken:
        return 0  # the desk has gone
    except (TransferError, OSError) as error:
        sentence = f"{top}: {reason(error)}" if isinstance(error, OSError) else str(error)
        _told(sentence)
        return 1
    return 0


def _told(sentence: str) -> None:
    """Send the reason, and wait for the other end to go: the last bytes of a process that ends too soon are lost."""
    line = Pipes()
    last = Channel(line)
    try:
        last.put("failed", why=sentence)
        last.flush()
        while line.receive():
            pass
    except (Broken, Garbled, OSError):
        pass


def _hold() -> int:
    """Wait as the pod's first process, and end when no other process was there for a while."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # the first process of a pod has no default for it
    alone = 0
    while alone < _IDLE:
        if signal.sigtimedwait({signal.SIGTERM}, LOOK):
            return 0
        others = [each for each in Path("/proc").iterdir() if each.name.isdecimal() and int(each.name) != os.getpid()]
        alone = 0 if others else alone + LOOK
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
