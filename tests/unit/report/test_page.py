"""The page: well-formed whatever it is made from, readable for few and for many, and never too large."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.contract import PHASES, ROLES
from launcher.report.forms import BUILDERS
from launcher.report.goodput.account import ORDER
from launcher.report.markup import VOID
from launcher.report.page import page
from launcher.report.reading import read_events
from launcher.report.story import read_story
from launcher.report.timeline import row_height
from tests.unit.report.test_gang import gang, lines, moment, phase, story_of, told

EVIL = "<script>alert(1)</script>\"'&\u202e\ud800</style><b x='"


class Seen(HTMLParser):
    """What a browser would find, if everything that was opened is closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, kind: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.tags if kind in (attrs.get("class") or "").split()]


def seen_of(events: list[dict[str, Any]]) -> Seen:
    return Seen(page(story_of(events), "output/events.jsonl"))


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    seen = seen_of(gang(3, failing=[2]))
    assert not {"script", "link", "img", "iframe", "object"} & {name for name, _ in seen.tags}
    assert not any({"src", "href", "onload"} & set(attrs) for _, attrs in seen.tags)
    assert "url(" not in seen.text
    assert "@import" not in seen.text
    (policy,) = [attrs["content"] for _, attrs in seen.tags if attrs.get("http-equiv")]
    assert policy
    assert policy.startswith("default-src 'none'")


def test_the_verdict_the_facts_and_the_tables_are_there() -> None:
    seen = seen_of(gang(3, failing=[2]))
    assert "Success after 1 min 32 s: every trainer is done." in seen.text
    for words in ("3 nodes", "trainer 2 exited with 7", "generation 2: trainer 2", "pass 0", "No line was skipped."):
        assert words in seen.text
    assert len(seen.of("row")) == 3
    assert len(seen.of("made")) == 2
    assert "curves show the later run" in seen.text


@pytest.mark.parametrize("ranks", [1, 8, 9, 100])
def test_each_rank_has_a_row_and_up_to_eight_a_line(ranks: int) -> None:
    seen = seen_of(gang(ranks, 3))
    assert len(seen.of("row")) == ranks
    assert len(seen.of("seat")) == ranks
    lines_drawn = [attrs for attrs in seen.of("line") if "L" in (attrs.get("d") or "")]
    assert len(lines_drawn) == (2 * ranks if ranks <= 8 else 2)
    assert bool(seen.of("band")) == (ranks > 8)


def test_a_long_line_is_drawn_without_dots() -> None:
    assert not seen_of(gang(3, 30, steps=9)).of("dot")
    assert seen_of(gang(3, 3)).of("dot")


def test_rows_beyond_a_thousand_are_counted_only() -> None:
    busy = [phase(2 + number, 1, 0, ("joining", "staging")[number % 2]) for number in range(60)]
    seen = seen_of([*(phase(rank / 1000, 1, rank, "training") for rank in range(1003)), *busy])
    assert len(seen.of("staging")) == 2, "all bars of a kind in a row are one where there are very many"
    assert len(seen.of("row")) == 1000
    assert "3 more ranks are not drawn." in seen.text
    assert len(seen.of("seat")) < 400, "labels are thinned where rows are thin"
    assert [row_height(rows) for rows in (3, 7, 100, 1000)] == [40, 26, 13, 4]


def test_of_a_crash_loop_the_longest_stretches_and_the_last_generations_are_drawn() -> None:
    events = []
    for number in range(510):
        generation = told(number, "generation_made", generation=number, restarts=number, cause=f"cause {number}")
        events += [generation, phase(number + 0.1, number, 0, "training"), phase(number + 0.9, number, 0, "failed")]
    events += [phase(number * 0.5, 509, 1, ("joining", "staging")[number % 2]) for number in range(3000)]
    seen = seen_of(events)
    assert len(seen.of("made")) == 200
    assert "10 earlier rows are not shown." in seen.text
    assert len(seen.of("staging")) < 2000
    assert "cause 509" in seen.text


