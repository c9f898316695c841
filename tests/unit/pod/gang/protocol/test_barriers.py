"""Barriers and shared values of a whole gang: a leader that sees the trainers' marks early, late or never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.pod.gang.here.requests import Answer, Barrier
from launcher.pod.gang.here.session import HereSession
from launcher.pod.gang.protocol.barriers import REMEMBERED, SHARED_BY_ALL, SHARED_BY_ONE, gathered, weight
from launcher.pod.gang.protocol.codec import encode
from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Marks, Status, Who
from launcher.pod.settings.nouns import Role

WORD = LeaderMessage(generation=Generation(number=1, members=(), digest=""))


def at(*names: str) -> Marks:
    return Marks(at=names)


@pytest.mark.parametrize(
    ("marks", "before", "passed"),
    [
        ((), ("b",), ()),
        ((at("b"), at()), (), ()),
        ((at("b"), at("c")), (), ()),
        ((at("b"), at("b")), (), ("b",)),
        ((at("a", "b"), at("b", "a")), (), ("a", "b")),
        ((at("b"), at("c")), ("b",), ("b",)),
        ((at("b", "c"), at("c")), ("b",), ("b", "c")),
    ],
)
def test_a_barrier_is_passed_when_every_trainer_stands_at_it_and_stays_so(
    marks: Sequence[Marks], before: tuple[str, ...], passed: tuple[str, ...]
) -> None:
    assert gathered(marks, replace(WORD, passed=before))[0] == passed


def test_of_the_names_at_which_nobody_stands_any_more_the_latest_are_remembered() -> None:
    before = tuple(f"pass-{number}" for number in range(REMEMBERED + 3))
    passed, _ = gathered((at("pass-1"), at()), replace(WORD, passed=before))
    assert passed == ("pass-1", *before[3:])


def test_while_a_trainer_is_not_seen_nothing_changes() -> None:
    roles = (Role.PSERVER, Role.TRAINER, Role.NODE)
    members = tuple(Who(role=role, address=role, uid="", boot="") for role in roles)
    generation = Generation(number=1, members=members, digest="")
    before = LeaderMessage(generation=generation, passed=("a",), shared={"1": {"k": "1"}})
    assert gathered((Marks(at=("b",), shared={"k": "2"}),), before) == (("a",), {"1": {"k": "1"}})
    assert gathered((at("b"), at("b")), before) == (("a", "b"), {})


def test_each_of_a_pod_s_trainers_is_waited_for() -> None:
    members = tuple(Who(role=Role.NODE, address=address, uid="", boot="") for address in ("a", "b"))
    word = LeaderMessage(generation=Generation(number=1, members=members, digest=""))
    assert gathered([at("b")] * 3, word, 2)[0] == ()
    assert gathered([at("b")] * 4, word, 2)[0] == ("b",)


def test_values_are_gathered_by_rank() -> None:
    marks = (Marks(shared={"a": "1"}), Marks(), Marks(shared={"a": "2", "b": "3"}))
    assert gathered(marks, WORD)[1] == {"0": {"a": "1"}, "2": {"a": "2", "b": "3"}}


def test_beyond_the_limit_the_lowest_ranks_values_are_kept() -> None:
    marks = [Marks(shared={"k": "x" * 60_000}) for _ in range(10)]
    shared = gathered(marks, WORD)[1]
    assert sorted(shared, key=int) == [str(rank) for rank in range(8)]
    assert sum(weight(each) for each in shared.values()) <= SHARED_BY_ALL


def test_a_status_with_as_many_tiny_values_as_there_may_be_can_be_sent() -> None:
    count = SHARED_BY_ONE // weight({"00000": "1"})
    tiny = {f"{number:05}": "1" for number in range(count)}
    marks = [Marks(shared=tiny)] * 9
    who = Who(role=Role.NODE, address="10.0.0.1", uid="", boot="")
    word = replace(WORD, shared=gathered(marks, WORD)[1])
    assert len(word.shared) == 9
    assert len(encode(Status(who=who, marks=marks[0], word=word))) < SHARED_BY_ALL + SHARED_BY_ONE + 2000


class Gang:
    """Trainers that pass the same barriers, one after the other, and news of them that goes its own ways."""

    def __init__(self, trainers: int, barriers: int) -> None:
        self.names = [f"pass-{number}" for number in range(barriers)]
        self.sessions: list[HereSession[int]] = [
            HereSession(number=1, rank=rank, trainers=trainers, over="") for rank in range(trainers)
        ]
        self.done = [0] * trainers
        self.arrived = [0] * trainers
        self.told = [[session.marks] for session in self.sessions]
        self.seen = [session.marks for session in self.sessions]
        self.words = [WORD]

    def arrive(self, rank: int) -> None:
        """Let a trainer that is between two barriers go to the next."""
        if self.arrived[rank] == self.done[rank] < len(self.names):
            self.arrived[rank] += 1
            session = self.sessions[rank]
            self._answered(rank, session.ask(self.done[rank], Barrier(name=self.names[self.done[rank]])))

    def news(self, rank: int, which: int) -> None:
        """Let the leader see some marks of a trainer, of now or of any time before."""
        self.seen[rank] = self.told[rank][which % len(self.told[rank])]
        passed, shared = gathered(self.seen, self.words[-1])
        self.words.append(replace(WORD, passed=passed, shared=shared))

    def hear(self, rank: int, which: int) -> None:
        """Let a trainer's service hear a word, the last or any before."""
        self._answered(rank, self.sessions[rank].hear(self.words[which % len(self.words)]))

    def deliver_all(self) -> None:
        """Let all go on, and the last news and words come to everybody, until nothing is new."""
        for _ in range(2 * len(self.names) + 2):
            for rank in range(len(self.sessions)):
                self.arrive(rank)
                self.news(rank, -1)
            for rank in range(len(self.sessions)):
                self.hear(rank, -1)

    def _answered(self, rank: int, answers: dict[int, Answer]) -> None:
        for number, answer in answers.items():
            assert answer == {"ok": None}
            assert number == self.done[rank]
            assert min(self.arrived) > number, "released before all have arrived"
            self.done[rank] += 1
        self.told[rank].append(self.sessions[rank].marks)


