"""Waits that cannot end: a table of them, and any programs whose news come late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.pod.gang.here.requests import Answer, Ask, Barrier, Get, Share
from launcher.pod.gang.here.session import HereSession
from launcher.pod.gang.protocol.barriers import deadlocked, gathered
from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Marks, Trainer, Wait

WORD = LeaderMessage(generation=Generation(number=1, members=(), digest=""))
WORKS = Trainer()
DONE = Trainer(trained=1)


def at(*names: str, left: Sequence[str] = ()) -> Trainer:
    """Return one that waits at barriers, and ran out of time at others."""
    return replace(WORKS, marks=Marks(at=(*names, *left)), waits=tuple(Wait(name=name) for name in names))


def wants(key: str, rank: int | None = None) -> Trainer:
    return replace(WORKS, waits=(Wait(name=key, value=True, rank=rank),))


ROWS = {
    "all work": ((WORKS, WORKS), ""),
    "all are done": ((DONE, DONE), ""),
    "one is done and others work": ((DONE, WORKS), ""),
    "one waits and another works": ((at("b"), WORKS), ""),
    "all are there": ((at("b"), at("b")), ""),
    "one who ran out of time had come": ((at("b"), replace(DONE, marks=Marks(at=("b",)))), ""),
    "of two waits of one trainer the other may end": ((at("a", "b"), at("b")), ""),
    "one had come, and gone on to another": ((at("b", left=["a"]), at("a")), ""),
    "a value of one that works": ((wants("k", 1), WORKS), ""),
    "a value of any, and one works": ((wants("k"), at("b"), WORKS), ""),
    "a chain that ends with one that works": ((wants("k", 1), wants("l", 2), WORKS), ""),
    "a rank that is none": ((wants("k", 7), DONE), ""),
    "a barrier, and one is done": (
        (DONE, at("batch-3")),
        "trainer 1 waits at 'batch-3', and trainer 0 is done",
    ),
    "a barrier, and one is done while another works": (
        (WORKS, at("b"), DONE),
        "trainer 1 waits at 'b', and trainer 2 is done",
    ),
    "two barriers": ((at("a"), at("b")), "trainer 0 waits at 'a', and trainer 1 waits at 'b'"),
    "a value of one that is done": (
        (wants("k", 1), DONE),
        "trainer 0 waits for 'k' of trainer 1, and trainer 1 is done",
    ),
    "a value of any, and none is left": (
        (DONE, wants("k")),
        "trainer 1 waits for 'k' of any trainer, and trainer 0 is done",
    ),
    "a value of its own": (
        (wants("k"),),
        "trainer 0 waits for 'k' of any trainer, and cannot share it while it waits",
    ),
    "each for the other": (
        (wants("k", 1), at("b")),
        "trainer 0 waits for 'k' of trainer 1, and trainer 1 waits at 'b'",
    ),
    "who is done is named first": (
        (at("a"), at("b"), DONE),
        "trainer 0 waits at 'a', and trainer 2 is done",
    ),
    "a name that is none": ((at("\x1b[31m" + "x" * 200), DONE), f"'?[31m{'x' * 120}...'"),
}


@pytest.mark.parametrize(("trainers", "said"), ROWS.values(), ids=ROWS)
def test_a_wait_that_cannot_end_is_said(trainers: Sequence[Trainer], said: str) -> None:
    found = deadlocked(trainers, WORD)
    assert found == said if not said.startswith("'?") else said in found


def test_what_the_leader_has_passed_or_handed_on_is_not_waited_for_any_more() -> None:
    word = replace(WORD, passed=("b",), shared={"0": {"k": "1"}})
    assert deadlocked((DONE, at("b")), word) == ""
    assert deadlocked((DONE, wants("k", 0)), word) == ""
    assert deadlocked((DONE, wants("k")), word) == ""
    assert deadlocked((DONE, wants("k", 1)), word) != ""


@dataclass
class Programs:
    """Trainers that ask one thing after the other; their statuses, and the leader's words, come late but in order."""

    scripts: Sequence[Sequence[Ask]]
    sessions: list[HereSession[int]] = field(init=False)
    at: list[int] = field(init=False)
    busy: list[bool] = field(init=False)
    told: list[list[Trainer]] = field(init=False)
    seen: list[Trainer] = field(init=False)
    words: list[list[LeaderMessage]] = field(init=False)
    word: LeaderMessage = WORD
    said: str = ""

    def __post_init__(self) -> None:
        count = len(self.scripts)
        self.sessions = [HereSession(number=1, rank=rank, trainers=count, over="") for rank in range(count)]
        self.at, self.busy = [0] * count, [False] * count
        self.told, self.words = [[] for _ in self.scripts], [[] for _ in self.scripts]
        self.seen = [WORKS] * count

    def step(self, rank: int) -> None:
        """Let a trainer that works ask for the next thing."""
        if not self.busy[rank] and self.at[rank] < len(self.scripts[rank]):
            self.busy[rank] = True
            self._answered(rank, self.sessions[rank].ask(rank, self.scripts[rank][self.at[rank]]))

    def tell(self, rank: int) -> None:
        """Let a launcher publish how its trainer is."""
        session, done = self.sessions[rank], self.at[rank] == len(self.scripts[rank])
        status = replace(WORKS, marks=session.marks, waits=session.waits, trained=int(done))
        self.told[rank].append(status)

    def news(self, rank: int) -> None:
        """Let the leader hear the next status of a trainer, and decide."""
        if self.told[rank]:
            self.seen[rank] = self.told[rank].pop(0)
        passed, shared = gathered([status.marks for status in self.seen], self.word)
        self.word = replace(WORD, passed=passed, shared=shared)
        self.said = self.said or deadlocked(self.seen, self.word)
        for words in self.words:
            words.append(self.word)

    def hear(self, rank: int) -> None:
        """Let a launcher hear the next word."""
        if self.words[rank]:
            self._answered(rank, self.sessions[rank].hear(self.words[rank].pop(0)))

    def finish(self) -> bool:
        """Let everything come, until nothing is new; return whether all trainers are done."""
        for _ in range(4 * sum(map(len, self.scripts)) + 4):
            for rank in range(len(self.scripts)):
                self.step(rank)
                self.tell(rank)
                while self.told[rank]:
                    self.news(rank)
            for rank in range(len(self.scripts)):
                while self.words[rank]:
                    self.hear(rank)
        return all(at == len(script) for at, script in zip(self.at, self.scripts, strict=True))

    def _answered(self, rank: int, answers: dict[int, Answer]) -> None:
        if answers:
            self.busy[rank] = False
            self.at[rank] += 1