def test_each_kind_of_mark_is_drawn_and_explained() -> None:
    ends = [phase(9, 1, rank, ("done", "failed", "stopped")[rank]) for rank in range(3)]
    seen = seen_of([*ends, told(9, "lost", generation=1, role="node", rank=3, reason="no answer")])
    for kind, words in {"done": "done", "failed": "failed", "stopped": "stopped", "lost": "lost"}.items():
        assert len(seen.of(kind)) == 2, "one in its row, one in the legend"
        assert words in seen.text


def test_nothing_told_of_is_said_in_words() -> None:
    seen = seen_of([told(0, "run_started", key="", job="", resume=3, moved_to="run-7")])
    assert "unnamed job" in seen.text
    assert (
        "No rank has reported. No metric was reported. No generation was made. No failure and no loss." in seen.text
    )
    assert "run-7" in seen.text
    assert not [name for name, _ in seen.tags if name == "section"], "what is empty takes one line"


def test_a_good_run_without_metrics_has_no_empty_section() -> None:
    events = [event for event in gang(2) if event["event"] != "progress"]
    seen = seen_of(events)
    assert "No metric was reported. No failure and no loss." in seen.text
    assert [name for name, _ in seen.tags].count("section") == 2, "the timeline and the generations"


def test_the_head_has_the_jobs_facts() -> None:
    events = gang(2)
    events[0] |= {"command": "python train.py", "runtime": "v1", "namespace": "here"}
    seen = Seen(page(story_of(events), "events.jsonl", {"image": "paddle:2.6", "namespace": "there"}))
    for words in ("Commandpython train.py", "Runtimev1", "Namespacethere", "Imagepaddle:2.6"):
        assert words in seen.text


def test_what_a_restart_cost_stands_in_the_head_and_with_its_generation() -> None:
    cost = "22.5 s and 1 pass (12.5 s trained in vain, 9.98 s until it trained again)"
    seen = seen_of(gang(2, 3, failing=[2]))
    assert f"Lost in restarts{cost}" in seen.text
    assert seen.text.count(cost) == 2


def test_the_last_lines_of_who_failed_are_shown_and_those_of_the_first_at_once() -> None:
    events = gang(2, 4, failing=[2, 3])
    for event in events:
        event |= {"tail": "one\n" * 20 + "\x1b[31mlast\n"} if event["event"] == "failure" else {}
    seen = seen_of(events)
    folds = [attrs for name, attrs in seen.tags if name == "details"]
    assert ["open" in attrs for attrs in folds] == [True, False]
    assert "The last lines of node 1, generation 1" + "one\n" * 11 + "?[31mlast" in seen.text


def test_a_pass_is_a_tick_and_very_many_are_one_drawing() -> None:
    seen = seen_of(gang(2, 5))
    assert len(seen.of("pass")) == 2 * 5 + 1, "one for each rank, and one in the legend"
    many = [told(at / 10, "progress", generation=1, role="trainer", rank=0, **{"pass": at}) for at in range(3000)]
    crowd = Seen(page(story_of([phase(0, 1, 0, "training"), *many]), "x"))
    assert len(crowd.of("pass")) == 2
    assert "3,000 passes, 0 to 2999" in crowd.text


def test_the_legend_explains_what_can_be_seen() -> None:
    events = [phase(0, 1, 0, "joining"), phase(0.001, 1, 0, "training"), phase(100, 1, 0, "done")]
    seen = seen_of(events)
    assert [len(seen.of(kind)) for kind in ("joining", "training")] == [1, 2], "in the row; in the row and the legend"


