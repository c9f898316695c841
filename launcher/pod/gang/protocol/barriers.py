"""What the leader makes of all trainers' marks: the barriers passed, the values that all may read, waits without end.

No I/O here. Marks are levels: seeing some twice, late, out of order or not at all does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from launcher.pod.gang.protocol.codec import as_json
from launcher.pod.gang.protocol.messages import LeaderMessage, Marks, Status, Trainer, Wait
from launcher.pod.settings.nouns import Role
from launcher.text import visible

SHARED_BY_ONE = 64 * 1024
SHARED_BY_ALL = 512 * 1024
# So many passed names stay, whether anybody is seen to wait or not: old marks that come late may hide one who does.
REMEMBERED = 32
_LONGEST_SHOWN = 128  # characters of a name in a sentence


def gathered(
    marks: Sequence[Marks], before: LeaderMessage, processes: int = 1
) -> tuple[tuple[str, ...], dict[str, dict[str, str]]]:
    """Return the passed barriers and the shared values; `marks` are all trainers', by rank, `before` the last word.

    Each member has so many trainers as `processes` says.

    A barrier is passed when every trainer stands at it, and stays so while one does. Of the values those of the
    lowest ranks are kept; one that would make them larger than SHARED_BY_ALL together is left out. While a member's
    marks are missing nothing changes: no rank is sure.
    """
    members = before.generation.members if before.generation else ()
    if len(marks) < processes * sum(who.role is not Role.PSERVER for who in members):
        return before.passed, {rank: dict(shared) for rank, shared in before.shared.items()}
    return _passed([set(each.at) for each in marks], before.passed), _shared(marks)


def deadlocked(trainers: Sequence[Trainer | Status], word: LeaderMessage) -> str:
    """Return which wait cannot end, and why, or nothing; `trainers` are all of the gang's, by rank.

    A trainer that does nothing but wait goes on only when one of its waits ends. One that works may still come
    anywhere; one that is done, or waits for such a one, comes nowhere. That a status is late does no harm: only the
    leader's own word ends a wait.
    """
    done = {rank for rank, trainer in enumerate(trainers) if trainer.trained == word.number}
    still = done | {rank for rank, trainer in enumerate(trainers) if trainer.waits}
    # Of a thousand trainers most wait for the same.
    waits = {wait for trainer in trainers for wait in trainer.waits}
    awaited = {wait: _awaited(wait, trainers) for wait in waits}
    while True:
        may_end = {wait for wait, ranks in awaited.items() if _may_end(wait, ranks, still, word)}
        moving = {rank for rank in still - done if not may_end.isdisjoint(trainers[rank].waits)}
        if not moving:
            break
        still -= moving
    first = {wait: rank for rank in sorted(still - done, reverse=True) for wait in trainers[rank].waits}
    found = [_why(rank, wait, still.intersection(awaited[wait]), trainers, done) for wait, rank in first.items()]
    return min(found, default=(False, 0, ""))[-1]


def weight(shared: Mapping[str, str]) -> int:
    """Return what shared values weigh: their bytes in a status, with the quotes, the colon and the comma."""
    return sum(len(as_json(key)) + len(as_json(text)) + 2 for key, text in shared.items())


def _awaited(wait: Wait, trainers: Sequence[Trainer | Status]) -> Sequence[int]:
    """Return the ranks of which all are needed at a barrier, or of which one is to share a value."""
    if wait.value:
        return range(len(trainers)) if wait.rank is None else (wait.rank,)
    return [rank for rank, trainer in enumerate(trainers) if wait.name not in trainer.marks.at]


def _may_end(wait: Wait, awaited: Sequence[int], still: AbstractSet[int], word: LeaderMessage) -> bool:
    if wait.value:
        return any(rank not in still or wait.name in word.shared.get(str(rank), {}) for rank in awaited)
    return wait.name in word.passed or still.isdisjoint(awaited)


def _why(
    rank: int,
    wait: Wait,
    absent: AbstractSet[int],
    trainers: Sequence[Trainer | Status],
    done: AbstractSet[int],
) -> tuple[bool, int, str]:
    """Return why a trainer's wait cannot end, behind what sorts such sentences: who is done comes first."""
    other = min(absent - {rank} or absent, key=lambda other: (other not in done, other))
    why = f"trainer {other} {'is done' if other in done else f'waits {_for_what(trainers[other].waits[0])}'}"
    if other == rank:
        why = "cannot share it while it waits"
    return other not in done, rank, f"trainer {rank} waits {_for_what(wait)}, and {why}"


def _for_what(wait: Wait) -> str:
    name = repr(visible(wait.name, _LONGEST_SHOWN))
    if not wait.value:
        return f"at {name}"
    return f"for {name} of {'any trainer' if wait.rank is None else f'trainer {wait.rank}'}"


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
