"""A pserver fails in the last second, when models are saved: success is told when each pserver was looked at."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.outcomes import is_done, restarts

pytestmark = pytest.mark.timeout(60)

PASSES = 3
PATIENT = {"LAUNCHER_PEER_TIMEOUT": "15"}  # so that nobody is lost meanwhile


@pytest.mark.parametrize("do", ["exit 1", "kill"])
def test_a_pserver_that_ends_a_moment_before_the_last_trainer_and_whose_launcher_is_slow_to_tell(
    tmp_path: Path, do: str
) -> None:
    """The last trainer does not notice, and ends well."""
    faults = [Fault("end", "wait"), Fault(f"pass {PASSES}", do, rank=1, role="pserver")]
    with gang(3, tmp_path, pservers=2, passes=PASSES, faults=faults, env=PATIENT) as g:
        g.await_trace("fault", do="wait")
        slow = g.launcher(1)
        slow.send(signal.SIGSTOP)
        at = g.go()
        g.wait(lambda: any(each["phase"] == "trained" and each["role"] == "trainer" for each in g.events("phase")))
        slow.send(signal.SIGCONT)
        restarts(g, f"a pserver's last act is: {do}", at, first=PASSES)
        assert "pserver 1" in g.events("generation_made")[1]["cause"]


def test_a_pserver_that_was_stopped_before_the_last_trainer_ended(tmp_path: Path) -> None:
    faults = [Fault(f"pass {PASSES}", "stop", rank=1, role="pserver")]
    with gang(3, tmp_path, passes=PASSES, faults=faults) as g:
        (stopped,) = g.await_trace("fault", do="stop")
        restarts(g, "a pserver is stopped just before the end", stopped["at"], first=PASSES)
        assert "pserver 1" in g.events("generation_made")[1]["cause"]


def test_pservers_that_are_well_delay_no_success(tmp_path: Path) -> None:
    with gang(3, tmp_path, faults=[Fault(f"pass {PASSES}", "deaf", rank=1, role="pserver")]) as g:
        is_done(g)
        assert len(g.events("generation_made")) == 1
