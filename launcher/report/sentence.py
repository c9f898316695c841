"""The verdict in a sentence, and what stands behind it in another.

No I/O here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from launcher.report import scale
from launcher.report.lanes import Lane
from launcher.report.story import GenerationFailure, Story

KINDS = {"good": "Success", "bad": "Failed", "open": "No verdict yet:"}

SEAT = re.compile(r"\b(node|pserver|trainer) \d+\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """The page's first lines: a kind of `KINDS`, the sentence after it, and the reasons."""

    kind: str
    words: str
    more: tuple[str, ...] = ()


def sentence(story: Story) -> Sentence:
    """Say how it ended, who failed first and why."""
    verdict = story.verdict
    if verdict is None:
        return _open(story)
    reason = ended_words(verdict.reason)
    took = f"after {scale.duration(story.seconds)}"
    restarted = _times(story.restarts, "restart")
    if verdict.code == 0:
        again = (f"It took {restarted}; the {_first(story, story.troubles[0])}",) if story.troubles else ()
        return Sentence(kind="good", words=f"{took}: {reason or 'every trainer is done.'}", more=again)
    words = f"with code {verdict.code} {took}: {reason or 'no reason was given.'}"
    more = [f"The {_first(story, story.troubles[0])}"] if story.troubles else []
    if story.restarts:
        more.append(f"{restarted[0].upper()}{restarted[1:]} did not help.")
    return Sentence(kind="bad", words=words, more=tuple(more))


def ended_words(reason: str) -> str:
    """Return a reason as the end of a sentence."""
    return reason if not reason or reason[-1] in ".!?…" else f"{reason}."


def describe(trouble: GenerationFailure) -> str:
    """Say what happened, in the words of the gang or in ours."""
    return trouble.reason or ("no reason was given" if trouble.lost else f"ended with {trouble.code}")


def _first(story: Story, trouble: GenerationFailure) -> str:
    since = scale.duration(max(0.0, trouble.at - story.begun))
    who = f"{trouble.who or 'a member'} was lost" if trouble.lost else str(trouble.who or "")
    named = not trouble.lost and SEAT.search(trouble.reason)
    about = ": ".join(filter(None, ("" if named else who, describe(trouble))))
    return f"first failure was in generation {trouble.generation}, after {since}: {ended_words(about)}"


def _open(story: Story) -> Sentence:
    """Say how far it came: it still runs, or the leader died before it could write a verdict."""
    words = f"still running, or ended without a verdict. The last event is of {scale.clock(story.ended)} UTC."
    generation = (
        f"In generation {story.chapters[-1].made.generation}: " if story.chapters else "Before any generation: "
    )
    more = [generation + (_standing(story.lanes) or "no rank has reported") + "."]
    if story.troubles:
        more.append(f"The {_first(story, story.troubles[0])}")
    if story.alarms:
        last = story.alarms[-1]
        since = scale.duration(max(0.0, last.at - story.begun))
        more.append(f"The last alarm was in generation {last.generation}, after {since}: {ended_words(last.reason)}")
    return Sentence(kind="open", words=words, more=tuple(more))


def _standing(lanes: Sequence[Lane]) -> str:
    """Count the ranks by what each did last."""
    last: Counter[str] = Counter()
    for lane in lanes:
        moments = [(bar.end, bar.kind) for bar in lane.bars[-1:]] + [(mark.at, mark.kind) for mark in lane.marks[-1:]]
        if moments:
            last[max(moments)[1]] += 1
    return ", ".join(f"{count} {kind if kind != 'gap' else 'down'}" for kind, count in last.most_common())


def _times(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count or 'no'} {noun}s"
