"""RecordIO: another implementation's files are read and made; what is damaged is refused, or counted."""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import tracemalloc
import warnings
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from launcher.dataset import recordio
from launcher.dataset.problem import Damaged, DamagedWarning, DatasetError, DatasetMisuse

VECTORS = Path(__file__).parents[2] / "vectors" / "recordio"
CHUNK = 4096
KINDS = ("none", "snappy", "gzip")
MAGIC = b"\x04\x03\x02\x01"


def vector(number: int) -> bytes:
    """Return the record of this number in the other implementation's files."""
    record = b"" if number % 50 == 0 else b"record %d " % number
    return record + bytes([number % 256]) * (number % 97 - len(record)) if record else record


RECORDS = [vector(number) for number in range(1000)]


def written(records: list[bytes], kind: str = "none", chunk: int = CHUNK) -> bytes:
    file = io.BytesIO()
    with recordio.writer(file, chunk, kind) as out:
        for record in records:
            out.write(record)
    return file.getvalue()


def salvaged(data: bytes) -> tuple[list[bytes], recordio.Lost]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedWarning)
        with recordio.reader(io.BytesIO(data), errors="skip") as found:
            return list(found), found.lost


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_implementations_files_are_read_record_for_record(kind: str) -> None:
    with recordio.reader(VECTORS / f"{kind}.recordio") as found:
        assert list(found) == RECORDS
        assert found.read() is None


def test_without_compression_the_same_file_is_written_byte_for_byte() -> None:
    assert written(RECORDS) == (VECTORS / "none.recordio").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_again(kind: str) -> None:
    assert list(recordio.reader(io.BytesIO(written(RECORDS, kind)))) == RECORDS


def test_gzip_itself_reads_a_chunk() -> None:
    data = written(RECORDS, "gzip", chunk=1 << 20)
    done = subprocess.run(["gzip", "-dc"], input=data[20:], capture_output=True, check=True)
    assert done.stdout == b"".join(struct.pack("<I", len(record)) + record for record in RECORDS)


def test_a_chunk_that_gzip_packed_is_read() -> None:
    payload = b"".join(struct.pack("<I", len(record)) + record for record in RECORDS)
    done = subprocess.run(["gzip", "-c"], input=payload, capture_output=True, check=True)
    twice = gzip.compress(payload[:100]) + gzip.compress(payload[100:])
    for packed in (done.stdout, twice):
        head = struct.pack("<4s4I", MAGIC, zlib.crc32(packed), 2, len(packed), len(RECORDS))
        assert list(recordio.reader(io.BytesIO(head + packed))) == RECORDS


def test_the_seeds_own_loop_reads_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(written([b"a", b"b", b"c"]))
    r = recordio.reader(str(tmp_path / "file"))
    found = []
    while True:
        d = r.read()
        if not d:
            break
        found.append(d)
    r.close()
    assert found == [b"a", b"b", b"c"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [0, 1, 90, 91, 500, 999])
def test_a_reader_goes_to_any_record(kind: str, number: int) -> None:
    with recordio.reader(VECTORS / f"{kind}.recordio") as found:
        for _ in range(2):
            found.seek(number)
            assert list(found) == RECORDS[number:]
        found.seek(1000)
        assert found.read() is None
        with pytest.raises(DatasetMisuse):
            found.seek(-1)


def test_the_index_has_every_chunk_in_a_row() -> None:
    chunks = recordio.index(VECTORS / "none.recordio")
    assert (chunks[0].offset, chunks[0].first, chunks[-1].end) == (
        0,
        0,
        (VECTORS / "none.recordio").stat().st_size,
    )
    for before, after in pairwise(chunks):
        assert (before.end, before.first + before.records) == (after.offset, after.first)
    assert chunks[-1].first + chunks[-1].records == 1000


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=40), max_size=60), st.integers(0, 60), st.sampled_from(KINDS), st.data())
def test_any_records_come_back_in_order_and_from_any_number_on(
    records: list[bytes], chunk: int, kind: str, data: st.DataObject
) -> None:
    file = io.BytesIO(written(records, kind, chunk))
    assert list(recordio.reader(file)) == records
    file.seek(0)
    number = data.draw(st.integers(0, len(records)))
    found = recordio.reader(file)
    found.seek(number)
    assert list(found) == records[number:]


