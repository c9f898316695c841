"""Each millisecond of a launcher is counted once; those of a training are kept or lost by its passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.contract import Spent
from launcher.pod.gang.protocol.state import ChildrenState, TrainerState
from launcher.pod.ledger import Ledger, OpenTraining, PassMark, doing_with, inside_of, seconds_of
from launcher.pod.outcome import Outcome
from launcher.pod.programs.policy import Cause, Instructions
from launcher.pod.settings.nouns import Role

DOINGS = (Spent.WAITING, Spent.STAGING, Spent.STARTING, Spent.OPEN, Spent.LEAVING)
EVERY = {word for name, word in vars(Spent).items() if name.isupper() and isinstance(word, str)}

times = st.integers(0, 5_000)
told = st.fixed_dictionaries({Spent.SAVING: st.integers(0, 3_000), Spent.BARRIER: st.integers(0, 3_000)})
turns = st.tuples(st.just("turn"), times, st.sampled_from(DOINGS), told)
passes = st.tuples(st.just("pass"), times, st.integers(0, 6), told)
ends = st.tuples(st.just("resume"), times, st.none() | st.integers(0, 6), st.none() | st.integers(-9_000, 50_000))
histories = st.lists(turns | passes | ends, max_size=60)


@given(begun=st.integers(0, 10**12), history=histories, late=times)
def test_the_sum_of_all_is_the_time_since_the_process_began(begun: int, history: list[tuple], late: int) -> None:  # type: ignore[type-arg]  # as hypothesis draws them
    ledger, now, inside = Ledger.since(begun), begun, Counter[str]()
    for what, passed, which, facts in history:
        now += passed
        if what == "resume":
            ledger = ledger.until(now, inside).decided(ledger.training.open_at(which, facts), which)
            continue
        inside.update(facts)
        ledger = ledger.turned(now, which, inside) if what == "turn" else ledger.until(now, inside).came_to(which)
        assert sum(ledger.milliseconds.values()) == now - begun
        assert min(ledger.milliseconds.values(), default=0) >= 0
    now += late
    ledger = ledger.until(now, inside)
    assert sum(ledger.milliseconds.values()) == now - begun
    assert set(ledger.milliseconds) <= EVERY - {Spent.UNKNOWN}
    assert sum(round(each * 1000) for each in seconds_of(ledger).values()) == now - begun


@given(history=st.lists(st.tuples(times, st.sampled_from(DOINGS)), max_size=40))
def test_each_state_has_what_passed_in_it(history: list[tuple[int, str]]) -> None:
    ledger, now, passed = Ledger.since(0), 0, Counter[str]()
    doing: str = Spent.STARTING
    for after, following in history:
        now += after
        passed[doing] += after
        ledger, doing = ledger.turned(now, following), following
    assert {state: ms for state, ms in ledger.milliseconds.items() if ms} == dict(+passed)


def trained(*passes: tuple[int, int], until: int = 10_000, resume: int | None = None) -> Ledger:
    """Return the ledger of a training that began after a second, and came to passes at these times."""
    ledger = Ledger.since(0).turned(1_000, Spent.OPEN).decided(0, resume)
    for at, number in passes:
        ledger = ledger.until(at).came_to(number)
    return ledger.turned(until, Spent.LEAVING)


CASES = [
    # at the beginning of each pass it is reported, and `done` is written at its end
    (((1_000, 0), (3_000, 1), (6_000, 2)), 1, 5_900, 4_900),
    (((1_000, 0), (3_000, 1), (6_000, 2)), 0, 2_990, 1_990),
    # at the end of each pass it is reported, before or after it is saved
    (((3_000, 0), (6_000, 1)), 1, 6_100, 5_100),
    (((3_000, 0), (6_000, 1)), 1, 5_950, 4_950),
    # nobody knows of the volume: the program's own way to the next pass, or to this one, counts
    (((1_000, 0), (3_000, 1), (6_000, 2)), 1, None, 5_000),
    (((3_000, 0), (6_000, 1)), 1, None, 5_000),
    # a volume whose clock is an hour off: no more than the program itself bounds
    (((1_000, 0), (3_000, 1), (6_000, 2)), 1, 3_606_000, 5_000),
    (((1_000, 0), (3_000, 1), (6_000, 2)), 1, -3_594_000, 0),
    (((1_000, 0), (3_000, 1), (6_000, 2), (8_000, 3)), 2, -3_594_000, 2_000),
    # a program that reports nothing
    ((), 4, 7_000, 6_000),
    ((), 4, None, 0),
    # from the beginning
    (((1_000, 0), (3_000, 1)), None, None, 0),
]


@pytest.mark.parametrize(("passes", "resume", "complete", "kept"), CASES)
def test_what_was_trained_until_the_pass_was_complete_is_kept(
    passes: tuple[tuple[int, int], ...], resume: int | None, complete: int | None, kept: int
) -> None:
    ledger = trained(*passes)
    after = ledger.decided(ledger.training.open_at(resume, complete), resume)
    assert after.milliseconds.get(Spent.KEPT, 0) == kept
    assert after.milliseconds.get(Spent.LOST, 0) == 9_000 - kept
    assert not after.milliseconds.get(Spent.OPEN)


@pytest.mark.parametrize("resume", [2, 3])
def test_a_training_without_a_new_pass_is_lost_as_a_whole(resume: int) -> None:
    ledger = trained((1_000, 4), (5_000, 4), resume=3)
    assert ledger.training.open_at(resume, 9_000) == 0


def test_an_open_training_stays_open_beside_what_was_decided_before() -> None:
    ledger = trained((1_000, 0), (4_000, 1)).decided(3_000, 0)
    ledger = ledger.turned(12_000, Spent.OPEN).turned(14_000, Spent.LEAVING)
    spent = {Spent.STARTING: 1_000, Spent.KEPT: 3_000, Spent.LOST: 6_000, Spent.LEAVING: 2_000, Spent.OPEN: 2_000}
    assert ledger.milliseconds == spent


def test_of_a_training_that_saves_and_waits_only_the_rest_is_open() -> None:
    ledger = Ledger.since(0).turned(0, Spent.OPEN).until(4_000, {Spent.SAVING: 500, Spent.BARRIER: 1_000})
    ledger = ledger.turned(10_000, Spent.LEAVING, {Spent.SAVING: 500, Spent.BARRIER: 3_000})
    assert ledger.milliseconds == {Spent.SAVING: 500, Spent.BARRIER: 3_000, Spent.OPEN: 6_500}


def test_a_long_wait_for_another_is_no_part_of_what_was_trained_after_a_pass() -> None:
    ledger = Ledger.since(0).turned(0, Spent.OPEN).came_to(0).until(1_000).came_to(1).until(2_000).came_to(2)
    ledger = ledger.until(2_500).turned(10_000, Spent.LEAVING, {Spent.BARRIER: 7_500})
    assert ledger.training.open == 2_500
    assert ledger.training.open_at(1, 1_990) == 1_990


def test_what_is_told_a_moment_early_is_counted_when_it_has_passed() -> None:
    """The clock is read before the trainer's wait is."""
    ledger = Ledger.since(0).turned(0, Spent.OPEN).until(1_000, {Spent.BARRIER: 1_003})
    assert ledger.milliseconds == {Spent.BARRIER: 1_000}
    assert ledger.until(1_010, {Spent.BARRIER: 1_003}).milliseconds == {Spent.BARRIER: 1_003, Spent.OPEN: 7}


