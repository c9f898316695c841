"""What a planted fault does in its program, which notes what it does, where and when, out of its launcher's sight.

PLANTED names a file with the plan: the fault, whose it is, in which pass and step, at which of the lines. Beside it
the program notes the truth. Python 3.8, and nothing to install: it runs in every framework's Python.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import operator
import os
import random
import signal
import time
from contextlib import suppress
from itertools import repeat
from pathlib import Path

from launcher import here
from tests.real.planted.lines import LINES, line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Work = Iterable[Any]

ENDLESS = 1 << 62
BLOCK = 64 << 10
LATE = 60.0  # seconds that a pserver takes for an answer
SOON = 0.01


class Planted:
    """The plan, as one program has it."""

    def __init__(self, plan: Path, role: str, rank: int) -> None:
        """Read it."""
        self.plan = json.loads(plan.read_text())
        self.room, self.role, self.rank = plan.parent, role, rank
        self.mine = self.plan["role"] == role and rank in self.plan["ranks"]
        self.held: list[bytes] = []  # what is never given back

    def reported(self, number: int, step: int, metrics: dict[str, Any]) -> dict[str, Any]:
        """Return what is to be reported of a step: of a training that has lost its numbers none is one."""
        if self.plan["fault"] != "nan" or not self.mine or not self._has_begun(number, step):
            return metrics
        self._note("")
        return {**metrics, "cost": float("nan")}

    def learned(self, number: int, step: int) -> None:
        """Take the time of a step, and suffer what is planned for it."""
        slow = self.plan["fault"] == "slow" and self.mine and self._has_begun(number, step)
        if slow:
            self._note("")
        pause = self.plan["pause"] + random.uniform(0.0, self.plan.get("chance", 0.0))  # noqa: S311  # no secret
        time.sleep(pause * (2 if slow else 1))
        if self.mine and self.plan["fault"] in WORKS and self._is_here(number, step):
            self._strike(WORKS[self.plan["fault"]])
        for at, (seconds, rank, act, line) in enumerate(self.plan.get("clock", ())):
            if rank == self.rank and time.time() >= self._began() + seconds and self._is_first(at):
                LINES[line](WORKS[act](self))

    def asked(self, number: int, step: int) -> None:
        """Suffer, as a pserver, what is planned for the answer to this step."""
        if self.mine and self.plan["fault"] == "late" and self._is_here(number, step):
            self._strike(lambda _: map(time.sleep, [LATE]))

    def freeze_later(self) -> None:
        """Let this process, a pserver that no Python can be in, be frozen for a while when it is time for it."""
        if not self.mine or self.plan["fault"] != "late_frozen" or os.fork():
            return
        pserver = os.getppid()
        while not (self.room / "now").exists():
            time.sleep(SOON)
            if os.getppid() != pserver:
                os._exit(0)
        if self._is_first():
            self._note("")
            os.kill(pserver, signal.SIGSTOP)
            until = time.monotonic() + LATE
            while time.monotonic() < until and os.getppid() == pserver:
                time.sleep(SOON)
            if os.getppid() == pserver:
                os.kill(pserver, signal.SIGCONT)
        os._exit(0)

    def call_now(self, number: int, step: int) -> None:
        """Say, as a trainer, that the step of the plan is here."""
        if self.plan["role"] == "pserver" and self.rank == 0 and (number, step) == tuple(self.plan["at"]):
            (self.room / "now").touch()

    def _strike(self, work: Callable[[Planted], Work]) -> None:
        site = self.plan["lines"][self.plan["ranks"].index(self.rank)]
        ready = work(self)
        self._note(line_of(site))
        LINES[site](ready)

    def _has_begun(self, number: int, step: int) -> bool:
        return (number, step) >= tuple(self.plan["at"])

    def _is_here(self, number: int, step: int) -> bool:
        """Return whether this is the step: of the first time alone, unless the fault comes again each time."""
        return (number, step) == tuple(self.plan["at"]) and (self.plan["fault"] in ALWAYS or self._is_first())

    def _began(self) -> float:
        """Return when the first program began: faults by the clock count from there."""
        with suppress(FileExistsError):
            (self.room / "began").touch(exist_ok=False)
        return (self.room / "began").stat().st_mtime

    def _is_first(self, which: object = "") -> bool:
        try:
            (self.room / f"had-{self.role}-{self.rank}-{which}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _note(self, line: str) -> None:
        """Note the truth, the first time."""
        truth = self.room / f"truth-{self.role}-{self.rank}"
        if not truth.exists():
            facts = {"at": time.time(), "role": self.role, "rank": self.rank, "line": line, "pid": os.getpid()}
            new = truth.with_name(f".{truth.name}")
            new.write_text(json.dumps(facts))
            new.rename(truth)


def deadlock(planted: Planted) -> Work:
    """Take a lock, and when another rank has taken another one, want that, as the other wants this."""
    mine, other = (planted.room / f"lock-{rank}" for rank in _this_first(planted))
    files = [os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for path in (mine, other)]
    fcntl.flock(files[0], fcntl.LOCK_EX)
    mine.with_suffix(".held").touch()
    while not other.with_suffix(".held").exists():
        time.sleep(SOON)
    return map(fcntl.flock, [files[1]], [fcntl.LOCK_EX])


def _this_first(planted: Planted) -> list[int]:
    return sorted(planted.plan["ranks"], key=lambda rank: rank != planted.rank)


def read(_: Planted) -> Work:
    """Read what nobody ever writes."""
    reading, _writing = os.pipe()
    return map(os.read, [reading], [1])


def spin(_: Planted) -> Work:
    """Do nothing, in Python, for ever."""
    return iter(int, 1)


def spin_in_c(_: Planted) -> Work:
    """Look, in C and with the interpreter's lock held, for one text among endlessly many others."""
    library = ctypes.PyDLL(None)
    library.lfind.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    count = ctypes.c_size_t(ENDLESS)
    compare = ctypes.cast(library.strcmp, ctypes.c_void_p)
    return map(library.lfind, [b"this"], [b"that"], [ctypes.byref(count)], [0], [compare])


