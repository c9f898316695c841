"""What a training program can ask its launcher for: barriers, small shared values, passes; what it tells of itself.

Python 3.8, nothing to install. Outside a launcher the same calls work as a gang of one.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from typing import Any

VALUES = 64 * 1024  # bytes of all that one trainer shares, as JSON and with the keys
AROUND = 6  # bytes around each key and value: quotes, a colon, a comma
NAME = 128  # characters
FACTS = 64
INTERVAL = 0.2
BRIEF = 0.1  # a report waits no longer for its answer
LONG = 1000000.0  # seconds
LATE = 5.0  # the launcher itself keeps the time; it counts as gone when it is this late
ADVICE = "give each its own name, as f'pass-{n}'"
OUTPUT, PASS, DONE = "output", "pass-{:05}", "done"  # names on the volume
ALL_OF_DONE = 1 << 20  # bytes; a launcher reads no more
SAVING = ".saving-"  # begins the name of a pass on its way, and of one that makes way
STEP = "here.saving {} ({})"  # the barriers of a saving
COMPLETE = STEP.format("is complete", "{}")  # the last: behind it a pass is, and the launcher may hold all there
BUSY, SAVES = ("compute", "data"), "saving"  # phases: of a step the trainer's own work; that of `saving`
NO_NUMBERS = frozenset(["nan", "inf", "-inf"])  # as JSON can have them


class GenerationEnded(RuntimeError):
    """This generation of the gang has ended, or the launcher is gone: end the program, too."""


class Misuse(ValueError):
    """The call is wrong; the message says what to do."""


class NotSaved(RuntimeError):
    """A pass was not saved, since another trainer failed in it; the message says which one, and how."""


class _Silent(TimeoutError):
    pass


def rank() -> int:
    """Return this trainer's number, from 0."""
    return int(os.environ.get("TRAINER_ID") or 0)


def trainers() -> int:
    """Return how many trainers there are."""
    return int(os.environ.get("TRAINERS") or 1)


def resume() -> tuple[int, str | None]:
    """Return the first pass to run and the directory of the last complete one; 0 and None at a fresh start."""
    return int(os.environ.get("LAUNCHER_START_PASS") or 0), os.environ.get("LAUNCHER_RESUME_DIR") or None


def position() -> Any:  # noqa: ANN401  # as json.loads
    """Return the position with which the pass of `resume` was saved, None if with none."""
    return _done(resume()[1]).get("position")


@contextmanager
def saving(number: int, by: int | str = 0, position: object = None) -> Iterator[str | None]:
    """Give the directory of a pass to the rank that writes it, or to each with by="all"; to the others None.

    Every trainer calls it. After the block the pass is complete; else this raises on each, and nothing of it counts.
    """
    mine, alone, call = _mine(), not os.environ.get("LAUNCHER_HERE"), f"saving({number!r}, by={by!r})"
    leads, writes = alone or rank() == 0, alone or by in ("all", rank())
    _check_pass(call, number, by)
    told = {"pass": number, "position": json.loads(_text(call, position))}  # as it is now
    mine.saving, mine.turn = True, mine.turn + 1
    phase = mine.save()
    try:
        with _together("begins"):
            if leads:
                share("here.saving", [call, _new_directory(number)])
        first, name = get("here.saving")
        with _together("ends"):
            if call != first:
                raise Misuse(f"{call}, but trainer 0 calls {first}: expected the same call on every trainer")
            yield str(_output() / name) if writes else None
        with _together("is complete"):
            if leads:
                _complete(_output() / name, told)
        mine.first = number + 1
        if leads:
            with suppress(OSError):  # the next pass removes it
                _remove_older(number)
    finally:
        mine.saving = False
        mine.saved(phase)


def leaving() -> tuple[float, str] | None:
    """Return the seconds that are left and why, where this start of the gang ends soon, as planned; else None.

    Every trainer calls it once in each step, and all are told at the same one of their calls: save a pass, and end.
    """
    told = _ask(None, ask="leave")
    return (float(told[0]), str(told[1])) if told else None


def xgboost() -> dict[str, str | int]:
    """Return what XGBoost's CommunicatorContext takes to find its gang: `with CommunicatorContext(**here.xgboost())`.

    Nothing where the launcher runs no tracker, so that the program trains alone.
    """
    address = os.environ.get("DMLC_TRACKER_URI")
    if not address:
        return {}
    port, task = os.environ["DMLC_TRACKER_PORT"], os.environ["DMLC_TASK_ID"]
    return {"dmlc_tracker_uri": address, "dmlc_tracker_port": int(port), "dmlc_task_id": task}


