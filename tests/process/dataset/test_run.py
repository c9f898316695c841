"""Data's whole way on this machine: split, staged by a real gang, read by the seeds' readers in its programs."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from launcher.dataset.arguments import split_options
from launcher.dataset.progress import SplitProgress
from launcher.dataset.splitting import split_into_shards
from tests.support import counting
from tests.support.gangs import gang
from tests.support.lives import WITNESS
from tests.support.pods import JOB

pytestmark = pytest.mark.timeout(60)
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("shards", [3, 5])
def test_every_record_is_read_once_over_all_trainers(tmp_path: Path, shards: int) -> None:
    job = tmp_path / "volume" / JOB
    words = ["split", "--out", str(job), "--shards", str(shards), "--samples", "100"]
    split_into_shards(split_options(words, {"TRAIN_CONFIG_DIR": "recommendation"}), {}, SplitProgress(io.StringIO()))
    counting.lay_out(job)
    (job / "recommendation" / counting.NAME).write_text(counting.PROGRAM)
    env = {"LAUNCHER_RUNTIME": "env", "TRAIN_CONFIG_DIR": "recommendation", "PYTHONPATH": f"{WITNESS}:{ROOT}"}
    with gang(3, tmp_path, command=(sys.executable, counting.NAME), env=env) as g:
        assert g.codes() == [0, 0, 0]
        staged = [each.events("staged")[0] for each in g.places]
        assert sum(each["verified"] for each in staged) == shards
        assert {name.name for name in (g.places[0].work / "data").glob("*.dat")} == {"users.dat", "movies.dat"}
        counting.hold(job, 3)
