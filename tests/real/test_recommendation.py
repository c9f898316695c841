"""Real training under real launchers: three nodes, each with one of Paddle's pservers and a trainer."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from launcher.bridge import passes
from tests.real.recommendation import EXAMPLE, await_pass, child_codes, complete, constant, errors, training
from tests.support.gangs import Gang

pytestmark = pytest.mark.timeout(300)

MARGIN = 0.35  # of the RMSE, below the constant predictor's 1.10: four passes come to 0.65


def test_three_nodes_train_save_and_end_together(paddle_python: Path, tmp_path: Path) -> None:
    with training(paddle_python, tmp_path, 4) as g:
        assert g.codes(timeout=200) == [0, 0, 0]
        assert child_codes(g) == [(f"{role} {rank}", 0) for role in ("pserver", "trainer") for rank in range(3)]
        assert [errors(g, rank) for rank in range(3)] == [errors(g)] * 3
        assert list(errors(g)) == [0, 1, 2, 3]
        assert errors(g)[3] < constant(g) - MARGIN
        is_the_seeds_tree(g, last=3)
        names_movies(paddle_python, g)


def test_a_killed_pserver_and_a_killed_trainer_cost_no_more_than_the_pass(
    paddle_python: Path, tmp_path: Path
) -> None:
    with training(paddle_python, tmp_path, 5) as g:
        await_pass(g, 0)
        g.launcher(1).child("pserver").kill()
        await_pass(g, 2)
        g.launcher(2).child("trainer").kill()
        assert g.codes(timeout=200) == [0, 0, 0]
        assert [event["resume"] for event in g.launcher(0).events("generation_begins")] == [None, 0, 2]
        assert list(errors(g)) == [0, 1, 2, 3, 4]
        assert errors(g)[4] < constant(g) - MARGIN
        assert complete(g) == (0, 1, 2, 3, 4)


def is_the_seeds_tree(g: Gang, *, last: int) -> None:
    """Hold that the output is as the seeds show it, and that every pass is whole, by the launcher and by itself."""
    for rank in range(3):
        assert (g.output / f"node_{rank}" / "server.log").stat().st_size
        assert (g.output / f"node_{rank}" / "train.log").stat().st_size
    assert complete(g) == tuple(range(last + 1))
    assert not list(g.output.glob(f"{passes.SAVING}*"))
    facts = passes.read_pass(g.output / f"pass-{last:05}")
    sparse = [table for table, told in facts["tables"].items() if "sparse" in told]
    assert len(sparse) == 3
    assert all(len(list((g.output / f"pass-{last:05}" / table).iterdir())) == 12 for table in sparse)


def names_movies(python: Path, g: Gang) -> None:
    """Hold that the saved pass serves to tell a user's top movies."""
    words = (str(python), str(EXAMPLE / "infer.py"), "7", f"--pass={g.output / 'pass-00003'}", "--top=3")
    data = f"--data={g.launcher(0).work / 'data'}"
    told = subprocess.run((*words, data), capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert len(lines) == 3
    assert all(re.fullmatch(r"\d\.\d\d +\d+  .+", line) for line in lines)
