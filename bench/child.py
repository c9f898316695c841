"""What the launchers are given to run; Python alone, started without its site packages.

flood SIZE: lines of 100 bytes. tick NUMBER: a line with the time each 10 ms. fall BELL: as a pserver, ring when
told to end; as a trainer, once it is allowed to, ring and exit with 7. crew BELL LEAVE RANK: ring when it runs and
when it is told to end, and say who; the trainer of this rank, once it is allowed to, falls. report BELL ALLOWED:
ring, and as a trainer tell at every step how far it is, while that file is there. calls BELL ROUNDS: ring with the
microseconds that a report of progress and a step take, as often. Of these two the Python must find the launcher.

A pserver serves, since no trainer starts before it does.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

LINE = b"x" * 99 + b"\n"
BLOCK = LINE * 655  # nearly 64 KiB, as a busy program's own buffer holds
PAUSE = 0.01
MANY = 200_000
SOME = 5_000  # questions, each of which is answered


def flood(size: str, meeting: str = "") -> None:
    """Write lines; where pserver and trainer do so side by side, the trainer ends only after both are done."""
    door = serve()
    left = int(size)
    while left > 0:
        left -= os.write(1, BLOCK[:left])
    if meeting and door:
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
    door = serve()
    if door or os.environ["TRAINING_ROLE"] == "PSERVER":  # a peer's has no port
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        ring(bell)
        signal.sigwait({signal.SIGTERM})
        ring(bell)
    else:
        with open(leave, "rb") as allowed:  # noqa: PTH123  # as above
            allowed.readline()
        ring(bell)
        os._exit(7)


def crew(bell: str, leave: str, rank: str) -> None:
    """Be one of the programs of a gang."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    door = serve()
    role = b"pserver" if door else b"trainer"
    named = [os.environ[name] for name in ("TRAINER_ID", "RANK", "PADDLE_TRAINER_ID") if name in os.environ]
    who = b" %s %s" % (role, os.environ.get("POD_IP", "".join(named[:1])).encode())
    ring(bell, b" up" + who)
    if not door and named[:1] == [rank]:
        with open(leave, "rb") as allowed:  # noqa: PTH123  # as above
            allowed.readline()
        ring(bell, b" died" + who)
        os._exit(7)
    signal.sigwait({signal.SIGTERM})
    ring(bell, b" told" + who)


def report(bell: str, allowed: str) -> None:
    """Be a trainer of a hundred steps a second that tells its progress at each, as long as it is allowed to."""
    door = serve()
    ring(bell)
    if door:
        signal.pause()
    from launcher import here

    for step in range(sys.maxsize):
        if os.path.exists(allowed):  # noqa: PTH110  # as above
            here.progress(pass_=0, step=step, cost=1 / (step + 1))
        time.sleep(PAUSE)


def calls(bell: str, rounds: str) -> None:
    """Measure what telling its launcher costs a program, in many calls at a time."""
    from launcher import here

    for _ in range(int(rounds)):
        begun = time.perf_counter()
        for step in range(MANY):
            here.progress(pass_=0, step=step, cost=0.5)
        reported = time.perf_counter()
        for _ in range(MANY):
            with here.step("data") as phase:
                phase("compute")
        stepped = time.perf_counter()
        told = b" %f %f" % ((reported - begun) / MANY * 1e6, (stepped - reported) / MANY * 1e6)
        if asks := getattr(here, "leaving", None):  # which launchers before it do not answer
            for _ in range(SOME):
                asks()
            told += b" %f" % ((time.perf_counter() - stepped) / SOME * 1e6)
        ring(bell, told)


def serve() -> socket.socket | None:
    """Listen where a pserver of ours is to; nothing for any other program."""
    if os.environ.get("TRAINING_ROLE") != "PSERVER" or "PADDLE_PORT" not in os.environ:
        return None
    return socket.create_server((os.environ["POD_IP"], int(os.environ["PADDLE_PORT"])))


def ring(bell: str, what: bytes = b"") -> None:
    """Write the time into a FIFO, and what happened."""
    descriptor = os.open(bell, os.O_WRONLY)
    os.write(descriptor, b"%d%s\n" % (time.monotonic_ns(), what))
    os.close(descriptor)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