def damaged(*, at: int, byte: int | None = None, cut: int | None = None) -> bytes:
    data = bytearray((VECTORS / "none.recordio").read_bytes())
    if byte is not None:
        data[at] ^= byte
    return bytes(data[:cut])


def test_a_corrupt_chunk_is_refused_and_stays_refused() -> None:
    found = recordio.reader(io.BytesIO(damaged(at=5000, byte=1)))
    with pytest.raises(Damaged, match=r"the chunk at byte 4465: its checksum is wrong; expected whole chunks"):
        list(found)
    with pytest.raises(Damaged):
        found.read()


def test_a_corrupt_chunk_is_passed_over_counted_and_warned_of() -> None:
    chunks = recordio.index(VECTORS / "none.recordio")
    reader = recordio.reader(io.BytesIO(damaged(at=5000, byte=1)), errors="skip")
    with pytest.warns(DamagedWarning, match="the chunk at byte 4465"):
        found = list(reader)
    assert found == RECORDS[: chunks[1].first] + RECORDS[chunks[2].first :]
    lost = reader.lost
    size = chunks[1].end - chunks[1].offset
    assert (lost.chunks, lost.records, lost.bytes, lost.uncounted) == (1, chunks[1].records, size, 0)
    assert repr(lost) == f"{chunks[1].records} records, {size} bytes in 1 chunks"


@pytest.mark.parametrize("at", [0, 4465, 4465 + 8, 4465 + 12, 4465 + 13])
def test_behind_a_header_that_is_damaged_the_next_chunk_is_found(at: int) -> None:
    chunks = recordio.index(VECTORS / "none.recordio")
    found, lost = salvaged(damaged(at=at, byte=0xFF))
    bad = 0 if at == 0 else 1
    assert found == RECORDS[: chunks[bad].first] + RECORDS[chunks[bad + 1].first :]
    assert (lost.chunks, lost.bytes) == (1, chunks[bad].end - chunks[bad].offset)
    assert lost.uncounted == 1
    assert "an unknown number in 1 places" in repr(lost)


@pytest.mark.parametrize("cut", [4465 + 1, 4465 + 19, 4465 + 20, 4465 + 21, 4465 + 1000])
def test_a_torn_end_is_refused_or_counted(cut: int) -> None:
    data = damaged(at=0, cut=cut)
    with pytest.raises(Damaged, match="the file ends in a"):
        list(recordio.reader(io.BytesIO(data)))
    with pytest.raises(Damaged, match="the file ends in a"):
        recordio.index(io.BytesIO(data))
    found, lost = salvaged(data)
    assert found == RECORDS[:91]
    assert (lost.chunks, lost.bytes, lost.uncounted) == (1, cut - 4465, 1)


def test_a_writer_that_was_killed_and_began_anew_behind_its_torn_chunk_loses_only_that() -> None:
    found, lost = salvaged(damaged(at=0, cut=5000) + written([b"after"]))
    assert (found, lost.chunks) == ([*RECORDS[:91], b"after"], 1)


def chunk(payload: bytes, *, kind: int = 0, records: int = 1) -> bytes:
    return struct.pack("<4s4I", MAGIC, zlib.crc32(payload), kind, len(payload), records) + payload


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (chunk(b"\x05\0\0\0abc"), "a record is longer than its chunk"),
        (chunk(b"\x01\0\0\0abc"), "more than its records"),
        (chunk(b"\x01\0\0\0a", records=2), "fewer records"),
        (chunk(b"x", kind=3), "unknown compressor 3"),
        (chunk(b"xyz", kind=2), "gzip stream is broken"),
        (chunk(gzip.compress(b"abcdefgh")[:-1], kind=2), "gzip stream is cut"),
        (chunk(b"x", kind=1), "no snappy stream"),
        (chunk(b"", records=1 << 30), "expected at most 268435456 bytes"),
        (struct.pack("<4s4I", MAGIC, 0, 0, 0xFFFFFFFF, 1), "expected at most 268435456 bytes"),
        (b"text that is no RecordIO at all", "no chunk begins here"),
    ],
)
def test_what_a_chunk_cannot_be_is_said(data: bytes, told: str) -> None:
    with pytest.raises(Damaged, match=told):
        list(recordio.reader(io.BytesIO(data)))
    found, lost = salvaged(data)
    assert (lost.chunks, lost.bytes) == (1, len(data))
    assert len(found) <= 1


