"""Logs that broke off: where they go on, and when that is in vain."""

from __future__ import annotations

import pytest

from launcher.desk.jobs.log_position import Mark, beyond, in_vain


@pytest.mark.parametrize(
    ("mark", "found", "lines", "reached"),
    [
        (Mark(), b"1 a|1 b|1 c", b"a|b|c", Mark(moment="1", lines=3)),
        (Mark(), b"2 a|1 b|2 c", b"a|b|c", Mark(moment="2", lines=1)),
        (Mark(moment="1", lines=2), b"0 -|1 a|1 b|1 c|2 d", b"c|d", Mark(moment="2", lines=1)),
        (Mark(moment="1", lines=2), b"1 a|1 b|1 c", b"c", Mark(moment="1", lines=3)),
        (Mark(moment="1", lines=2), b"0 -|1 a", b"", None),
        (Mark(moment="1", lines=2), b"2 c|1 d|0 e", b"c|d|e", Mark(moment="0", lines=1)),
    ],
)
def test_a_log_goes_on_after_a_mark(mark: Mark, found: bytes, lines: bytes, reached: Mark | None) -> None:
    """Nothing is left out from its start, nor once the mark is behind, whatever a clock does."""
    came = list(beyond(mark, found.split(b"|")))
    assert b"|".join(text for _, text in came) == lines
    assert (came[-1][0] if came else None) == reached


@pytest.mark.parametrize(
    ("brought", "stood", "over", "vain"),
    [(False, 0.1, False, True), (True, 0.1, False, False), (False, 60.0, False, False), (False, 60.0, True, True)],
)
def test_an_attempt_is_in_vain_where_it_brought_nothing_soon(
    brought: bool, stood: float, over: bool, vain: bool
) -> None:
    assert in_vain(brought=brought, stood=stood, over=over) == vain
