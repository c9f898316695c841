"""The image's face: what the seeds' `command: ["bin/bash", "-c", "/root/start.sh"]` means, run for real."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

DOCKER = Path(__file__).parents[3] / "docker"
ODD = "a b;$(touch X)`touch X`'\"*"
# Writes down how it was called; a pserver stays until it is told to go, as v1's does.
RECORDER = f"""\
#!{sys.executable}
import json, os, signal, socket, sys
from pathlib import Path

os.umask(0o022)
called = {{"argv": sys.argv[1:], "cwd": os.getcwd(), "here": sorted(os.listdir())}}
path = Path(os.environ["RECORD"], sys.argv[1])
path.with_suffix(".part").write_text(json.dumps(called))
path.with_suffix(".part").rename(path)
if sys.argv[1] == "pserver":
    given = dict(word.removeprefix("--").partition("=")[::2] for word in sys.argv[2:])
    ports = range(int(given["ports_num"]) + int(given["ports_num_for_sparse"]))
    doors = [socket.create_server((os.environ["POD_IP"], int(given["port"]) + port)) for port in ports]
    signal.pause()
"""


class Image:
    """A directory that is `/root` in an image, a `paddle` on PATH, and a volume with a job."""

    def __init__(self, top: Path, *, job: str = "paddle-cluster-job") -> None:
        self.root, self.bin, self.volume, self.record = (top / name for name in ("root", "bin", "volume", "record"))
        for directory in (self.root, self.bin, self.record):
            directory.mkdir()
        for name in ("start.sh", "start_paddle.py"):
            shutil.copy(DOCKER / name, self.root)
        (self.bin / "paddle").write_text(RECORDER)
        (self.bin / "paddle").chmod(0o755)
        self.job_dir = self.volume / job
        for file in ("recommendation/trainer_config.py", "recommendation/dataprovider.py", "0/data/part-00000"):
            (self.job_dir / file).parent.mkdir(parents=True, exist_ok=True)
            (self.job_dir / file).write_text(file)

    def environment(self, **more: str) -> dict[str, str]:
        """Return the seed's environment, and where this pod and its only peer are."""
        return {
            "PATH": f"{self.bin}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "RECORD": str(self.record),
            "JOB_NAME": self.job_dir.name,
            "JOB_PATH": str(self.volume),
            "JOB_NAMESPACE": "default",
            "TRAIN_CONFIG_DIR": "recommendation",
            "CONF_PADDLE_NIC": "eth0",
            "CONF_PADDLE_PORT": "7164",
            "CONF_PADDLE_PORTS_NUM": "2",
            "CONF_PADDLE_PORTS_NUM_SPARSE": "2",
            "CONF_PADDLE_GRADIENT_NUM": "1",
            "LAUNCHER_PEERS": "static:127.0.0.1",
            "POD_IP": "127.0.0.1",
            "LAUNCHER_MAX_RESTARTS": "0",
            **more,
        }

    def run(self, env: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        """Run start.sh as the seeds' manifests do, or other words."""
        argv = words or ("/bin/bash", "-c", str(self.root / "start.sh"))
        return subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, timeout=30, check=False)

    def called(self, command: str) -> dict[str, Any]:
        """Return how `paddle pserver` or `paddle train` was called."""
        found: dict[str, Any] = json.loads((self.record / command).read_text())
        return found


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return Image(tmp_path)


def test_the_seeds_environment_leads_to_the_seeds_command_lines(image: Image) -> None:
    ended = image.run(image.environment())
    assert ended.returncode == 0, ended.stderr
    assert set(image.called("pserver")["argv"][1:]) == {
        "--nics=eth0",
        "--port=7164",
        "--ports_num=2",
        "--ports_num_for_sparse=2",
        "--num_gradient_servers=1",
        "--comment=paddle_process_by_paddle",
    }
    assert set(image.called("train")["argv"][1:]) == {
        "--nics=eth0",
        "--port=7164",
        "--ports_num=2",
        "--comment=paddle_process_by_paddle",
        "--pservers=127.0.0.1",
        "--ports_num_for_sparse=2",
        "--config=./trainer_config.py",
        "--trainer_count=4",
        "--num_passes=10",
        "--use_gpu=0",
        "--log_period=50",
        "--dot_period=10",
        "--saving_period=1",
        "--local=0",
        "--trainer_id=0",
        f"--save_dir={image.job_dir}/output",
        "--num_gradient_servers=1",
    }


