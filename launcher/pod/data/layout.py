"""Where a rank's shards are on the volume, decided from the directories that are there.

No I/O here. Two layouts: `<rank>/data` and `data/<rank>`; one of them, or a sentence about what is wrong.
Only the rank whose shard is missing says so: it may have staged it before.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from launcher.contract import DATA
from launcher.pod.data.deal import Portion
from launcher.pod.outcome import ShardError

NUMBER = re.compile(r"[0-9]{1,9}")
LISTED = 10  # names in one message


def find_shard(
    portion: Portion,
    *,
    job_dir: str,
    counted_by: str,
    by_rank: Collection[str],
    under_data: Collection[str],
) -> tuple[tuple[str, str], ...]:
    """Return the ways from the job's directory to the rank's shards, none where the job has no shards.

    `by_rank` are the numbers that have a `data` in them, `under_data` those inside `data`. Each of those who may be
    trainers in a later start is to have a shard then, too.
    """
    if by_rank and under_data:
        raise ShardError(
            f"{job_dir} holds shards in both layouts, {_first(by_rank)}/{DATA} and {DATA}/{_first(under_data)}: "
            "expected one of them; move the outdated one away"
        )
    numbers = by_rank or under_data
    if not numbers:
        return ()
    if len(numbers) < portion.most > portion.trainers:
        raise ShardError(
            f"{job_dir} has {len(numbers)} shards; expected one or more for each of up to {portion.most} trainers, "
            f"as {counted_by} says: split the data into {portion.most} or more"
        )
    trainers = portion.most if portion.by_slot else portion.trainers
    count = max(len(numbers), trainers)
    if set(numbers) != _first_of(count):
        count = trainers
    mine = tuple(str(number) for number in portion.of(count))
    if not set(mine) <= set(numbers) <= _first_of(count):
        wrong = _difference(numbers, _first_of(count))
        pattern = f"<rank>/{DATA}" if by_rank else f"{DATA}/<rank>"
        there_are = "there may be" if portion.by_slot else "there are"
        raise ShardError(
            f"{job_dir}/{pattern}: {wrong}; expected one or more for each trainer, from 0 without a gap; {there_are} "
            f"{trainers} trainers, as {counted_by} says: split the data into {trainers}, or start fewer trainers"
        )
    return tuple((number, DATA) if by_rank else (DATA, number) for number in mine)


def another_shard(ways: Sequence[tuple[str, str]], numbers: Collection[str]) -> tuple[str, str] | None:
    """Return the way to the first shard that another rank has, if there is one; `ways` are those to this rank's."""
    mine = {name for way in ways for name in way}
    others = [name for name in numbers if name not in mine]
    if not others:
        return None
    return (DATA, _first(others)) if ways[0][0] == DATA else (_first(others), DATA)


def _first_of(count: int) -> set[str]:
    return {str(number) for number in range(count)}


def _first(names: Collection[str]) -> str:
    return min(names, key=lambda name: (int(name), name))


def _difference(names: Collection[str], wanted: Collection[str]) -> str:
    missing = [name for name in wanted if name not in names]
    extra = [name for name in names if name not in wanted]
    found = [("missing", missing), ("not expected", extra)]
    return "; ".join(f"{what}: {_listed(those)}" for what, those in found if those)


def _listed(names: Collection[str]) -> str:
    ordered = sorted(names, key=lambda name: (int(name), name))
    more = len(ordered) - LISTED
    return ", ".join(ordered[:LISTED]) + (f" and {more} more" if more > 0 else "")
