"""What a launcher shows of itself: ready or not, and why; nothing where its main thread stands still."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from launcher.pod.gang.protocol import codec, lease
from launcher.pod.gang.protocol.messages import (
    AlarmTold,
    LeaderMessage,
    Marks,
    Pace,
    Phase,
    StackDigest,
    Status,
    Trainer,
    Trouble,
    Who,
)
from launcher.pod.gang.protocol.state import NodeFailure
from launcher.pod.gang.status import pages
from launcher.pod.settings.nouns import Role

WHO = Who(role=Role.NODE, address="10.0.0.1", uid="pod", boot="b")
WORD = LeaderMessage(waiting="node 1 is staging its data")


@pytest.mark.parametrize(
    ("phase", "word", "waiting", "expected"),
    [
        (Phase.TRAINING, WORD, "", (200, b"training\n")),
        (Phase.TRAINING, WORD, "trainer 0 has not started", (503, b"training: trainer 0 has not started\n")),
        (Phase.STAGING, WORD, "", (503, b"staging: node 1 is staging its data\n")),
        (Phase.STAGING, None, "", (503, b"staging: staging its data\n")),
    ],
)
def test_a_pod_is_ready_once_it_serves_and_each_program_has_started(
    phase: Phase, word: LeaderMessage | None, waiting: str, expected: tuple[int, bytes]
) -> None:
    reply = pages.ready(Status(who=WHO, phase=phase), word, waiting)
    assert (reply.code, reply.body) == expected


def test_the_leader_s_page_has_the_progress_of_each_of_a_pod_s_trainers() -> None:
    one = Status(who=WHO, word=WORD, marks=Marks(progress={"step": 1}))
    several = replace(one, several=tuple(Trainer(marks=Marks(progress={"step": step})) for step in (2, 3)))
    (line,), (lines,) = (json.loads(pages.gang_reply(each, {}, "", 0.0).body)["members"] for each in (one, several))
    assert (line["progress"], line.get("several")) == ({"step": 1}, None)
    assert (lines["progress"], lines["several"]) == ({"step": 2}, [{"step": 2}, {"step": 3}])


def test_the_leader_s_page_says_where_each_member_is_how_fast_and_what_its_seconds_were() -> None:
    told = Status(
        who=WHO,
        word=WORD,
        rank=3,
        node="node-b",
        seconds={"training": 1.23456},
        marks=Marks(pace=Pace(steps=8, busy=2.00049, phase="compute")),
        looked=2,
        standing=(StackDigest(role=Role.TRAINER, rank=3, digest="abc", where="secret.py:7"),),
    )
    (line,) = json.loads(pages.gang_reply(told, {}, "", 0.0, {3: 1.5004}).body)["members"]
    assert line["node"] == "node-b"
    assert line["seconds"] == {"training": 1.235}
    assert line["paces"] == [{"rank": 3, "steps": 8, "busy": 2.0, "phase": "compute", "ratio": 1.5}]
    assert line["looked"] == 2
    assert line["standing"] == [{"role": "trainer", "rank": 3, "digest": "abc", "waits": False, "state": ""}]


def test_the_leader_s_page_has_the_last_five_failures_with_their_nodes() -> None:
    failures = [
        NodeFailure(
            at="2026-01-01T00:00:00Z", run="key", generation=number, node="node-b", role="trainer", rank=1, code=7,
            lost=False, reason="trainer 1 exited with 7",
        )
        for number in range(7)
    ]  # fmt: skip
    page = json.loads(pages.gang_reply(Status(who=WHO, word=WORD), {}, "", 0.0, failures=failures).body)
    assert [each["generation"] for each in page["failures"]] == [2, 3, 4, 5, 6]
    assert page["failures"][-1]["node"] == "node-b"
    assert "failures" not in json.loads(pages.gang_reply(Status(who=WHO, word=WORD), {}, "", 0.0).body)


def test_strangers_see_no_frame_and_no_end_of_a_log() -> None:
    told = AlarmTold(kind=Trouble.STALLED, rank=0, node="node-b", reason="stands", tail="secret.py:7")
    standing = (StackDigest(role=Role.TRAINER, rank=0, digest="abc", where="secret.py:7"),)
    status = Status(who=WHO, word=replace(WORD, found=(told,)), standing=standing)
    seen = pages.for_strangers(status)
    assert seen.word
    assert (seen.word.found[0].reason, seen.standing[0].digest) == ("stands", "abc")
    assert b"secret" not in codec.encode(seen)
    assert b"secret" not in pages.gang_reply(status, {}, "", 0.0).body


def test_of_several_trainers_only_those_have_a_pace_that_count_their_steps() -> None:
    several = (Trainer(), Trainer(marks=Marks(pace=Pace(steps=1, busy=0.5))))
    told = Status(who=WHO, word=WORD, rank=2, several=several)
    (line,) = json.loads(pages.gang_reply(told, {}, "", 0.0).body)["members"]
    assert line["paces"] == [{"rank": 5, "steps": 1, "busy": 0.5, "phase": ""}]


def test_a_member_that_told_nothing_new_has_the_line_that_it_always_had() -> None:
    (line,) = json.loads(pages.gang_reply(Status(who=WHO, word=WORD), {}, "", 0.0).body)["members"]
    assert set(line) == {"address", "age", "role", "rank", "phase", "progress"}


@pytest.mark.parametrize(("away", "stands"), [(0.0, False), (10.0, False), (10.1, True), (61.0, True)])
def test_a_main_thread_stands_still_when_it_is_away_for_longer_than_a_lease(away: float, stands: bool) -> None:
    assert lease.stands_still(away, lease.limits_of(peer=15, join=60, rejoin=60)) is stands


def test_a_launcher_that_stands_still_says_for_how_long() -> None:
    reply = pages.still_reply(61.2)
    said = b"the launcher's main thread has stood still for 61 s: end this pod\n"
    assert (reply.code, reply.body) == (503, said)