# Mostly the latest news, sometimes older ones, or the first of all.
WHICH = st.sampled_from([-1, -1, -1, -1, -2, -3, 0])
STEPS = st.tuples(st.sampled_from(["arrive", "news", "hear"]), st.integers(0, 3), WHICH)


@settings(max_examples=300)
@given(st.integers(1, 4), st.integers(1, 6), st.lists(STEPS, max_size=60))
def test_nobody_is_released_early_and_nobody_waits_for_ever(
    trainers: int, barriers: int, steps: list[tuple[str, int, int]]
) -> None:
    gang = Gang(trainers, barriers)
    for what, rank, which in steps:
        if what == "arrive":
            gang.arrive(rank % trainers)
        else:
            getattr(gang, what)(rank % trainers, which)
    gang.deliver_all()
    assert gang.done == [barriers] * trainers
    for session in gang.sessions:
        assert session.marks.at == ()
        assert next(iter(session.ask(99, Barrier(name=gang.names[0])).values())).keys() == {"misuse"}


def test_old_news_of_one_who_waits_does_not_make_the_leader_forget_the_barrier() -> None:
    gang = Gang(2, 1)
    for rank in (0, 1):
        gang.arrive(rank)
        gang.news(rank, -1)
    gang.hear(1, -1)
    gang.news(1, -1)
    gang.news(0, 0)
    gang.deliver_all()
    assert gang.done == [1, 1]


def test_a_long_run_forgets_what_is_passed() -> None:
    gang = Gang(2, 3 * REMEMBERED)
    gang.deliver_all()
    assert gang.done == [3 * REMEMBERED] * 2
    assert len(gang.words[-1].passed) == REMEMBERED
