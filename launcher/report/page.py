"""The page: one file, nothing loaded, nothing run.

No I/O here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from launcher.report import scale, style
from launcher.report.curves import curves
from launcher.report.markup import Markup, join, tag
from launcher.report.sentence import KINDS, Sentence, describe, sentence
from launcher.report.series import charts_of
from launcher.report.story import Chapter, GenerationFailure, Past, Story
from launcher.report.timeline import timeline

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
TABLE_ROWS = 500
_Row = Sequence[str]


def page(story: Story, source: str) -> str:
    """Return the whole file."""
    told = sentence(story)
    name = story.job or "unnamed job"
    charts, more = charts_of(story.progress, story.begun)
    axis = charts[0].axis if charts else ""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{KINDS[told.kind].rstrip(':')}: {name}"),
        tag("style", Markup(style.SHEET)),
    )
    body = tag(
        "body",
        tag("header", tag("h1", name), _verdict(told), _facts(story)),
        _section("Timeline", timeline(story)),
        _section(f"Metrics by {axis}" if axis else "Metrics", curves(charts, more)),
        _section("Generations", _generations(story)),
        _section("Failures and losses", _troubles(story)),
        _section("Earlier runs in this file", _past(story.past)) if story.past else "",
        _foot(story, source),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _section(title: str, *content: str) -> Markup:
    return tag("section", tag("h2", title), *content)


def _verdict(told: Sentence) -> Markup:
    words = tag("p", tag("strong", tag("em", KINDS[told.kind]), f" {told.words}"))
    return tag("div", words, *(tag("p", each) for each in told.more), class_=f"verdict {told.kind}", id="verdict")


def _facts(story: Story) -> Markup:
    roles = Counter(lane.seat.role for lane in story.lanes)
    passes = [each.pass_ for each in story.progress if each.pass_ is not None]
    facts = {
        "Ranks": ", ".join(f"{count} {role}{'s' if count > 1 else ''}" for role, count in roles.items()),
        "Time in all": scale.duration(story.seconds),
        "Generations": str(len(story.chapters)),
        "Restarts": str(story.restarts),
        "Last pass reported": str(max(passes)) if passes else "",
        "Went on from pass": "" if story.resume is None else str(story.resume),
        "Started (UTC)": scale.clock(story.begun, day=True),
        "Key": story.key,
        "Output before moved to": story.moved_to,
    }
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items() if value)
    return tag("dl", *rows, class_="facts")


def _generations(story: Story) -> Markup:
    rows = [_chapter(story, chapter) for chapter in story.chapters]
    heads = ("number", "after", "made at (UTC)", "ran for", "resumed from", "restarts", "members", "cause", "end")
    return _table(heads, "nnnnnnnww", rows, "No generation was made.")


def _chapter(story: Story, chapter: Chapter) -> _Row:
    made = chapter.made
    return (
        str(made.generation),
        scale.duration(max(0.0, made.at - story.begun)),
        scale.clock(made.at),
        scale.duration(chapter.ended - made.at),
        "the start" if made.resume is None else f"pass {made.resume}",
        str(made.restarts),
        str(len(made.members)),
        made.cause or "first start" if made is story.chapters[0].made else made.cause,
        chapter.over or "still running",
    )


def _troubles(story: Story) -> Markup:
    rows = [_trouble(story, each) for each in story.troubles]
    return _table(("after", "at (UTC)", "generation", "code", "who", "what", "why"), "nnnnssw", rows, "None.")


def _trouble(story: Story, trouble: GenerationFailure) -> _Row:
    return (
        scale.duration(max(0.0, trouble.at - story.begun)),
        scale.clock(trouble.at),
        str(trouble.generation),
        "" if trouble.code is None else str(trouble.code),
        str(trouble.who or ""),
        "lost" if trouble.lost else "failure",
        describe(trouble),
    )


def _past(past: Sequence[Past]) -> Markup:
    rows = [(scale.clock(each.begun, day=True), each.job, each.key, _ending(each)) for each in past]
    return _table(("started (UTC)", "job", "key", "end"), "nwsw", rows, "")


def _ending(past: Past) -> str:
    if past.verdict is None:
        return "no verdict"
    return f"{past.verdict.code}: {past.verdict.reason}" if past.verdict.reason else str(past.verdict.code)


def _table(heads: _Row, kinds: str, rows: Sequence[_Row], none: str) -> Markup:
    """Return a table; the kind of each column is n(umber), s(hort) or w(ords)."""
    if not rows:
        return tag("p", none, class_="none")
    head = tag("tr", *(tag("th", name, class_=kind) for name, kind in zip(heads, kinds, strict=True)))
    body = [
        tag("tr", *(tag("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows[-TABLE_ROWS:]
    ]
    less = len(rows) - len(body)
    note = tag("p", f"{less:,} earlier rows are not shown.", class_="note") if less else ""
    return join(tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="wide"), note)


def _foot(story: Story, source: str) -> Markup:
    """Say what the page was made from, and what was left out of it."""
    reading = story.reading
    notes = [f"Made from {source}: {reading.lines:,} lines."]
    left_out = {
        "could not be read": reading.unreadable,
        "were of an unknown kind": reading.unknown,
        "were repeated": reading.repeated,
    }
    skipped = [f"{count:,} {words}" for words, count in left_out.items() if count]
    notes.append(f"Lines skipped: {', '.join(skipped)}." if skipped else "No line was skipped.")
    if len({each.generation for each in story.progress}) > 1:
        notes.append("Where a pass was run again after a restart, the curves show the later run.")
    if story.moved:
        by = ", ".join(f"{shift:,.1f} s" for shift in story.moved)
        notes.append(
            f"The leaders' clocks differ: some times were moved forward by {by} to keep the order of the lines."
        )
    return tag("footer", *(tag("p", note) for note in notes))
