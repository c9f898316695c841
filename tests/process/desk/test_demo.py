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

from launcher.desk import cli
from launcher.desk.rehearsal import show
from tests.support.lives import Lives
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
STAND_IN = ROOT / "examples" / "stand_in"
OUTPUT = Path("build/demo/volume/paddle-cluster-job/output")
# Apart from `make demo`, from another run of these tests, and from the ports that the kernel gives away.
PORT = 20_000 + os.getpid() % 1_000 * 10

Demo = subprocess.Popen[str]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of which only the example is there."""
    shutil.copytree(STAND_IN, tmp_path / "examples" / "stand_in", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.fixture
def lives() -> Iterator[Lives]:
    """Marks what a test starts; after the test, nothing of it may be left."""
    with Lives() as lives:
        yield lives


def start(repository: Path, lives: Lives, *words: str, stdout: int = subprocess.PIPE) -> Demo:
    return rehearse(repository, lives.environment(), "--stand-in", *words, stdout=stdout)


def rehearse(repository: Path, env: Mapping[str, str], *words: str, stdout: int = subprocess.PIPE) -> Demo:
    argv = (sys.executable, "-m", "launcher.desk", "local", f"--port={PORT}", *words)
    return subprocess.Popen(argv, cwd=repository, env=env, stdout=stdout, stderr=subprocess.STDOUT, text=True)


def finish(demo: Demo, timeout: float = 30) -> str:
    told, _ = demo.communicate(timeout=timeout)
    return told


def log(repository: Path, node: int) -> str:
    path = repository / OUTPUT / f"node_{node}" / "train.log"
    return path.read_text() if path.exists() else ""


def test_three_pods_train_to_the_end_and_leave_the_seeds_tree(repository: Path, lives: Lives) -> None:
    demo = start(repository, lives, "--passes=3")
    told = finish(demo)
    assert demo.returncode == 0, told
    assert not lives.marked()
    logs = {f"node_{node}/{name}.log" for node in range(3) for name in ("server", "train")}
    parts = ("___embedding_0__.w0", "___embedding_1__.w0", "done")
    passes = {f"pass-0000{number}/{part}" for number in range(3) for part in parts}
    output = repository / OUTPUT
    assert {str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()} == logs | passes | {
        "events.jsonl"
    }
    for node in range(3):
        costs = show.costs(log(repository, node))
        assert list(costs) == [0, 1, 2]
        assert costs[0] > costs[1] > costs[2]
    assert "pass 3/3 [" in told
    assert "all 3 pods ended with 0" in told
    assert "the run as a page, with its timeline and curves: build/demo/report.html\n" in told
    assert "every trainer is done" in (repository / "build" / "demo" / "report.html").read_text()
    assert "├── node_0\n│   ├── server.log\n│   └── train.log\n" in told
    assert [line.split()[:3] for line in told.splitlines() if line.startswith("127.0.1.")] == [
        [f"127.0.1.{rank + 1}", str(rank), "0"] for rank in range(3)
    ]


def test_a_trainer_that_fails_ends_all_and_its_code_comes_through(repository: Path, lives: Lives) -> None:
    maker = repository / "examples" / "stand_in" / "make_data.py"
    bad = 'import sys\n\nPath(sys.argv[1], "1/data/part-00001.csv").write_text("0,0,nan\\n")\n'
    maker.write_text(maker.read_text() + bad)
    demo = start(repository, lives)
    told = finish(demo)
    assert demo.returncode == 65, told
    assert not lives.marked()
    assert "127.0.1.2 ended with 65: trainer 1 exited with 65" in told
    assert "the last lines of build/demo/pods/127.0.1.2/stdout.log" in told
    assert "the cost is nan in pass 0, batch 161" in told
    assert not list((repository / OUTPUT).glob("pass-*"))


def test_a_restart_is_told_at_the_end(repository: Path, lives: Lives) -> None:
    demo = start(repository, lives, "--passes=6")
    wait_until(lambda: "Pass=0 " in log(repository, 1), timeout=20)
    told = (repository / "build/demo/pods/127.0.1.2/stderr.log").read_text().splitlines()
    (trainer,) = [event["pid"] for event in map(json.loads, told) if event.get("child") == "trainer 1"]
    os.kill(trainer, signal.SIGKILL)
    ended = finish(demo, 60)
    assert demo.returncode == 0, ended
    assert re.search(
        r"^all started again (after pass \d|from the beginning): trainer 1 was ended by SIGKILL, on node 1",
        ended,
        re.MULTILINE,
    )


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_the_pods_end_with_their_own_verdicts(
    repository: Path, lives: Lives, signum: signal.Signals
) -> None:
    demo = start(repository, lives, "--passes=10000")
    wait_until(lambda: "Pass=0" in log(repository, 0), timeout=20)
    demo.send_signal(signum)
    told = finish(demo)
    assert demo.returncode == 128 + signal.SIGTERM, told
    assert not lives.marked()
    assert f"{signum.name}: stopping the pods" in told
    words = [
        show.last_word(path.read_text()) for path in (repository / "build" / "demo" / "pods").glob("*/stderr.log")
    ]
    assert [word and word.code for word in words] == [143, 143, 143]


def test_a_pod_that_cannot_begin_is_shown_with_its_reason(repository: Path, lives: Lives) -> None:
    (repository / "examples" / "stand_in" / "make_data.py").write_text("")  # a job without any data trains nothing
    demo = start(repository, lives, "--pods=1")
    told = finish(demo)
    assert demo.returncode not in (0, None)
    assert f"127.0.1.1 ended with {demo.returncode}: " in told


def test_on_a_terminal_a_bar_moves(repository: Path, lives: Lives) -> None:
    ours, theirs = pty.openpty()
    demo = start(repository, lives, "--pods=1", "--passes=2", stdout=theirs)
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


@pytest.fixture
def checkout(repository: Path) -> Path:
    """A repository with both examples."""
    shutil.copytree(ROOT / "examples" / "recommendation", repository / "examples" / "recommendation")
    return repository


def without_paddle(checkout: Path, lives: Lives, **env: str) -> Demo:
    """Start the demo in its real form, with a cache of its own."""
    around = lives.environment() | {"XDG_CACHE_HOME": str(checkout / "cache"), **env}
    return rehearse(checkout, around, "--pods=1", "--passes=2")


NO_REGISTRY = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_RETRIES": "1", "PIP_CONFIG_FILE": os.devnull}


@pytest.mark.timeout(240)  # a virtual environment is made and removed again
def test_where_paddle_cannot_be_had_the_stand_in_trains_and_it_is_said_why(checkout: Path, lives: Lives) -> None:
    demo = without_paddle(checkout, lives, **NO_REGISTRY)
    told = finish(demo, 100)
    assert demo.returncode == 0, told
    why = "pip cannot reach a package registry from here"
    assert f"Paddle cannot be installed here: {why}. The stand-in trains in its place.\n" in told
    assert "the pod ended with 0" in told
    assert {path.name for path in (checkout / "cache" / "paddle-launcher").iterdir()} <= {
        path.name for path in (checkout / "cache").glob("*/*.lock")
    }


def test_a_cache_that_cannot_be_made_is_told_and_the_stand_in_trains(checkout: Path, lives: Lives) -> None:
    (checkout / "file").touch()
    demo = without_paddle(checkout, lives, XDG_CACHE_HOME=str(checkout / "file"))
    told = finish(demo)
    assert demo.returncode == 0, told
    assert f"Paddle cannot be installed here: {checkout}/file/paddle-launcher: Not a directory. The stand-in" in told


@pytest.mark.timeout(240)
def test_told_to_stop_while_paddle_is_installed_nothing_is_left(checkout: Path, lives: Lives) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a registry that never answers
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        demo = without_paddle(checkout, lives, **NO_REGISTRY | {"PIP_INDEX_URL": index})
        asking, _ = silent.accept()
        demo.send_signal(signal.SIGINT)
        told = finish(demo)
        asking.close()
    assert demo.returncode == 128 + signal.SIGINT, told
    assert told.endswith("\npaddlectl: SIGINT: stopped\n")
    assert "Traceback" not in told
    assert not lives.marked()
    assert [path.suffix for path in (checkout / "cache" / "paddle-launcher").iterdir()] == [".lock"]
    assert not (checkout / "build").exists()


def test_a_port_in_use_is_told_before_anything_is_made(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    with socket.create_server(("127.0.1.2", PORT + 3)):
        assert cli.main(["local", "--stand-in", f"--port={PORT}"]) == 78
    assert (
        f"127.0.1.2:{PORT + 3} is in use by another program: choose other ports, as `paddlectl local --port 8164`"
        in capsys.readouterr().err
    )
    assert not (repository / "build").exists()


def test_the_first_address_of_the_demo_names_its_new_one_and_does_the_same(tmp_path: Path) -> None:
    words = (sys.executable, "-m", "launcher.desk.local", "--stand-in", "--pods=1", f"--port={PORT}")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 78
    named, refused = done.stderr.splitlines()
    assert named == "python -m launcher.desk.local is `paddlectl local` now: run that, its flags are the same"
    assert refused.startswith("paddlectl: ")
    assert "expected the current directory to be the repository's root" in refused
