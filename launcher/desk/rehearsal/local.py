"""A rehearsal: the same pod life N times on this machine, each at a loopback address of its own.

Real launchers, real pservers and trainers; no cluster, no container, no root. Run as `python -m launcher.desk.local`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from launcher.contract import PSERVER_PORT, Code
from launcher.desk.display import Line
from launcher.desk.rehearsal import example, paddle_env, processes, results, show, workspace
from launcher.desk.rehearsal.example import Example
from launcher.desk.rehearsal.rehearsal import JOB, Pod, Rehearsal, addresses, pods_of, ports
from launcher.desk.rehearsal.workspace import NotReady

CANNOT_BEGIN = Code.SETTINGS
EXAMPLES = """\
examples:
  python -m launcher.desk.local                        three pods on Paddle's own pservers, below build/demo
  python -m launcher.desk.local --stand-in             without Paddle: ten passes in a few seconds
  python -m launcher.desk.local --pods 5 --passes 20
  python -m launcher.desk.local --port 8164            where another program has the ports from 7164 on
  python -m launcher.desk.local --keep                 the last run is moved aside to build/demo.1
"""


def main(words: Sequence[str] | None = None) -> int:
    """Rehearse, and return 0 or the code of the pod that failed first."""
    given = _parse(words)
    place = Place(directory=Path(given.directory).resolve(), pods=given.pods, port=given.port, keep=given.keep)
    return rehearse(lambda line: demo(Path.cwd(), line, stand_in=given.stand_in), place, passes=given.passes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a rehearsal is, and how many pods there are."""

    directory: Path
    pods: int
    port: int
    keep: bool
    job: str = JOB


def rehearse(choose: Callable[[Line], Example], place: Place, *, passes: int | None) -> int:
    """Rehearse what is chosen, and return 0 or the code of the pod that failed first."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without UTF-8 has no branches
    line = Line(sys.stdout)
    try:
        workspace.check_ports(addresses(place.pods), ports(place.port))
        workspace.check_directory(place.directory)
        chosen = choose(line)
        rehearsal = Rehearsal(
            example=chosen, directory=place.directory, pods=place.pods, passes=passes or chosen.passes,
            port=place.port, job=place.job,
        )  # fmt: skip
        pods = pods_of(rehearsal, os.environ, sys.executable)
        workspace.clear(place.directory, keep=place.keep)
        workspace.furnish(rehearsal, pods)
    except NotReady as error:
        sys.stderr.write(f"rehearsal: {error}\n")
        return CANNOT_BEGIN
    return _live(rehearsal, pods, line)


def demo(root: Path, line: Line, *, stand_in: bool) -> Example:
    """Return what is trained: Paddle's recommendation, unless Paddle cannot be had or is not asked for."""
    substitute = example.stand_in(root, os.environ)
    workspace.check_example(substitute)
    if stand_in:
        return substitute
    workspace.check_example(example.recommendation(root, Path(sys.executable)))
    try:
        return example.recommendation(root, paddle_env.python(line))
    except paddle_env.NotHere as error:
        line.say(f"Paddle cannot be had here: {error}. A stand-in of ours trains in its place.")
        return substitute


def _live(rehearsal: Rehearsal, pods: Sequence[Pod], line: Line) -> int:
    line.say(
        f"{rehearsal.job}: {len(pods)} pods at {pods[0].address} to {pods[-1].address}, each with a pserver and a "
        f"trainer, on {rehearsal.example.title}"
    )
    began = time.monotonic()

    def so_far() -> str:
        return show.progress(rehearsal.passes, results.train_log(rehearsal, 0), time.monotonic() - began)

    ended = processes.run(pods, lambda: line.show(so_far()), line.say)
    line.finish(so_far())
    return results.tell(rehearsal, pods, ended, time.monotonic() - began)


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m launcher.desk.local",
        description="Trains on this machine as on a cluster: real launchers, each at an address of its own.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stand-in", action="store_true", help="train with a stand-in for Paddle, in a few seconds")
    parser.add_argument("--pods", type=_whole(1, 100), default=3, help="how many (3)")
    parser.add_argument("--passes", type=_whole(1, 10_000), help="how often over the data (as the example says)")
    parser.add_argument(
        "--port", type=_whole(1, 65_000), default=PSERVER_PORT, help=f"the pservers' first port ({PSERVER_PORT})"
    )
    parser.add_argument("--directory", default="build/demo", help="for all that is made (build/demo)")
    parser.add_argument("--keep", action="store_true", help="move the last run aside instead of removing it")
    return parser.parse_args(words)


def _whole(low: int, high: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        if not (text.isdecimal() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from {low} to {high}")
        return int(text)

    return whole_number


def _leave(signum: int, _frame: FrameType | None) -> None:
    """Leave in order what was begun, such as an installation; while pods live, their own way of ending holds."""
    sys.stderr.write(f"\nrehearsal: {signal.Signals(signum).name}: stopped\n")
    sys.exit(128 + signum)


if __name__ == "__main__":
    for stop in processes.STOPPING:
        if signal.getsignal(stop) != signal.SIG_IGN:  # as nohup asks
            signal.signal(stop, _leave)
    try:
        sys.exit(main())
    except BrokenPipeError:  # as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
