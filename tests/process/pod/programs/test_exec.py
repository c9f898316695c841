"""A program that lies on a volume that hangs: exec waits for it, and the launcher does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.gangs import Gang, gang
from tests.support.lives import CHILDREN, need_namespace
from tests.support.whole_volume import whole_volume

pytestmark = pytest.mark.timeout(60)

BOTH = pytest.mark.parametrize("process_one", [False, True], ids=["below another", "process 1"])
LIMITS = {"LAUNCHER_PEER_TIMEOUT": "6", "LAUNCHER_GRACE": "20", "LAUNCHER_RUNTIME": "env"}


@contextmanager
def two(
    top: Path, *, process_one: bool, script: str = "import time; time.sleep(300)", **env: str
) -> Iterator[tuple[Gang, Callable[[], None]]]:
    """Start two pods whose programs have one name, the second one's on a volume that hangs; and what ends that."""
    if process_one:
        need_namespace()
    with whole_volume(top / "programs") as volume, ExitStack() as hanging:
        for place in (top / "local", top / "programs"):
            place.mkdir(exist_ok=True)
            (place / "train").touch(0o755)
            (place / "train").write_text(f"#!{sys.executable}\n{script}\n")
        hanging.enter_context(volume.hanging())
        # At the end of PATH: what else is started must not look for itself on the volume.
        paths = {0: f"{os.environ['PATH']}:{top}/local", 1: f"{os.environ['PATH']}:{top}/programs"}
        env_of = {place: {"PATH": path} for place, path in paths.items()}
        with gang(2, top, command=("train",), process_one=process_one, env={**LIMITS, **env}, env_of=env_of) as g:
            g.wait(lambda: g.launcher(1).phase == "training")
            yield g, hanging.close


@BOTH
def test_a_pod_whose_program_does_not_start_says_so_and_a_stop_ends_it_at_once(
    tmp_path: Path, process_one: bool
) -> None:
    with two(tmp_path, process_one=process_one) as (g, _):
        second = g.launcher(1)
        g.wait(lambda: second.page("/readyz")[0] == 503)
        code, text = second.page("/readyz")
        why = "trainer 1 has not started: the volume with 'train' does not answer"
        assert (code, text) == (503, f"training: {why}")
        told = g.wait(lambda: second.events("waiting_for_program"))  # a moment after the page shows it
        assert [each["reason"] for each in told] == [why]
        assert second.page("/healthz") == (200, "ok")
        assert not second.events("child_started")
        at = g.now()
        for each in g.places:
            each.send(signal.SIGTERM)
        assert g.codes() == [128 + signal.SIGTERM] * 2
        assert g.last_end() - at < float(LIMITS["LAUNCHER_GRACE"]) / 2


@BOTH
def test_a_program_that_does_not_start_in_time_ends_the_run_with_71(tmp_path: Path, process_one: bool) -> None:
    with two(tmp_path, process_one=process_one, LAUNCHER_JOIN_TIMEOUT="8") as (g, _):
        code, message = g.verdict()
    assert code == 71
    why = "the volume with 'train' has not answered for 8 s (LAUNCHER_JOIN_TIMEOUT)"
    assert message == f"cannot start trainer 1: {why}, on node 1 ({g.address(1)})"


@BOTH
def test_a_volume_that_answers_in_the_end_only_delays_the_start(tmp_path: Path, process_one: bool) -> None:
    with two(tmp_path, process_one=process_one, script="pass") as (g, answer):
        g.wait(lambda: g.launcher(1).events("waiting_for_program"))
        answer()
        assert g.verdict()[0] == 0


def test_an_end_that_is_known_before_the_start_is_no_exit_code_lost() -> None:
    told = subprocess.run([sys.executable, CHILDREN / "early.py"], capture_output=True, timeout=20, check=True)
    assert told.stdout == b"7\n"


def test_a_trainer_that_is_on_its_way_when_its_pserver_ends_well_is_still_seen_to_end() -> None:
    """On a busy node both may have ended before the launcher knows the trainer's pid."""
    told = subprocess.run([sys.executable, CHILDREN / "early_both.py"], capture_output=True, timeout=20, check=True)
    assert told.stdout == b"0\n"
