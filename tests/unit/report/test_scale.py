"""Numbers, times, positions and elements: what the page is put together from."""

from __future__ import annotations

import pytest

from launcher.report import scale
from launcher.report.markup import Markup, join, tag


def test_an_element_escapes_its_text_and_its_attributes() -> None:
    assert tag("p", "<", Markup("<br>"), class_='"', data_x=None, r=1.26) == '<p class="&quot;" r="1.3">&lt;<br></p>'
    assert join("&", tag("br")) == "&amp;<br>"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"), (0.0001, "under 1 ms"), (0.25, "0.25 s"), (12.34, "12.3 s"), (59.99, "60.0 s"), (60, "1 min"),
        (61.9, "1 min 1 s"), (3600, "1 h"), (3660, "1 h 1 min"), (90_000, "1 d 1 h"), (1e8, "1,157 d 9 h"),
    ],
)  # fmt: skip
def test_a_time_span_has_two_units_at_most(seconds: float, expected: str) -> None:
    assert scale.duration(seconds) == expected


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (0, (0,)), (1, (0, 0.2, 0.4, 0.6, 0.8, 1)), (100, (0, 15, 30, 45, 60, 75, 90)),
        (7000, (0, 900, 1800, 2700, 3600, 4500, 5400, 6300)),
        (86400 * 20, tuple(86400 * 3 * number for number in range(7))),
    ],
)  # fmt: skip
def test_times_on_an_axis_are_round(span: float, expected: tuple[float, ...]) -> None:
    assert scale.time_ticks(span) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, (0, 5, 10)),
        (0.31, 0.9, (0.4, 0.6, 0.8)),
        (3, 3, (3,)),
        (-1e300, 1e300, (-1e300, -5e299, 0, 5e299, 1e300)),
    ],
)
def test_values_on_an_axis_are_round(low: float, high: float, expected: tuple[float, ...]) -> None:
    assert scale.ticks(low, high) == pytest.approx(expected)


def test_numbers_and_hours_are_short() -> None:
    assert [scale.number_text(value) for value in (0.123456, 12.0, 1234.0, 1e9)] == ["0.1235", "12", "1,234", "1e+09"]
    assert scale.clock(1e300) == "?"
    assert scale.clock(0, day=True) == "1970-01-01 00:00:00.000"
    assert scale.clock(-3.5) == "23:59:56.500"
