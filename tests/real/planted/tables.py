"""What the launcher told of each planted fault, as tables. No I/O here."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.table import columns
from tests.real.planted.judge import SOON, Judged
from tests.real.planted.plans import FAULTS, Plan

GOAL = 11  # of the twelve, in each round
HEAD = ("fault", "program", "planted in", "at line", "told", "s", "rank", "line", "unknown")
BY_PROGRAM = ("program", "faults", "right", "s, median", "s, at the most")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a run: what was told, and which part of its members' seconds nobody counted."""

    plan: Plan
    judged: Judged
    code: int | None = None  # none where it came to no end that could be judged
    unknown: float | None = None
    message: str = ""
    seconds: float = 0.0


def enough(results: Sequence[Result]) -> bool:
    """Return whether so many of a round are right as have to be."""
    return sum(not each.judged.right for each in results) <= len(FAULTS) - GOAL


def rounds(results: Sequence[Result]) -> str:
    """Return a table for each round, and one of all by program."""
    seeds = sorted({each.plan.seed for each in results})
    parts = [_round(seed, [each for each in results if each.plan.seed == seed]) for seed in seeds]
    return "\n\n".join((_summary(results), *parts))


def _round(seed: int, results: Sequence[Result]) -> str:
    right = sum(each.judged.right for each in results)
    return (
        f"### Seed {seed}: {right} of {len(results)}\n\n{columns(HEAD, [_cells(each) for each in results])}".strip()
    )


def _cells(result: Result) -> tuple[str, ...]:
    plan, found = result.plan, result.judged
    ranks = " and ".join(map(str, plan.ranks))
    where = f"{plan.role} {ranks}, pass {plan.at[0]}, step {plan.at[1]}"
    return (
        plan.fault.title,
        plan.program.name,
        where,
        " and ".join(plan.places) if plan.at_line else "",
        found.kind or "nothing",
        "" if found.seconds is None else f"{found.seconds:.1f}",
        _mark(found.rank),
        _mark(found.line),
        "" if result.unknown is None else f"{result.unknown:.2%}",
    )


def _summary(results: Sequence[Result]) -> str:
    names = sorted({each.plan.program.name for each in results})
    lines = [_line(name, [each for each in results if each.plan.program.name == name]) for name in names]
    said = f"Told within {SOON:g} s of its time-out, with the right rank, and the right line where there is one."
    return f"{said}\n\n{columns(BY_PROGRAM, [*lines, _line('all', results)])}".strip()


def _line(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    seconds = list(_seconds(results))
    figures = (f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}") if seconds else ("", "")
    return (name, str(len(results)), str(sum(each.judged.right for each in results)), *figures)


def _seconds(results: Iterable[Result]) -> Iterable[float]:
    return (each.judged.seconds for each in results if each.judged.seconds is not None)


def _mark(right: bool | None) -> str:
    return "" if right is None else "yes" if right else "NO"
