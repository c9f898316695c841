"""Three pods that train with a framework, of ours or bare, and what their programs note."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from bench.framework_bare import PODS, Argv, Spot, Subject
from bench.lives import START_PADDLE
from bench.processes import AS_PROCESS_ONE, environment
from launcher.pod.programs.runtimes import xgboost_tracker
from tests.real.frameworks import ROOT

WITNESS = Path(__file__).parent / "witness"
PASS, STEP = 2, 3  # in which a fault is given, of five
PATIENCE = 120.0  # for all that comes by itself
STALL = 5  # seconds after which ours takes a program that does nothing for one that failed
GRACE = 30.0  # what Kubernetes gives a pod that is deleted
JOB = "job"
PORT = 13000
_runs = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a program noted: when, in which place, who, and of which pass and step."""

    at: float
    place: int
    pid: int
    what: str
    facts: tuple[int, ...]

    @classmethod
    def of(cls, line: str) -> Note:
        at, place, pid, what, *facts = line.split()
        return cls(at=int(at) / 1e9, place=int(place), pid=int(pid), what=what, facts=tuple(map(int, facts)))


@dataclass(slots=True, kw_only=True)
class Pods:
    """Three of them: launchers of ours, or the bare programs, each in a session of its own."""

    directory: Path
    subject: Subject
    python: Path
    ours: bool
    settings: Mapping[str, str]
    number: int = field(default_factory=lambda: next(_runs))
    notes: list[Note] = field(default_factory=list)
    codes: dict[int, int] = field(default_factory=dict)  # of those that have ended, by place
    ended: dict[int, float] = field(default_factory=dict)  # when
    gone: dict[int, float] = field(default_factory=dict)  # when each program has ended, by its number
    _running: dict[int, tuple[int, subprocess.Popen[bytes]]] = field(default_factory=dict)  # by place: a pidfd
    _programs: dict[int, int] = field(default_factory=dict)  # by pidfd
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)  # by those that a launcher's namespace has
    _said: int = -1
    _rest: bytes = b""

    @property
    def wrapped(self) -> bool:
        """Whether each launcher is process 1, as in a container; only root can have that."""
        return self.ours and os.geteuid() == 0

    @property
    def net(self) -> str:
        """The first three numbers of their addresses, which no other run has."""
        return f"127.{9 + self.number // 250}.{self.number % 250}"

    def start(self, place: int) -> None:
        """Start one, or start it again."""
        argv, env = self._launcher(place) if self.ours else self._bare(place)
        self.codes.pop(place, None)
        self.ended.pop(place, None)
        process = self._popen(argv, {**self._common(place), **env, **self.settings}, f"said-{place}")
        self._running[place] = os.pidfd_open(process.pid), process

    def send(self, place: int, signum: int) -> None:
        """Give a signal to what was started in a place: the launcher, or the bare program."""
        os.kill(self._first(place), signum)

    def program(self, place: int) -> int:
        """Return the number of the training program that runs in a place."""
        return [note.pid for note in self.notes if note.what == "up" and note.place == place][-1]

    def until(self, so: Callable[[], bool], seconds: float) -> bool:
        """Take all notes and ends until something is so, and return whether it came to that."""
        limit = time.monotonic() + seconds
        while not so():
            left = limit - time.monotonic()
            descriptors = [self._said, *self._programs, *(watched for watched, _ in self._running.values())]
            ready = select.select(descriptors, (), (), max(0.0, left))[0]
            if not ready:
                return False
            self._take(ready)
        return True

    def last_words(self) -> str:
        """Return the ends of what was said."""
        return "".join(path.read_text(errors="replace")[-500:] for path in sorted(self.directory.glob("said-*")))

    def saved(self) -> int:
        """Return how many passes are complete: the bare programs have their own, and that of the first counts."""
        job = self.directory / (f"volume/{JOB}" if self.ours else "work-0")
        return len(list(job.glob("output/pass-*/done")))

    @contextmanager
    def started(self) -> Iterator[None]:
        """Start all, and leave nothing of them."""
        os.mkfifo(self.directory / "notes")
        self._said = os.open(self.directory / "notes", os.O_RDWR | os.O_NONBLOCK)
        tracker = self._tracker() if self.subject.example.runtime == "xgboost" and not self.ours else None
        try:
            for place in range(PODS):
                self.start(place)
            yield
        finally:
            self._end()
            if tracker:
                tracker.kill()
                tracker.wait()
            os.close(self._said)

    def _end(self) -> None:
        """End what still runs: a launcher ends its programs by itself."""
        if self.ours:
            for place in self._running:
                self.send(place, signal.SIGTERM)
            self.until(lambda: not self._running, GRACE)
        programs = set() if self.ours else set(self._programs.values())
        for group in {process.pid for _, process in self._running.values()} | programs:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        self.until(lambda: not self._running, PATIENCE)

    def _tracker(self) -> subprocess.Popen[bytes]:
        argv = (str(self.python), xgboost_tracker.__file__, f"{self.net}.1", str(self._port), str(PODS), "71")
        return self._popen(argv, {}, "said-tracker")

    @property
    def _port(self) -> int:
        return PORT + 20 * self.number

    def _take(self, ready: Sequence[int]) -> None:
        if self._said in ready:
            *lines, self._rest = (self._rest + os.read(self._said, 65536)).split(b"\n")
            for line in lines:
                self._heard(Note.of(line.decode()))
        for watched in self._programs.keys() & set(ready):
            self.gone[self._programs.pop(watched)] = time.monotonic()
            os.close(watched)
        for place, (watched, process) in tuple(self._running.items()):
            if watched in ready:
                self.ended[place] = time.monotonic()
                self.codes[place] = process.wait()
                os.close(watched)
                del self._running[place]

    def _heard(self, note: Note) -> None:
        """Keep a note under the number that its program has out here, and watch a new one for its end."""
        if note.what == "up":
            below = _below(self._first(note.place)) if self.wrapped else ()
            pid = next((pid for pid in below if _number_inside(pid) == note.pid), note.pid)
            self._numbers[note.place, note.pid] = pid
            with suppress(ProcessLookupError):
                self._programs[os.pidfd_open(pid)] = pid
        self.notes.append(replace(note, pid=self._numbers[note.place, note.pid]))

    def _first(self, place: int) -> int:
        """Return the number of the launcher, below what makes it process 1, or of the bare program."""
        started = self._running[place][1].pid
        return next(iter(_children(started)), started) if self.wrapped else started

    def _popen(self, argv: Argv, env: Mapping[str, str], log: str) -> subprocess.Popen[bytes]:
        with (self.directory / log).open("ab") as file:
            return subprocess.Popen(
                argv, env=environment(env), cwd=self.directory, stdin=subprocess.DEVNULL, stdout=file,
                stderr=file, start_new_session=True,
            )  # fmt: skip

    def _common(self, place: int) -> dict[str, str]:
        for name in (f"work-{place}", f"volume/{JOB}"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        return {
            "PYTHONPATH": f"{WITNESS}:{ROOT}",
            "BENCH_NOTES": str(self.directory / "notes"),
            "BENCH_PLACE": str(place),
            "OMP_NUM_THREADS": "1",
            "PADDLE_NO_STAT": "1",
            "HOME": str(self.directory),
        }

    def _launcher(self, place: int) -> tuple[Argv, dict[str, str]]:
        addresses = [f"{self.net}.{number + 1}" for number in range(PODS)]
        before = AS_PROCESS_ONE if self.wrapped else ()
        return (*before, START_PADDLE, "--", str(self.python), str(self.subject.example.program)), {
            "JOB_NAME": JOB,
            "JOB_PATH": str(self.directory / "volume"),
            "LAUNCHER_JOB_UID": JOB,
            "LAUNCHER_WORKDIR": str(self.directory / f"work-{place}"),
            "LAUNCHER_RUNTIME": self.subject.example.runtime,
            "LAUNCHER_PORTS": str(self._port),
            "LAUNCHER_PEERS": f"static:{','.join(addresses)}",
            "POD_IP": addresses[place],
        }

    def _bare(self, place: int) -> tuple[Argv, dict[str, str]]:
        program = (str(self.python), str(self.subject.example.program))
        argv, env = self.subject.bare(Spot(rank=place, net=self.net, port=self._port, program=program))
        mine = {"TRAINER_ID": str(place), "TRAINERS": str(PODS), "JOB_PATH": str(self.directory / f"work-{place}")}
        return argv, {**mine, **env}


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _below(pid: int) -> list[int]:
    children = _children(pid)
    return [*children, *(each for child in children for each in _below(child))]


def _number_inside(pid: int) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[-1]) for line in lines if line.startswith("NSpid:"))
    return 0
