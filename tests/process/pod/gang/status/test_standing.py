"""A launcher whose main thread stands still says so, and its status counts for nothing; one that waits is alive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lives import CHILDREN
from tests.support.statuses import Ground, Wire
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)

LEASE = 0.5


class Standing:
    """A process with an inbox, statuses, and a pipe to stand still in."""

    def __init__(self, process: subprocess.Popen[str], net: Ground, pipe: Path) -> None:
        self.process, self.net, self.pipe = process, net, pipe

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def page(self, path: str) -> tuple[int, str]:
        with Wire(self.net.at(1), self.net.port) as wire:
            wire.get(path)
            code, _, body = wire.answer()
        return code, body.decode()

    def away(self, signum: int) -> float:
        """Have it go where it stands still, and return when it was sent there."""
        at = time.monotonic()
        self.process.send_signal(signum)
        assert self.line() == "away"
        return at

    def back(self) -> None:
        self.pipe.write_text("")
        assert self.line() == "back"


@pytest.fixture
def standing(tmp_path: Path) -> Iterator[Standing]:
    net, pipe = Ground(), tmp_path / "pipe"
    os.mkfifo(pipe)
    argv = [sys.executable, str(CHILDREN / "standing.py"), net.at(1), str(net.port), str(LEASE), str(pipe)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        made = Standing(process, net, pipe)
        assert made.line() == "up"
        yield made
        process.kill()


def test_a_main_thread_that_waits_for_events_is_alive_for_as_long_as_it_takes(standing: Standing) -> None:
    until = time.monotonic() + 3 * LEASE
    while time.monotonic() < until:
        assert standing.page("/healthz") == (200, "ok\n")
        assert standing.page("/status")[0] == 200


def test_a_main_thread_that_stands_still_for_a_lease_answers_no_poll_until_it_is_back(standing: Standing) -> None:
    since = standing.away(signal.SIGUSR1)
    wait_until(lambda: standing.page("/healthz")[0] == 503)
    assert time.monotonic() > since + LEASE
    code, text = standing.page("/healthz")
    assert (code, text.startswith("the launcher's main thread has stood still for ")) == (503, True)
    assert standing.page("/status")[0] == 503
    standing.back()
    wait_until(lambda: standing.page("/healthz")[0] == 200)
    assert standing.page("/status")[0] == 200


def test_a_poll_that_waits_is_not_answered_well_once_the_main_thread_stands_still(standing: Standing) -> None:
    with Wire(standing.net.at(1), standing.net.port) as wire:
        wire.get("/status")
        _, headers, _ = wire.answer()
        standing.away(signal.SIGUSR1)
        wire.get(f"/status?after={headers['launcher-news']}&wait={2 * LEASE}&boot=b2")
        assert wire.answer()[0] == 503


def test_work_that_was_announced_is_no_standing_still_until_a_lease_after_its_time(standing: Standing) -> None:
    since = standing.away(signal.SIGUSR2)
    wait_until(lambda: standing.page("/healthz")[0] == 503)
    assert time.monotonic() > since + 4 * LEASE
