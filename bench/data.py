"""Data: how fast it is split, written as RecordIO and read, and staged, against the tools that do the like."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from bench.data_peers import piped, row, timed
from bench.data_staging import staging
from bench.lives import Ground
from bench.processes import Unheard
from bench.rows import Measure, Row, Values, in_turns, rows
from launcher.dataset import recordio

ROUNDS = 3
SHARDS = 8
SPLIT, GZIP, COPY = "split -n l/N", "gzip -6", "a plain copy"


def data(ground: Ground) -> tuple[Row, ...]:
    """Return the rows of splitting, of RecordIO and of staging."""
    return (*_splitting(ground), *_recordio(ground), *staging(ground))


def _splitting(ground: Ground) -> tuple[Row, ...]:
    source = ground.directory / "lines"
    line = b"%d,%d,3.14," + b"x" * 80 + b"\n"
    block = b"".join(line % (number, number * 7) for number in range(10_000))
    with source.open("wb") as file:
        for _ in range(64 if ground.quick else 640):
            file.write(block)
    size, out = source.stat().st_size, ground.directory / "out"

    def split(*words: str) -> Values:
        argv = (sys.executable, "-m", "launcher.dataset", "split", "--shards", str(SHARDS), "--out", str(out), *words)
        return {"rate": size / timed((*argv, str(source)), out) / 1e6}

    def theirs() -> Values:
        out.mkdir()
        return {"rate": size / timed(("split", "-n", f"l/{SHARDS}", str(source), f"{out}/part-"), out) / 1e6}

    measures: dict[str, Measure] = {"ours": split, "bytes": lambda: split("--balance", "bytes"), SPLIT: theirs}
    figures = in_turns(measures, ground.rounds(ROUNDS, 1), ground.progress)
    source.unlink()
    what = "split into 8 shards with a manifest, as many {} in each"
    return tuple(
        each_row
        for name, each in (("ours", "records"), ("bytes", "bytes"))
        for each_row in rows(row(what.format(each), "MB/s"), "rate", {**figures, "ours": figures[name]}, (SPLIT,))
    )


def _recordio(ground: Ground) -> tuple[Row, ...]:
    count = 100_000 if ground.quick else 1_000_000
    records = [b"%d,%d,3.14," % (number, number * 7919 % 10**6) + b"some text " * 12 for number in range(count)]
    plain, path = ground.directory / "plain", ground.directory / "recordio"
    plain.write_bytes(b"".join(records))
    size = plain.stat().st_size

    def ours(kind: str) -> Values:
        begun = time.monotonic()
        with recordio.writer(path, compressor=kind) as out:
            for record in records:
                out.write(record)
        written = time.monotonic()
        with recordio.reader(path) as found:
            held = sum(len(record) for record in found)
        read = time.monotonic()
        if held != size:
            raise Unheard(f"{held} of {size} bytes came back")
        return {"write": size / (written - begun) / 1e6, "read": size / (read - written) / 1e6}

    measures: dict[str, Measure] = {
        "none": lambda: ours("none"),
        COPY: lambda: _piped_both(size, ("cp", str(plain), str(path)), ("cat", str(path))),
        "gzip": lambda: ours("gzip"),
        GZIP: lambda: _piped_both(size, ("gzip", "-6kf", str(plain)), ("gzip", "-dc", f"{plain}.gz")),
    }
    figures = in_turns(measures, ground.rounds(ROUNDS, 1), ground.progress)
    return tuple(
        each_row
        for name, peer in (("none", COPY), ("gzip", GZIP))
        for way in ("write", "read")
        for each_row in rows(
            row(f"RecordIO, {name}: {way}", "MB/s"), way, {**figures, "ours": figures[name]}, (peer,)
        )
    )


def _piped_both(size: int, write: Sequence[str], read: Sequence[str]) -> Values:
    times = [piped(argv) for argv in (write, read)]
    return {"write": size / times[0] / 1e6, "read": size / times[1] / 1e6}
