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
from functools import partial
from pathlib import Path
from types import FrameType

from launcher.desk.rehearsal import example, paddle_env, processes, results, show, workspace
from launcher.desk.rehearsal.example import Example
from launcher.desk.rehearsal.rehearsal import JOB, Rehearsal, RehearsalPod, addresses, pods_of, ports
from launcher.desk.terminal import ProgressLine


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalPlace:
    """Where a rehearsal is, and how many pods there are."""

    directory: Path
    pods: int
    port: int
    keep: bool
    job: str = JOB


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
        job=place.job,
    )  # fmt: skip
    pods = pods_of(rehearsal, os.environ, sys.executable)
    workspace.clear(place.directory, keep=place.keep)
    workspace.furnish(rehearsal, pods)
    return _live(rehearsal, pods, line)


def demo(root: Path, *, stand_in: bool) -> Callable[[ProgressLine], Example]:
    """Return what chooses the demo's example; that its files are in this directory is seen at once."""
    substitute = example.stand_in(root, os.environ)
    workspace.check_example(substitute)
    if stand_in:
        return lambda _: substitute
    workspace.check_example(example.recommendation(root, Path(sys.executable)))
    return partial(_on_paddle, root, substitute)


def _on_paddle(root: Path, substitute: Example, line: ProgressLine) -> Example:
    """Return Paddle's recommendation, or the stand-in where Paddle cannot be installed."""
    try:
        return example.recommendation(root, paddle_env.python(line))
    except paddle_env.NotHere as error:
        line.say(f"Paddle cannot be installed here: {error}. The stand-in trains in its place.")
        return substitute


def _live(rehearsal: Rehearsal, pods: Sequence[RehearsalPod], line: ProgressLine) -> int:
    first, last = pods[0].address, pods[-1].address
    where = f"{len(pods)} pods at {first} to {last}, each" if len(pods) > 1 else f"one pod at {first},"
    line.say(f"{rehearsal.job}: {where} with a pserver and a trainer, on {rehearsal.example.title}")
    began = time.monotonic()

    def so_far() -> str:
        return show.progress_text(rehearsal.passes, results.train_log(rehearsal, 0), time.monotonic() - began)

    ended = processes.run(pods, lambda: line.show(so_far()), line.say)
    line.finish(so_far())
    return results.tell_results(rehearsal, pods, ended, time.monotonic() - began)


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
