"""`paddle pserver` and `paddle train` on real parameter servers, under real launchers and by hand."""

from __future__ import annotations

import math
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from launcher.bridge import passes
from tests.real.recommendation import (
    ENVIRONMENT,
    EXAMPLE,
    ROOT,
    await_pass,
    child_codes,
    complete,
    constant,
    make_data,
)
from tests.support.gangs import Gang, gang
from tests.support.launchers import Launcher
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(300)

BIN = ROOT / "launcher" / "bridge" / "bin"
DATA = ("--ratings=30000", "--users=500", "--movies=400")
FLAGS = ("--config=./trainer_config.py", "--log_period=10", "--dot_period=5", "--use_gpu=0", "--saving_period=1")
MARGIN = 0.35  # of the RMSE, below the constant predictor's 1.17: four passes come to 0.72
TESTED = re.compile(r"\] +Pass=(\d+) Batch=\d+ samples=\d+ AvgCost=\S+\n.*\] +Test samples=(\d+) cost=(\S+)")
V1_NAMES = {
    *(f"___embedding_{number}__.w0" for number in range(7)),
    *(f"___fc_layer_{number}__.{kind}" for number in range(2) for kind in ("w0", "wbias")),
    "middle",
}


def test_three_nodes_train_as_in_the_article(paddle_python: Path, tmp_path: Path) -> None:
    with training(paddle_python, tmp_path, 4) as g:
        assert g.codes(timeout=200) == [0, 0, 0]
        assert child_codes(g) == [(f"{role} {rank}", 0) for role in ("pserver", "trainer") for rank in range(3)]
        assert complete(g) == (0, 1, 2, 3)
        assert [costs(g, rank) for rank in range(3)] == [costs(g)] * 3
        assert math.sqrt(costs(g)[3]) < constant(g) - MARGIN
        is_logged_as_in_the_article(g)
        has_parameters_by_their_v1_names(g.output / "pass-00003")
        one_pserver_by_hand_refuses_what_cannot_be(paddle_python, g)


def test_a_killed_pserver_and_a_killed_trainer_cost_no_more_than_the_pass(
    paddle_python: Path, tmp_path: Path
) -> None:
    with training(paddle_python, tmp_path, 4) as g:
        await_pass(g, 0)
        child(g.launcher(1), "pserver").kill()
        await_pass(g, 1)
        child(g.launcher(2), "train").kill()
        assert g.codes(timeout=200) == [0, 0, 0]
        resumed = [event["resume"] for event in g.launcher(0).events("generation_begins")]
        assert resumed[0] is None
        assert resumed[1:] == sorted(resumed[1:])
        assert len(resumed) == 3
        assert complete(g) == (0, 1, 2, 3)
        assert math.sqrt(costs(g)[3]) < constant(g) - MARGIN


def test_the_wheels_own_paddle_is_refused_by_the_launcher(paddle_python: Path, tmp_path: Path) -> None:
    env = {"PATH": f"{paddle_python.parent}:/usr/bin:/bin"}
    with training(paddle_python, tmp_path, 1, env=env, nodes=1) as g:
        code, message = g.verdict()
    assert code == 78
    assert f"{paddle_python.parent}/paddle cannot train" in message