NAMES = st.sampled_from(["a", "b", "c"])
ASK = st.one_of(
    st.builds(Barrier, name=NAMES),
    st.builds(Share, key=NAMES, text=st.just("1")),
    st.builds(Get, key=NAMES, rank=st.sampled_from([None, 0, 1, 2])),
)
STEPS = st.tuples(st.sampled_from(["step", "step", "tell", "news", "hear"]), st.integers(0, 2))


@settings(max_examples=1000)
@given(st.lists(st.lists(ASK, max_size=4), min_size=1, max_size=3), st.lists(STEPS, max_size=60))
def test_it_is_said_of_programs_that_hang_and_of_no_others(
    scripts: list[list[Ask]], steps: list[tuple[str, int]]
) -> None:
    world = Programs(scripts)
    for what, rank in steps:
        getattr(world, what)(rank % len(scripts))
    early = world.said
    complete = world.finish()
    assert bool(world.said) is not complete
    assert not (early and complete)


def test_uneven_shards_are_found_while_news_is_under_way() -> None:
    """The commonest of all: one trainer has a batch more."""
    world = Programs([[Barrier(name=f"batch-{number}") for number in range(3 + rank)] for rank in range(2)])
    assert not world.finish()
    assert world.said == "trainer 1 waits at 'batch-3', and trainer 0 is done"
