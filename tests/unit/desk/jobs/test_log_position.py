"""Logs that broke off: where they go on, and when that is in vain."""

from __future__ import annotations

import pytest

from launcher.desk.jobs.log_position import LogMark, beyond, in_vain


@pytest.mark.parametrize(
    ("mark", "found", "lines", "reached"),
    [
        (LogMark(), b"1 a|1 b|1 c", b"a|b|c", LogMark(moment="1", lines=3)),
        (LogMark(), b"2 a|1 b|2 c", b"a|b|c", LogMark(moment="2", lines=1)),
        (LogMark(moment="1", lines=2), b"0 -|1 a|1 b|1 c|2 d", b"c|d", LogMark(moment="2", lines=1)),
        (LogMark(moment="1", lines=2), b"1 a|1 b|1 c", b"c", LogMark(moment="1", lines=3)),
        (LogMark(moment="1", lines=2), b"0 -|1 a", b"", None),
        (LogMark(moment="1", lines=2), b"2 c|1 d|0 e", b"c|d|e", LogMark(moment="0", lines=1)),
    ],
)
def test_a_log_goes_on_after_a_mark(mark: LogMark, found: bytes, lines: bytes, reached: LogMark | None) -> None:
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