def test_alone_it_trains_goes_on_and_says_what_is_wrong(paddle_python: Path, tmp_path: Path) -> None:
    """One directory for all: two passes, a third that goes on from them, and what cannot be gone on from."""
    here = copied(tmp_path)
    saving = ("--config=trainer_config.py", "--save_dir=output")
    begun = paddle(paddle_python, here, "train", *saving, "--num_passes=2", "--test_period=4", "--log_period=4",
                   "--show_parameter_stats_period=10", "--trainer_count=4")  # fmt: skip
    assert begun.returncode == 0, begun.stderr
    assert "--trainer_count=4: one thread computes" in begun.stderr
    assert re.search(r"\] +Para=___fc_layer_0__\.w0 avg_abs_val=\S+ max_val=\S+\n", begun.stderr)
    first, second = (float(cost) for _, _, cost in TESTED.findall(begun.stderr))
    assert second < first
    gone_on = paddle(paddle_python, here, "train", *saving, "--start_pass=2", "--num_passes=3")
    ((number, _, third),) = TESTED.findall(gone_on.stderr)
    assert (number, float(third) < second) == ("2", True)
    has_parameters_by_their_v1_names(here / "output" / "pass-00002")

    (here / "output" / "pass-00001" / "middle").write_bytes(b"")
    refused(paddle_python, here, 65, "pass-00001 is torn: middle has 0 bytes", *saving, "--start_pass=2")
    sentence = "pass-00008 is not a complete pass: done: No such file"
    refused(paddle_python, here, 65, sentence, *saving, "--start_pass=9")
    refused(paddle_python, here, 74, "README.md: pass 0 could not be saved: .*File exists", saving[0],
            "--save_dir=README.md", "--num_passes=1")  # fmt: skip
    whole = (here / "trainer_config.py").read_text()
    ruined = whole + "\nbatch_size, learning_rate = 10**6, 1e39\n"  # by the only batch of the pass: inf to Paddle
    (here / "ruined.py").write_text(ruined)
    once = ("--config=ruined.py", "--save_dir=once", "--num_passes=1")
    refused(paddle_python, here, 65, "the test cost is (nan|inf) after pass 0: is the learning rate too high", *once)
    (here / "ruined.py").write_text(ruined + "test = None\n")
    refused(paddle_python, here, 65, r"\w is (nan|inf) after pass 0: is the learning rate too high", *once)
    assert not (here / "once").exists()
    (here / "ruined.py").write_text(whole.replace("cost=made.cost", "cost=3.0"))
    refused(paddle_python, here, 78, r"ruined.py: network\(\): cost is a float: expected a tensor", *once)
    unsafe = ("--local=0", "--save_dir=a b")
    refused(paddle_python, here, 78, "Paddle passes this name to bash", *saving, *unsafe)
    shutil.rmtree(here / "data")
    refused(paddle_python, here, 65, r"ratings.py:\d+: data\(\): BadData: data holds no ratings", *saving)
    (here / "trainer_config.py").write_text("def network(session, data): pass\n")
    refused(paddle_python, here, 78, "trainer_config.py: the function train is missing", *saving)


@contextmanager
def training(
    python: Path, top: Path, number: int, *, env: Mapping[str, str] | None = None, nodes: int = 3
) -> Iterator[Gang]:
    """Start nodes of the article's Job: its files on the volume, flags for the trainer, two ports of each kind."""
    job = make_data(top, *DATA)
    shutil.copytree(EXAMPLE, job / "recommendation", ignore=shutil.ignore_patterns("__pycache__"))
    environ = {
        **ENVIRONMENT,
        "LAUNCHER_RUNTIME": "v1",
        "TRAIN_CONFIG_DIR": "recommendation",
        "CONF_PADDLE_PORTS_NUM": "2",
        "CONF_PADDLE_PORTS_NUM_SPARSE": "2",
        "PATH": path(python),
        **(env or {}),
    }
    with gang(nodes, top, command=(*FLAGS, f"--num_passes={number}"), env=environ) as g:
        yield g


def path(python: Path) -> str:
    return f"{BIN}:{python.parent}:{os.environ['PATH']}"


def costs(g: Gang, rank: int = 0) -> dict[int, float]:
    """Return the test cost by pass, as a trainer told it, the last word of each."""
    found = TESTED.findall((g.output / f"node_{rank}" / "train.log").read_text())
    return {int(number): float(cost) for number, _, cost in found}


