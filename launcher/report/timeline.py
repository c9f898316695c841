"""The timeline: a row for each rank, from left to right what it did, and where generations began.

No I/O here. Phases differ in height as well as in colour: no reader needs to tell the colours apart.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from launcher import contract
from launcher.report import scale
from launcher.report.events import Seat
from launcher.report.lanes import ALARM, GAP, Bar, Lane, Mark
from launcher.report.markup import Markup, join, tag
from launcher.report.passes import Tick, ticks_of
from launcher.report.scale import Scale
from launcher.report.story import Chapter, Story

_WIDTH = 1060
LETTER = 6.1  # the width of one, about, at the size of labels
_TOP = 42  # for generations and times
_RIGHT = 14
_ROWS = 1000
BARS = 5000
LINES = 200
FEW = 6  # rows that have room to be high
_TICKS = 200  # of a row, that are still seen one by one
# Of each phase its words, and its share of the row's height.
_PHASES = {
    contract.JOINING: ("joining or waiting", 0.22),
    contract.STAGING: ("staging data", 0.5),
    contract.SERVING: ("serving, trainers not yet", 0.75),
    contract.TRAINING: ("training", 1.0),
    contract.TRAINED: ("trained, waiting for the others", 0.5),
    GAP: ("down, until the next start", 0.12),
}
MARKS = {
    contract.DONE: "done",
    contract.FAILED: "failed",
    "lost": "lost",
    contract.STOPPED: "stopped",
    ALARM: "alarm",
}


def timeline(story: Story) -> Markup:
    """Return the legend and the drawing, and a sentence where rows are left out."""
    lanes = story.lanes[:_ROWS]
    left = 18 + LETTER * max(len(str(lane.seat)) for lane in lanes)
    axis = Scale(low=story.begun, high=max(story.ended, story.begun + 0.001), start=left, end=_WIDTH - _RIGHT)
    pitch = row_height(len(lanes))
    ticks = ticks_of(story)
    bottom = _TOP + pitch * len(lanes)
    height = bottom + (22 if len(lanes) > 12 else 4)
    drawing = tag(
        "svg",
        _grid(axis, bottom, twice=len(lanes) > 12),
        *_rows(lanes, axis, pitch, {trouble.who for trouble in story.troubles}, ticks),
        _generations(story.chapters, axis, bottom),
        viewBox=f"0 0 {_WIDTH} {height:.0f}",
        role="img",
        aria_label=f"Timeline of {len(lanes)} ranks over {scale.duration(story.seconds)}",
    )
    more = len(story.lanes) - len(lanes)
    left_out = tag("p", f"{more:,} more ranks are not drawn.", class_="note") if more else Markup("")
    hint = tag("p", "The timeline goes on to the right: scroll it sideways.", class_="hint")
    legend = _legend(lanes, (axis.high - axis.low) / (axis.end - axis.start), passes=any(ticks.values()))
    return join(legend, hint, tag("div", drawing, class_="wide", tabindex=0), left_out)


def row_height(rows: int) -> float:
    """Return the height of a row: comfortable for few, all on a page or two for many."""
    return min(40.0 if rows <= FEW else 26.0, max(4.0, 1300 / rows))


def _grid(axis: Scale, bottom: float, *, twice: bool) -> Markup:
    drawn = []
    for seconds in scale.time_ticks(axis.high - axis.low):
        x = axis.at(axis.low + seconds)
        drawn.append(tag("path", d=f"M{x:.1f} {_TOP - 4}V{bottom:.1f}", class_="grid"))
        for y in (_TOP - 8, bottom + 14)[: 2 if twice else 1]:
            class_ = "tick" if x < _WIDTH - 40 else "tick end"
            drawn.append(tag("text", scale.tick_label(seconds), x=min(x, _WIDTH - 2.0), y=y, class_=class_))
    return join(*drawn)


def _generations(chapters: Sequence[Chapter], axis: Scale, bottom: float) -> Markup:
    """Mark where each generation was made; of its cause as much as there is room for."""
    drawn: list[Markup] = []
    shown = chapters[-LINES:]
    places = [axis.at(chapter.made.at) for chapter in shown]
    free = 0.0
    for chapter, x, end in zip(shown, places, [*places, axis.end][1:], strict=True):
        made = chapter.made
        words = f"generation {made.generation}, made at {scale.clock(made.at)} UTC"
        title = tag("title", words + (f": {made.cause}" if made.cause else ""))
        drawn.append(tag("path", title, d=f"M{x:.1f} 4V18M{x:.1f} {_TOP - 4}V{bottom:.1f}", class_="made"))
        room = int((end - x - 6) / LETTER)
        if x < free or len(str(made.generation)) > room:
            continue
        label = _fitting(made.generation, made.cause, room)
        drawn.append(tag("text", label, title, x=x + 4, y=14, class_="cause"))
        free = x + 4 + LETTER * len(label)
    return join(*drawn)


def _fitting(generation: int, cause: str, room: int) -> str:
    label = f"generation {generation}"
    if cause and len(label) + 12 <= room:
        label = f"{label}: {cause}"
        return label if len(label) <= room else f"{label[: room - 1].rstrip()}…"
    return label if len(label) <= room else str(generation)


def _rows(
    lanes: Sequence[Lane],
    axis: Scale,
    pitch: float,
    blamed: Container[Seat | None],
    ticks: Mapping[Seat, Sequence[Tick]],
) -> Iterable[Markup]:
    each_nth = max(1, round(11 / pitch))
    budget = BARS // len(lanes)
    for place, lane in enumerate(lanes):
        middle = _TOP + pitch * (place + 0.5)
        thick = pitch * 0.68
        drawn = [tag("path", d=f"M{axis.start:.1f} {middle:.1f}H{axis.end:.1f}", class_="track", stroke_width=thick)]
        if place % each_nth == 0 or lane.seat in blamed:
            class_ = "seat blamed" if lane.seat in blamed else "seat"
            size = min(12.0, max(9.0, pitch * 0.85))
            y = middle + size * 0.34
            drawn.append(tag("text", str(lane.seat), x=axis.start - 8, y=y, class_=class_, font_size=size))
        if len(lane.bars) <= budget:
            drawn += [_bar(bar, axis, middle, thick) for bar in lane.bars]
        else:
            drawn += _together(_longest(lane.bars, 8 * budget), axis, middle, thick)
        drawn += _ticks(ticks.get(lane.seat, ()), axis, middle, thick, min(budget, _TICKS))
        drawn += [_mark(mark, axis, middle, min(5.0, thick * 0.5)) for mark in lane.marks[-budget:]]
        yield tag("g", *drawn, class_="row")


def _longest(bars: Sequence[Bar], budget: int) -> Sequence[Bar]:
    if len(bars) <= budget:
        return bars
    kept = sorted(range(len(bars)), key=lambda place: bars[place].begin - bars[place].end)[:budget]
    return [bars[place] for place in sorted(kept)]


def _bar(bar: Bar, axis: Scale, middle: float, thick: float) -> Markup:
    words, share = _PHASES[bar.kind]
    during = f"{scale.clock(bar.begin)} to {scale.clock(bar.end)} UTC, {scale.duration(bar.end - bar.begin)}"
    title = tag("title", f"{words}, generation {bar.generation}\n{during}")
    return tag("path", title, d=_stretch(bar, axis, middle), class_=bar.kind, stroke_width=max(1.6, thick * share))


def _stretch(bar: Bar, axis: Scale, middle: float) -> str:
    begin, end = axis.at(bar.begin), axis.at(bar.end)
    return f"M{begin:.1f} {middle:.1f}h{max(0.8, end - begin):.1f}"


def _together(bars: Sequence[Bar], axis: Scale, middle: float, thick: float) -> Iterable[Markup]:
    """Draw all bars of a kind as one, with one title: where there are very many."""
    for kind, (words, share) in _PHASES.items():
        ours = [bar for bar in bars if bar.kind == kind]
        if ours:
            seconds = sum(bar.end - bar.begin for bar in ours)
            title = tag("title", f"{words}: {len(ours)} times, {scale.duration(seconds)} in all")
            line = "".join(_stretch(bar, axis, middle) for bar in ours)
            yield tag("path", title, d=line, class_=kind, stroke_width=max(1.6, thick * share))


def _ticks(ticks: Sequence[Tick], axis: Scale, middle: float, thick: float, budget: int) -> Iterable[Markup]:
    """Draw a tick for each pass; more than can be told apart as one drawing, at most one each unit of the page."""
    top, height = middle - thick / 2 - 1, thick + 2
    if len(ticks) <= budget:
        for tick in ticks:
            how = "saved" if tick.saved else "first reported"
            words = f"pass {tick.number} {how} at {scale.clock(tick.at)} UTC, generation {tick.generation}"
            yield tag("path", tag("title", words), d=f"M{axis.at(tick.at):.1f} {top:.1f}v{height:.1f}", class_="pass")
        return
    places = sorted({round(axis.at(tick.at)) for tick in ticks})
    title = tag("title", f"{len(ticks):,} passes, {ticks[0].number} to {ticks[-1].number}")
    yield tag("path", title, d="".join(f"M{x} {top:.1f}v{height:.1f}" for x in places), class_="pass")


def _mark(mark: Mark, axis: Scale, middle: float, size: float) -> Markup:
    x = axis.at(mark.at)
    title = f"{MARKS[mark.kind]} at {scale.clock(mark.at)} UTC" + (f"\n{mark.reason}" if mark.reason else "")
    return tag("path", tag("title", title), d=_shape(mark.kind, x, middle, size), class_=f"mark {mark.kind}")


def _shape(kind: str, x: float, y: float, size: float) -> str:
    """Return a cross, a triangle, a ring, a square or a disc."""
    if kind == "failed":
        arm = f"l{2 * size:.1f} "
        return f"M{x - size:.1f} {y - size:.1f}{arm}{2 * size:.1f}M{x - size:.1f} {y + size:.1f}{arm}{-2 * size:.1f}"
    if kind == ALARM:
        return f"M{x:.1f} {y - size:.1f}l{size:.1f} {2 * size:.1f}h{-2 * size:.1f}z"
    if kind == "stopped":
        return f"M{x - size:.1f} {y - size:.1f}h{2 * size:.1f}v{2 * size:.1f}h{-2 * size:.1f}z"
    half = f"a{size:.1f} {size:.1f} 0 1 0 "
    return f"M{x - size:.1f} {y:.1f}{half}{2 * size:.1f} 0{half}{-2 * size:.1f} 0z"


def _legend(lanes: Sequence[Lane], least: float, *, passes: bool) -> Markup:
    """Explain what can be seen: a bar that lasted for `least` seconds or more."""
    bars = {bar.kind for lane in lanes for bar in lane.bars if bar.end - bar.begin >= least}
    kinds = bars | {mark.kind for lane in lanes for mark in lane.marks}
    items = [
        _item(words, tag("path", d="M0 7h22", class_=kind, stroke_width=max(2.0, 11 * share)))
        for kind, (words, share) in _PHASES.items()
        if kind in kinds
    ]
    items += [
        _item(words, tag("path", d=_shape(kind, 11, 7, 4.5), class_=f"mark {kind}"))
        for kind, words in MARKS.items()
        if kind in kinds
    ]
    if passes:
        items.append(_item("a pass", tag("path", d="M11 0v14", class_="pass")))
    return tag("ul", *items, class_="legend")


def _item(words: str, drawing: Markup) -> Markup:
    return tag("li", tag("svg", drawing, width=22, height=14, aria_hidden="true"), words)
