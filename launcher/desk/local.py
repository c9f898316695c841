"""A rehearsal: the same pod life N times on this machine, each at a loopback address of its own.

Real launchers, real pservers and trainers; no cluster, no container, no root. Run as `python -m launcher.desk.local`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from launcher.desk import ground, lives, showing
from launcher.desk.ground import NotReady
from launcher.desk.lives import Ended
from launcher.desk.rehearsal import JOB, Pod, Rehearsal, pods_of
from launcher.desk.showing import LastWord

CANNOT_BEGIN = 78
EVERY = 2.0  # seconds between two lines where no terminal is
TAIL = 12  # lines
EXAMPLES = """\
examples:
  python -m launcher.desk.local                        three pods, ten passes, below build/demo
  python -m launcher.desk.local --pods 5 --passes 20
  python -m launcher.desk.local --port 8164            where another program has the ports from 7164 on
  python -m launcher.desk.local --keep                 the last run is moved aside to build/demo.1
"""


def main(words: Sequence[str] | None = None) -> int:
    """Rehearse, and return 0 or the code of the pod that failed first."""
    given = _parse(words)
    rehearsal = Rehearsal(
        directory=Path(given.directory).resolve(), pods=given.pods, passes=given.passes, port=given.port
    )
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without UTF-8 has no branches
    try:
        stand_in = ground.find_stand_in(Path.cwd())
        pods = pods_of(rehearsal, os.environ, stand_in=stand_in, python=sys.executable)
        ground.check_ports(rehearsal.addresses, rehearsal.ports)
        ground.clear(rehearsal.directory, keep=given.keep)
        ground.furnish(rehearsal, pods, stand_in)
    except NotReady as error:
        sys.stderr.write(f"rehearsal: {error}\n")
        return CANNOT_BEGIN
    return _live(rehearsal, pods)


def _live(rehearsal: Rehearsal, pods: Sequence[Pod]) -> int:
    first, last = rehearsal.addresses[0], rehearsal.addresses[-1]
    print(f"{JOB}: {rehearsal.pods} pods at {first} to {last}, each with a pserver and a trainer")
    display = Display(rehearsal)
    ended = lives.run(pods, display.show, display.say)
    display.finish()
    return _tell(rehearsal, pods, ended, display.seconds)


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m launcher.desk.local",
        description="Trains on this machine as on a cluster: real launchers, each at an address of its own.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pods", type=_whole(1, 100), default=3, help="how many (3)")
    parser.add_argument("--passes", type=_whole(1, 10_000), default=10, help="how often over the data (10)")
    parser.add_argument("--port", type=_whole(1, 65_000), default=7164, help="the pservers' first port (7164)")
    parser.add_argument("--directory", default="build/demo", help="for all that is made (build/demo)")
    parser.add_argument("--keep", action="store_true", help="move the last run aside instead of removing it")
    return parser.parse_args(words)


def _whole(low: int, high: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        if not (text.isdecimal() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from {low} to {high}")
        return int(text)

    return whole_number


class Display:
    """What is seen while it runs: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        """Begin to count the time."""
        self._rehearsal = rehearsal
        self._begun = time.monotonic()
        self._due = 0.0

    @property
    def seconds(self) -> float:
        """The time since the beginning."""
        return time.monotonic() - self._begun

    def show(self) -> None:
        """Show how far trainer 0 has come."""
        terminal = sys.stdout.isatty()
        if self.seconds < self._due and not terminal:
            return
        self._due = self.seconds + EVERY
        bar = showing.progress(self._rehearsal.passes, costs_of(self._rehearsal, 0), self.seconds)
        sys.stdout.write(f"\r{bar}\x1b[K" if terminal else f"{bar}\n")
        sys.stdout.flush()

    def say(self, sentence: str) -> None:
        """Say something beside the bar."""
        sys.stdout.write(f"\r\x1b[K{sentence}\n" if sys.stdout.isatty() else f"{sentence}\n")
        sys.stdout.flush()

    def finish(self) -> None:
        """Show the end, and leave the line."""
        self._due = 0.0
        self.show()
        if sys.stdout.isatty():
            print()


def costs_of(rehearsal: Rehearsal, rank: int) -> dict[int, float]:
    """Return what a trainer's log says of its cost so far."""
    return showing.costs(_text(rehearsal.output / f"node_{rank}" / "train.log"))


def _tell(rehearsal: Rehearsal, pods: Sequence[Pod], ended: Sequence[Ended], seconds: float) -> int:
    """Tell all there is to see, and return the exit code."""
    words = {pod.address: showing.last_word(_text(pod.stderr)) for pod in pods}
    codes = {each.pod.address: each.code for each in ended}
    _tell_output(rehearsal)
    print(showing.life_table({address: (codes[address], word) for address, word in words.items()}))
    output = shown_path(rehearsal.output)
    print(f"\ntrainers' and pservers' logs: {output}/node_*/{{train,server}}.log")
    print(f"launchers' own: {shown_path(rehearsal.directory)}/pods/*/stderr.log")
    failed = _culprit([each for each in ended if each.code], words)
    if failed:
        print("\n".join(_failure(failed, words[failed.pod.address])))
        return failed.code
    print(f"all {len(pods)} pods ended with 0 after {seconds:.1f} s")
    return 0


def _tell_output(rehearsal: Rehearsal) -> None:
    by_node = {f"node_{rank}": costs_of(rehearsal, rank) for rank in range(rehearsal.pods)}
    if any(by_node.values()):
        print(f"\ncost per pass, each trainer's own\n{showing.cost_table(by_node)}")
    files = [path.relative_to(rehearsal.output) for path in rehearsal.output.rglob("*") if path.is_file()]
    if files:
        print(f"\n{showing.tree(shown_path(rehearsal.output), files)}")
    print()


def _culprit(failed: Sequence[Ended], words: Mapping[str, LastWord | None]) -> Ended | None:
    """Return the pod that the verdict names, else the one that ended first."""
    for each in failed:
        word = words[each.pod.address]
        if word and f"({each.pod.address})" in word.reason:
            return each
    return failed[0] if failed else None


def _failure(failed: Ended, word: LastWord | None) -> list[str]:
    """Return which pod failed first, why, and the last lines of it."""
    told = (
        f"{failed.pod.address} ended with {failed.code}: {word.reason if word else 'its launcher left no last word'}"
    )
    source = failed.pod.stdout if _text(failed.pod.stdout).strip() else failed.pod.stderr
    tail = [f"  {line}" for line in _text(source).splitlines()[-TAIL:]]
    return [f"\n{told}", f"the last lines of {shown_path(source)}:", *tail]


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def shown_path(path: Path) -> str:
    """Return a path as seen from here, where it is below."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
