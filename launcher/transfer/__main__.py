"""What runs in the pod: `hold` as its first process, and `serve DIRECTORY` for each desk that comes in."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from launcher.transfer.agent import serve
from launcher.transfer.channel import Channel, Pipes
from launcher.transfer.problem import Broken, Garbled, Trouble
from launcher.transfer.tree import Tree, why

IDLE = 30  # seconds without any desk, after which the pod ends by itself
LOOK = 5


def main(words: Sequence[str]) -> int:
    """Do what the words say, and return the exit code."""
    if words[:1] == ["serve"] and len(words) == 2:
        return answer(words[1])
    if words == ["hold"]:
        return hold()
    sys.stderr.write("usage: python -m launcher.files serve DIRECTORY | hold\n")
    return 2


def answer(top: str) -> int:
    """Serve the desk at the other end of standard input and output; what cannot be done is told there."""
    channel = Channel(Pipes())
    try:
        with Tree(top) as tree:
            serve(tree, channel)
    except Broken:
        return 0  # whoever asked has gone
    except (Trouble, OSError) as error:
        sentence = f"{top}: {why(error)}" if isinstance(error, OSError) else str(error)
        _told(sentence)
        return 1
    return 0


def _told(sentence: str) -> None:
    """Say why, and wait for the other end to go: what a process wrote last is lost when it ends too soon."""
    line = Pipes()
    last = Channel(line)
    try:
        last.put("failed", why=sentence)
        last.flush()
        while line.receive():
            pass
    except (Broken, Garbled, OSError):
        pass


def hold() -> int:
    """Be there while somebody else is: the pod's first process, which ends when it has been alone for a while."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # the first process of a pod has no default for it
    alone = 0
    while alone < IDLE:
        if signal.sigtimedwait({signal.SIGTERM}, LOOK):
            return 0
        others = [each for each in Path("/proc").iterdir() if each.name.isdecimal() and int(each.name) != os.getpid()]
        alone = 0 if others else alone + LOOK
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
