"""Who has a place at the status server, and who goes for whom, as a table."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from launcher.pod.gang.status.rooms import (
    FROM_ONE,
    Full,
    GuestKind,
    Rooms,
    files_for,
    most_members,
    rooms_for,
    who_goes,
)

NEWCOMER, PROBE, STRANGER, MEMBER = GuestKind.NEWCOMER, GuestKind.PROBE, GuestKind.STRANGER, GuestKind.MEMBER
SMALL = Rooms(members=3, strangers=4, probes=2, newcomers=2)


@dataclass(frozen=True)
class Someone:
    name: str
    kind: GuestKind
    key: str
    idle: bool = True


def some(kind: GuestKind, *keys: str, idle: bool = True) -> list[Someone]:
    return [Someone(f"{kind.name.lower()} {number}", kind, key, idle) for number, key in enumerate(keys)]


CROWD = (
    *some(MEMBER, "a", "b", "c"),
    *some(STRANGER, "w", "x", "y", "z"),
    *some(PROBE, "k", "k"),
    *some(NEWCOMER, "n", "o"),
)


@pytest.mark.parametrize(
    ("kind", "key", "others", "goes"),
    [
        (NEWCOMER, "n", (), None),
        (NEWCOMER, "n", some(NEWCOMER, *"abcdefghij"), None),  # all places are free for a gang that comes at once
        (NEWCOMER, "n", some(NEWCOMER, *"abcdefghijk"), "newcomer 0"),
        (NEWCOMER, "n", CROWD, "newcomer 0"),
        (STRANGER, "v", some(STRANGER, *"wxy"), None),
        (STRANGER, "v", CROWD, "stranger 0"),
        (STRANGER, "v", [*some(STRANGER, "w", idle=False), *some(STRANGER, *"wxyz")[1:]], "stranger 1"),
        (PROBE, "v", CROWD, "probe 0"),
        (PROBE, "v", some(STRANGER, *"wxyz", idle=False), None),
        (MEMBER, "d", some(STRANGER, *"wxyz", idle=False), None),
        (MEMBER, "a", some(MEMBER, *"ab"), None),
        (MEMBER, "a", some(MEMBER, *"aba", idle=False), "member 0"),
        (MEMBER, "a", some(MEMBER, *"abc"), "member 0"),  # the room is full: its own, rather than another's
        (MEMBER, "d", some(MEMBER, *"abb"), "member 1"),
    ],
)
def test_who_goes(kind: GuestKind, key: str, others: list[Someone], goes: str | None) -> None:
    gone = who_goes(kind, key, others, SMALL)
    assert (gone.name if gone else None) == goes


@pytest.mark.parametrize(
    ("kind", "key", "others"),
    [
        (STRANGER, "v", some(STRANGER, *"wxyz", idle=False)),
        (PROBE, "v", some(PROBE, *"kk", idle=False)),
        (MEMBER, "d", some(MEMBER, *"abc")),
    ],
)
def test_where_nobody_can_go_there_is_no_place(kind: GuestKind, key: str, others: list[Someone]) -> None:
    with pytest.raises(Full):
        who_goes(kind, key, others, SMALL)


def test_one_address_takes_no_more_than_its_share() -> None:
    own = some(STRANGER, *["v"] * FROM_ONE)
    room = Rooms(members=3, strangers=2 * FROM_ONE)
    assert who_goes(STRANGER, "v", [*some(STRANGER, "w"), *own], room) == own[0]
    assert who_goes(STRANGER, "w", own, room) is None


def test_a_gang_has_a_place_for_each_of_its_members_and_some_more() -> None:
    assert rooms_for(1000).members > 1000
    assert rooms_for(1000).all - rooms_for(1000).members == rooms_for(1).all - rooms_for(1).members


@pytest.mark.parametrize("files", [700, 1024, 4096, 20_000])
def test_the_most_members_are_those_whose_files_fit(files: int) -> None:
    most = most_members(files)
    assert files_for(most) <= files < files_for(most + 1)


def test_a_gang_has_at_least_one_member() -> None:
    assert most_members(10) == 1
