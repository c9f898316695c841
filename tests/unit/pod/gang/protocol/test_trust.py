"""One row a rule: which statuses are believed, and whose verdict counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.gang.protocol.follower import Orders, follow
from launcher.pod.gang.protocol.lease import accounted
from launcher.pod.gang.protocol.messages import LeaderMessage, Stage, Status, Who
from launcher.pod.gang.protocol.reasons import unmet
from launcher.pod.gang.protocol.state import Heard
from launcher.pod.gang.protocol.trust import believed, stranger, unnamed
from launcher.pod.settings.nouns import Role
from tests.support.gang_world.views import NOW, OVER, RULES, gang, heard, of, status, view, who

KEYED = status(1, key="uid-1", gang="train", peers="a list")
LISTED = status(1, gang="train", peers="a list")

STRANGERS = [
    ("the same key", KEYED, status(2, key="uid-1"), ""),
    ("the same key, whatever its name and list", KEYED, status(2, key="uid-1", gang="b", peers="another"), ""),
    ("another key", KEYED, status(2, key="uid-2", gang="train"), "of another run answers there, 'train' ('uid-2')"),
    ("no key yet, the same name and list", KEYED, status(2, gang="train", peers="a list"), ""),
    ("no key yet, and another name", KEYED, status(2, gang="eval"), "of another job answers there, 'eval'"),
    ("no keys, the same name and list", LISTED, status(2, gang="train", peers="a list"), ""),
    ("no keys, another name", LISTED, status(2, gang="eval", peers="a list"), "of another job answers there"),
    ("no keys, another list", LISTED, status(2, gang="train", peers="b"), "with other LAUNCHER_PEERS"),
    ("a name that moves a terminal", LISTED, status(2, gang="\x1b[2J"), "'?[2J'"),
    ("a name without end", LISTED, status(2, gang="x" * 9999), "xxx...'"),
]


@pytest.mark.parametrize(("mine", "other", "why"), [row[1:] for row in STRANGERS], ids=[row[0] for row in STRANGERS])
def test_who_is_a_stranger(mine: Status, other: Status, why: str) -> None:
    found = stranger(other, mine)
    assert why in found
    assert bool(why) == bool(found)


def test_of_a_stranger_nothing_is_believed_but_that_it_is_there() -> None:
    found = believed({"10.0.0.2": heard(status(2, key="uid-2")), "10.0.0.3": Heard(refused=True)}, KEYED)
    assert found["10.0.0.2"].status is None
    assert found["10.0.0.2"].stranger
    assert found["10.0.0.3"] == Heard(refused=True)
    member = Who(role=Role.NODE, address="10.0.0.2", uid="", boot="2.1")
    assert not accounted(member, found["10.0.0.2"], 1), "a stranger says nothing of who was there before"


SEALED = LeaderMessage(stage=Stage.OVER, verdict=OVER)
VERDICTS = [
    ("of a leader with my key", "uid-1", "uid-1", SEALED, True),
    ("of a leader without a key, for nobody", "", "", SEALED, False),
    ("for my generation", "", "", replace(SEALED, generation=gang()), True),
    ("for a generation of others", "", "", replace(SEALED, generation=gang(1, who(7), who(8))), False),
    ("before a generation, for those whom its leader heard", "", "", replace(SEALED, boots=("2.1",)), True),
    ("before a generation, for others", "", "", replace(SEALED, boots=("9.1",)), False),
    ("of a leader whose key I was not told", "uid-1", "", replace(SEALED, boots=("2.1",)), True),
]


@pytest.mark.parametrize(
    ("theirs", "mine", "word", "counts"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS]
)
def test_whose_verdict_counts(theirs: str, mine: str, word: LeaderMessage, counts: bool) -> None:
    seen = view(status(1, key=theirs, word=word), status(2, key=mine), mine=2)
    assert follow(seen, RULES) == Orders(verdict=OVER if counts else None)


def test_a_verdict_names_those_who_cannot_know_it_by_a_key() -> None:
    keyed, listed = status(2, key="uid-1"), status(3)
    assert unnamed([keyed, listed], KEYED) == ("3.1",)
    assert unnamed([keyed, listed], LISTED) == ("2.1", "3.1")


def test_a_stranger_is_waited_for_by_its_name() -> None:
    seen = of(view(), 2, status=None, stranger="a launcher of another job answers there, 'eval'", sent=NOW)
    assert unmet(seen, RULES) == "10.0.0.2: a launcher of another job answers there, 'eval'"