def barrier(name: str, timeout: float | None = None) -> None:
    """Return once every trainer of this generation has arrived at this name, which is good for one use."""
    _check("barrier", name)
    _ask(timeout, ask="barrier", name=name)


def share(key: str, value: object) -> None:
    """Give all trainers a small value that JSON can hold; no secrets: everyone on the pod network can read it."""
    _check("share", key)
    _mine().keep(key, value)
    _ask(None, ask="share", key=key, value=value)


def get(key: str, rank: int | None = None, timeout: float | None = None) -> Any:  # noqa: ANN401  # as json.loads
    """Return the value that a trainer has shared, of the lowest rank if none is given; wait until there is one."""
    _check("get", key)
    if rank is not None and not (isinstance(rank, int) and 0 <= rank < trainers()):
        raise Misuse(f"get({key!r}, rank={rank!r}): the ranks are 0 to {trainers() - 1}")
    return _ask(timeout, ask="get", key=key, rank=rank)


def progress(pass_: int | None = None, step: int | None = None, **metrics: float | str) -> None:
    """Report how far training is: cheap enough for every step, and without effect where there is no launcher."""
    told = {"pass": pass_, "step": step, **metrics}
    facts = {name: _fact(name, value) for name, value in told.items() if value is not None}
    if os.environ.get("LAUNCHER_HERE") and facts:
        _mine().report(facts)


def step(phase: str = "compute") -> _Step:
    """Count the block as one training step, of phases: `with here.step("data") as phase: ...; phase("compute"); ...`.

    The time of compute and data is the trainer's own work, waits and savings within it left out; any other is not.
    """
    _check("step", phase)
    return _Step(_mine(), phase)


def _ask(timeout: float | None, **question: Any) -> Any:  # noqa: ANN401  # as json.loads
    if timeout is not None and not (isinstance(timeout, (int, float)) and 0 <= timeout < LONG):
        raise Misuse(f"timeout={timeout!r}: expected seconds, below {LONG:.0f}, or None for no limit")
    if not os.environ.get("LAUNCHER_HERE"):
        return _mine().alone(**question)
    import socket

    begun = time.monotonic()
    try:
        answer = _call(dict(question, timeout=timeout), None if timeout is None else timeout + LATE)
    except OSError as error:
        if isinstance(error, socket.timeout):  # a TimeoutError only since 3.10
            raise _Silent(
                f"the launcher does not respond: no answer {LATE:g} s after the timeout of {timeout} s"
            ) from None
        raise GenerationEnded(f"the launcher is gone: {error}") from None
    finally:
        _mine().waited(begun)
    if "ok" in answer:
        return answer["ok"]
    kind, sentence = answer.popitem()
    raise {"misuse": Misuse, "timeout": TimeoutError}.get(kind, GenerationEnded)(sentence)


def _call(question: dict[str, Any], seconds: float | None) -> Any:  # noqa: ANN401  # as json.loads
    name, _, token = os.environ.get("LAUNCHER_HERE", "").rpartition(":")
    line = json.dumps(dict(question, token=token)).encode() + b"\n"
    answer = _mine().wires.ask(name, line, seconds)
    return json.loads(answer) if answer else {"ended": "the launcher closed the connection"}


def _check(call: str, name: object) -> None:
    if not (isinstance(name, str) and 0 < len(name) <= NAME and name.isprintable()):
        raise Misuse(f"{call}: {repr(name)[:80]} is not a name: expected a printable str of 1 to {NAME} characters")


