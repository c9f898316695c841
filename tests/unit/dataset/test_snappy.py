"""Snappy's framing format, read with and without the package that is installed here, written only with it."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.dataset import convert, recordio, snappy
from launcher.dataset.problem import DatasetMisuse

VECTORS = Path(__file__).parents[2] / "vectors" / "recordio"
LIMIT = 1 << 24


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no package, as a pod has none."""
    monkeypatch.setitem(sys.modules, "cramjam", None)


def texts() -> list[bytes]:
    numbers = random.Random(3)  # noqa: S311  # nothing is secret here
    words = b" ".join(numbers.choice([b"alpha", b"beta", b"gamma"]) for _ in range(30_000))
    return [b"", b"x", words, bytes(200_000), numbers.randbytes(70_000), words[:100] + bytes(range(256)) * 300]


@pytest.mark.parametrize("data", texts()[1:], ids=range(5))  # of nothing the package makes nothing
def test_the_package_and_ours_read_each_other(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    cramjam = pytest.importorskip("cramjam")
    theirs = bytes(cramjam.snappy.compress(data))
    assert snappy.decompress(theirs, LIMIT) == data
    ours = snappy.compress(data)
    assert bytes(cramjam.snappy.decompress(ours)) == data
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert snappy.decompress(theirs, LIMIT) == data
    assert snappy.decompress(ours, LIMIT) == data


@pytest.mark.usefixtures("alone")
def test_without_the_package_the_other_implementations_file_is_read_record_for_record() -> None:
    with recordio.reader(VECTORS / "snappy.recordio") as found, recordio.reader(VECTORS / "none.recordio") as plain:
        assert list(found) == list(plain)


@pytest.mark.usefixtures("alone")
def test_a_stream_of_blocks_that_are_not_compressed_is_read() -> None:
    """As version 0.1.0 wrote them where the package was not installed."""
    data = texts()[2]
    blocks = [data[at : at + snappy.SNAPPY_BLOCK] for at in range(0, len(data), snappy.SNAPPY_BLOCK)]
    assert snappy.decompress(HEAD + b"".join(frame(1, bytes(4) + block) for block in blocks), LIMIT) == data


REFUSED = "cramjam, which is not installed: run pip install cramjam, or choose compressor='gzip' or 'none'"


@pytest.mark.usefixtures("alone")
def test_without_the_package_writing_is_refused_before_a_file_is_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetMisuse, match=REFUSED):
        recordio.writer(tmp_path / "file", compressor="snappy")
    with pytest.raises(DatasetMisuse, match=REFUSED):
        convert(str(tmp_path / "out"), lambda: [1, 2], num_shards=2, compressor="snappy")
    with pytest.raises(DatasetMisuse, match=REFUSED):
        snappy.compress(b"x")
    assert list(tmp_path.iterdir()) == []


HEAD = snappy.START


def frame(kind: int, data: bytes, size: int | None = None) -> bytes:
    return bytes([kind]) + (len(data) if size is None else size).to_bytes(3, "little") + data


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"\x03\x08abc", b"abc"),
        (b"\x06\x00a\x05\x01", b"aaaaaa"),
        (b"\x05\x04ab\x0a\x02\x00", b"ababa"),
        (b"\x04\x00a\x0b\x01\x00\x00\x00", b"aaaa"),
        (b"\x3d\xf0\x3c" + bytes(61), bytes(61)),
    ],
)
def test_every_kind_of_tag_is_read(block: bytes, expected: bytes) -> None:
    assert snappy.decompress(HEAD + frame(0, bytes(4) + block), LIMIT) == expected


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("stream", "told"),
    [
        (b"", "no snappy stream"),
        (HEAD + b"\x00\x01", "cut"),
        (HEAD + frame(1, b"abc"), "cut"),
        (HEAD + frame(1, b"abcdefgh", 30), "cut"),
        (HEAD + frame(2, b"abcd"), "unknown kind, 2"),
        (HEAD + frame(0, bytes(4)), "does not say how long"),
        (HEAD + frame(0, bytes(4) + b"\xff\xff\xff\x7f"), "longer than 65536"),
        (HEAD + frame(0, bytes(4) + b"\x03\x08a"), "a literal is cut"),
        (HEAD + frame(0, bytes(4) + b"\x03\x01"), "a block is cut"),
        (HEAD + frame(0, bytes(4) + b"\x08\x00a\x01\x05"), "before the beginning"),
        (HEAD + frame(0, bytes(4) + b"\x08\x00a\x01\x00"), "before the beginning"),
        (HEAD + frame(0, bytes(4) + b"\x02\x00a\x01\x01"), "more than it says"),
        (HEAD + frame(0, bytes(4) + b"\x08\x00a"), "less than it says"),
        (HEAD + frame(1, bytes(LIMIT // 2 + 4)) * 3, "more than"),
    ],
)
def test_what_a_stream_cannot_be_is_said(stream: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        snappy.decompress(stream, LIMIT)


def test_padding_and_frames_to_be_skipped_are_skipped() -> None:
    assert snappy.decompress(HEAD + frame(0xFE, bytes(9)) + frame(0x80, b"x") + frame(1, b"crc!abc"), LIMIT) == b"abc"


@pytest.mark.usefixtures("alone")
@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_no_block_crashes_it_or_grows_over_its_size(block: bytes) -> None:
    with suppress(ValueError):
        assert len(snappy.unpack(block)) <= snappy.SNAPPY_BLOCK
