"""Programs that read what torch's and TensorFlow's own sources read, and meet by it at real sockets."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.support.gangs import Gang, gang
from tests.support.lives import CHILDREN

pytestmark = pytest.mark.timeout(60)
CONTRACTS = CHILDREN / "contracts"


def logs(g: Gang) -> list[str]:
    """Return each trainer's log, by rank."""
    return [(g.output / f"node_{rank}" / "train.log").read_text() for rank in range(3)]


def test_a_torch_program_meets_the_others_and_again_elsewhere_after_one_has_failed(tmp_path: Path) -> None:
    command = (sys.executable, str(CONTRACTS / "torch_2_15_0.py"), "1")
    with gang(3, tmp_path, command=command, env={"LAUNCHER_RUNTIME": "torch"}) as g:
        assert g.codes() == [0, 0, 0]
        first, second = g.launcher(0).events("generation_begins")
        assert (first["cause"], second["generation"]) == ("", 2)
        assert second["cause"].startswith("trainer 1 exited with 1: ValueError: rank 1 has no batch, on node 1")
        for rank, log in enumerate(logs(g)):
            met = [f"rank {rank} of 3, device 0, restart {restart}, True: met [0, 1, 2]" for restart in range(2)]
            assert re.findall(r"^(rank .*) at 124(?:00|01)$", log, re.MULTILINE)[-1] == met[1]
            assert set(re.findall(r"^rank .* restart 1.* at (\d+)$", log, re.MULTILINE)) == {"12401"}
            # Who had met them as well may be ended, for the failure of trainer 1, before it says so.
            assert set(re.findall(r"^(rank .* restart 0.*)$", log, re.MULTILINE)) <= {f"{met[0]} at 12400"}
            assert rank != 1 or f"{met[0]} at 12400\n" in log


def test_tensorflow_programs_meet_by_tf_config(tmp_path: Path) -> None:
    command = (sys.executable, str(CONTRACTS / "tensorflow_2_21_0.py"))
    with gang(3, tmp_path, command=command, env={"LAUNCHER_RUNTIME": "tensorflow"}) as g:
        assert g.codes() == [0, 0, 0]
        assert [re.findall(r"^worker .*", log, re.MULTILINE) for log in logs(g)] == [
            [f"worker {rank}: met [0, 1, 2]"] for rank in range(3)
        ]
