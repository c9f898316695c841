"""A volume that hangs while a shard is staged: TERM still ends the pod, which says where it stood."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.hanging import hanging_volume
from tests.support.lives import Lives
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)


def test_term_ends_a_pod_whose_volume_hangs_while_it_stages(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    environ = {
        "JOB_NAME": "job",
        "JOB_PATH": str(tmp_path / "volume"),
        "LAUNCHER_PEERS": "static:127.0.1.1",
        "LAUNCHER_RECORD": "none",
        "LAUNCHER_RUNTIME": "env",
        "LAUNCHER_WORKDIR": str(tmp_path / "work"),
        "POD_IP": "127.0.1.1",
    }
    with hanging_volume(tmp_path / "volume") as volume, Lives() as lives:
        (tmp_path / "volume/job").mkdir()
        with volume.hanging():
            life = lives.start("true", env=environ)
            wait_until(lambda: "roster_complete" in life.err())
            life.send(signal.SIGTERM)
            assert life.end() == 128 + signal.SIGTERM
        last = json.loads(life.err().splitlines()[-1])
    assert last["event"] == "launcher_finished"
    assert list(last["seconds"])[-1] == "staging"
