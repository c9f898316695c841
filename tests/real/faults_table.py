"""What came of faults during training: when a run is as good as an undisturbed one, and the tables. No I/O here."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDENED = 0.02
# So many of the last passes are the plateau: one alone moves by as much as the order in which three trainers push. It
# is reached when they are no better by more than this than as many before them.
LAST, FLAT = 4, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training: what was done to it and in which pass, how it ended, and the RMSE after each of its passes.

    A code is None where something still ran when nobody watched any longer. `after` are the passes that it went on
    from, of which a gang has the choice and the bare command has none.
    """

    what: str
    number: int | None = None
    codes: tuple[int | None, ...]
    errors: Mapping[int, float]
    seconds: float
    after: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """What undisturbed runs come to: least and greatest, how much better they still get, and in how many seconds."""

    low: float
    high: float
    gain: float
    seconds: float

    @classmethod
    def of(cls, runs: Sequence[Run], passes: int) -> Plateau:
        """Return it, where all of them have ended well."""
        last = [_mean(run, passes - LAST, passes) for run in runs]
        before = [_mean(run, passes - 2 * LAST, passes - LAST) for run in runs]
        gain = statistics.mean(before) - statistics.mean(last)
        return cls(low=min(last), high=max(last), gain=gain, seconds=statistics.median(run.seconds for run in runs))

    @property
    def reached(self) -> bool:
        """Whether it is one."""
        return self.gain <= FLAT

    def holds(self, run: Run, passes: int) -> bool:
        """Return whether a run ended well, with every pass, where the undisturbed ones end."""
        if set(run.codes) != {0} or list(run.errors) != list(range(passes)):
            return False
        return self.low - WIDENED <= _mean(run, passes - LAST, passes) <= self.high + WIDENED


def _mean(run: Run, begin: int, end: int) -> float:
    return statistics.mean(run.errors[number] for number in range(begin, end))


def ours(plateau: Plateau, undisturbed: Sequence[Run], faults: Sequence[Run], passes: int) -> str:
    """Return the table of the runs under our launcher."""
    lines = [f"| fault | in pass | goes on after | exit codes | RMSE, last {LAST} | last | held | seconds | lost |"]
    lines.append("| --- | ---: | ---: | --- | ---: | ---: | --- | ---: | ---: |")
    lines += [_ours(each, plateau, passes) for each in (*undisturbed, *faults)]
    return "\n".join(lines)


def bare(runs: Sequence[Run], passes: int) -> str:
    """Return the table of the runs under the bare command."""
    lines = [f"| fault | in pass | exit codes | seconds after it | passes, of {passes} | RMSE |"]
    lines.append("| --- | ---: | --- | ---: | ---: | ---: |")
    for run in runs:
        figures = f"{_codes(run)} | {run.seconds:.1f} | {len(run.errors)} | {_last(run)}"
        lines.append(f"| {run.what} | {_number(run)} | {figures} |")
    return "\n".join(lines)


def told(plateau: Plateau) -> str:
    """Return in words what undisturbed runs come to, and whether that is a plateau."""
    verdict = "a plateau" if plateau.reached else "NOT a plateau yet, more passes are needed"
    return (
        f"Undisturbed, the mean RMSE of the last {LAST} passes is {plateau.low:.4f} to {plateau.high:.4f}; widened "
        f"by {WIDENED}, it is {plateau.low - WIDENED:.4f} to {plateau.high + WIDENED:.4f}, and a run with a fault "
        f"has to come there. It is {plateau.gain:.4f} below that of the {LAST} before: {verdict} (up to {FLAT}). The "
        f"time lost counts from the undisturbed runs' median, {plateau.seconds:.1f} s."
    )


def _ours(run: Run, plateau: Plateau, passes: int) -> str:
    number, after = _number(run), ", ".join("none" if number is None else str(number) for number in run.after)
    whole = list(run.errors) == list(range(passes))
    mean = f"{_mean(run, passes - LAST, passes):.4f}" if whole else "none"
    held = "yes" if plateau.holds(run, passes) else "NO"
    lost = f"{run.seconds - plateau.seconds:.1f}" if number else ""
    figures = f"{_codes(run)} | {mean} | {_last(run)} | {held} | {run.seconds:.1f} | {lost}"
    return f"| {run.what} | {number} | {after} | {figures} |"


def _number(run: Run) -> str:
    return "" if run.number is None else str(run.number)


def _codes(run: Run) -> str:
    return ", ".join("still runs" if code is None else str(code) for code in run.codes)


def _last(run: Run) -> str:
    return f"{run.errors[max(run.errors)]:.4f}" if run.errors else "none"