def test_losses_earlier_runs_skipped_lines_and_clocks_are_told() -> None:
    first = [told(0, "run_started", key="a", job="first"), told(1, "verdict", code=3, reason="no luck")]
    second = [told(20, "run_started", key="b", job="second"), told(30, "verdict", code=4)]
    third = [told(40, "run_started", key="c", job="third")]
    loss = told(50, "lost", generation=1, role="node", rank=0, reason="no answer")
    last = [told(60, "run_started", key="d"), loss, phase(70, 1, 0, "joining"), phase(10, 1, 0, "staging"), loss]
    story = read_story(
        read_events([*lines([*first, *second, *third, *last]), b"torn", b'{"at": "2026", "event": "tea"}'])
    )
    assert story
    text = page(story, "x")
    for words in ("3: no luck", "no verdict", "lost", "no answer", "The leaders&#x27; clocks differ", ">4<"):
        assert words in text
    assert "Lines skipped: 1 could not be read, 1 were of an unknown kind, 1 were repeated." in text


def test_text_of_others_is_escaped_wherever_it_stands() -> None:
    events = [told(0, "run_started", key=EVIL, job=EVIL, moved_to=EVIL)]
    events += gang(3, 3, failing=[2], end=1)[1:]
    for event in events:
        event |= {key: EVIL for key in ("reason", "cause", "address") if event.get(key)}
        event |= {"tail": EVIL} if event["event"] == "failure" else {}
        if "metrics" in event:
            event["metrics"] = {EVIL: event["metrics"]["cost"]}
    events.append(told(9, "lost", generation=1, role="node", rank=0, reason=EVIL))
    events.append(told(9, "alarm", generation=1, kind=EVIL, rank=0, node=EVIL, reason=EVIL, tail=EVIL))
    text = page(story_of(events), EVIL.replace("\ud800", ""))
    seen = Seen(text)
    assert {name for name, _ in seen.tags} <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "div", "p", "strong", "em", "dl", "dt",
        "dd", "section", "h2", "ul", "li", "svg", "g", "path", "text", "circle", "figure", "figcaption", "b", "span",
        "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre", "footer",
    }  # fmt: skip
    assert "<script" not in text
    assert "<b x" not in text
    assert text.count("</style>") == 1
    assert seen.text.count("<script>alert(1)</script>") >= 8
    text.encode()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(EVIL),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
SMALL = st.integers(0, 4) | VALUES
ROLE = st.sampled_from(ROLES)
SECONDS = st.dictionaries(st.sampled_from((*ORDER, "other")), st.floats(0, 1e9) | SMALL, max_size=4)
MEMBER = st.fixed_dictionaries(
    {"role": ROLE, "rank": SMALL, "address": st.just("10.0.0.1")},
    optional={"boot": st.sampled_from("ab") | VALUES, "ago": st.floats(0, 99) | SMALL, "seconds": SECONDS},
)
EVENT = st.fixed_dictionaries(
    {
        "at": st.floats(-1e4, 1e4).map(moment) | st.datetimes().map(lambda at: at.isoformat()) | VALUES,
        "event": st.sampled_from(sorted(BUILDERS)),
    },
    optional={
        "generation": SMALL, "rank": SMALL, "role": ROLE, "phase": st.sampled_from(sorted(PHASES)), "code": SMALL,
        "pass": SMALL, "step": SMALL, "reason": VALUES, "cause": VALUES, "key": VALUES, "job": VALUES,
        "address": st.just("10.0.0.1"), "restarts": SMALL, "resume": SMALL, "kind": VALUES, "node": VALUES,
        "members": st.lists(MEMBER, max_size=3) | VALUES,
        "metrics": st.dictionaries(st.text(max_size=3), st.floats() | st.integers(0, 9), max_size=3) | VALUES,
    },
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(EVENT.map(lambda event: json.dumps(event).encode()) | st.binary(max_size=40), max_size=12))
def test_any_file_gives_a_well_formed_page_or_none(text: list[bytes]) -> None:
    story = read_story(read_events(text))
    if story:
        written = page(story, "x")
        Seen(written)
        assert "<script" not in written
        assert "nan" not in "".join(attrs.get("d") or "" for _, attrs in Seen(written).tags)
        written.encode()
