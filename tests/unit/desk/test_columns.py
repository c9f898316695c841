"""Columns and bars as text."""

from __future__ import annotations

import pytest

from launcher.desk.columns import bar, table


@pytest.mark.parametrize(("done", "filled"), [(0, 0), (299, 14), (300, 15), (599, 29), (600, 30), (738, 30)])
def test_a_bar_is_never_longer_than_it_is(done: float, filled: int) -> None:
    assert bar(done, 600) == f"[{'#' * filled}{'.' * (30 - filled)}]"


def test_of_nothing_all_is_done() -> None:
    assert bar(0, 0) == f"[{'#' * 30}]"


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    rows = [("WHO", "WHAT"), ("a", ""), ("abcd", "b")]
    assert table(rows).split("\n") == ["WHO   WHAT", "a", "abcd  b"]
    assert table(rows, str.rjust).split("\n") == [" WHO  WHAT", "   a", "abcd     b"]
