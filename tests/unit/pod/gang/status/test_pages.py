"""What a launcher shows of itself: ready or not, and why; nothing where its main thread stands still."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import LeaderMessage, Marks, Phase, Status, Trainer, Who
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


@pytest.mark.parametrize(("away", "stands"), [(0.0, False), (10.0, False), (10.1, True), (61.0, True)])
def test_a_main_thread_stands_still_when_it_is_away_for_longer_than_a_lease(away: float, stands: bool) -> None:
    assert lease.stands_still(away, lease.limits_of(peer=15, join=60, rejoin=60)) is stands


def test_a_launcher_that_stands_still_says_for_how_long() -> None:
    reply = pages.still_reply(61.2)
    said = b"the launcher's main thread has stood still for 61 s: end this pod\n"
    assert (reply.code, reply.body) == (503, said)