@pytest.mark.parametrize("kind", ["gzip", "snappy"])
def test_a_bomb_is_refused_before_it_fills_the_memory(kind: str) -> None:
    if kind == "gzip":
        bomb = chunk(gzip.compress(bytes(64 << 20)), kind=2)
    else:
        # A copy of 64 bytes that repeats one byte costs three: each frame makes 64 KiB of 3 KiB.
        block = b"\x80\x80\x04\x00x" + b"\xfe\x01\x00" * 1023 + b"\xfa\x01\x00"
        frame = b"\0" + (len(block) + 4).to_bytes(3, "little") + bytes(4) + block
        bomb = chunk(b"\xff\x06\x00\x00sNaPpY" + frame * 64, kind=1)
    tracemalloc.start()
    with pytest.raises(Damaged, match="more than 2097152 bytes"):
        list(recordio.reader(io.BytesIO(bomb), limit=2 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20


def test_memory_is_bounded_by_a_chunk_in_both_directions(tmp_path: Path) -> None:
    tracemalloc.start()
    with recordio.writer(tmp_path / "big", chunk=1 << 19) as out:
        for number in range(10_000):
            out.write(b"%1000d" % number)
    with recordio.reader(tmp_path / "big") as found:
        assert sum(1 for _ in found) == 10_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 << 20


def test_too_many_false_beginnings_end_in_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launcher.dataset.finding.SEARCH_LIMIT", 1 << 20)
    tail = bytes(200_000)
    false = b"".join(struct.pack("<4s4I", MAGIC, 1, 0, 200_000, 1) for _ in range(100))
    with pytest.raises(Damaged, match="too many damaged chunks"):
        salvaged(false + tail)


@pytest.mark.parametrize(
    "call",
    [
        lambda: recordio.reader(io.BytesIO(), errors="ignore"),
        lambda: recordio.writer(io.BytesIO(), compressor="zstd"),
        lambda: recordio.writer(io.BytesIO()).write(bytes((128 << 20) + 1)),
    ],
)
def test_what_cannot_be_asked_for_is_refused(call: object) -> None:
    with pytest.raises(DatasetMisuse):
        call()  # type: ignore[operator]


def test_a_file_on_the_disk_is_closed_by_whoever_opened_it(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        recordio.writer(file).close()
        assert not file.closed
    found = recordio.reader(tmp_path / "file")
    found.close()
    with pytest.raises(DatasetError, match="closed file"):
        found.read()


NUMBERS = st.integers(0, 2**32 - 1) | st.integers(0, 200)
CHUNKS = st.builds(
    lambda magic, crc, kind, size, records, rest, right: (
        struct.pack("<4s4I", magic, zlib.crc32(rest) if right else crc, kind, len(rest) if right else size, records)
        + rest
    ),
    st.sampled_from([MAGIC, MAGIC, MAGIC, b"\x04\x03\x02\x02"]),
    NUMBERS,
    st.integers(0, 3),
    NUMBERS,
    st.integers(0, 5) | NUMBERS,
    st.binary(max_size=80) | st.just(b"\xff\x06\x00\x00sNaPpY\x00\x07\x00\x00abcd\x03\x08x"),
    st.booleans(),
)


@settings(max_examples=300)
@given(st.lists(CHUNKS | st.binary(max_size=60), max_size=6).map(b"".join))
def test_no_bytes_crash_a_reader_and_what_is_lost_is_counted(data: bytes) -> None:
    found, lost = salvaged(data)
    assert lost.bytes <= len(data)
    try:
        assert list(recordio.reader(io.BytesIO(data))) == found
        assert lost.chunks == 0
    except Damaged:
        assert lost.chunks > 0


@settings(max_examples=200)
@example("snappy", 8, 1, 60_000)  # the byte that says how it is compressed, which no checksum covers
@given(st.sampled_from(KINDS), st.integers(0, 36_000), st.integers(1, 255), st.integers(0, 60_000))
def test_one_wrong_byte_costs_at_most_the_chunks_it_is_in(kind: str, at: int, flip: int, cut: int) -> None:
    data = bytearray((VECTORS / f"{kind}.recordio").read_bytes())[: cut + 1]
    data[at % len(data)] ^= flip
    found, lost = salvaged(bytes(data))
    assert lost.chunks in (1, 2)
    at_least = set(RECORDS) & set(found)
    assert len(found) >= 1000 - 2 * 92 or cut < 51_143
    assert at_least == set(found)