def child(launcher: Launcher, command: str) -> psutil.Process:
    """Wait for a launcher's `paddle pserver` or `paddle train`, and return the process."""

    def find() -> psutil.Process | None:
        below = psutil.Process(launcher.life.pid).children()
        return next((each for each in below if command in each.cmdline()[:4]), None)

    found = wait_until(find)
    assert found
    return found


def is_logged_as_in_the_article(g: Gang) -> None:
    told = (g.output / "node_1" / "train.log").read_text()
    addresses = [g.address(place) for place in range(3)]
    ports = [f"{address}:{port}" for address in addresses for port in (7164, 7165)]
    for sentence in (
        r"commandline:  paddle train --nics=eth0 --port=7164 --ports_num=2 --comment=paddle_process_by_paddle ",
        r"The input order is \[movie_id, title, genres, user_id, gender, age, occupation, rating\]",
        r"The output order is \[\w",
        r"trainer mode: Normal",
        *(rf"pserver {number} {endpoint}\n" for number, endpoint in enumerate(ports)),
        r" Batch=10 samples=2560 AvgCost=\S+ CurrentCost=\S+\n",
    ):
        assert re.search(r"^I\d{4} [\d:]{8}\.\d{6} +\d+ \w+\.py:\d+\] " + sentence, told, re.MULTILINE), sentence
    served = (g.output / "node_1" / "server.log").read_text()
    assert f"pserver 1 of 3 serves 3 trainers at {addresses[1]}:7164" in served


def has_parameters_by_their_v1_names(directory: Path) -> None:
    facts = passes.read_pass(directory)  # which holds every file to its size
    assert facts["files"].keys() >= V1_NAMES
    for name in V1_NAMES:
        content = (directory / name).read_bytes()
        version, size, count = struct.unpack("<iIQ", content[:16])
        numbers = struct.unpack(f"<{count}f", content[16:])
        assert (version, size) == (0, 4)
        assert all(map(math.isfinite, numbers))
        assert any(numbers), name


def one_pserver_by_hand_refuses_what_cannot_be(python: Path, g: Gang) -> None:
    """Hold that one pserver goes on from a pass of three, and that a cost that is no number ends with 65 there."""
    here = g.launcher(0).work
    (here / "too_fast.py").write_text((here / "trainer_config.py").read_text() + "learning_rate = 1e30\n")
    flags = ("--config=too_fast.py", "--port=7301", "--ports_num=2", "--nics=lo")
    words = (BIN / "paddle", "pserver", *flags)
    with subprocess.Popen(words, cwd=here, env=environment(python), stderr=subprocess.PIPE, text=True) as pserver:
        try:
            begin = f"--init_model_path={g.output / 'pass-00003'}"
            refused(python, here, 65, r"the cost is (nan|inf) in pass \d+, batch \d+", *flags, "--local=0", begin)
        finally:
            pserver.kill()
            pserver.communicate()


def copied(top: Path) -> Path:
    """Return a working directory with the example's files and a few made-up ratings."""
    here = shutil.copytree(EXAMPLE, top / "here", ignore=shutil.ignore_patterns("__pycache__"))
    words = (sys.executable, here / "make_data.py", here, "--layout=here", "--ratings=4000", "--users=200")
    subprocess.run((*words, "--movies=200"), check=True, capture_output=True)
    return here


def environment(python: Path) -> dict[str, str]:
    return {**os.environ, "PATH": path(python)}


def paddle(python: Path, here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command by hand, without a launcher."""
    env = environment(python)
    argv = (str(BIN / "paddle"), *words)
    return subprocess.run(argv, cwd=here, env=env, capture_output=True, text=True, timeout=120, check=False)


def refused(python: Path, here: Path, code: int, sentence: str, *flags: str) -> None:
    """Hold that training ends with a code and says this on its last line."""
    ended = paddle(python, here, "train", *flags)
    assert ended.returncode == code, ended.stderr
    assert re.search(sentence, ended.stderr.splitlines()[-1]), ended.stderr
