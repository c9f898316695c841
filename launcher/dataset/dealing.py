"""Deals records to shards: in turn, or to the shard with the fewest bytes.

No I/O here. A shard keeps its records in input order.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MANY = 64  # records a shard; a larger batch is cut into pieces


class Dealer:
    """Deals records to shards; `records` and `bytes` count those of each shard."""

    def __init__(self, count: int, *, by_bytes: bool, given: Sequence[tuple[int, int]] = ()) -> None:
        self.count, self.by_bytes = count, by_bytes
        self.records = [records for records, _ in given] or [0] * count
        self.bytes = [size for _, size in given] or [0] * count

    def deal(self, batch: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        """Yield each shard with its part of a batch."""
        pieces = self._by_bytes(batch) if self.by_bytes else self._in_turn(batch)
        for shard, piece in pieces:
            if piece:
                self.records[shard] += len(piece)
                yield shard, piece

    def _in_turn(self, batch: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        done = sum(self.records) % self.count
        for shard in range(self.count):
            yield shard, batch[(shard - done) % self.count :: self.count]

    def _by_bytes(self, batch: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        if len(batch) < _MANY * self.count:
            given: list[list[bytes]] = [[] for _ in range(self.count)]
            for record in batch:
                shard = self.bytes.index(min(self.bytes))
                given[shard].append(record)
                self.bytes[shard] += len(record) + 1
            yield from enumerate(given)
            return
        cuts = [len(batch) * piece // self.count for piece in range(self.count + 1)]
        pieces = [batch[begin:end] for begin, end in zip(cuts, cuts[1:])]  # noqa: B905, RUF007  # Python 3.8
        sizes = [sum(map(len, piece)) + len(piece) for piece in pieces]
        # The largest piece goes to the smallest shard: differences level out instead of adding up.
        largest = sorted(range(self.count), key=sizes.__getitem__, reverse=True)
        least = sorted(range(self.count), key=self.bytes.__getitem__)
        for shard, piece in zip(least, largest):  # noqa: B905  # Python 3.8 has no strict=
            self.bytes[shard] += sizes[piece]
            yield shard, pieces[piece]