def test_what_is_told_while_nothing_is_trained_counts_nowhere() -> None:
    assert Ledger.since(0).until(1_000, {Spent.BARRIER: 500}).milliseconds == {Spent.STARTING: 1_000}


def test_the_passes_that_are_remembered_are_limited() -> None:
    training = OpenTraining(open=1)
    for number in range(10_000):
        training = training.came_to(number, number)
    assert len(training.marks) == 100
    assert training.marks[-1] == PassMark(number=9_999, at=9_999, open=1)


@pytest.mark.parametrize(
    ("each", "inside"),
    [
        ([{Spent.BARRIER: 2.5, Spent.SAVING: 0.25}], {Spent.BARRIER: 2_500, Spent.SAVING: 250}),
        ([{Spent.BARRIER: 2.5}, {Spent.BARRIER: 0.5}], {Spent.BARRIER: 500, Spent.SAVING: 0}),
        ([{Spent.BARRIER: 2.5}, {}], {Spent.BARRIER: 0, Spent.SAVING: 0}),
        ([], {Spent.BARRIER: 0, Spent.SAVING: 0}),
    ],
)
def test_of_several_trainers_a_second_is_a_wait_where_all_wait(
    each: list[Mapping[str, float]], inside: Mapping[str, int]
) -> None:
    before = [{Spent.BARRIER: 10.0 * number} for number in range(len(each))]
    after = [{**its, Spent.BARRIER: its.get(Spent.BARRIER, 0.0) + 10.0 * number} for number, its in enumerate(each)]
    assert inside_of(before, after) == inside


DONE, RUNS = TrainerState(done=True), TrainerState()
NOTHING: frozenset[Role] = frozenset()
PSERVERS = frozenset({Role.PSERVER})
ALL = frozenset(Role)


def children(**facts: object) -> ChildrenState:
    return ChildrenState(**{"left": True, "serving": False, "trained": False, **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "run", "doing"),
    [
        (children(trainers=(RUNS,)), NOTHING, Spent.WAITING),
        (children(trainers=(RUNS,)), PSERVERS, Spent.STARTING),
        (children(trainers=(RUNS,), serving=True), PSERVERS, Spent.WAITING),
        (children(trainers=(RUNS, RUNS), serving=True), ALL, Spent.STARTING),
        (children(trainers=(RUNS, RUNS), begun=True), ALL, Spent.OPEN),
        (children(trainers=(DONE, RUNS), begun=True), ALL, Spent.OPEN),
        (children(trainers=(DONE, DONE), begun=True, trained=True), ALL, Spent.WAITING),
        (children(begun=True, trained=True, serving=True), ALL, Spent.OPEN),
        (children(trainers=(RUNS,), begun=True, told=True), ALL, Spent.LEAVING),
        (children(trainers=(RUNS,), begun=True, failure=Outcome(code=7, reason="it failed")), ALL, Spent.LEAVING),
    ],
    ids=[
        "until all are ready",
        "its pserver starts",
        "others' pservers start",
        "its trainers start",
        "they train",
        "one is done",
        "all here are done",
        "a pserver's pod serves",
        "told to stop",
        "a child failed",
    ],
)
def test_what_a_launcher_does_with_its_programs(state: ChildrenState, run: frozenset[Role], doing: str) -> None:
    assert doing_with(state, Instructions(run=run)) == doing
    ended = Cause(at=1.0, outcome=Outcome(code=76, reason="a member is lost"))
    assert doing_with(state, Instructions(run=run, cause=ended)) == Spent.LEAVING


def test_programs_that_go_on_for_a_while_after_a_stop_was_told_train() -> None:
    told = ChildrenState(left=True, serving=True, trained=False, told=True, trainers=(TrainerState(),), begun=True)
    both = frozenset(Role)
    assert doing_with(told, Instructions(run=both)) == Spent.LEAVING
    assert doing_with(told, Instructions(run=both, window=12.5)) == Spent.OPEN
