"""Texts of others as they are shown: nothing in them moves a terminal's cursor, and a name is still that name."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.text import CUT, LONGEST_NAME_SHOWN, one_line, shown, split_lines, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain — ünd 日本", "plain — ünd 日本"),
        ("a\tb\nc", "a b c"),
        ("x\x1b[31my\u202e\ud800\x7f", "x?[31my???"),
        (7, "7"),
    ],
)
def test_what_moves_a_cursor_is_marked(text: object, expected: str) -> None:
    assert visible(text) == expected


@given(st.text(max_size=300), st.integers(len(CUT), 200))
def test_a_text_is_printable_one_line_and_no_longer_than_its_limit(text: str, limit: int) -> None:
    for fit in (visible(text, limit), one_line(text, limit)):
        assert fit.isprintable()
        assert len(fit) <= limit
    assert len(visible(text)) == len(text)


def test_lines_become_one() -> None:
    assert one_line(" the first\n\tand  the\r\nsecond \n") == "the first and the second"
    assert one_line("x" * 500, 400) == "x" * 397 + CUT


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "caf\udce9", "tab\tbed"])
def test_a_strange_name_is_shown_by_escapes_that_name_it(name: str) -> None:
    assert shown(name) == repr(name)
    assert shown(name).isprintable()


def test_a_plain_name_is_shown_as_it_is_and_a_long_one_cut() -> None:
    assert shown("/tmp/ä b'c") == "/tmp/ä b'c"
    assert shown(os.fsdecode(b"\xff" * 4000)).endswith(CUT)
    assert len(shown("x" * 4000)) == LONGEST_NAME_SHOWN


@given(st.binary(max_size=200), st.integers(1, 30))
def test_lines_do_not_depend_on_the_pieces_that_they_come_in(data: bytes, size: int) -> None:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    whole = data.split(b"\n")
    assert list(split_lines(pieces, 1000)) == (whole if whole[-1] else whole[:-1])


def test_a_line_that_is_too_long_comes_in_pieces() -> None:
    assert list(split_lines([b"aaa", b"aaa", b"a\nb"], 5)) == [b"aaaaaa", b"a", b"b"]
