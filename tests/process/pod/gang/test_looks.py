"""Real gangs that stand still: all stacks are taken first, and who differs is the cause, with its line."""

from __future__ import annotations

import json
import re
import signal
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.gangs import Gang, gang
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(90)
ROOT = str(Path(__file__).parents[4])
# Each function has lines of its own: what is told is compared with the text.
PROGRAM = f"""
import os, signal, sys, time
sys.path.insert(0, {ROOT!r})
from launcher import here
rank = here.rank()

def read():
    time.sleep(1000)  # the read

def gather(timeout=None):
    here.barrier("all", timeout=timeout)  # the wait

def freeze():
    os.kill(os.getpid(), signal.SIGSTOP)

def spin():
    while True:
        here.rank()  # the spin

"""
STALL = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_STALL_TIMEOUT": "3", "LAUNCHER_MAX_RESTARTS": "0"}


def three(top: Path, body: str, **env: str) -> AbstractContextManager[Gang]:
    (program := top / "train.py").write_text(PROGRAM + body)
    return gang(3, top, command=(sys.executable, str(program)), env={**STALL, **env})


def line_of(words: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if words in line)


def test_who_is_in_a_read_is_the_cause_and_not_who_waits_for_it(tmp_path: Path) -> None:
    with three(tmp_path, "read() if rank == 1 else gather()") as g:
        code, reason = g.verdict()
        assert code == 134
        assert "trainer 1 is what the 2 others wait for" in reason
        assert f"trainer 1: read at train.py:{line_of('the read')}" in reason
        assert f"2 trainers (0, 2): barrier at train.py:{line_of('the wait')}" in reason
        [alarm] = g.events("alarm")
        assert (alarm["kind"], alarm["rank"]) == ("stalled", 1)
        assert f'train.py", line {line_of("the read")} in read' in (g.output / "node_1/train.log").read_text()


def test_a_stopped_program_is_named_as_such(tmp_path: Path) -> None:
    with three(tmp_path, "freeze() if rank == 2 else gather()") as g:
        code, reason = g.verdict()
        assert code == 134
        assert "trainer 2: stopped" in reason


def test_where_all_stand_alike_nobody_is_named(tmp_path: Path) -> None:
    with three(tmp_path, "read()") as g:
        code, reason = g.verdict()
        assert code == 134
        assert "all 3 trainers stand at the same place: look at the network" in reason


def test_a_barrier_that_times_out_says_for_whom_it_waited(tmp_path: Path) -> None:
    with three(tmp_path, "spin() if rank == 0 else gather(timeout=2)") as g:
        code, reason = g.verdict()
        assert code == 1
        assert re.search(r"trainer [12] exited with 1, on .*; trainer 0 is what the 2 others wait for", reason)
        assert f"train.py:{line_of('the spin')}" in reason
        assert "TimeoutError: barrier 'all': not every trainer came within 2 s" in reason
        kinds = {(alarm["kind"], alarm["rank"]) for alarm in g.events("alarm")}
        assert kinds == {("timed_out", 0)}


TRIES_ON = """
if rank == 1:
    try:
        here.barrier("never", timeout=2)
    except TimeoutError:
        pass
spin()
"""


def test_no_stranger_reads_where_a_program_stands(tmp_path: Path) -> None:
    with three(tmp_path, TRIES_ON, LAUNCHER_STALL_TIMEOUT="off") as g:
        leader = g.launcher(0)

        def told() -> str:
            return json.dumps(leader.status())

        wait_until(lambda: '"kind": "timed_out"' in told(), timeout=20)
        text = told()
        assert '"digest"' in text
        assert "train.py" not in text
        assert "train.py" in g.wait(lambda: g.events("alarm"))[0]["tail"]
        for place in range(3):
            g.launcher(place).send(signal.SIGTERM)
        assert g.codes() == [143] * 3
