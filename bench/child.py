"""What the launchers are given to run; Python alone, started without its site packages.

flood SIZE: lines of 100 bytes. tick NUMBER: a line with the time each 10 ms. fall BELL: as a pserver, ring when
told to end; as a trainer, once it is allowed to, ring and exit with 7.
"""

import os
import signal
import sys
import time

LINE = b"x" * 99 + b"\n"
BLOCK = LINE * 655  # nearly 64 KiB, as a busy program's own buffer holds
PAUSE = 0.01


def flood(size: str, meeting: str = "") -> None:
    """Write lines; where pserver and trainer do so side by side, the trainer ends only after both are done."""
    left = int(size)
    while left > 0:
        left -= os.write(1, BLOCK[:left])
    if meeting and os.environ["TRAINING_ROLE"] == "PSERVER":
        ring(meeting)
        signal.pause()
    elif meeting:
        with open(meeting, "rb") as pserver:  # noqa: PTH123  # pathlib is slow to import
            pserver.readline()


def tick(number: str) -> None:
    """Write the time again and again."""
    for _ in range(int(number)):
        time.sleep(PAUSE)
        os.write(1, b"%d\n" % time.monotonic_ns())


def fall(bell: str, leave: str) -> None:
    """Be the child that dies, or the one that is told."""
    if os.environ["TRAINING_ROLE"] == "PSERVER":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        ring(bell)
        signal.sigwait({signal.SIGTERM})
        ring(bell)
    else:
        with open(leave, "rb") as allowed:  # noqa: PTH123  # as above
            allowed.readline()
        ring(bell)
        os._exit(7)


def ring(bell: str) -> None:
    """Write the time into a FIFO."""
    descriptor = os.open(bell, os.O_WRONLY)
    os.write(descriptor, b"%d\n" % time.monotonic_ns())
    os.close(descriptor)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
