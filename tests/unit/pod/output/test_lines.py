"""Blocks in, whole lines out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.output.lines import Lines

PREFIX = b"[trainer 0] "
bits = st.sampled_from([b"", b"\n", b"\n\n", b"a", b"a\n", b"\nb", b"a\nb", b"\r\n", b"\0", b"\xff\xfe\n", PREFIX])
blocks_of_output = st.lists(bits | st.binary(max_size=40), max_size=30)


@given(blocks_of_output, st.sampled_from([b"", PREFIX]))
def test_every_line_comes_out_once_with_one_prefix_and_nothing_else_changes(
    blocks: list[bytes], prefix: bytes
) -> None:
    lines = Lines(prefix)
    out = b"".join([*(lines.feed(block) for block in blocks), lines.rest()])
    said = b"".join(blocks)
    assert out == b"".join(prefix + line.rstrip(b"\n") + b"\n" for line in _lines_of(said))


@given(blocks_of_output)
def test_only_whole_lines_come_out_and_each_as_soon_as_it_is_whole(blocks: list[bytes]) -> None:
    lines = Lines(b"")
    said = out = b""
    for block in blocks:
        said += block
        out += lines.feed(block)
        assert out == said[: said.rfind(b"\n") + 1]


@given(st.lists(st.binary(min_size=1, max_size=9).map(lambda block: block.replace(b"\n", b"-")), max_size=40))
def test_a_line_beyond_the_limit_comes_out_in_pieces_so_that_no_more_than_the_limit_is_held(
    blocks: list[bytes],
) -> None:
    lines = Lines(PREFIX, limit=20)
    said = b""
    pieces = []
    for block in blocks:
        said += block
        if out := lines.feed(block):
            pieces.append(out)
        assert len(said) - sum(len(piece) - len(PREFIX) - 1 for piece in pieces) <= 20
    pieces.append(lines.rest())
    assert all(piece.startswith(PREFIX) and piece.endswith(b"\n") for piece in pieces if piece)
    assert b"".join(piece[len(PREFIX) : -1] for piece in pieces) == said


def test_a_limit_reached_behind_a_whole_line_leaves_that_line_whole() -> None:
    lines = Lines(b"> ", limit=3)
    assert lines.feed(b"one\nlong") == b"> one\n> long\n"
    assert lines.rest() == b""


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_of_ten_megabytes_stays_one_line(end: bytes) -> None:
    lines = Lines(PREFIX)
    line = b"x" * 10_000_000
    out = b"".join(lines.feed(line[at : at + 65536]) for at in range(0, len(line), 65536))
    assert out + lines.feed(end) + lines.rest() == PREFIX + line + b"\n"


def _lines_of(said: bytes) -> list[bytes]:
    # Not splitlines, which cuts at carriage returns too.
    parts = said.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
