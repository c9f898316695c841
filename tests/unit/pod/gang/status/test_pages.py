"""What a launcher shows of itself: ready or not, and why; nothing where its main thread stands still."""

from __future__ import annotations

import pytest

from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import LeaderMessage, Phase, Status, Who
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


@pytest.mark.parametrize(("away", "stands"), [(0.0, False), (10.0, False), (10.1, True), (61.0, True)])
def test_a_main_thread_stands_still_when_it_is_away_for_longer_than_a_lease(away: float, stands: bool) -> None:
    assert lease.stands_still(away, lease.limits_of(peer=15, join=60, rejoin=60)) is stands


def test_a_launcher_that_stands_still_says_for_how_long() -> None:
    reply = pages.still_reply(61.2)
    said = b"the launcher's main thread has stood still for 61 s: end this pod\n"
    assert (reply.code, reply.body) == (503, said)
