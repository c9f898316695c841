"""What is around a gang goes wrong: its volume hangs, its clock jumps, strangers come in crowds."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.support.gangs import Fault, Gang, gang
from tests.support.launchers import STATUS_PORT
from tests.support.outcomes import is_done, note
from tests.support.wall_clock import WallClock
from tests.support.whole_volume import whole_volume

pytestmark = pytest.mark.timeout(90)

HELD = Fault("pass 1", "wait", generation=1, times=0)
QUICK = {"LAUNCHER_PEER_TIMEOUT": "3"}
PATIENT = {"LAUNCHER_PEER_TIMEOUT": "9"}  # so that nobody is lost to a busy machine
LOST = 3.0
MINUTE = 60.0  # thirty leases
HOUR = 3600


def undisturbed(g: Gang, seconds: float) -> None:
    """Hold that for so long all statuses answer, and no generation ends."""
    until = g.now() + seconds
    while g.now() < until:
        for each in g.places:
            assert each.phase == "training", each.page("/healthz")  # within 2 s, or there is none
        time.sleep(0.1)
    assert not any(each.events("generation_ended") for each in g.places)


def test_a_volume_that_hangs_stops_neither_the_training_nor_the_verdict(tmp_path: Path) -> None:
    env = {**QUICK, "LAUNCHER_MAX_RESTARTS": "0"}
    with whole_volume(tmp_path / "volume") as volume, gang(3, tmp_path, faults=[HELD], env=env) as g:
        g.await_trace("fault", 3)
        with volume.hanging():
            undisturbed(g, LOST + 1)
            at = g.now()
            g.launcher(1).child().send_signal(signal.SIGKILL)
            code, message = g.verdict()
        note("a trainer is killed while the volume hangs", f"all end with {code}", g.last_end() - at)
        assert (code, "trainer 1" in message) == (128 + signal.SIGKILL, True)


def test_a_volume_that_hangs_for_a_minute_in_training_ends_no_generation(tmp_path: Path) -> None:
    env = {**QUICK, "LAUNCHER_MAX_RESTARTS": "0"}
    with whole_volume(tmp_path / "volume") as volume, gang(3, tmp_path, faults=[HELD], env=env) as g:
        g.await_trace("fault", 3)
        with volume.hanging():
            undisturbed(g, MINUTE)
        g.go()
        is_done(g)
        assert len(g.events("generation_made")) == 1


def test_a_volume_that_hangs_does_not_stop_a_stop(tmp_path: Path) -> None:
    with whole_volume(tmp_path / "volume") as volume, gang(3, tmp_path, faults=[HELD], env=QUICK) as g:
        g.await_trace("fault", 3)
        with volume.hanging():
            at = g.now()
            for each in g.places:
                each.send(signal.SIGTERM)
            assert g.codes() == [128 + signal.SIGTERM] * 3
        note("TERM to all while the volume hangs", "all end with 143", g.last_end() - at)


CLOCKS = """
import sys, time
wall, other = time.time(), time.monotonic()
print(flush=True)
sys.stdin.readline()
time.sleep(0.01)
print(round((time.time() - wall) / 3600), round((time.monotonic() - other) / 3600))
"""


def test_a_clock_that_jumps_leaves_every_sleep_alone(tmp_path: Path) -> None:
    """Or else it is not its clock that a gang suffers from: what sleeps in a launcher, once it must, fails."""
    clock = WallClock(tmp_path / "clock")
    env = {**os.environ, **clock.env}
    words = [sys.executable, "-c", CLOCKS]
    with subprocess.Popen(words, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout
        program.stdout.readline()
        clock.jump(-HOUR)
        told, _ = program.communicate("\n")
    assert told.split() == ["-1", "0"]


def test_clocks_that_jump_by_an_hour_disturb_nobody(tmp_path: Path) -> None:
    """The leader's an hour ahead and a member's an hour back."""
    leader, member = WallClock(tmp_path / "leader"), WallClock(tmp_path / "member")
    env_of = {0: leader.env, 1: member.env}
    with gang(3, tmp_path, faults=[HELD], env=PATIENT, env_of=env_of) as g:
        g.await_trace("fault", 3)
        leader.jump(HOUR)
        member.jump(-HOUR)
        undisturbed(g, 2.0)
        g.go()
        is_done(g)
        assert len(g.events("generation_made")) == 1
        told = [each.events("launcher_finished")[0]["timestamp"] for each in g.places]
        assert told[1] < told[2] < told[0]


CROWD, PER_ADDRESS = 500, 20
SLOW = b"GET /status HTTP/1.1\r\nHost: a\r\nX-Slow: "
OTHERS = (
    b"POST /status HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    b"DELETE / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"\x16\x03\x01 no http at all\r\n\r\n",
)


def test_crowds_of_strangers_disturb_nobody(tmp_path: Path) -> None:
    with gang(3, tmp_path, faults=[HELD], env=PATIENT) as g, ExitStack() as stack:
        g.await_trace("fault", 3)
        leader = psutil.Process(g.launcher(0).life.pid)
        before = leader.memory_info().rss
        for number in range(CROWD):
            source = (f"{g.net}.{100 + number // PER_ADDRESS}", 0)
            wire = socket.create_connection((g.address(0), STATUS_PORT), timeout=5, source_address=source)
            stack.enter_context(wire)
            wire.sendall((b"", SLOW, *OTHERS)[number % 6 if number % 2 else 0])
        undisturbed(g, 3)
        grown = leader.memory_info().rss - before
        note(f"{CROWD} strangers at the leader's status", "its memory has grown by MB", grown / 1e6)
        assert grown < 20e6
        g.go()
        is_done(g)
        assert len(g.events("generation_made")) == 1
