"""Which slot has which shards: a function of the slots that take part alone, so that it is written down nowhere.

No I/O here. A slot is a completion index. All `most` slots have the shards slot, slot + most, and so on. Where some
are absent their shards go to those that are there, and everybody else keeps what it has, as far as equal loads allow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """Whose shards are asked for: a rank of so many trainers, and the slots of all of them where these are known."""

    rank: int
    trainers: int
    most: int  # trainers that there may be in a later start
    slots: tuple[int, ...] = ()

    @property
    def by_slot(self) -> bool:
        """Whether the shards stay with their slots while the number of trainers changes."""
        return bool(self.slots)

    def of(self, shards: int) -> tuple[int, ...]:
        """Return this rank's part of so many shards, in order."""
        if self.by_slot:
            return deal(shards, self.most, self.slots)[self.slots[self.rank]]
        return tuple(range(self.rank, shards, self.trainers))


def deal(shards: int, most: int, slots: Collection[int]) -> dict[int, tuple[int, ...]]:
    """Return each slot's shards: every shard once, and no slot with two more than another.

    A slot from `most` on is a spare's: it has the place of an absent one, and of its shards all.
    """
    places = _places(most, slots)
    dealt = {place: [*range(place, shards, most)] for place in range(most)}
    # One by one from the top, as a Job's pods go when it is scaled down: so each narrower deal follows from the next.
    for absent in sorted(dealt.keys() - places.values(), reverse=True):
        _spread(sorted(dealt.pop(absent)), dealt)
    return {slot: tuple(sorted(dealt[place])) for slot, place in places.items()}


def _places(most: int, slots: Collection[int]) -> dict[int, int]:
    """Return each slot's place in the deal of all: its own, for spares those of the absent, the lowest first."""
    absent = sorted(set(range(most)) - set(slots))
    spares = sorted(slot for slot in slots if slot >= most)
    return {slot: slot for slot in sorted(slots) if slot < most} | dict(zip(spares, absent, strict=False))


def _spread(shards: Iterable[int], dealt: dict[int, list[int]]) -> None:
    """Give shards to those who have room, so that all have as many in the end, or one more.

    Each goes to the one that it prefers: it goes there again when others are absent beside this one.
    """
    shards = tuple(shards)
    fewest, more = divmod(sum(map(len, dealt.values())) + len(shards), len(dealt))
    for shard in shards:
        may_have_more = sum(len(each) > fewest for each in dealt.values()) < more
        room = [place for place, each in dealt.items() if len(each) < fewest + may_have_more]
        dealt[min(room, key=lambda place: _preference(shard, place))].append(shard)


def _preference(shard: int, place: int) -> int:
    # The same in every Python, as `hash` need not be, and a tenth of the price of a digest.
    mixed = (shard + 1) * 0x9E3779B97F4A7C15 ^ (place + 1) * 0xC2B2AE3D27D4EB4F
    return mixed * 0xFF51AFD7ED558CCD & _MASK
