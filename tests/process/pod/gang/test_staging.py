"""A pod of a gang stages again: its volume has trouble, or what others have staged is gone from it."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.gangs import Fault, Gang, gang
from tests.support.outcomes import restarts
from tests.support.pods import JOB
from tests.support.volume import BY_RANK, lay_out
from tests.support.whole_volume import whole_volume

pytestmark = pytest.mark.timeout(60)

ROOT = Path(__file__).parents[4]
HELD = Fault("pass 1", "wait", generation=1, times=0)
ADDRESS = "127.0.3.7"
LAST = 2  # in whose place a new pod has the same rank, so that the others keep theirs


def staged(g: Gang) -> list[int]:
    """Return how often each launcher that is there now has staged."""
    return [len(each.events("staged")) for each in g.places]


def test_input_output_errors_while_a_replaced_pod_stages(tmp_path: Path) -> None:
    lay_out(tmp_path / "volume" / JOB, {f"{rank}/data/part": "x" for rank in range(LAST)})
    shard = tmp_path / "volume" / JOB / f"{LAST}/data"
    with whole_volume(shard) as volume, gang(3, tmp_path, api=True, process_one=True, faults=[HELD]) as g:
        (shard / "part").write_text("y")
        g.await_trace("fault", 3)
        volume.refuses_reads = errno.EIO
        at = g.launcher(LAST).kill()
        new = g.replace(LAST)
        (told,) = g.wait(lambda: new.events("staging_trouble"))
        assert told["error"].startswith(f"{shard}/part: Input/output error; ")
        volume.refuses_reads = 0
        restarts(g, "reads fail with EIO while a replaced pod stages", at, first=1)
        assert new.events("staging_back")
        assert (new.work / "data/part").read_text() == "y"
        assert staged(g) == [1, 1, 1]


def test_a_shard_that_was_cleaned_away_is_kept_by_the_rank_that_staged_it(tmp_path: Path) -> None:
    lay_out(tmp_path / "volume" / JOB, BY_RANK)
    with gang(3, tmp_path, api=True, process_one=True, faults=[HELD]) as g:
        g.await_trace("fault", 3)
        shutil.rmtree(g.volume / JOB / "0/data")
        at = g.launcher(LAST).kill()
        g.replace(LAST)
        restarts(g, "a shard is cleaned away, and another pod replaced", at, first=1)
        assert staged(g) == [1, 1, 1]


# As the main page has it, with trouble that takes no minute.
LIFE = """
import json, os, sys
from launcher.pod.gang.membership import Membership
from launcher.pod.console import Console
from launcher.pod.inbox import Inbox
from launcher.pod.outcome import Decided, VolumeError
from launcher.pod.settings.variables import read_settings

troubles = int(sys.argv[1])

def stage(tell, *, files):
    global troubles
    troubles -= 1
    if troubles >= 0:
        raise VolumeError("part: Input/output error (for 60 s)")

inbox, story = Inbox(), Console()
settings = read_settings(os.environ, ["--", "true"])
begun = None
with Membership(settings, inbox, story.tell, story.facts) as gang:
    try:
        while begun is None:
            gang.meet(stage)
            gang.stage(stage)
            begun = gang.assemble()
        found = {"number": begun.number, "restarts": begun.restarts, "cause": begun.cause}
    except Decided as decided:
        found = {"code": decided.outcome.code, "reason": decided.outcome.reason}
print(json.dumps(found), flush=True)
os._exit(0)
"""


def life(tmp_path: Path, troubles: int, **environ: str) -> dict[str, Any]:
    """Return what a gang of one comes to whose staging has trouble for so many minutes."""
    words = [sys.executable, "-c", LIFE, str(troubles)]
    usual = {"JOB_NAME": "job", "LAUNCHER_RUNTIME": "env", "POD_IP": ADDRESS, "LAUNCHER_PEERS": f"static:{ADDRESS}"}
    record = {"LAUNCHER_RECORD": str(tmp_path), "LAUNCHER_JOB_UID": "key"}
    done = subprocess.run(words, capture_output=True, env={**usual, **record, **environ}, cwd=ROOT, timeout=30)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_trouble_that_outlasts_the_patience_costs_a_restart_and_is_tried_again(tmp_path: Path) -> None:
    found = life(tmp_path, 2)
    assert found == {"number": 3, "restarts": 2, "cause": "part: Input/output error (for 60 s)"}


def test_trouble_that_outlasts_every_restart_ends_the_gang_with_its_sentence(tmp_path: Path) -> None:
    found = life(tmp_path, 2, LAUNCHER_MAX_RESTARTS="1")
    assert found == {"code": 76, "reason": "part: Input/output error (for 60 s); no restart of 1 is left"}
