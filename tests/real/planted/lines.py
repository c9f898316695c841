"""The lines of a training at which a planted fault strikes: each uses up what it is given, at one line of its own.

A fault is what is there to be used up: reads that never end, a loop without an end, writes to a volume that is full.
So it stands at the line that a seed has drawn, with no frame below. Python 3.8, as all that programs import.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Work = Iterable[Any]


def read_shard(work: Work) -> bool:
    return any(False for _ in work)


def decode(work: Work) -> bool:
    return any(False for _ in work)


def augment(work: Work) -> bool:
    return any(False for _ in work)


def collate(work: Work) -> bool:
    return any(False for _ in work)


def forward(work: Work) -> bool:
    return any(False for _ in work)


def backward(work: Work) -> bool:
    return any(False for _ in work)


def count_words(work: Work) -> bool:
    return any(False for _ in work)


def write_cache(work: Work) -> bool:
    return any(False for _ in work)


LINES: tuple[Callable[[Work], bool], ...] = (
    read_shard,
    decode,
    augment,
    collate,
    forward,
    backward,
    count_words,
    write_cache,
)


def line_of(number: int) -> str:
    """Return where one of them uses it up, as a file's name and a line."""
    code = LINES[number].__code__
    return f"{code.co_filename.rpartition('/')[2]}:{code.co_firstlineno + 1}"
