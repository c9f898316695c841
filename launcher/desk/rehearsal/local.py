"""A rehearsal: the same pod life N times on this machine, each at a loopback address of its own.

Real launchers, real pservers and trainers; no cluster, no container, no root.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from launcher.contract import Code
from launcher.desk.errors import Problem
from launcher.desk.rehearsal import example, processes, python_env, results, show, workspace
from launcher.desk.rehearsal.example import Example
from launcher.desk.rehearsal.rehearsal import JOB, Rehearsal, RehearsalPod, addresses, meetings, pods_of, ports
from launcher.desk.terminal import ProgressLine


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalPlace:
    """Where a rehearsal is, and how many pods there are."""

    directory: Path
    pods: int
    port: int
    keep: bool
    job: str = JOB


class NoPaddle(Problem):
    """This machine cannot have Paddle; the exit code is one that nothing else in a rehearsal's beginning has."""

    code = Code.API


class _Stopped(BaseException):
    """A signal asks to stop; no `except Exception` may keep it."""

    def __init__(self, signum: int) -> None:
        self.signum = signum


def rehearse(choose: Callable[[ProgressLine], Example], place: RehearsalPlace, *, passes: int | None) -> int:
    """Rehearse what is chosen, and return 0 or the code of the pod that failed first."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without UTF-8 has no branches
    try:
        with _undone_by_signals():
            return _rehearse(choose, place, ProgressLine(sys.stdout), passes)
    except _Stopped as stopped:
        sys.stderr.write(f"\npaddlectl: {signal.Signals(stopped.signum).name}: stopped\n")
        return 128 + stopped.signum


def _rehearse(
    choose: Callable[[ProgressLine], Example], place: RehearsalPlace, line: ProgressLine, passes: int | None
) -> int:
    workspace.check_ports(addresses(place.pods), ports(place.port))
    workspace.check_directory(place.directory)
    chosen = choose(line)
    rehearsal = Rehearsal(
        example=chosen, directory=place.directory, pods=place.pods, passes=passes or chosen.passes, port=place.port,
        meeting=workspace.meeting(meetings(place.port, place.pods, chosen.processes)), job=place.job,
    )  # fmt: skip
    pods = pods_of(rehearsal, os.environ, sys.executable)
    workspace.clear(place.directory, keep=place.keep)
    workspace.furnish(rehearsal, pods)
    return _live(rehearsal, pods, line)


def shipped(name: str, *, examples: Path | None = None) -> Callable[[ProgressLine], Example]:
    """Return what chooses an example that comes with the launcher; that its files are there is seen at once."""
    where, own = examples or workspace.examples(), Path(sys.executable)
    if name == example.RECOMMENDATION:
        workspace.check_example(example.recommendation(where, own))
        return lambda line: example.recommendation(where, _paddle(line))
    chosen = example.stand_in(where, own, os.environ)
    workspace.check_example(chosen)
    return lambda _: chosen


def _paddle(line: ProgressLine) -> Path:
    """Return the Python that has Paddle, installed if need be."""
    try:
        return python_env.python(python_env.PADDLE, line)
    except python_env.NotHere as error:
        raise NoPaddle(
            f"Paddle cannot be installed here: {error}. `paddlectl local` trains a stand-in, without Paddle"
        ) from error


def _live(rehearsal: Rehearsal, pods: Sequence[RehearsalPod], line: ProgressLine) -> int:
    first, last = pods[0].address, pods[-1].address
    where = f"{len(pods)} pods at {first} to {last}, each" if len(pods) > 1 else f"one pod at {first},"
    programs = "a pserver and a trainer" if rehearsal.example.has_pservers else _trainers(rehearsal.example.processes)
    line.say(f"{rehearsal.job}: {where} with {programs}, on {rehearsal.example.title}")
    began = time.monotonic()

    def so_far() -> str:
        return show.progress_text(rehearsal.passes, results.train_log(rehearsal, 0), time.monotonic() - began)

    ended = processes.run(pods, lambda: line.show(so_far()), line.say)
    line.finish(so_far())
    return results.tell_results(rehearsal, pods, ended, time.monotonic() - began)


def _trainers(processes: str) -> str:
    return {"1": "a trainer", "gpu": "a trainer on each card"}.get(processes, f"{processes} trainers")


@contextmanager
def _undone_by_signals() -> Iterator[None]:
    """Undo what was begun, such as an installation, when a signal asks to stop; pods that live have their own way."""

    def stop(signum: int, _frame: FrameType | None) -> None:
        raise _Stopped(signum)

    heard = [each for each in processes.STOP_SIGNALS if signal.getsignal(each) != signal.SIG_IGN]  # as nohup asks
    before = {each: signal.signal(each, stop) for each in heard}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
