"""Faults while a framework trains, ours beside the bare programs: `python -m bench.frameworks [--write] [NAME]`."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench import machine
from bench.framework_bare import PODS, SUBJECTS, Subject
from bench.framework_gangs import GRACE, PASS, PATIENCE, STALL, STEP, Note, Pods
from bench.framework_table import WATCHED, Row, Seen, section, written
from bench.processes import Unheard
from tests.real import install

PAGE = Path(__file__).with_suffix(".md")
ROUNDS, CHEAP_ROUNDS, CHEAP = 3, 5, 10.0  # more rounds where one takes less than so many seconds
AT_ONCE, WAITING_ROUNDS = 5, 3  # of those that wait for time-outs
Point = tuple[int, int]  # a pass, and a step in it
START: Point = (-1, -1)
SAVING = 1_000_000  # as a step, after all others


def point(note: Note) -> Point:
    """Return how far a program is by what it notes."""
    number, step = (*note.facts, SAVING)[:2] if note.facts else START
    return number, step


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a fault is given: to whom, and once it has noted what."""

    title: str
    place: int
    what: str
    since: Point
    settings: Mapping[str, str] = field(default_factory=dict)

    def here(self, pods: Pods) -> bool:
        """Return whether it has come."""
        who = range(PODS) if self.since == START else (self.place,)
        return all(
            any(note.place == each and note.what == self.what and point(note) >= self.since for note in pods.notes)
            for each in who
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is done to the pod of a place."""

    title: str
    deal: Callable[[Pods, int], None]
    settings: Mapping[str, str] = field(default_factory=dict)  # of our launchers
    kills: bool = False
    restarts: bool = True  # whether ours may start again; the bare programs never do


def kill(pods: Pods, place: int) -> None:
    os.kill(pods.program(place), signal.SIGKILL)


def stop(pods: Pods, place: int) -> None:
    os.kill(pods.program(place), signal.SIGSTOP)


def delete(pods: Pods, place: int) -> None:
    """As Kubernetes does: TERM, and after the grace KILL; a Job then makes another pod, which finds its record."""
    pods.send(place, signal.SIGTERM)
    if not pods.until(lambda: place in pods.codes, GRACE):
        pods.send(place, signal.SIGKILL)
        pods.until(lambda: place in pods.codes, PATIENCE)
    if pods.ours:
        pods.start(place)


AT_START = Moment(title="at start", place=1, what="up", since=START)
IN_TRAINING = Moment(title="in training", place=1, what="step", since=(PASS, STEP))
# The first rank saves.
IN_SAVING = Moment(
    title="while saving", place=0, what="saving", since=(PASS, SAVING), settings={"BENCH_SAVES": str(PASS)}
)
MOMENTS = (AT_START, IN_TRAINING, IN_SAVING)
KILLED = Fault(title="killed", deal=kill, kills=True)
LAST = Fault(
    title="killed, no restart left", deal=kill, settings={"LAUNCHER_MAX_RESTARTS": "0"}, kills=True, restarts=False
)
FAULTS = (
    KILLED,
    Fault(title="stopped", deal=stop, settings={"LAUNCHER_STALL_TIMEOUT": str(STALL)}),
    Fault(title="pod deleted", deal=delete),
)
Case = tuple[Fault, Moment]
CASES: tuple[Case, ...] = (*((fault, moment) for fault in FAULTS for moment in MOMENTS), (LAST, IN_TRAINING))


def observed(pods: Pods, moment: Moment, fault: Fault) -> Seen:
    """Run until the fault's moment, give it, watch what comes of it, and say so."""
    begun = time.monotonic()
    with pods.started():
        if not pods.until(lambda: moment.here(pods) or bool(pods.codes), PATIENCE) or pods.codes:
            raise Unheard(f"{moment.title}: it did not come to that: {pods.last_words()}")
        before = {note.pid: note.place for note in pods.notes}
        victim, at = pods.program(moment.place), time.monotonic()
        was = max(point(note) for note in pods.notes if note.place == moment.place)
        fault.deal(pods, moment.place)
        pods.until(lambda: len(pods.codes) == PODS, at + (PATIENCE if pods.ours else WATCHED) - time.monotonic())
        died = pods.gone.get(victim, at) if fault.kills else at
        told = [_told(pods, pid) for pid, place in before.items() if place != moment.place]
        return _seen(pods, at, max(told) - died, was, set(before), begun)


def _seen(pods: Pods, at: float, told: float, was: Point, before: set[int], begun: float) -> Seen:
    new = [note for note in pods.notes if note.pid not in before]
    steps = [[note for note in new if note.place == place and note.what == "step"] for place in range(PODS)]
    first = [notes[0] for notes in steps if notes]
    back = [note.at for note in new if point(note) >= was]
    return Seen(
        told=max(0.0, told) if told < math.inf else None,
        codes=dict(pods.codes),
        again=max(note.at for note in first) - at if len(first) == PODS else None,
        back=back[0] - at if back else None,
        lost=max(0, was[0] - min(point(note)[0] for note in first)) if first else None,
        saved=pods.saved(),
        took=time.monotonic() - begun,
    )


def _told(pods: Pods, pid: int) -> float:
    heard = [note.at for note in pods.notes if note.pid == pid and note.what == "told"]
    return min(*heard, pods.gone.get(pid, math.inf), math.inf)


def measured(subject: Subject, python: Path, progress: Callable[[str], None]) -> list[Row]:
    """Return a row for each fault and moment."""

    def one(case: Case, *, ours: bool) -> Seen:
        progress(f"{case[0].title} {case[1].title}, {'ours' if ours else 'bare'}")
        return _one(subject, python, *case, ours=ours)

    with _several_at_once() as pool:  # whatever waits for a time-out, or stands still
        tried = [pool.submit(one, case, ours=False) if case[0].restarts else None for case in CASES]
        waiting = [
            [pool.submit(one, case, ours=True) for _ in range(0 if case[0].kills else WAITING_ROUNDS)]
            for case in CASES
        ]
        scouts = [each.result() if each else None for each in tried]
        waited = [[each.result() for each in several] for several in waiting]
    each = zip(CASES, scouts, waited, strict=True)
    return [_in_turns(one, case, ours, scout) for case, scout, ours in each]


def _in_turns(one: Callable[..., Seen], case: Case, waited: Sequence[Seen], scout: Seen | None) -> Row:
    """Run ours and bare in turns: ours unless it waited before, bare unless it stood still."""
    ours, bare = list(waited), [scout] if scout and scout.stood_still else []
    tries = 0 if bare or not scout else ROUNDS if case[0].kills else WAITING_ROUNDS
    while True:
        more = not waited and len(ours) < (CHEAP_ROUNDS if ours and ours[0].took < CHEAP else ROUNDS)
        if more:
            ours.append(one(case, ours=True))
        if len(bare) < tries:
            bare.append(one(case, ours=False))
        elif not more:
            fault, moment = case
            return Row(
                fault=fault.title, moment=moment.title, kills=fault.kills, restarts=fault.restarts,
                ours=ours, bare=bare,
            )  # fmt: skip


@contextmanager
def _several_at_once() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        yield pool
    finally:  # whoever interrupts it does not wait for what has not begun
        pool.shutdown(cancel_futures=True)


def _one(subject: Subject, python: Path, fault: Fault, moment: Moment, *, ours: bool) -> Seen:
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        settings = {**moment.settings, **(fault.settings if ours else {})}
        pods = Pods(directory=Path(directory), subject=subject, python=python, ours=ours, settings=settings)
        return observed(pods, moment, fault)


def main() -> int:
    """Measure the frameworks that are named, or all; print, and say by the code whether all could be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.frameworks", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(each.example.runtime for each in SUBJECTS))
    asked = parser.parse_args()
    failed = 0
    for subject in SUBJECTS:
        if asked.names and subject.example.runtime not in asked.names:
            continue
        before = machine.busy()
        try:
            rows = measured(subject, install.python(subject.example.environment), partial(_progress, subject.title))
        except (install.NotHere, Unheard) as error:
            failed += 1
            print(f"{subject.title} could not be measured: {error}", file=sys.stderr)
            continue
        load = f"load {before:.1f} before, {machine.busy():.1f} after"
        text = section(subject, rows, f"{time.strftime('%Y-%m-%d')}: {machine.described()}; {load}")
        print(text)
        if asked.write:
            PAGE.write_text(written(PAGE.read_text(), subject.example.runtime, text))
    return 1 if failed else 0


def _progress(title: str, text: str) -> None:
    print(f"{title}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything started is ended
    sys.exit(main())
