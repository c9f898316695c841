"""What the leader makes of all trainers' marks: the barriers that are passed, the values that all may read.

No I/O here. Marks are levels: seeing some twice, late, out of order or not at all does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launcher.pod.gang.protocol.codec import as_json
from launcher.pod.gang.protocol.messages import LeaderMessage, Marks
from launcher.pod.settings.nouns import Role

SHARED_BY_ONE = 64 * 1024
SHARED_BY_ALL = 512 * 1024
# So many passed names stay, whether anybody is seen to wait or not: old marks that come late may hide one who does.
REMEMBERED = 32


def gathered(marks: Sequence[Marks], before: LeaderMessage) -> tuple[tuple[str, ...], dict[str, dict[str, str]]]:
    """Return the passed barriers and the shared values; `marks` are all trainers', by rank, `before` the last word.

    A barrier is passed when every trainer stands at it, and stays so while one does. Of the values those of the
    lowest ranks are kept; one that would make them larger than SHARED_BY_ALL together is left out. While a member's
    marks are missing nothing changes: no rank is sure.
    """
    members = before.generation.members if before.generation else ()
    if len(marks) < sum(who.role is not Role.PSERVER for who in members):
        return before.passed, {rank: dict(shared) for rank, shared in before.shared.items()}
    return _passed([set(each.at) for each in marks], before.passed), _shared(marks)


def weight(shared: Mapping[str, str]) -> int:
    """Return what shared values weigh: their bytes in a status, with the quotes, the colon and the comma."""
    return sum(len(as_json(key)) + len(as_json(text)) + 2 for key, text in shared.items())


def _passed(standing: Sequence[set[str]], before: tuple[str, ...]) -> tuple[str, ...]:
    if not standing:
        return ()
    somewhere, everywhere = set.union(*standing), set.intersection(*standing)
    passed = (*before, *sorted(everywhere.difference(before)))
    old, recent = passed[:-REMEMBERED], passed[-REMEMBERED:]
    return (*(name for name in old if name in somewhere), *recent)


def _shared(marks: Sequence[Marks]) -> dict[str, dict[str, str]]:
    room = SHARED_BY_ALL
    shared: dict[str, dict[str, str]] = {}
    for rank, each in enumerate(marks):
        for key, text in each.shared.items():
            if weight({key: text}) <= room:
                shared.setdefault(str(rank), {})[key] = text
                room -= weight({key: text})
    return shared
