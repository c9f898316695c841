"""The page: one file, nothing loaded, nothing run.

No I/O here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from launcher.report import scale, style
from launcher.report.curves import curves
from launcher.report.events import AlarmNoted
from launcher.report.goodput.spending import goodput_words, time_section
from launcher.report.markup import Markup, Row, join, table_of, tag
from launcher.report.passes import Loss, losses_of
from launcher.report.sentence import KINDS, Sentence, describe, sentence
from launcher.report.series import charts_of
from launcher.report.story import Chapter, GenerationFailure, Past, Story
from launcher.report.timeline import timeline

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
HTML = "text/html; charset=utf-8"
# Of a page that is served: its styles stand in it, and nothing else is allowed: no script, no picture, no frame.
SAFE = (
    ("Content-Security-Policy", f"{POLICY}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)
TAILS = 20  # failures whose last lines are shown
_NOTHING = {
    "Timeline": "No rank has reported.",
    "Metrics": "No metric was reported.",
    "Generations": "No generation was made.",
    "Failures and losses": "No failure and no loss.",
}


def page(story: Story, source: str, asked: Mapping[str, str] | None = None) -> str:
    """Return the whole file; `asked` is what is known of the job from elsewhere."""
    told = sentence(story)
    name = story.job or "unnamed job"
    facts = (facts_list(_figures(story)), facts_list(_asked(story, asked or {})))
    header = tag("header", tag("h1", name), verdict_box(told), *facts)
    return document(f"{KINDS[told.kind].rstrip(':')}: {name}", header, sections_of(story), foot_of(story, source))


def document(title: str, *body: Markup, renewed: int | None = None) -> str:
    """Return a page with this body; a browser asks for it again after so many seconds, where that is said."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", http_equiv="refresh", content=renewed) if renewed else Markup(""),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style.SHEET)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *body), lang='en')}\n"


def sections_of(story: Story) -> Markup:
    """Return the timeline, the curves and the tables, and in one line what there is nothing of."""
    charts, more = charts_of(story.reports, story.begun)
    sections = {
        "Timeline": timeline(story) if story.lanes else None,
        "Where the time went": time_section(story.account) if story.account and story.account.whole else None,
        f"Metrics by {charts[0].axis}" if charts else "Metrics": curves(charts, more) if charts else None,
        "Generations": _generations(story) if story.chapters else None,
        "Failures and losses": _troubles(story) if story.troubles else None,
        "Alarms": _alarms(story) if story.alarms else None,
        "Earlier runs in this file": _past(story.past) if story.past else None,
    }
    shown = (tag("section", tag("h2", title), content) for title, content in sections.items() if content)
    return join(*shown, _nothing(title for title, content in sections.items() if not content))


def verdict_box(told: Sentence) -> Markup:
    """Return the first lines in a box of their colour."""
    words = tag("p", tag("strong", tag("em", KINDS[told.kind]), f" {told.words}"))
    return tag("div", words, *(tag("p", each) for each in told.more), class_=f"verdict {told.kind}", id="verdict")


def _nothing(titles: Iterable[str]) -> Markup:
    """Return what there is nothing of, in one line."""
    words = " ".join(_NOTHING[title] for title in titles if title in _NOTHING)
    return tag("p", words, class_="none") if words else Markup("")


def facts_list(facts: Mapping[str, str]) -> Markup:
    """Return names and values, without those that are empty."""
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
        "Goodput": goodput_words(story.account) if story.account and story.account.whole else "",
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
    return table_of(heads, "nnnnnnwww", rows)


def _chapter(story: Story, chapter: Chapter, lost: str) -> Row:
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
    table = table_of(("after", "at (UTC)", "generation", "code", "who", "what", "why"), "nnnnssw", rows)
    tails = [each for each in story.troubles if each.tail][:TAILS]
    titles = [f"The last lines of {each.who or 'its log'}, generation {each.generation}" for each in tails]
    return join(table, *_folded(titles, [each.tail for each in tails]))


def _folded(titles: Sequence[str], tails: Sequence[Sequence[str]]) -> Iterable[Markup]:
    """Yield lines below their titles, folded but for the first."""
    for place, (title, tail) in enumerate(zip(titles, tails, strict=True)):
        lines = tag("pre", "\n".join(tail))
        yield tag("details", tag("summary", title), lines, open=None if place else "")


def _alarms(story: Story) -> Markup:
    """Return what was found out of the training while it went on, and where the programs stood."""
    heads = ("after", "at (UTC)", "generation", "what", "rank", "on node", "why")
    table = table_of(heads, "nnnsnsw", [_alarm(story, each) for each in story.alarms])
    tails = [each for each in story.alarms if each.tail][:TAILS]
    titles = [f"Where the programs stood at {scale.clock(each.at)} UTC" for each in tails]
    return join(table, *_folded(titles, [each.tail for each in tails]))


def _alarm(story: Story, alarm: AlarmNoted) -> Row:
    return (
        scale.duration(max(0.0, alarm.at - story.begun)),
        scale.clock(alarm.at),
        str(alarm.generation),
        alarm.kind.replace("_", " "),
        "" if alarm.rank is None else str(alarm.rank),
        alarm.node,
        alarm.reason,
    )


def _trouble(story: Story, trouble: GenerationFailure) -> Row:
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
    return table_of(("started (UTC)", "job", "key", "end"), "nwsw", rows)


def _ending(past: Past) -> str:
    if past.verdict is None:
        return "no verdict"
    return f"{past.verdict.code}: {past.verdict.reason}" if past.verdict.reason else str(past.verdict.code)


def foot_of(story: Story, source: str) -> Markup:
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
