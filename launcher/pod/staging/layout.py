"""Where a rank's shard is on the volume, decided from the directories that are there.

No I/O here. Two layouts: `<rank>/data` and `data/<rank>`; one of them, complete, or a sentence about what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from launcher.pod.outcome import ShardError

NUMBER = re.compile(r"[0-9]{1,9}")
LISTED = 10  # names in one message


def find_shard(
    rank: int, trainers: int, *, job_dir: str, counted_by: str, by_rank: Collection[str], under_data: Collection[str]
) -> tuple[str, ...]:
    """Return the way from the job's directory to the rank's shard, nothing where the job has no shards.

    `by_rank` are the numbers that have a `data` in them, `under_data` those inside `data`.
    """
    if by_rank and under_data:
        raise ShardError(
            f"{job_dir} holds shards in both layouts, {_first(by_rank)}/data and data/{_first(under_data)}: "
            "expected one of them; move the one away that is out of date"
        )
    if not by_rank and not under_data:
        return ()
    wrong = _difference(by_rank or under_data, {str(number) for number in range(trainers)})
    if wrong:
        pattern = "<rank>/data" if by_rank else "data/<rank>"
        raise ShardError(
            f"{job_dir}/{pattern}: {wrong}; expected one shard for each trainer, 0 to {trainers - 1}, "
            f"as {counted_by} says: split the data into {trainers}, or start as many trainers as there are shards"
        )
    return (str(rank), "data") if by_rank else ("data", str(rank))


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