def test_the_jobs_files_and_the_shard_are_in_the_directory_that_start_sh_lies_in(image: Image) -> None:
    assert image.run(image.environment()).returncode == 0
    called = image.called("train")
    assert called["cwd"] == str(image.root)
    assert {"trainer_config.py", "dataprovider.py", "data"} <= set(called["here"])
    assert (image.root / "data" / "part-00000").read_text() == "0/data/part-00000"


def test_what_is_not_set_has_the_launchers_default(image: Image) -> None:
    env = image.environment()
    del env["CONF_PADDLE_PORTS_NUM_SPARSE"]
    assert image.run({**env, "TRAINER_COUNT": ""}).returncode == 0
    assert {"--ports_num_for_sparse=1", "--trainer_count=4"} <= set(image.called("train")["argv"])
    assert "--ports_num_for_sparse=1" in image.called("pserver")["argv"]


def test_the_number_of_threads_is_the_manifests_to_say(image: Image) -> None:
    assert image.run(image.environment(TRAINER_COUNT="7")).returncode == 0
    assert [word for word in image.called("train")["argv"] if "trainer_count" in word] == ["--trainer_count=7"]


@pytest.mark.parametrize("name", ["TRAINER_COUNT", "CONF_PADDLE_PORTS_NUM_SPARSE", "JOB_NAME"])
def test_a_value_with_shell_characters_is_refused_and_never_run(image: Image, name: str) -> None:
    ended = image.run(image.environment(**{name: ODD}))
    assert ended.returncode == 78
    assert f"{name}={ODD!r}: expected" in ended.stderr
    assert not list(image.root.rglob("X"))


def test_shell_characters_reach_the_trainer_unchanged(tmp_path: Path) -> None:
    top = tmp_path / "a $(touch X) `b` *; '\" $HOME"
    top.mkdir()
    image = Image(top)
    ended = image.run(image.environment(), str(image.root / "start.sh"), f"--comment2={ODD}", "--flag", "$HOME; *")
    assert ended.returncode == 0, ended.stderr
    assert {f"--save_dir={image.job_dir}/output", f"--comment2={ODD}", "--flag=$HOME; *"} <= set(
        image.called("train")["argv"]
    )
    assert not list(tmp_path.rglob("X"))


def test_a_trainers_exit_code_is_start_shs(image: Image) -> None:
    (image.bin / "paddle").write_text(RECORDER + "else:\n    sys.exit(9)\n")
    assert image.run(image.environment()).returncode == 9


def test_the_launcher_takes_the_place_of_the_shell(image: Image) -> None:
    (image.bin / "start_paddle").write_text('#!/bin/sh\necho "$$ $PPID"\n')
    (image.bin / "start_paddle").chmod(0o755)
    started = subprocess.Popen(
        ("/bin/bash", "-c", str(image.root / "start.sh")), env=image.environment(), stdout=subprocess.PIPE, text=True
    )
    told, _ = started.communicate(timeout=10)
    assert told.split() == [str(started.pid), str(os.getpid())]


def test_the_seeds_python_line_works_alone(image: Image) -> None:
    words = (sys.executable, str(image.root / "start_paddle.py"), "--dot_period=3", "--config=./trainer_config.py")
    ended = image.run(image.environment(LAUNCHER_WORKDIR=str(image.root)), *words)
    assert ended.returncode == 0, ended.stderr
    assert "--dot_period=3" in image.called("train")["argv"]


def test_without_a_console_script_the_package_of_this_python_is_taken(image: Image) -> None:
    (image.root / "launcher").mkdir()  # a job's own directory of that name is none of ours
    (image.root / "launcher" / "__init__.py").touch()
    env = image.environment(PATH="/usr/bin:/bin")
    ended = image.run(env, sys.executable, str(image.root / "start_paddle.py"), "--version")
    assert ended.stdout.startswith("start_paddle "), ended.stderr


def test_where_no_launcher_is_a_sentence_says_so(image: Image) -> None:
    words = (sys.executable, "-I", "-S", str(image.root / "start_paddle.py"))
    ended = image.run({"PATH": "/usr/bin:/bin"}, *words)
    assert ended.returncode == 71
    assert ended.stderr.startswith("start_paddle.py: the launcher is not installed: expected /opt/launcher/bin/")


def test_where_no_python_is_a_sentence_says_so(image: Image) -> None:
    (image.bin / "dirname").symlink_to("/usr/bin/dirname")
    ended = image.run({"PATH": str(image.bin)}, "/bin/sh", str(image.root / "start.sh"))
    assert ended.returncode == 71
    assert ended.stderr.startswith("start.sh: no Python in this image: expected")
