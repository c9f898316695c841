"""The page: one file, nothing loaded, nothing run.

No I/O here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from launcher.report import scale, style
from launcher.report.curves import curves
from launcher.report.markup import Markup, join, tag
from launcher.report.passes import Loss, losses_of
from launcher.report.sentence import KINDS, Sentence, describe, sentence
from launcher.report.series import charts_of
from launcher.report.story import Chapter, GenerationFailure, Past, Story
from launcher.report.timeline import timeline

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
TABLE_ROWS = 500
TAILS = 20  # failures whose last lines are shown
_NOTHING = {
    "Timeline": "No rank has reported.",
    "Metrics": "No metric was reported.",
    "Generations": "No generation was made.",
    "Failures and losses": "No failure and no loss.",
}
_Row = Sequence[str]


def page(story: Story, source: str, asked: Mapping[str, str] | None = None) -> str:
    """Return the whole file; `asked` is what is known of the job from elsewhere."""
    told = sentence(story)
    name = story.job or "unnamed job"
    charts, more = charts_of(story.reports, story.begun)
    sections = {
        "Timeline": timeline(story) if story.lanes else None,
        f"Metrics by {charts[0].axis}" if charts else "Metrics": curves(charts, more) if charts else None,
        "Generations": _generations(story) if story.chapters else None,
        "Failures and losses": _troubles(story) if story.troubles else None,
        "Earlier runs in this file": _past(story.past) if story.past else None,
    }
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
        tag("header", tag("h1", name), _verdict(told), _facts(_figures(story)), _facts(_asked(story, asked or {}))),
        *(tag("section", tag("h2", title), content) for title, content in sections.items() if content),
        _nothing(title for title, content in sections.items() if not content),
        _foot(story, source),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _verdict(told: Sentence) -> Markup:
    words = tag("p", tag("strong", tag("em", KINDS[told.kind]), f" {told.words}"))
    return tag("div", words, *(tag("p", each) for each in told.more), class_=f"verdict {told.kind}", id="verdict")


def _nothing(titles: Iterable[str]) -> Markup:
    """Return what there is nothing of, in one line."""
    words = " ".join(_NOTHING[title] for title in titles if title in _NOTHING)
    return tag("p", words, class_="none") if words else Markup("")


def _facts(facts: Mapping[str, str]) -> Markup:
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items() if value]
    return tag("dl", *rows, class_="facts") if rows else Markup("")


def _asked(story: Story, asked: Mapping[str, str]) -> Mapping[str, str]:
    """Return the job's facts: as its leader wrote them, and what is known from elsewhere."""
    return {name.capitalize(): value for name, value in {**dict(story.facts), **asked}.items()}


def _figures(story: Story) -> Mapping[str, str]:
    roles = Counter(lane.seat.role for lane in story.lanes)
    passes = [*story.saved, *(each.pass_ for each in story.reports if each.pass_ is not None)]
    return {
        "Ranks": ", ".join(f"{count} {role}{'s' if count > 1 else ''}" for role, count in roles.items()),
        "Time in all": scale.duration(story.seconds),
        "Generations": str(len(story.chapters)),
        "Restarts": str(story.restarts),
        "Lost in restarts": cost_words(losses_of(story)),
        "Last pass": str(max(passes)) if passes else "",
        "Went on from pass": "" if story.resume is None else str(story.resume),
        "Started (UTC)": scale.clock(story.begun, day=True),
        "Key": story.key,
        "Output before moved to": story.moved_to,
    }


def cost_words(losses: Sequence[Loss]) -> str:
    """Return what all restarts cost: the time trained in vain, the time without training, the passes run again."""
    if not losses:
        return ""
    known = [each.again for each in losses if each.again is not None]
    down = sum(each.down for each in losses)
    again = scale.duration(sum(known)) if len(known) == len(losses) else "an unknown time"
    passes = sum(each.passes for each in losses)
    total = scale.duration(down + sum(known)) + ("" if len(known) == len(losses) else " or more")
    times = f"{again} trained in vain, {scale.duration(down)} until it trained again"
    return f"{total} and {passes} pass{'' if passes == 1 else 'es'} ({times})"


def _generations(story: Story) -> Markup:
    lost = {each.generation: cost_words([each]) for each in losses_of(story)}
    rows = [_chapter(story, chapter, lost.get(chapter.made.generation, "")) for chapter in story.chapters]
    heads = ("number", "after", "made at (UTC)", "ran for", "resumed from", "members", "cause", "end", "its end cost")
    return _table(heads, "nnnnnnwww", rows)


def _chapter(story: Story, chapter: Chapter, lost: str) -> _Row:
    made = chapter.made
    return (
        str(made.generation),
        scale.duration(max(0.0, made.at - story.begun)),
        scale.clock(made.at),
        scale.duration(chapter.ended - made.at),
        "the start" if made.resume is None else f"pass {made.resume}",
        str(len(made.members)),
        made.cause or "first start" if made is story.chapters[0].made else made.cause,
        chapter.over or "still running",
        lost,
    )


def _troubles(story: Story) -> Markup:
    rows = [_trouble(story, each) for each in story.troubles]
    table = _table(("after", "at (UTC)", "generation", "code", "who", "what", "why"), "nnnnssw", rows)
    tails = [each for each in story.troubles if each.tail][:TAILS]
    return join(table, *(_tail(each, first=each is tails[0]) for each in tails))


def _tail(trouble: GenerationFailure, *, first: bool) -> Markup:
    """Return the last lines of who failed, folded but for the first."""
    title = f"The last lines of {trouble.who or 'its log'}, generation {trouble.generation}"
    lines = tag("pre", "\n".join(trouble.tail))
    return tag("details", tag("summary", title), lines, open="" if first else None)


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
    return _table(("started (UTC)", "job", "key", "end"), "nwsw", rows)


def _ending(past: Past) -> str:
    if past.verdict is None:
        return "no verdict"
    return f"{past.verdict.code}: {past.verdict.reason}" if past.verdict.reason else str(past.verdict.code)


def _table(heads: _Row, kinds: str, rows: Sequence[_Row]) -> Markup:
    """Return a table; the kind of each column is n(umber), s(hort) or w(ords). Where it is narrow a row is a card."""
    head = tag("tr", *(tag("th", name, class_=kind) for name, kind in zip(heads, kinds, strict=True)))
    body = [tag("tr", *_cells(heads, kinds, row)) for row in rows[-TABLE_ROWS:]]
    less = len(rows) - len(body)
    note = tag("p", f"{less:,} earlier rows are not shown.", class_="note") if less else ""
    return join(tag("table", tag("thead", head), tag("tbody", *body)), note)


def _cells(heads: _Row, kinds: str, row: _Row) -> Iterable[Markup]:
    """Yield a row's cells, each with its column's name, which a card shows."""
    for name, kind, cell in zip(heads, kinds, row, strict=True):
        yield tag("td", cell, class_=kind, data_name=name)


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
