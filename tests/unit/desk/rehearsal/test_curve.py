"""The loss curve: where its strokes and words stand."""

from __future__ import annotations

import pytest

from launcher.desk.rehearsal import curve
from launcher.desk.rehearsal.curve import (
    BLUE,
    BOTTOM,
    HEIGHT,
    LEFT,
    ORANGE,
    RIGHT,
    SOFT,
    TOP,
    WIDTH,
    Curve,
    Picture,
    Stroke,
)
from launcher.desk.rehearsal.show import Learned

ERRORS = {0: 0.9, 1: 0.7, 2: 0.6}
LEARNED = Learned(
    costs={"node_0": {0: 1.0, 1: 0.25, 2: 0.16}, "node_1": {0: 1.0, 1: 0.47}}, errors=ERRORS, constant=1.126
)


def lines(picture: Picture, color: str) -> list[Stroke]:
    return [stroke for stroke in picture.strokes if stroke.color == color and stroke.width > 1]


def words(picture: Picture) -> list[str]:
    return [text.words for text in picture.texts]


def test_what_is_held_out_and_what_is_learned_from_go_down_together() -> None:
    picture = curve.of("Recommendation", LEARNED)
    (held_out, *dots) = lines(picture, BLUE)
    assert [dot.points for dot in dots] == [(point,) for point in held_out.points]
    across, down = zip(*held_out.points, strict=True)
    assert across == (LEFT, (LEFT + WIDTH - RIGHT) / 2, WIDTH - RIGHT)
    assert list(down) == sorted(down)
    assert len(lines(picture, ORANGE)[0].points) == 3
    # A trainer's cost is a square: its root is in the unit of the others, the mean of the trainers under it.
    assert {"0.400  while learning", "0.600  held out", "1.126  guessing the mean"} <= {*words(picture)}


def test_the_constant_guess_is_a_dashed_level_over_all_of_the_width() -> None:
    dashes = lines(curve.of("", LEARNED), SOFT)
    assert len({y for dash in dashes for _, y in dash.points}) == 1
    assert dashes[0].points[0][0] == LEFT
    assert WIDTH - RIGHT - 2 * curve.DASH <= dashes[-1].points[0][0] < dashes[-1].points[1][0] <= WIDTH - RIGHT


def test_without_anything_to_compare_with_the_errors_stand_alone() -> None:
    picture = curve.of("Recommendation", Learned(costs={"node_0": {}}, errors=ERRORS))
    assert not lines(picture, ORANGE)
    assert not lines(picture, SOFT)
    assert {"Recommendation", "RMSE", "pass", "0", "1", "2", "0.6", "0.9"} <= {*words(picture)}


@pytest.mark.parametrize("errors", [{0: 0.9}, {4: 0.5}, dict.fromkeys(range(3), 0.7), {0: 0.61, 5000: 0.6}])
def test_everything_stands_within_the_picture(errors: dict[int, float]) -> None:
    for constant in (None, 1.126):
        picture = curve.of("A title", Learned(costs={"node_0": {0: 1.0}}, errors=errors, constant=constant))
        points = [point for stroke in picture.strokes for point in stroke.points]
        assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in points)
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in (text.at for text in picture.texts))


def test_names_of_curves_that_end_together_are_not_written_over_each_other() -> None:
    same = [Curve(name=name, values={0: 1.0, 1: value}, color=BLUE) for name, value in (("a", 0.5), ("b", 0.501))]
    names = {text.words[-1]: text.at[1] for text in curve.picture("", "", same).texts if "0.50" in text.words}
    assert names["a"] - names["b"] >= curve.APART