def slow_disk(planted: Planted) -> Work:
    """Write much to a volume that takes a second for each little."""
    file = os.open(Path(planted.plan["slow_disk"], f"cache-{planted.rank}"), os.O_WRONLY | os.O_CREAT, 0o600)
    return map(os.write, repeat(file), repeat(bytes(BLOCK)))


def stop(_: Planted) -> Work:
    """Be stopped."""
    return map(os.kill, [os.getpid()], [signal.SIGSTOP])


def kill(_: Planted) -> Work:
    """Be killed, as what is out of memory is."""
    return map(os.kill, [os.getpid()], [signal.SIGKILL])


def crash(_: Planted) -> Work:
    """Find a word where a number should be."""
    return map(int, ["17", "4x"])


def memory(planted: Planted) -> Work:
    """Take memory, and more of it, and never give it back."""
    return map(planted.held.append, map(operator.mul, repeat(b"x"), repeat(16 << 20)))


def fill(planted: Planted) -> Work:
    """Write to the job's volume until there is no room left."""
    path = Path(os.environ["JOB_PATH"], os.environ["JOB_NAME"], f"samples-{planted.rank}")
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    return map(os.write, repeat(file), repeat(bytes(16 * BLOCK)))


WORKS: dict[str, Callable[[Planted], Work]] = {
    "deadlock": deadlock,
    "read": read,
    "spin": spin,
    "spin_in_c": spin_in_c,
    "slow_disk": slow_disk,
    "frozen": stop,
    "crash": crash,
    "kill": kill,
    "memory": memory,
    "full": fill,
}
ALWAYS = ("crash", "memory", "full")  # what a restart does not cure


def planted() -> Planted:
    """Return the plan as it concerns this process."""
    role = os.environ.get("TRAINING_ROLE", "TRAINER").lower()
    rank = here.rank()
    if role == "pserver":
        names = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
        rank = names.index(f"{os.environ['POD_IP']}:{os.environ['PADDLE_PORT']}")
    return Planted(Path(os.environ["PLANTED"]), role, rank)
