"""Who is the cause where a training stands: one row a gang, with where its programs stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.gang.protocol.blame import Stood, blamed, told_where
from launcher.pod.gang.protocol.messages import StackDigest
from launcher.pod.settings.nouns import Role


def place(rank: int, where: str = "", *, waits: bool = False, state: str = "", role: Role = Role.TRAINER) -> Stood:
    stack = StackDigest(role=role, rank=rank, digest=where and f"<{where}>", waits=waits, state=state, where=where)
    return Stood(stack=stack, address=f"10.0.0.{rank}", node=f"node-{'abcdefghij'[rank]}")


def waiting(rank: int) -> Stood:
    return place(rank, "all_reduce at train.py:41", waits=True)


def serving(rank: int, state: str = "", where: str = "run_server at train.py:9") -> Stood:
    return place(rank, where, waits=where.startswith("run"), state=state, role=Role.PSERVER)


READS = place(2, "read at data.py:17")
ALIKE = [place(rank, "_poll at lib.py:3") for rank in range(3)]
ROWS = [
    ("nobody is there", [], (), ""),
    ("one alone differs from nobody", [READS], (), ""),
    ("one does not wait", [waiting(0), waiting(1), READS], (2,), "trainer 2 on node-c is what the 2 others wait for"),
    (
        "one is elsewhere, though nobody is known to wait",
        [ALIKE[0], ALIKE[1], READS],
        (2,),
        "trainer 2 on node-c is at another place than the 2 others",
    ),
    (
        "of those that do not wait most stand alike: the one that does not is the cause",
        [waiting(0), *(place(rank, "_poll at lib.py:3") for rank in (1, 3, 4)), READS],
        (2,),
        "trainer 2 on node-c is what the 4 others wait for",
    ),
    (
        "two do not wait, each for itself",
        [waiting(0), place(1, "recv at a.py:1"), READS],
        (1, 2),
        "trainers 1, 2 are what the other waits for",
    ),
    (
        "two of two, both at work",
        [place(0, "recv at a.py:1"), place(1, "recv at a.py:9")],
        (0, 1),
        "the 2 trainers stand at different places",
    ),
    (
        "all are equal",
        [waiting(0), waiting(1), waiting(2)],
        (),
        "all 3 trainers stand at the same place: look at the network, and at what they all wait for",
    ),
    (
        "all are equal, and a pserver is at work",
        [waiting(0), waiting(1), serving(0), serving(1, where="sleep at slow.py:4")],
        (1,),
        "all 2 trainers stand at the same place; pserver 1 on node-b is what the other waits for",
    ),
    ("one is stopped", [waiting(0), place(1, state="stopped"), READS], (1,), "trainer 1 on node-b: stopped"),
    ("a pserver is stopped", [waiting(0), READS, serving(1, "stopped", "")], (1,), "pserver 1 on node-b: stopped"),
    ("the kernel has one", [waiting(0), place(1, state="in the kernel")], (1,), "trainer 1 on node-b: in the kernel"),
    ("the kernel's word on what is no Python is no reason", [waiting(0), place(1, state="sleeping")], (), ""),
    ("nothing is known of any", [place(0), place(1)], (), ""),
    (
        "nothing is known of one",
        [waiting(0), waiting(1), place(2)],
        (2,),
        "trainer 2 on node-c is at another place than the 2 others",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("places", "ranks", "words"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_who_is_the_cause(places: list[Stood], ranks: tuple[int, ...], words: str) -> None:
    blame = blamed(places)
    assert (tuple(each.stack.rank for each in blame.culprits), blame.words) == (ranks, words)


def test_where_they_stand_is_told_by_groups_the_rarest_first() -> None:
    assert told_where([waiting(0), waiting(1), READS, serving(0)]) == (
        "where the programs stood:\n"
        "trainer 2 on node-c: read at data.py:17\n"
        "2 trainers (0, 1): all_reduce at train.py:41\n"
        "pserver 0 on node-a: run_server at train.py:9"
    )


PLACES = st.builds(
    place,
    st.integers(0, 9),
    st.sampled_from(["", "f at a.py:1", "g at b.py:2"]),
    waits=st.booleans(),
    state=st.sampled_from(["", "", "stopped"]),
    role=st.sampled_from([Role.TRAINER, Role.PSERVER]),
)


@given(st.lists(PLACES, max_size=8))
def test_a_cause_is_one_of_them_and_never_all_but_where_all_differ(places: list[Stood]) -> None:
    blame = blamed(places)
    assert set(blame.culprits) <= set(places)
    if places and len(blame.culprits) == len(places):
        assert blame.words.endswith("stand at different places")
    assert bool(blame.culprits) <= bool(blame.words)