def _text(call: str, value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Misuse(f"{call}: expected a value that JSON can hold: {error}") from None


def _keep() -> int:
    said = os.environ.get("LAUNCHER_KEEP_PASSES") or "all"
    if said != "all" and not (said.isdecimal() and int(said)):
        raise Misuse(f"LAUNCHER_KEEP_PASSES={said!r}: expected a whole number from 1 on, or all")
    return 0 if said == "all" else int(said)


def _check_pass(call: str, number: object, by: object) -> None:
    _keep()  # a wrong value is refused before anything is written
    first = _mine().first
    if _mine().saving:
        raise Misuse(f"{call} within another: expected one after the other")
    if not (isinstance(number, int) and number >= first):
        raise Misuse(f"{call}: expected a whole number from {first} on: passes below it are complete already")
    if by != "all" and not (isinstance(by, int) and 0 <= by < trainers()):
        raise Misuse(f"{call}: expected by='all' or a rank, 0 to {trainers() - 1}")


@contextmanager
def _together(step: str) -> Iterator[None]:
    """Take this step on every trainer; where it fails on one, fail on each."""
    place, failure = STEP.format(step, _mine().turn), None
    try:
        yield
    except Exception as error:
        failure = error
        share(f"{place} not", f"trainer {rank()}: {type(error).__name__}: {error}"[: 2 * NAME])
    barrier(place)
    if failure:
        raise failure
    try:
        raise NotSaved(get(f"{place} not", timeout=0))
    except _Silent:
        raise
    except (TimeoutError, KeyError):  # nobody shared it
        pass


def _output() -> Path:
    job = (os.environ["JOB_PATH"], os.environ.get("JOB_NAME", "")) if os.environ.get("JOB_PATH") else ()
    return Path(*job, OUTPUT).absolute()


def _new_directory(number: int) -> str:
    """Make a pass's directory, of a name that no process of an earlier try knows; remove what such have left."""
    output = _output()
    output.mkdir(parents=True, exist_ok=True)
    _remove(*output.glob(f"{SAVING}*"))
    directory = _hidden(number)
    directory.mkdir()
    return directory.name


def _hidden(number: int) -> Path:
    return _output() / f"{SAVING}{PASS.format(number)}-{os.urandom(4).hex()}"


def _complete(directory: Path, told: dict[str, Any]) -> None:
    """Write `done`, and give the directory the name by which it counts."""
    mine, named = _mine(), directory.with_name(PASS.format(told["pass"]))
    mine.run = mine.run or _done(resume()[1]).get("run") or os.urandom(8).hex()
    files = {path: size for path, size in _sizes(directory) if path != DONE}
    who = {"run": mine.run, "runtime": os.environ.get("LAUNCHER_RUNTIME", ""), "trainers": trainers()}
    text = json.dumps({**told, **who, "files": files})
    if not files or len(text) > ALL_OF_DONE:
        limit = f"expected 1 or more, and less than {ALL_OF_DONE} bytes for their names and the position"
        raise Misuse(f"{directory} has {len(files)} files, with {len(text)} bytes in {DONE}: {limit}")
    with (directory / DONE).open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    old = _hidden(told["pass"])
    if os.path.lexists(named):
        named.rename(old)
    directory.rename(named)
    _remove(old)


def _remove_older(number: int) -> None:
    """Remove this run's passes below the newest complete ones that are to be kept; no trainer reads them any more."""
    ours: dict[int, bool] = {}
    for path in _output().iterdir() if _keep() else ():
        with suppress(OSError):
            told = {} if path.is_symlink() else _done(path)
            if told.get("run") == _mine().run and told["pass"] <= number and path.name == PASS.format(told["pass"]):
                ours[told["pass"]] = told["files"].items() <= dict(_sizes(path)).items()
    kept = sorted(each for each, whole in ours.items() if whole)[-_keep() :]
    for each in ours:
        with suppress(OSError):
            if kept and each < kept[0]:
                _remove((_output() / PASS.format(each)).rename(_hidden(each)))


def _sizes(directory: Path, above: str = "") -> Iterator[tuple[str, int]]:
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            yield from _sizes(Path(entry.path), f"{above}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            with Path(entry.path).open("rb") as file:  # an NFS client may remember the size of a while ago otherwise
                yield above + entry.name, os.fstat(file.fileno()).st_size


def _done(directory: str | Path | None) -> dict[str, Any]:
    """Return what a pass says of itself, nothing where it is v1's, whose `done` is empty, or is gone."""
    try:
        told = json.loads(Path(directory, DONE).read_bytes()) if directory else {}
    except (ValueError, RecursionError, FileNotFoundError):
        return {}
    return told if isinstance(told, dict) else {}


def _remove(*directories: Path) -> None:
    import shutil

    for each in directories:
        shutil.rmtree(str(each), ignore_errors=True)


def _fact(name: str, value: object) -> float | str:
    _check("progress", name)
    if isinstance(value, int) and abs(value) < 2**63:
        return int(value)
    if isinstance(value, str) and len(value) <= NAME and value.isprintable():
        return value
    try:
        number = float("" if isinstance(value, str) else value)  # type: ignore[arg-type]  # also what numpy computes
    except (TypeError, ValueError, OverflowError):
        raise Misuse(
            f"progress: {name}={repr(value)[:80]}: expected a number or {NAME} printable characters"
        ) from None
    return number if number - number == 0 else str(number)  # JSON has no word for nan and inf


class _Wires:
    """This process's connection to its launcher, kept for its life, and further ones while several threads ask."""

    def __init__(self) -> None:
        self._kept: dict[str, socket.socket] = {}  # by the socket's name: the one that no thread uses at the moment
        self._open: set[socket.socket] = set()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._let_go)

    def ask(self, name: str, line: bytes, seconds: float | None) -> bytes:
        """Return the answer, or nothing where the launcher closed the connection."""
        wire = self._kept.pop(name, None)
        answer = self._answer(wire, line, seconds) if wire else b""
        if wire is None or not answer:  # the launcher may close what is silent; it has not read this question then
            wire = self._connect(name, seconds)
            answer = self._answer(wire, line, seconds)
        if answer and self._kept.setdefault(name, wire) is not wire:
            self._close(wire)
        return answer

    def _connect(self, name: str, seconds: float | None) -> socket.socket:
        import socket

        wire = socket.socket(socket.AF_UNIX)
        self._open.add(wire)
        try:
            wire.setblocking(seconds is None or seconds >= LATE)  # a report does not queue up to be let in
            wire.connect("\0" + name)
        except BaseException:
            self._close(wire)
            raise
        return wire

    def _answer(self, wire: socket.socket, line: bytes, seconds: float | None) -> bytes:
        import socket

        answer = b""
        try:
            wire.settimeout(seconds)
            wire.sendall(line, socket.MSG_NOSIGNAL)
            while not answer.endswith(b"\n"):
                block = wire.recv(65536)
                if not block:
                    raise ConnectionError
                answer += block
        except ConnectionError:
            self._close(wire)
            return b""
        except BaseException:  # an answer may still come, which would be taken for the next one's
            self._close(wire)
            raise
        return answer

    def _close(self, wire: socket.socket) -> None:
        self._open.discard(wire)
        wire.close()

    def _let_go(self) -> None:
        """In a forked child: close the parent's connections, or the launcher would not see the parent die."""
        self._kept = {}
        for wire in tuple(self._open):
            self._close(wire)


class _Step:
    """One training step, from which a phase goes on in another by a call."""

    __slots__ = ("_mine", "_phase")

    def __init__(self, mine: _Mine, phase: str) -> None:
        self._mine = mine
        self._phase = phase

    def __enter__(self) -> _Step:
        self._mine.begin(self._phase)
        return self

    def __call__(self, phase: str) -> None:
        """Go on in another phase."""
        _check("step", phase)
        if self._mine.own:
            self._mine.go_on(phase)

    def __exit__(self, kind: object, error: object, at: object) -> None:
        if self._mine.own:
            self._mine.finish(whole=kind is None)


class _Mine:
    """What one process keeps: its reports, its connection, and a gang of one where there is no launcher."""

    def __init__(self) -> None:
        import atexit

        self._pid, self._rank = os.getpid(), rank()
        self._heard = bool(os.environ.get("LAUNCHER_HERE"))
        self._lock = threading.RLock()  # a signal handler may report, too
        self._facts: dict[str, float | str] = {}
        self._sent = self._facts
        self._pace: dict[str, object] | None = None  # as it was sent
        self._no_numbers: set[str] = set()  # the names that were told at once
        self._due = 0.0
        self._timed = False
        self._steps, self._busy, self._open = 0, 0.0, 0.0  # the last: of the step that is not over
        self._phase, self._since, self._paced = "", 0.0, False
        self._stepping = 0  # the thread that is in a step
        self.wires = _Wires()
        self.saving, self.turn, self.first, self.run = False, 0, resume()[0], ""
        self._shared: dict[str, str] = {}
        self._passed: set[str] = set()
        atexit.register(self._flush)

    @property
    def own(self) -> bool:
        """Whether this is the process itself: a forked child that leaves a block owns neither facts nor lock."""
        return os.getpid() == self._pid

    def report(self, told: dict[str, float | str]) -> None:
        """Send all facts: at once for a new pass, a number that is none or after a pause, else when it is time."""
        with self._lock:
            facts = dict(self._facts, **told)
            if len(facts) > FACTS:
                raise Misuse(f"progress: more than {FACTS} names: expected the same names in each report")
            self._facts = facts
            at_once = facts.get("pass") != self._sent.get("pass")
            for name, fact in told.items():
                if fact in NO_NUMBERS and name not in self._no_numbers:
                    self._no_numbers.add(name)
                    at_once = True
            self._news(time.monotonic(), at_once)

    def begin(self, phase: str) -> None:
        """Begin a step."""
        with self._lock:
            if self._stepping:
                raise Misuse("step within another, or beside one of another thread: expected one after the other")
            self._stepping = threading.get_ident()
            self._turn_to(phase)

    def go_on(self, phase: str) -> None:
        """Go on with the step in another phase."""
        with self._lock:
            if not self._stepping:
                raise Misuse(f"step: phase {phase!r} outside of its step: expected it within the block")
            self._turn_to(phase)

    def finish(self, whole: bool) -> None:
        """End the step; one that failed does not count."""
        with self._lock:
            self._work()
            if whole:
                self._steps, self._busy = self._steps + 1, self._busy + self._open
            self._stepping, self._open, self._phase = 0, 0.0, ""
            self._turn_to("")

    def save(self) -> str | None:
        """Be saving, and return the phase before; nothing where another thread is in a step, which goes on."""
        with self._lock:
            before = self._phase
            if self._stepping not in (0, threading.get_ident()):
                return None
            self._turn_to(SAVES, at_once=True)
        return before

    def saved(self, phase: str | None) -> None:
        """Go on in the phase before, unless a step has begun meanwhile."""
        with self._lock:
            if phase is not None and self._phase == SAVES:
                self._turn_to(phase, at_once=True)

    def waited(self, begun: float) -> None:
        """Leave a wait out of what the step's thread was busy with."""
        if self._stepping == threading.get_ident():
            self._since += time.monotonic() - begun

    def keep(self, key: str, value: object) -> None:
        with self._lock:
            shared = dict(self._shared, **{key: _text(f"share({key!r})", value)})
            if sum(len(each) + len(text) + AROUND for each, text in shared.items()) > VALUES:
                raise Misuse(f"share({key!r}): one trainer's values can have at most {VALUES} bytes together")
            self._shared = shared

    def alone(self, ask: str, name: str = "", key: str = "", rank: int | None = None, **_: object) -> object:
        """Answer as the launcher of a single trainer would, but never wait: no other trainer can come."""
        with self._lock:
            if ask == "get" and (key not in self._shared or rank not in (None, self._rank)):
                raise KeyError(f"{key!r} was not shared, and without a launcher there is no other trainer")
            if ask == "barrier" and name in self._passed:
                raise Misuse(f"barrier {name!r} was passed already in this generation: {ADVICE}")
            self._passed.add(name)
            return json.loads(self._shared[key]) if ask == "get" else None

    def _turn_to(self, phase: str, at_once: bool = False) -> None:
        self._work()
        self._phase, self._paced = phase, True
        if self._heard:
            self._news(self._since, at_once)

    def _work(self) -> None:
        now = time.monotonic()
        if self._phase in BUSY:
            self._open += now - self._since
        self._since = now

    def _news(self, now: float, at_once: bool = False) -> None:
        if at_once or now >= self._due:
            self._flush()
        elif not self._timed:
            self._send_later(self._due - now)

    def _send_later(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._on_time)
        timer.daemon = self._timed = True
        try:
            timer.start()
        except RuntimeError:  # no more threads, or none because Python is leaving
            self._timed = False
            self._flush()

    def _on_time(self) -> None:
        with self._lock:
            self._timed = False
            now = time.monotonic()
            if self._facts != self._sent or self._pace_at(now) != self._pace:
                self._news(now)

    def _pace_at(self, now: float) -> dict[str, object] | None:
        """Return what is told of the steps; a phase lasts where it is no moment of a quick step."""
        if not self._paced:
            return None
        lasts = self._phase == SAVES or (bool(self._phase) and now >= self._since + INTERVAL)
        busy = round(self._busy, 6)
        return {"process": self._pid, "steps": self._steps, "busy": busy, "phase": self._phase, "lasts": lasts}

    def _flush(self) -> None:
        if not self.own or not self._heard:
            return  # the first: a forked child exits
        with self._lock:
            now = time.monotonic()
            pace = self._pace_at(now)
            if self._facts == self._sent and pace == self._pace:
                return
            self._due, self._sent, self._pace = now + INTERVAL, self._facts, pace
            question = {"ask": "progress", "facts": self._facts}
            try:
                _call(dict(question, pace=pace) if pace else question, BRIEF)
            except OSError:
                self._due += LATE  # the launcher does not respond or is gone; it may still read this one
            if pace and self._phase and not pace["lasts"] and not self._timed:
                self._send_later(self._due - now)  # it may last, and no call would tell


_KEPT: dict[int, _Mine] = {}


def _mine() -> _Mine:
    """Return this process's own: a forked child has a lock, facts and a connection of its own."""
    return _KEPT.get(os.getpid()) or _KEPT.setdefault(os.getpid(), _Mine())
