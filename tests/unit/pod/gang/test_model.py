"""The gang's protocol in a simulated world: every fault at every step, pairs of them, and whatever else chance finds.

MODEL_EXAMPLES sets how many random histories are tried, and MODEL_ROUNDS how often all pairs are.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launcher.pod.gang.protocol.budget import MOST_LEFT
from launcher.pod.gang.protocol.leader import TRANSITIONS
from launcher.pod.gang.protocol.messages import Stage
from launcher.pod.settings.nouns import Resize
from tests.support.gang_world.checks import Broken
from tests.support.gang_world.faults import FAULTS, WIDTHS, Fault, play
from tests.support.gang_world.world import START, World

# Nothing here waits: it computes, for up to a minute where nothing else runs.
pytestmark = pytest.mark.timeout(900)

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "250"))
ROUNDS = int(os.environ.get("MODEL_ROUNDS", "1"))
SPANS = (6.0, 18.0, 2.0, 12.0, 22.0)
LATER = (0.05, 3.0, 9.0, 0.7, 16.0, 1.5, 6.0)
WHAT = sorted(FAULTS)


@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_an_undisturbed_gang_starts_once_and_is_done(size: int, recorded: bool, separated: bool) -> None:
    world = play(World(size=size, recorded=recorded, separated=separated and size > 1), [])
    assert [verdict.code for verdict in world.job.checks.verdicts] == [0] * size
    assert list(world.job.checks.generations) == [1]
    assert world.job.checks.first < START + 25


MISTAKES = [
    (0, r"trainer 0 waits at 'pass-\d', and trainer 1 waits at 'elsewhere'"),
    (1, r"trainer 0 waits at 'pass-\d', and trainer 1 waits for 'nothing' of trainer 0"),
    (2, r"trainer 0 waits at 'pass-\d', and trainer 1 waits for 'nothing' of any trainer"),
    (3, r"trainer 0 waits at 'pass-\d', and trainer 1 is done"),
]


@pytest.mark.parametrize(("detail", "why"), MISTAKES)
def test_what_can_never_be_waited_for_ends_the_generation_with_its_sentence(detail: int, why: str) -> None:
    mistake = Fault(at=4.0, what="err", slot=1, detail=detail)
    checks = play(World(size=2, eager=True, talks=True), [mistake]).job.checks
    assert re.fullmatch(why, checks.generations[2].cause)
    assert [verdict.code for verdict in checks.verdicts] == [0, 0]


def steps(size: int, apart: float = 0.1) -> list[float]:
    """Return the moments in the life of an undisturbed gang at which something happens."""
    world = play(World(size=size), [])
    moments = sorted({round(float(line.split()[0]), 2) for line in world.story})
    return [at for before, at in itertools.pairwise([-1.0, *moments]) if at - before > apart]


def singles(size: int) -> Iterator[list[Fault]]:
    """Return every fault of every pod at every step, just before it or at once after; the details change."""
    for number, (what, slot, at) in enumerate(itertools.product(WHAT, range(size), steps(size))):
        early = number % 2 * 0.05
        yield [Fault(at=at - early, what=what, slot=slot, span=SPANS[number % len(SPANS)], detail=number % 24)]


def pairs(size: int, turn: int) -> Iterator[list[Fault]]:
    """Return every pair of faults of every two pods; moments and details change with each pair and each turn."""
    moments = steps(size)
    every = itertools.product(WHAT, WHAT, range(size), range(size))
    for number, (one, other, here, there) in enumerate(every, start=turn * 7919):
        at = moments[number % len(moments)]
        span, soon = SPANS[number // 3 % len(SPANS)], SPANS[number % len(SPANS)]
        yield [
            Fault(at=at, what=one, slot=here, span=span, detail=number // 5 % 24),
            Fault(at=at + LATER[number % len(LATER)], what=other, slot=there, span=soon, detail=number % 24),
        ]


def sweep(histories: Iterable[Sequence[Fault]], size: int, seed: int = 0) -> set[tuple[Stage, Stage]]:
    """Play each history, and return the transitions that were seen."""
    seen: set[tuple[Stage, Stage]] = set()
    for number, faults in enumerate(histories, start=seed):
        world = World(
            size=size,
            seed=number % 97,
            stubborn=number % 2 == 0,
            separated=number % 5 == 0,
            eager=number % 3 > 0,
            talks=number % 4 == 0,
            named=number % 7 == 3,
            restarts=(6, 1, 6, 0, 2)[number % 5],
        )
        try:
            seen.update(*(job.checks.stages for job in play(world, faults).jobs))
        except Broken as broken:
            pytest.fail(f"{broken}\n{faults}\n" + "\n".join(world.story))
    return seen


@pytest.mark.parametrize("size", [2, 3])
def test_any_fault_at_any_step_is_survived(size: int) -> None:
    sweep(singles(size), size)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_any_two_faults_are_survived(turn: int) -> None:
    sweep(pairs(2 + turn % 2, turn), 2 + turn % 2, seed=turn * 31)


def elastic(faults: Sequence[Fault], number: int, size: int = 3) -> World:
    """Play a history of a gang that may be narrower."""
    apart = number % 5 == 0
    spares = number % 11 == 0
    least = 1 + number % max(1, size - 1 - apart - spares)
    world = World(
        size=size,
        least=least,
        spares=spares,
        unit=2 if number % 13 == 0 and size - apart - spares > 2 else 1,
        asks=number % 3 == 1,
        noticed=number % 17 == 0,
        resize=tuple(Resize)[number % 3],
        seed=number % 97,
        stubborn=number % 2 == 0,
        separated=apart,
        eager=number % 4 > 0,
        talks=number % 7 == 0,
        named=number % 6 == 1,
        restarts=(6, 3)[number % 2],
    )
    try:
        return play(world, faults)
    except Broken as broken:
        pytest.fail(f"{broken}\n{number} {faults}\n" + "\n".join(world.story))


def test_any_change_of_width_at_any_step_is_survived() -> None:
    for number, (what, slot, at) in enumerate(itertools.product(WIDTHS, range(3), steps(3))):
        elastic([Fault(at=at, what=what, slot=slot, span=SPANS[number % len(SPANS)], detail=number % 24)], number)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_change_of_width_and_any_fault_before_or_after_it_are_survived(turn: int) -> None:
    moments, every = steps(3), [*sorted(WIDTHS), *WHAT]
    pairs = itertools.product(sorted(WIDTHS), every, range(3), (False, True))
    for number, (width, other, here, first) in enumerate(pairs, start=turn * 7919):
        at = moments[number % len(moments)]
        span, soon = SPANS[number // 3 % len(SPANS)], SPANS[number % len(SPANS)]
        both = [(width, here), (other, number // 7 % 3)]
        both = both if first else both[::-1]
        (one, one_slot), (two, two_slot) = both
        faults = [
            Fault(at=at, what=one, slot=one_slot, span=span, detail=number // 5 % 24),
            Fault(at=at + LATER[number % len(LATER)], what=two, slot=two_slot, span=soon, detail=number % 24),
        ]
        elastic(faults, number, size=3 + number % 2)


def widths(world: World) -> list[tuple[int, int]]:
    """Return how many members each generation had, and how many restarts it had cost."""
    return [(len(each.members), each.restarts) for each in world.job.checks.generations.values()]


def quiet(resize: Resize, *faults: Fault) -> World:
    return play(World(size=3, least=1, eager=True, talks=True, resize=resize), faults)


TWO_OF_THREE = Fault(at=0.5, what="scale", detail=1)
A_THIRD = Fault(at=9.0, what="scale", detail=2, span=1.0)


def test_two_begin_and_a_third_takes_part_after_a_pass_at_once_or_never() -> None:
    after_a_pass, at_once, never = (quiet(each, TWO_OF_THREE, A_THIRD) for each in Resize)
    assert widths(after_a_pass) == widths(at_once) == [(2, 0), (3, 0)]
    assert widths(never) == [(2, 0)]
    began = [re.findall(r"([\d.]+) .*gathering 1", "\n".join(world.story)) for world in (after_a_pass, at_once)]
    assert float(began[1][0]) < float(began[0][0]) - 0.1


def test_one_that_leaves_is_not_waited_for_and_one_that_is_lost_is_for_a_while() -> None:
    left = quiet(Resize.PASS, Fault(at=4.0, what="leave", slot=2))
    assert widths(left) == [(3, 0), (2, 0)]
    lost = quiet(Resize.PASS, Fault(at=4.0, what="vanish", slot=2, span=100.0))
    assert widths(lost) == [(3, 0), (2, 1)]
    back = quiet(Resize.PASS, Fault(at=4.0, what="vanish", slot=2, span=12.0))
    assert widths(back) == [(3, 0), (3, 1)]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_suspension_costs_nothing_also_where_the_pods_are_told_one_after_the_other(at_once: bool) -> None:
    most = 0
    for seed in range(40):
        world = World(size=5, least=1, eager=True, named=seed % 2 == 0, seed=seed, restarts=0)
        play(world, [Fault(at=2.0 + seed / 8, what="suspend", span=6.0, detail=4 + 5 * (not at_once))])
        assert {verdict.code for verdict in world.job.checks.verdicts} == {0}, "\n".join(world.story)
        assert {restarts for _, restarts in widths(world)} == {0}
        most = max(most, len(widths(world)))
    assert at_once or most > MOST_LEFT + 1, "no row of narrower and narrower starts was played"


def test_a_newcomer_whose_data_is_bad_ends_no_gang_that_trains_without_it() -> None:
    unfit = Fault(at=2.5, what="unfit", slot=2, detail=2, span=12.0)
    world = play(World(size=3, least=1, eager=True), [unfit, Fault(at=5.5, what="slow", slot=0, span=18.0)])
    assert widths(world) == [(3, 0), (2, 0)]
    assert {verdict.code for verdict in world.job.checks.verdicts} == {0}


def asleep_and_overtaken() -> Iterator[list[Fault]]:
    """Return how a gang sleeps, is replaced as a whole, and the new one fails early or late, or not at all."""
    life = steps(2, apart=0.0)
    for first, second in itertools.product(life, (0.2, 0.5, 0.8, 1.1, 1.3, 1.5, 2.0, 4.0)):
        yield [
            Fault(at=first, what="freeze", slot=1, span=14.0),
            Fault(at=first + 0.1, what="rack", span=0.5),
            Fault(at=first + 0.1 + second, what="fail"),
        ]


def replaced_twice() -> Iterator[list[Fault]]:
    """Return how a gang that lives on unheard is replaced as a whole, and then one of the new ones too."""
    for at, what, slot, detail in itertools.product((2.1, 3.8, 6.1), ("delete", "crash"), (0, 1), (0, 1)):
        for later in (2.5, 3.1, 4.0):
            yield [
                Fault(at=at, what="rack", span=2.0, detail=detail * 7),
                Fault(at=at + later, what=what, slot=slot, span=2.0, detail=detail),
            ]


@pytest.mark.parametrize("size", [2, 3])
def test_who_was_not_heard_of_is_waited_for_by_each_leader_that_follows(size: int) -> None:
    sweep(replaced_twice(), size)


def stuck_at_the_end() -> list[list[Fault]]:
    """Return how a pserver is stopped, which nobody notices before every trainer is done."""
    return [[Fault(at=at, what="stick", slot=1)] for at in (4.0, 5.0, 6.0, 7.0)]


def overtaken_while_it_begins() -> list[list[Fault]]:
    """Return how a newer run of the name comes while the first start is made."""
    return [[Fault(at=0.5 + moment / 40, what="apply", span=2.0, detail=3)] for moment in range(60)]


def left_at_any_moment() -> set[tuple[Stage, Stage]]:
    """Return the transitions of gangs whose programs ask whether all ends soon, of which one is told to stop."""

    def world(seed: int) -> World:
        return World(size=3, least=2, asks=True, eager=True, seed=seed)

    def stages(seed: int, *faults: Fault) -> set[tuple[Stage, Stage]]:
        return set().union(*(job.checks.stages for job in play(world(seed), faults).jobs))

    seen: set[tuple[Stage, Stage]] = set()
    for at in range(10, 120, 3):
        left = Fault(at=at / 10, what="leave", slot=2, span=2.0)
        seen |= stages(at, left) | stages(at, left, Fault(at=at / 10 + 0.3, what="apply", span=2.0, detail=3))
    for seed in range(8):  # just when the trainers are done
        story = "\n".join(play(world(seed), []).story)
        (done,) = re.findall(r"([\d.]+) .*goes on to checking", story)
        seen |= stages(seed, Fault(at=float(done) - 0.0005 * seed, what="leave", slot=2, span=2.0))
    return seen


def test_every_transition_happens() -> None:
    stories = (asleep_and_overtaken(), stuck_at_the_end(), overtaken_while_it_begins())
    seen = left_at_any_moment().union(*(sweep(each, 2) for each in stories))
    assert seen == set(TRANSITIONS)


FAULT = st.builds(
    Fault,
    at=st.integers(0, 300).map(lambda tenths: tenths / 10),
    what=st.sampled_from(WHAT),
    slot=st.integers(0, 2),
    span=st.sampled_from((0.5, 2.0, 6.0, 9.0, 12.0, 14.0, 18.0, 22.0)),
    detail=st.integers(0, 23),
)
WORLDS = st.fixed_dictionaries(
    {
        "size": st.sampled_from((3, 2, 1)),
        "seed": st.integers(0, 10_000),
        "restarts": st.sampled_from((6, 2, 0)),
        "recorded": st.booleans(),
        "separated": st.booleans(),
        "stubborn": st.booleans(),
        "eager": st.booleans(),
        "talks": st.booleans(),
    }
)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(WORLDS, st.lists(FAULT, min_size=1, max_size=4))
def test_any_history_keeps_the_rules(facts: dict[str, int], faults: list[Fault]) -> None:
    if facts["size"] == 1:
        facts = facts | {"separated": False}
    play(World(**facts), faults)  # type: ignore[arg-type]
