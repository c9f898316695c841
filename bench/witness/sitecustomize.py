"""On PYTHONPATH, this notes what a training program does: that it runs, each step, that it saves, that it has TERM.

The program itself stays as it is. A child in its process group, to which every launcher gives its signals, hears TERM
with it and notes it at once, whatever the program waits for at that moment, also where that dies of it; then it ends,
too. A save is held open for a moment, so that it can be disturbed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAME, PROGRAM = "train.py", os.getpid()
NOTES, PLACE, SAVES = "BENCH_NOTES", "BENCH_PLACE", "BENCH_SAVES"
MOMENT = 0.5
OFTEN = 0.2  # seconds between two looks at whether the program is there


def note(what: str, *facts: object) -> None:
    """Write the time, who, and what, in one piece."""
    words = (time.monotonic_ns(), os.environ[PLACE], PROGRAM, what, *facts)
    descriptor = os.open(os.environ[NOTES], os.O_WRONLY)
    os.write(descriptor, f"{' '.join(map(str, words))}\n".encode())
    os.close(descriptor)


def begin() -> None:
    """Note from here on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # none is lost
    if not os.fork():
        hear()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    note("up")
    from launcher import here

    step, save = here.progress, here.saving

    def progress(pass_: int | None = None, **facts: float | str) -> None:
        if "step" in facts:
            note("step", pass_, facts["step"])
        step(pass_, **facts)  # type: ignore[arg-type]

    @contextmanager
    def saving(number: int, *given: object, **named: object) -> Iterator[str | None]:
        with save(number, *given, **named) as directory:  # type: ignore[arg-type]
            yield directory
            if directory and os.environ.get(SAVES) == str(number):
                note("saving", number)
                time.sleep(MOMENT)

    here.progress, here.saving = progress, saving  # type: ignore[assignment]


def hear() -> None:
    """Be the child."""
    while os.getppid() == PROGRAM:
        if signal.sigtimedwait({signal.SIGTERM}, OFTEN):
            note("told")
    os._exit(0)


# A program is the first word after Python's flags; what starts it, and the tracker, have other names there.
if NOTES in os.environ and next((word for word in sys.orig_argv[1:] if word[:1] != "-"), "").endswith(f"/{NAME}"):
    begin()
