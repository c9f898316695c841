"""Trainers that wait for what cannot come end with that sentence; those that wait for what is late go on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.gangs import Gang, gang

pytestmark = pytest.mark.timeout(60)
PRELUDE = f"""
import os, sys, time
import sitecustomize
sys.path.insert(0, {str(Path(__file__).parents[4])!r})
from launcher import here
rank = here.rank()
"""
UNEVEN = """
for number in range(3 + rank):
    here.barrier(f"batch-{number}")
"""
APART = 'here.barrier("a" if rank == 0 else "b")'
VALUE = 'rank == 1 and here.get("address", rank=0)'
# Longer than the stall time-out and the lease together, and seen to work by what it writes.
LATE = """
if rank == 0:
    for number in range(60):
        print(number, flush=True)
        time.sleep(0.1)
    here.share("address", "here")
print(here.get("address", rank=0))
here.barrier("end")
"""
# What only listens does not stand for the trainer: it is seen to work, and ends well.
LISTENS = """
import threading
if rank == 1:
    threading.Thread(target=here.get, args=("stop",), daemon=True).start()
    until = time.monotonic() + 5
    while time.monotonic() < until:
        pass
"""


def two(top: Path, program: str, **env: str) -> AbstractContextManager[Gang]:
    settings: Mapping[str, str] = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_MAX_RESTARTS": "0", **env}
    quick = {"LAUNCHER_PEER_TIMEOUT": "3", **settings}
    return gang(2, top, command=(sys.executable, "-S", "-c", PRELUDE + program), env=quick)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (UNEVEN, "trainer 1 waits at 'batch-3', and trainer 0 is done"),
        (APART, "trainer 0 waits at 'a', and trainer 1 waits at 'b'"),
        (VALUE, "trainer 1 waits for 'address' of trainer 0, and trainer 0 is done"),
    ],
    ids=["uneven", "apart", "value"],
)
def test_a_wait_that_cannot_end_ends_the_generation(tmp_path: Path, program: str, said: str) -> None:
    with two(tmp_path, program, LAUNCHER_STALL_TIMEOUT="1") as g:
        assert g.verdict() == (76, said)
        (failure,) = g.events("failure")
        assert (failure["code"], failure["reason"], failure["address"]) == (76, said, "")


def test_who_waits_for_a_value_that_is_late_does_not_stand_still(tmp_path: Path) -> None:
    with two(tmp_path, LATE, LAUNCHER_STALL_TIMEOUT="3") as g:
        assert g.verdict()[0] == 0


def test_a_thread_that_only_listens_ends_nothing_while_its_trainer_works(tmp_path: Path) -> None:
    with two(tmp_path, LISTENS) as g:
        assert g.verdict()[0] == 0
