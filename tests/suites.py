"""All tests: the rows of a table, several at once, each by a pytest of its own. `make test` is it.

    python -m tests.suites [PATH ...] [pytest's options]

Rows mostly wait, so they run side by side. Most of them have a network of their own, where no address and no port is
another's; that takes root, and without it they run one after the other.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
LOGS = ROOT / "build" / "tests"
CLOSING = LOGS / "closing"  # .ci/run says it again, as the last of all
APART = ("unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
AT_ONCE = (os.cpu_count() or 1) + 1
EVERY = 30.0  # seconds from one line on what still runs to the next
PERCENT = re.compile(r"\[ *(\d+)%\]")
NOTHING_CHOSEN = 5  # pytest's exit code
SLOW = 10  # that many are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Tests that run one after the other: the files in these places, but those in a closer place of another row."""

    name: str
    places: tuple[str, ...]
    apart: bool = True  # in a network of its own
    covered: bool = True  # its coverage is held: a launcher in a container, or under Paddle, is not measured
    needs: str = ""  # a module that is run before: what it downloads cannot be had from such a network


# The longest first. Paddle takes all processors: its own row comes long before the cluster's last tests, which train
# with it too.
ROWS = (
    Row(name="cluster", places=("cluster",), apart=False, covered=False),
    Row(name="real", places=("real",), covered=False, needs="tests.real.install"),
    Row(name="gang", places=("process/pod/gang",)),
    Row(name="wheel", places=("wheel",), apart=False, covered=False),
    Row(name="desk", places=("process/desk", "process/job", "process/transfer")),
    Row(name="compose", places=("compose",), apart=False, covered=False),
    Row(name="pod", places=("process/pod",)),
    Row(name="unit", places=("unit",)),
    Row(name="process", places=("process",), needs="tests.grounds.docker.base"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A row with those of its tests that are wanted."""

    row: Row
    targets: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def log(self) -> Path:
        """What its pytest says."""
        return LOGS / f"{self.row.name}.log"

    @property
    def results(self) -> Path:
        """What came of each of its tests, as JUnit has it."""
        return LOGS / f"{self.row.name}.xml"

    @property
    def so_far(self) -> str:
        """How far it is, nothing where it has not begun."""
        percents = PERCENT.findall(self.log.read_text(errors="replace")) if self.log.exists() else None
        return "" if percents is None else f"{self.row.name} {percents[-1] if percents else 0} %"

    def run(self, apart: Sequence[str]) -> Result:
        """Run its tests to the end."""
        begun = time.monotonic()
        coverage = ("-m", "coverage", "run") if self.row.covered else ()
        command = (
            sys.executable,
            *coverage,
            "-m",
            "pytest",
            f"--junitxml={self.results}",
            *self.options,
            *self.targets,
        )
        with self.log.open("wb") as log:

            def call(words: Sequence[str]) -> int:
                return subprocess.call(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

            if self.row.needs:
                call((sys.executable, "-m", self.row.needs))  # where that fails its tests tell it
            code = call((*apart, *command) if self.row.apart else command)
        return Result.of(self, code, time.monotonic() - begun)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test, and what came of it."""

    suite: str
    name: str
    outcome: str
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a turn."""

    turn: Turn
    code: int
    seconds: float
    cases: tuple[Case, ...]

    @classmethod
    def of(cls, turn: Turn, code: int, seconds: float) -> Result:
        """Read what pytest wrote; nothing where it did not come to that."""
        found = ET.parse(turn.results).iter("testcase") if turn.results.exists() else ()  # noqa: S314  # pytest's own
        return cls(turn=turn, code=code, seconds=seconds, cases=tuple(map(case_of, found)))

    @property
    def good(self) -> bool:
        """Whether nothing failed."""
        return self.code in (0, NOTHING_CHOSEN)


def case_of(found: ET.Element) -> Case:
    """Return a test from its element in JUnit's words."""
    outcomes = {"failure": "failed", "error": "failed", "skipped": "skipped"}
    ends = [(outcomes[each.tag], each.get("message", "")) for each in found if each.tag in outcomes]
    outcome, reason = min(ends, default=("passed", ""))
    place = found.get("classname", "")
    return Case(
        suite="/".join(place.split(".")[:2]),
        name=f"{place.replace('.', '/')}.py::{found.get('name')}",
        outcome=outcome,
        reason=reason,
        seconds=float(found.get("time", 0)),
    )


def main(words: Sequence[str]) -> int:
    """Run what the words choose, all where they choose nothing, and tell what came of it."""
    chosen = [word for word in words if (ROOT / word.partition("::")[0]).exists() and not word.startswith("-")]
    turns = turns_of(chosen, tuple(word for word in words if word not in chosen))
    LOGS.mkdir(parents=True, exist_ok=True)
    for old in LOGS.iterdir():
        old.unlink()
    apart = (*APART, "true")
    if subprocess.run(apart, capture_output=True, check=False).returncode == 0:
        results = run(turns, APART, AT_ONCE)
    else:
        print("one after the other: networks of their own take root, unshare and ip")
        results = run(turns, (), 1)
    return sum_up(results)


def turns_of(chosen: Sequence[str], options: tuple[str, ...]) -> list[Turn]:
    """Return the rows that have something to run, each with that."""
    targets: dict[Row, dict[str, None]] = {row: {} for row in ROWS}  # in order, each once
    for path in sorted({each for row in ROWS for place in row.places for each in (TESTS / place).rglob("test_*.py")}):
        file = str(path.relative_to(ROOT))
        within = [word for word in chosen if path.is_relative_to((ROOT / word.partition("::")[0]).resolve())]
        wanted = [word if "::" in word else file for word in within] if chosen else [file]
        targets[row_of(path)].update(dict.fromkeys(wanted))
    return [Turn(row=row, targets=tuple(found), options=options) for row, found in targets.items() if found]


def row_of(path: Path) -> Row:
    """Return the row that has the closest place."""
    found = [(len(place), row) for row in ROWS for place in row.places if path.is_relative_to(TESTS / place)]
    return max(found, key=lambda each: each[0])[1]


def run(turns: Sequence[Turn], apart: Sequence[str], at_once: int) -> list[Result]:
    """Run turns, so many at once, and tell of each when it ends."""
    begun = time.monotonic()
    results: list[Result] = []
    with ThreadPoolExecutor(at_once) as pool:
        waiting = {pool.submit(turn.run, apart): turn for turn in turns}
        try:
            while waiting:
                done, _ = wait(waiting, timeout=EVERY, return_when=FIRST_COMPLETED)
                since = f"{(time.monotonic() - begun) / 60:4.1f} min"
                for each in done:
                    del waiting[each]
                    results.append(each.result())
                    tell(since, results[-1])
                if not done:
                    print(
                        f"{since}  {', '.join(filter(None, (turn.so_far for turn in waiting.values())))}", flush=True
                    )
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return results


def tell(since: str, result: Result) -> None:
    """Tell how a turn ended; all that its pytest said, where anything failed."""
    outcomes = Counter(case.outcome for case in result.cases)
    counted = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items()) or "no test ran"
    print(f"{since}  {result.turn.row.name} ended: {counted}, {result.seconds:.0f} s", flush=True)
    if not result.good:
        print(f"pytest ended with {result.code} and said:\n{result.turn.log.read_text(errors='replace')}", flush=True)


def sum_up(results: Sequence[Result]) -> int:
    """Tell what came of all together, and return the exit code."""
    cases = [case for result in results for case in result.cases]
    seconds: Counter[str] = Counter()
    for case in cases:
        seconds[case.suite] += round(case.seconds)
    print("\nthe slowest:")
    for case in sorted(cases, key=lambda each: each.seconds, reverse=True)[:SLOW]:
        print(f"{case.seconds:7.1f} s  {case.name}")
    print("\n" + ", ".join(f"{name} {number} s" for name, number in seconds.items()))
    skipped = Counter((case.suite, case.reason) for case in cases if case.outcome == "skipped")
    for (name, reason), number in sorted(skipped.items()):
        print(f"{number} of {name} did not run: {reason}")
    for case in cases:
        if case.outcome == "failed":
            print(f"failed: {case.name}")
    broken = [result.turn.row.name for result in results if not result.good]
    if broken:
        print(f"not good: {', '.join(broken)}; what their pytest said is in {LOGS.relative_to(ROOT)}")
    outcomes = Counter(case.outcome for case in cases)
    sys.stdout.flush()  # what comes next writes by itself
    code = 1 if broken or not cases else coverage()
    told = f"{outcomes['passed']} passed, {outcomes['failed']} failed"
    told += f", {outcomes['skipped']} skipped" if outcomes["skipped"] else ""
    print(told)
    CLOSING.write_text(f"{told}\n")
    return code


def coverage() -> int:
    """Put together what the tests covered, where any did; tell it, and return whether it is what is held."""
    if not any(ROOT.glob(".coverage.*")):
        return 0
    combine, held = ("coverage", "combine", "--quiet"), ("tests.coverage_held",)
    codes = (subprocess.call((sys.executable, "-m", *words), cwd=ROOT) for words in (combine, held))
    return next(filter(None, codes), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
