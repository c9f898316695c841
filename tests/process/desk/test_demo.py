"""The rehearsal on this machine, for real: launchers, pservers and trainers at loopback addresses."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from launcher import __version__
from launcher.desk import cli
from launcher.desk.rehearsal import show
from tests.support.lives import Lives
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

ROOT = Path(__file__).parents[3]
STAND_IN = ROOT / "examples" / "stand_in"
OUTPUT = Path("build/demo/volume/paddle-cluster-job/output")
# Apart from `make demo`, from another run of these tests, and from the ports that the kernel gives away.
PORT = 20_000 + os.getpid() % 1_000 * 10

Demo = subprocess.Popen[str]


# The rehearsal of a changed example: the command line knows those that come with the package alone.
CHANGED = """
import sys
from pathlib import Path

from launcher.desk.rehearsal import local

port, pods = map(int, sys.argv[1:])
place = local.RehearsalPlace(directory=Path("build/demo").resolve(), pods=pods, port=port, keep=False)
sys.exit(local.rehearse(local.shipped("stand-in", examples=Path.cwd()), place, passes=None))
"""


@pytest.fixture
def lives() -> Iterator[Lives]:
    """Marks what a test starts; after the test, nothing of it may be left."""
    with Lives() as lives:
        yield lives


def start(at: Path, lives: Lives, *words: str, stdout: int = subprocess.PIPE) -> Demo:
    """Start the demo in any directory: the examples come with the package."""
    return rehearse(at, lives.environment(), *words, stdout=stdout)


def start_changed(at: Path, lives: Lives, maker: str, pods: int) -> Demo:
    """Start a stand-in of which this program makes the data."""
    shutil.copytree(STAND_IN, at / "stand_in", ignore=shutil.ignore_patterns("__pycache__"))
    (at / "stand_in" / "make_data.py").write_text(maker)
    argv = (sys.executable, "-c", CHANGED, str(PORT), str(pods))
    return subprocess.Popen(
        argv, cwd=at, env=lives.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def rehearse(at: Path, env: Mapping[str, str], *words: str, stdout: int = subprocess.PIPE) -> Demo:
    argv = (sys.executable, "-m", "launcher.desk", "local", f"--port={PORT}", *words)
    return subprocess.Popen(argv, cwd=at, env=env, stdout=stdout, stderr=subprocess.STDOUT, text=True)


def finish(demo: Demo, timeout: float = 30) -> str:
    told, _ = demo.communicate(timeout=timeout)
    return told


def log(at: Path, node: int) -> str:
    path = at / OUTPUT / f"node_{node}" / "train.log"
    return path.read_text() if path.exists() else ""


def test_three_pods_train_to_the_end_and_leave_the_seeds_tree(tmp_path: Path, lives: Lives) -> None:
    demo = start(tmp_path, lives, "--passes=3")
    told = finish(demo)
    assert demo.returncode == 0, told
    assert not lives.marked()
    logs = {f"node_{node}/{name}.log" for node in range(3) for name in ("server", "train")}
    parts = ("___embedding_0__.w0", "___embedding_1__.w0", "done")
    passes = {f"pass-0000{number}/{part}" for number in range(3) for part in parts}
    output = tmp_path / OUTPUT
    assert {str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()} == logs | passes | {
        "events.jsonl"
    }
    for node in range(3):
        costs = show.costs(log(tmp_path, node))
        assert list(costs) == [0, 1, 2]
        assert costs[0] > costs[1] > costs[2]
    assert "pass 3/3 [" in told
    assert "all 3 pods ended with 0" in told
    assert "the run as a page, with its timeline and curves: build/demo/report.html\n" in told
    page = (tmp_path / "build" / "demo" / "report.html").read_text()
    assert "every trainer is done" in page
    assert "Metrics by pass" in page
    assert "AvgCost" in page
    assert str(tmp_path) not in page
    assert [f"pass {number} saved at" in page for number in range(4)] == [True, True, True, False]
    assert "├── node_0\n│   ├── server.log\n│   └── train.log\n" in told
    assert [line.split()[:3] for line in told.splitlines() if line.startswith("127.0.1.")] == [
        [f"127.0.1.{rank + 1}", str(rank), "0"] for rank in range(3)
    ]


def test_a_trainer_that_fails_ends_all_and_its_code_comes_through(tmp_path: Path, lives: Lives) -> None:
    bad = 'import sys\n\nPath(sys.argv[1], "1/data/part-00001.csv").write_text("0,0,nan\\n")\n'
    demo = start_changed(tmp_path, lives, (STAND_IN / "make_data.py").read_text() + bad, pods=3)
    told = finish(demo)
    assert demo.returncode == 65, told
    assert not lives.marked()
    assert "127.0.1.2 ended with 65: trainer 1 exited with 65" in told
    assert "the last lines of build/demo/pods/127.0.1.2/stdout.log" in told
    assert "the cost is nan in pass 0, batch 161" in told
    assert not list((tmp_path / OUTPUT).glob("pass-*"))


def test_a_restart_is_told_at_the_end(tmp_path: Path, lives: Lives) -> None:
    demo = start(tmp_path, lives, "--passes=6")
    wait_until(lambda: "Pass=0 " in log(tmp_path, 1), timeout=20)
    told = whole_lines(tmp_path / "build/demo/pods/127.0.1.2/stderr.log")
    (trainer,) = [event["pid"] for event in map(json.loads, told) if event.get("child") == "trainer 1"]
    os.kill(trainer, signal.SIGKILL)
    ended = finish(demo, 60)
    assert demo.returncode == 0, ended
    assert re.search(
        r"^all started again (after pass \d|from the beginning): trainer 1 was ended by SIGKILL, on node 1",
        ended,
        re.MULTILINE,
    )
    page = (tmp_path / "build" / "demo" / "report.html").read_text()
    for words in (
        "<dt>Runtime</dt><dd>v1</dd>",
        f"<dt>Launcher</dt><dd>{__version__}</dd>",
        "<dt>Lost in restarts</dt>",
        "The last lines of node 1, generation 1",
    ):
        assert words in page


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_the_pods_end_with_their_own_verdicts(
    tmp_path: Path, lives: Lives, signum: signal.Signals
) -> None:
    demo = start(tmp_path, lives, "--passes=10000")
    wait_until(lambda: "Pass=0" in log(tmp_path, 0), timeout=20)
    demo.send_signal(signum)
    told = finish(demo)
    assert demo.returncode == 128 + signal.SIGTERM, told
    assert not lives.marked()
    assert f"{signum.name}: stopping the pods" in told
    words = [show.last_word(path.read_text()) for path in (tmp_path / "build" / "demo" / "pods").glob("*/stderr.log")]
    assert [word and word.code for word in words] == [143, 143, 143]


def test_a_pod_that_cannot_begin_is_shown_with_its_reason(tmp_path: Path, lives: Lives) -> None:
    demo = start_changed(tmp_path, lives, "", pods=1)  # a job without any data trains nothing
    told = finish(demo)
    assert demo.returncode not in (0, None)
    assert f"127.0.1.1 ended with {demo.returncode}: " in told


def test_on_a_terminal_a_bar_moves(tmp_path: Path, lives: Lives) -> None:
    ours, theirs = pty.openpty()
    demo = start(tmp_path, lives, "--pods=1", "--passes=2", stdout=theirs)
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(ours, 65536):
            seen += block
    except OSError:
        pass  # the other end of the terminal is closed
    os.close(ours)
    assert demo.wait(10) == 0, seen.decode()
    assert seen.count(b"\rpass ") > 2
    assert b"pass 2/2 [##############################] cost " in seen


def without_paddle(at: Path, lives: Lives, **env: str) -> Demo:
    """Start the example on Paddle, with a cache of its own."""
    around = lives.environment() | {"XDG_CACHE_HOME": str(at / "cache"), **env}
    return rehearse(at, around, "--pods=1", "--passes=2", "--example=recommendation")


NO_REGISTRY = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_RETRIES": "1", "PIP_CONFIG_FILE": os.devnull}


STAND_IN_COMMAND = "`paddlectl local` trains a stand-in, without Paddle\n"


@pytest.mark.timeout(240)  # a virtual environment is made and removed again
def test_where_paddle_cannot_be_had_it_is_said_why_and_what_trains_without_it(tmp_path: Path, lives: Lives) -> None:
    demo = without_paddle(tmp_path, lives, **NO_REGISTRY)
    told = finish(demo, 100)
    assert demo.returncode == 69, told
    why = "pip cannot reach a package registry from here"
    assert told.endswith(f"paddlectl: Paddle cannot be installed here: {why}. {STAND_IN_COMMAND}")
    assert not (tmp_path / "build").exists()
    assert {path.name for path in (tmp_path / "cache" / "paddle-launcher").iterdir()} <= {
        path.name for path in (tmp_path / "cache").glob("*/*.lock")
    }


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path, lives: Lives) -> None:
    (tmp_path / "file").touch()
    demo = without_paddle(tmp_path, lives, XDG_CACHE_HOME=str(tmp_path / "file"))
    told = finish(demo)
    assert demo.returncode == 69, told
    assert f"cannot be installed here: {tmp_path}/file/paddle-launcher: Not a directory. {STAND_IN_COMMAND}" in told


@pytest.mark.timeout(240)
def test_told_to_stop_while_paddle_is_installed_nothing_is_left(tmp_path: Path, lives: Lives) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a registry that never answers
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        demo = without_paddle(tmp_path, lives, **NO_REGISTRY | {"PIP_INDEX_URL": index})
        asking, _ = silent.accept()
        demo.send_signal(signal.SIGINT)
        told = finish(demo)
        asking.close()
    assert demo.returncode == 128 + signal.SIGINT, told
    assert told.endswith("\npaddlectl: SIGINT: stopped\n")
    assert "Traceback" not in told
    assert not lives.marked()
    assert [path.suffix for path in (tmp_path / "cache" / "paddle-launcher").iterdir()] == [".lock"]
    assert not (tmp_path / "build").exists()


def test_a_port_in_use_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.1.2", PORT + 3)):
        assert cli.main(["local", f"--port={PORT}"]) == 78
    assert (
        f"127.0.1.2:{PORT + 3} is in use by another program: choose other ports, as `paddlectl local --port 8164`"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "build").exists()


def test_make_demo_trains_the_stand_in_where_paddle_cannot_be_had_and_no_other_failure(tmp_path: Path) -> None:
    """`make demo` heeds the one code that says so."""
    (tmp_path / "paddlectl").write_text('#!/bin/sh\necho "$*"\ncase "$*" in *example*) exit "$CODE" ;; esac\n')
    (tmp_path / "paddlectl").chmod(0o755)
    words = ("make", "--silent", "--old-file=.venv/.ready", f"BIN={tmp_path}", "demo")
    told = {}
    for code in (0, 69, 76):
        env = {**os.environ, "CODE": str(code)}
        done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        told[code] = (done.returncode, done.stdout.splitlines())
    paddle, substitute = "local --example recommendation", "local"
    assert told == {0: (0, [paddle]), 69: (0, [paddle, substitute]), 76: (2, [paddle])}


def test_the_first_address_of_the_demo_names_its_new_one_and_does_the_same(tmp_path: Path, lives: Lives) -> None:
    words = (sys.executable, "-m", "launcher.desk.local", "--stand-in", "--pods=1", "--passes=1", f"--port={PORT}")
    done = subprocess.run(words, cwd=tmp_path, env=lives.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (named,) = done.stderr.splitlines()
    assert named == "python -m launcher.desk.local is `paddlectl local` now: run that, its flags are the same"
    assert "the pod ended with 0" in done.stdout


def test_an_example_together_with_a_program_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["local", "--example", "recommendation", str(tmp_path)]) == 2
    assert "--example recommendation together with a program: expected only one of the two" in capsys.readouterr().err
