"""Where a run's time went, from its events alone: what was counted, and what nobody counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.contract import Spent
from launcher.report.goodput.account import RunAccount, account_of, sums_of
from launcher.report.reading import read_events
from launcher.report.runs import runs_of
from tests.unit.report.test_gang import lines, phase, told

ROOT = Path(__file__).parents[4]
OLD = sorted((ROOT / "tests/vectors/0.1.0/runs").rglob("events.jsonl"))
OVER = told(100, "verdict", code=0, reason="every trainer is done")
FAILED = told(100, "verdict", code=7, reason="trainer 1 exited with 7")


def account(events: Sequence[Mapping[str, Any]], saved: Mapping[int, float] | None = None) -> RunAccount:
    found = account_of(runs_of(read_events(lines(dict(each) for each in events)).events)[-1].events, saved)
    assert found
    return found


def made(at: float, generation: int, resume: int | None = None, ranks: int = 2) -> dict[str, Any]:
    members = [{"role": "node", "rank": rank, "address": f"10.0.0.{rank}"} for rank in range(ranks)]
    return told(at, "generation_made", generation=generation, members=members, resume=resume)


def life(rank: int | None, boot: str, ago: float = 0.0, **seconds: float) -> dict[str, Any]:
    return {"role": "node", "rank": rank, "address": f"10.0.0.{rank}", "boot": boot, "ago": ago, "seconds": seconds}


def ledger(at: float, generation: int, *members: Mapping[str, Any]) -> dict[str, Any]:
    return told(at, "ledger", generation=generation, members=members)


def progress(at: float, number: int, generation: int = 1) -> dict[str, Any]:
    return told(at, "progress", generation=generation, role="trainer", rank=0, **{"pass": number}, metrics={})


def test_a_run_in_which_all_was_counted_has_nothing_unknown() -> None:
    found = account(
        [
            told(0, "run_started", key="k", job="j"),
            made(5, 1),
            OVER,
            ledger(100.2, 1, life(0, "a", starting=10.2, kept=100.0), life(1, "b", 0.1, waiting=9.9, kept=95.2)),
        ]
    )
    assert found.seconds == pytest.approx({"kept": 195.2, "starting": 10.2, "waiting": 9.9})
    assert (found.places, found.gaps, found.away) == (2, (), 0.0)
    assert found.whole == pytest.approx(110.2 + 105.1)
    assert found.goodput == pytest.approx(195.2 / 215.3)
    assert list(found.seconds) == ["kept", "starting", "waiting"]


def test_of_a_pod_that_was_lost_the_time_until_its_place_is_taken_is_unknown_and_its_training_is_decided() -> None:
    found = account(
        [
            made(10, 1),
            progress(20, 0),
            progress(40, 1),
            told(52, "lost", generation=1, address="10.0.0.1", code=76, reason="node 1 is gone"),
            ledger(
                60,
                1,
                life(0, "a", starting=10, training=42, waiting=8),
                life(1, "b", 10, starting=10, training=40),
                life(1, "c", starting=2),
            ),
            made(60, 2, resume=0),
            OVER,
            ledger(100, 2, life(0, "a", starting=10, kept=70, lost=12, waiting=8), life(1, "c", starting=4, kept=38)),
        ]
    )
    assert found.seconds == {"kept": 138, "lost": 22, "starting": 24, "waiting": 8, "unknown": 8}
    (gap,) = found.gaps
    assert (str(gap.seat), gap.end - gap.begin) == ("node 1", 8)
    assert found.whole == 200
    assert found.lost_by == {1: 22, 2: 0}


LOST_TO_A_STOP = [
    ([], {}, None, 20.0),  # from the beginning
    ([], {}, 3, 0.0),  # no new pass, though it had begun after one
    ([progress(25, 4), progress(35, 5)], {}, 4, 5.0),
    ([progress(25, 4)], {}, 4, 15.0),  # reported at its end
    ([progress(25, 4), progress(35, 5)], {4: 33.0}, 4, 7.0),
]


@pytest.mark.parametrize(("reports", "saved", "resume", "lost"), LOST_TO_A_STOP)
def test_what_a_suspended_job_left_open_is_decided_when_it_is_resumed(
    reports: list[dict[str, Any]], saved: dict[int, float], resume: int | None, lost: float
) -> None:
    before = 3 if resume == 3 else None
    begun = read_events(lines([told(0, "run_started", key="k", job="j")])).events[0].at
    found = account(
        [
            told(0, "run_started", key="k", job="j"),
            made(10, 1, before, ranks=1),
            *reports,
            phase(40, 1, 0, "stopped"),
            ledger(42, 1, life(0, "a", starting=10, training=30, leaving=2)),
            told(1000, "run_started", key="k", job="j"),
            ledger(1005, 1, life(0, "b", starting=5)),
            made(1005, 2, resume, ranks=1),
            told(1050, "verdict", code=0, reason="every trainer is done"),
            ledger(1050, 2, life(0, "b", starting=5, kept=45)),
        ],
        {number: begun + at for number, at in saved.items()},
    )
    lost = 30.0 if resume in (None, 3) else lost
    kept = {"kept": 75.0 - lost, "lost": lost, "starting": 15.0, "leaving": 2.0}
    assert found.seconds == pytest.approx({state: each for state, each in kept.items() if each})
    assert found.away == pytest.approx(958)
    assert found.whole == pytest.approx(92)
    assert found.gaps == ()


def test_a_stop_whose_pass_nobody_knows_the_time_of_stays_undecided() -> None:
    found = account([made(10, 1), ledger(42, 1, life(0, "a", training=30)), made(50, 2, 4), OVER])
    assert found.seconds[Spent.OPEN] == 30


@pytest.mark.parametrize(("verdict", "state"), [(OVER, Spent.KEPT), (FAILED, Spent.OPEN)])
def test_what_a_lost_pod_trained_last_is_kept_with_a_success(verdict: dict[str, Any], state: str) -> None:
    found = account([made(10, 1, ranks=1), verdict, ledger(100, 1, life(0, "a", 0.5, waiting=10, training=89.5))])
    assert found.seconds == {state: 89.5, "waiting": 10, "unknown": 0.5}


def test_each_end_of_a_generation_has_what_it_lost_of_all_members() -> None:
    found = account(
        [
            made(0, 1),
            ledger(20, 1, life(0, "a", training=20), life(1, "b", training=20)),
            made(20, 2, 0),
            progress(30, 5, generation=2),
            ledger(50, 2, life(0, "a", kept=5, lost=15, training=30), life(1, "b", kept=6, lost=14, training=30)),
            made(50, 3, 4),
            FAILED,
            ledger(100, 3, life(0, "a", kept=25, lost=75), life(1, "b", kept=26, lost=74)),
        ]
    )
    assert found.lost_by == {1: 29, 2: 40, 3: 80}
    assert found.seconds == {"kept": 51, "lost": 149}


def test_a_run_that_failed_in_its_first_generation_has_lost_there() -> None:
    found = account([made(0, 1), FAILED, ledger(100, 1, life(0, "a", kept=60, lost=40))])
    assert found.lost_by == {1: 40}


def test_another_leader_may_have_heard_less_of_a_launcher_that_is_gone() -> None:
    found = account(
        [
            made(0, 1),
            ledger(50, 1, life(0, "a", waiting=50), life(1, "b", 2, waiting=48)),
            ledger(51, 1, life(0, "a", 10, waiting=41), life(1, "b", waiting=51)),
            told(60, "verdict", code=75, reason="too late"),
        ]
    )
    assert found.seconds == {"waiting": 101, "unknown": 19}


def test_a_place_whose_pod_has_no_rank_yet_is_known_by_its_address() -> None:
    members = [{**life(0, "a", waiting=3), "rank": None}, life(0, "b", waiting=2)]
    early = ledger(3, 0, {**members[0], "ago": 0})
    found = account([made(1, 1, ranks=1), early, ledger(10, 1, members[1]), told(10, "verdict", code=0)])
    assert (found.places, found.seconds, found.away) == (1, {"waiting": 5}, 5)


def test_ranks_that_are_dealt_anew_make_no_other_places() -> None:
    """The pod of rank 1 is replaced by one with a later address: the third is rank 1 from then on."""
    found = account(
        [
            made(0, 1, ranks=3),
            ledger(50, 1, life(0, "a", kept=50), life(1, "b", 10, kept=40), life(2, "c", kept=50)),
            made(50, 2, ranks=3),
            ledger(100, 2, life(0, "a", kept=100), life(1, "c", kept=100), life(2, "d", kept=45)),
            OVER,
        ]
    )
    assert (found.places, found.whole) == (3, 300)
    assert found.seconds == {"kept": 285, "unknown": 15}


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.parent.parent.name)
def test_a_run_of_0_1_0_has_no_account(path: Path) -> None:
    for run in runs_of(read_events(path.read_bytes().splitlines()).events):
        assert account_of(run.events) is None


def test_a_state_of_a_later_launcher_is_unknown_and_a_wrong_one_no_event() -> None:
    found = account([ledger(50, 1, life(0, "a", kept=20, thinking=30)), told(50, "verdict", code=0)])
    assert found.seconds == {"kept": 20, "unknown": 30}
    wrong = [life(0, "a", kept=-1), life(0, "a", kept="9"), {**life(0, "a"), "role": "cat"}, {"boot": "a"}, 7, None]  # type: ignore[arg-type]
    reading = read_events(lines(ledger(50, 1, each) for each in wrong))  # type: ignore[arg-type]
    assert (reading.events, reading.unreadable) == ((), len(wrong))


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 200)), min_size=1, max_size=4)


@given(places=st.lists(spans, min_size=1, max_size=4))
def test_the_sum_of_all_is_the_time_of_all_places(places: list[list[tuple[int, int]]]) -> None:
    """Lives come one after the other at each place, with gaps between; the verdict comes 10 s after the last."""
    events, whole, alive, latest = [], 0.0, set[int](), 0
    for rank, lives in enumerate(places):
        now = first = 10
        for number, (pause, length) in enumerate(lives):
            now += pause if number else 0
            events.append(ledger(now + length, 1, life(rank, f"{rank}.{number}", waiting=length)))
            alive.update(range(now, now + length))
            now += length
        latest = max(latest, now)
        whole -= first
    end = latest + 10
    found = account(
        [
            made(10, 1, ranks=len(places)),
            *sorted(events, key=lambda each: str(each["at"])),
            told(end, "verdict", code=0),
        ]
    )
    assert found.whole == pytest.approx(whole + len(places) * (end - found.away))
    assert found.away <= latest - 10 - len(alive) + 0.001
    assert found.places == len(places)


def test_several_accounts_together_are_the_sums_in_one_order() -> None:
    each = RunAccount(begun=0.0, ended=1.0, places=1, seconds={"unknown": 1.0, "kept": 2.0})
    assert list(sums_of([each, each]).items()) == [("kept", 4.0), ("unknown", 2.0)]


def test_each_role_has_its_own_places_and_one_more_life_than_places_goes_to_the_place_that_was_free_first() -> None:
    apart = [
        {"role": "pserver", "rank": 0, "address": "10.0.1.0"},
        {"role": "trainer", "rank": 0, "address": "10.0.0.0"},
    ]
    served = {**life(0, "p", kept=90.0), "role": "pserver", "address": "10.0.1.0"}
    first, second = ({**life(0, boot, kept=90.0), "role": "trainer"} for boot in ("a", "b"))
    found = account(
        [
            told(0, "run_started", key="k", job="j"),
            told(5, "generation_made", generation=1, members=apart, resume=None),
            OVER,
            ledger(100, 1, served, first, second),
        ]
    )
    assert found.places == 2
    assert found.seconds["kept"] == pytest.approx(270.0)
