"""The page that a leader serves: how its gang is at this moment, and below it the report of its run so far.

No I/O here. Nothing on it is a line of a log or a frame, and nothing is loaded from anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import median_low
from typing import Any

from launcher.contract import EVENTS, PSERVER, TRAINER, TRAINING, Spent
from launcher.pod.gang.protocol.messages import LeaderMessage, Stage
from launcher.report import page, scale
from launcher.report.markup import Markup, join, table_of, tag
from launcher.report.reading import read_events
from launcher.report.sentence import Sentence, ended_words
from launcher.report.story import read_story
from launcher.text import one_line

RENEWED = 5  # seconds
SHOWN = 20  # ranks of the table: the slowest
_NAME, _SENTENCE = 100, 400  # characters
SOURCE = "what this leader has noted itself"
_BEFORE = (
    f"What other leaders noted before it, and the last lines of who failed, are in {EVENTS} on the volume; of older "
    "progress only a part is kept here."
)
_Row = tuple[str, ...]
_Json = Mapping[str, Any]
_HEADS = ("rank", "node", "phase", "pass", "step", "steps/s", "skew", "heard")


def story_part(lines: Iterable[bytes], now: float) -> str:
    """Return the report of these events: the part of the page that is much to make."""
    story = read_story(read_events(lines), now)
    return (
        join(page.sections_of(story), page.foot_of(story, SOURCE), tag("p", _BEFORE, class_="note")) if story else ""
    )


def front_page(
    about: Mapping[str, str], word: LeaderMessage, members: Sequence[_Json], story: str, at: datetime
) -> str:
    """Return the whole page; `members` are the lines of `/gang`, and `story` is the report of the run so far."""
    name = about.get("job") or "unnamed job"
    told = _standing(word)
    usual = _usual_seconds(members)
    rows = sorted((row for each in members for row in _rows(each, usual)), key=lambda row: row[0])
    clock = at.strftime("%H:%M:%S")
    header = tag("header", tag("h1", name), page.verdict_box(told), page.facts_list(_figures(about, word, members)))
    ranks = table_of(_HEADS, "sswnnnnn", [row for _, row in rows[:SHOWN]])
    more = len(rows) - SHOWN
    note = f"{more:,} more ranks, none slower: `paddlectl top {name}` shows them." if more > 0 else ""
    how = (
        f"As of {clock} UTC. Asked for again each {RENEWED} s; made anew as often as that costs the training nothing."
    )
    return page.document(
        f"{told.words}: {name}",
        header,
        tag(
            "section",
            tag("h2", "Ranks, the slowest first"),
            tag("div", ranks, class_="ranks"),
            tag("p", f"{note} {how}", class_="note"),
        ),
        Markup(story),
        renewed=RENEWED,
    )


def _standing(word: LeaderMessage) -> Sentence:
    """Say how the gang is; below it what is waited for, what went wrong last, and what was found out."""
    if word.verdict:
        good = word.verdict.code == 0
        why = ended_words(word.verdict.reason)
        words = f"for all: {why}" if good else f"with code {word.verdict.code}: {why}"
        return Sentence(kind="good" if good else "bad", words=words)
    generation = word.generation
    number = f", generation {generation.number}" if generation else ""
    waits = word.waiting if word.stage is not Stage.TRAINING else ""
    more = [f"Waits for: {ended_words(waits)}"] if waits else []
    if generation and generation.cause:
        more.append(f"The one before ended: {ended_words(generation.cause)}")
    if word.cause and word.cause.reason != (generation and generation.cause):
        more.append(f"Trouble: {ended_words(word.cause.reason)}")
    more += [f"Alarm: {ended_words(each.reason)}" for each in word.found]
    return Sentence(
        kind="open", words=f"{word.stage}{number}", more=tuple(one_line(each, _SENTENCE) for each in more)
    )


def _figures(about: Mapping[str, str], word: LeaderMessage, members: Sequence[_Json]) -> Mapping[str, str]:
    generation = word.generation
    heard = sum("phase" in each for each in members)
    return {
        "Pods": f"{heard} of {len(members)} heard",
        "Goodput": _goodput([each.get("seconds") or {} for each in members]),
        "Generation": str(word.number or ""),
        "Restarts": str(generation.restarts) if generation else "",
        "Went on from pass": "" if generation is None or generation.resume is None else str(generation.resume),
        **{name.capitalize(): value for name, value in about.items() if name != "job"},
    }


def _goodput(ledgers: Sequence[Mapping[str, float]]) -> str:
    """Return which share of all seconds was training that is not known to be lost."""
    whole = math.fsum(seconds for each in ledgers for seconds in each.values())
    good = math.fsum(each.get(state, 0.0) for each in ledgers for state in Spent.GOOD)
    return f"{good / whole:.1%}" if whole > 0 else ""


def _usual_seconds(members: Sequence[_Json]) -> float:
    """Return what a step takes in the middle of the gang, 0 where there is nothing to compare."""
    found = [each["busy"] / each["steps"] for member in members for each in member.get("paces", ()) if each["steps"]]
    return median_low(found) if len(found) > 1 else 0.0


def _skew(pace: _Json, usual: float) -> float | None:
    """Return what the leader has found of late, else how it was over the generation so far."""
    if "ratio" in pace or not (pace.get("steps") and usual):
        return pace.get("ratio")
    return float(pace["busy"] / pace["steps"] / usual)


def _rows(member: _Json, usual: float) -> Iterable[tuple[tuple[float, ...], _Row]]:
    """Yield the rows of a pod's ranks, each with its place: the slowest first, who is not heard before them."""
    age = member.get("age")
    heard = "never" if age is None else f"{age:,.1f} s ago" if age else "itself"
    role = str(member.get("role", ""))
    if "phase" not in member:
        yield (-math.inf,), (one_line(member.get("address", ""), _NAME), "", "not heard", "", "", "", "", heard)
        return
    several = member.get("several") or [member["progress"]]
    paces = {each["rank"]: each for each in member.get("paces", ())}
    number = member["rank"]
    for local, progress in enumerate(several):
        rank = number if number is None else number * len(several) + local
        pace = paces.get(rank, {}) if member["phase"] == TRAINING else {}
        skew = _skew(pace, usual)
        who = f"{PSERVER if role == PSERVER else TRAINER} {'?' if rank is None else rank}"
        phase = str(member["phase"]) + (f" ({one_line(pace['phase'], _NAME)})" if pace.get("phase") else "")
        figures = (
            _told(progress.get("pass")),
            _told(progress.get("step")),
            _speed(pace),
            f"{skew:.2f}" if skew else "",
        )
        place = (-(skew or 0.0), float(role == PSERVER), float(-1 if rank is None else rank))
        yield place, (who, one_line(member.get("node", ""), _NAME), phase, *figures, heard)


def _speed(pace: _Json) -> str:
    """Return the steps for each second that a trainer was busy with them."""
    busy = pace.get("busy", 0.0)
    return scale.number_text(pace["steps"] / busy) if busy and pace["steps"] else ""


def _told(value: object) -> str:
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return scale.number_text(float(value)) if is_one else ""  # type: ignore[arg-type]  # it is a number
