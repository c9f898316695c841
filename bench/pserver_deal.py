"""Deals the tables of a pass anew for another number of Paddle's pservers: sparse rows by id, dense numbers in turn.

`python -m bench.pserver_deal PASS INTO PSERVERS [SHARDS]`; what Paddle 2.6.2 itself does stands at each rule.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from launcher.bridge import passes
from launcher.bridge.parts import shards as shards_for

LEVEL = 1  # gzip's quickest; the pservers' own files have 6


def owner(shard: int, shards: int, pservers: int) -> int:
    """Return the pserver that has this shard; a row's shard is its id modulo the shards."""
    return shard // (shards // pservers + (shards % pservers > 0))


def part(shard: int, shards: int, pservers: int) -> str:
    """Return the name of a shard's file: a pserver loads those at its shards' places in the sorted list of names."""
    return f"part-{owner(shard, shards, pservers):03}-{shard:05}.gz"


def share(numbers: int, pservers: int) -> int:
    """Return how many of a dense table's numbers a pserver has; the last has what is left."""
    return numbers // pservers + 1


def deal(directory: Path, into: Path, pservers: int, shards: int | None = None) -> None:
    """Write a pass for so many pservers, and so many files of a sparse table, from any other."""
    shards = shards or shards_for(pservers)
    for table in sorted(path for path in directory.iterdir() if path.is_dir()):
        (into / table.name).mkdir(parents=True)
        parts = sorted(table.glob("part-*"))
        if parts[0].name.count("-") == 1:
            _dense(parts, into / table.name, pservers)
        elif len(parts) == shards:
            _renamed(parts, into / table.name, pservers)
        else:
            _sparse(parts, into / table.name, pservers, shards)
    if (directory / passes.DONE).exists():
        tell(directory, into, pservers, shards)


def tell(directory: Path, into: Path, pservers: int, shards: int) -> None:
    """Write the `done` of a pass that is the same but for its pservers; its other files are kept."""
    facts = json.loads((directory / passes.DONE).read_text())
    of_tables = {f"{name}/" for name in facts["tables"]}
    for name in facts["files"]:
        if not any(name.startswith(each) for each in of_tables):
            os.link(directory / name, into / name)
    done = {**facts, "pservers": pservers, "shards": shards, "files": passes.sizes(into)}
    (into / passes.DONE).write_text(json.dumps(done, indent=1))


def _renamed(parts: Sequence[Path], into: Path, pservers: int) -> None:
    """Give the same shards other owners."""
    for shard, path in enumerate(parts):
        os.link(path, into / part(shard, len(parts), pservers))


def _sparse(parts: Sequence[Path], into: Path, pservers: int, shards: int) -> None:
    with ExitStack() as stack:
        files = [
            stack.enter_context(gzip.open(into / part(shard, shards, pservers), "wb", LEVEL))
            for shard in range(shards)
        ]
        for line in _lines(parts):
            files[int(line.split(b" ", 1)[0]) % shards].write(line)


def _dense(parts: Sequence[Path], into: Path, pservers: int) -> None:
    lines = _lines(parts)
    each = share(sum(1 for _ in _lines(parts)), pservers)
    for rank in range(pservers):
        with gzip.open(into / f"part-{rank:03}.gz", "wb", LEVEL) as file:
            file.writelines(islice(lines, each))


def _lines(parts: Sequence[Path]) -> Iterator[bytes]:
    for path in parts:
        with gzip.open(path) as lines:
            yield from lines


def main() -> None:
    """Deal what the command line names."""
    directory, into, *counts = sys.argv[1:]
    deal(Path(directory), Path(into), *map(int, counts))


if __name__ == "__main__":
    main()
