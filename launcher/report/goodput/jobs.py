"""The goodput of jobs side by side: what became of the time of all runs in each one's events.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from launcher.contract import Spent
from launcher.report import scale
from launcher.report.events import Reading, Started, Verdict
from launcher.report.goodput.account import ORDER, RunAccount, account_of, sums_of
from launcher.report.goodput.spending import percent
from launcher.report.runs import Run, runs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGoodput:
    """One run of a job; without an account where no ledger was noted, as by launchers of 0.1.0."""

    key: str
    begun: float
    code: int | None
    account: RunAccount | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobGoodput:
    """All runs of a job that its events tell of."""

    job: str
    runs: tuple[RunGoodput, ...]

    @property
    def accounts(self) -> tuple[RunAccount, ...]:
        """Those that there are."""
        return tuple(each.account for each in self.runs if each.account)

    @property
    def seconds(self) -> Mapping[str, float]:
        """The seconds of all launchers in all runs, by what they were."""
        return sums_of(self.accounts)

    @property
    def wall(self) -> float:
        """The seconds in which any launcher was there."""
        return sum(each.ended - each.begun - each.away for each in self.accounts)


def goodput_of(seconds: Mapping[str, float]) -> float | None:
    """Return the share that was kept, None of nothing."""
    whole = sum(seconds.values())
    return seconds.get(Spent.KEPT, 0.0) / whole if whole else None


def job_goodput(job: str, reading: Reading) -> JobGoodput:
    """Return what a job's events tell of its runs."""
    return JobGoodput(job=job, runs=tuple(map(_run, runs_of(reading.events))) if reading.events else ())


def _run(run: Run) -> RunGoodput:
    started = next((each for each in run.events if isinstance(each, Started)), None)
    verdict = next((each for each in run.events if isinstance(each, Verdict)), None)
    return RunGoodput(
        key=started.key if started else "",
        begun=run.events[0].at,
        code=verdict.code if verdict else None,
        account=account_of(run.events),
    )


def goodput_table(jobs: Sequence[JobGoodput]) -> Sequence[Sequence[str]]:
    """Return the head and a row for each job, and of several one for all; a state that none had has no column."""
    whole = sums_of(account for job in jobs for account in job.accounts)
    states = [state for state in ORDER if state in whole]
    head = ("JOB", "RUNS", "LAUNCHERS", "WALL", "GOODPUT", *map(str.upper, states))
    rows = [_row(job.job, len(job.runs), _most(job), job.wall, job.seconds, states) for job in jobs]
    if len(jobs) > 1:
        runs, wall = sum(len(job.runs) for job in jobs), sum(job.wall for job in jobs)
        rows.append(_row("(all)", runs, None, wall, whole, states))
    return [head, *rows]


def _most(job: JobGoodput) -> int | None:
    return max((each.places for each in job.accounts), default=None)


def _row(
    job: str, runs: int, launchers: int | None, wall: float, seconds: Mapping[str, float], states: Sequence[str]
) -> Sequence[str]:
    share = goodput_of(seconds)
    head = (job, str(runs), str(launchers or ""), scale.duration(wall) if seconds else "")
    each = (scale.duration(seconds.get(state, 0.0)) if seconds else "" for state in states)
    return (*head, "" if share is None else percent(share), *each)


def goodput_values(job: JobGoodput) -> Mapping[str, object]:
    """Return the same as values."""
    return {
        "job": job.job,
        "goodput": goodput_of(job.seconds),
        "wall": round(job.wall, 3),
        "seconds": _rounded(job.seconds),
        "runs": [_run_values(run) for run in job.runs],
    }


def _run_values(run: RunGoodput) -> Mapping[str, object]:
    account = run.account
    about = {"key": run.key, "begun": scale.clock(run.begun, day=True), "code": run.code}
    if account is None:
        return about
    return about | {
        "launchers": account.places,
        "wall": round(account.ended - account.begun - account.away, 3),
        "away": round(account.away, 3),
        "goodput": goodput_of(account.seconds),
        "seconds": _rounded(account.seconds),
        "lost_by": {str(number): round(lost, 3) for number, lost in account.lost_by.items()},
    }


def _rounded(seconds: Mapping[str, float]) -> Mapping[str, float]:
    return {state: round(each, 3) for state, each in seconds.items()}
