"""The image: whose Python is whose, who may run it, what it weighs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.grounds.docker import BASE, DATA, LAUNCHER, STAND_IN, Docker
from tests.support.waiting import wait_until

# A first run makes the base and the images.
pytestmark = pytest.mark.timeout(900)

ROOM = 40e6  # bytes that the launcher may add to its base
JOB = {
    "JOB_NAME": "paddle-cluster-job",
    "JOB_PATH": "/home/jobpath",
    "TRAIN_CONFIG_DIR": "recommendation",
    "CONF_PADDLE_NIC": "lo",
    "CONF_PADDLE_PORT": "7164",
    "CONF_PADDLE_PORTS_NUM": "2",
    "CONF_PADDLE_PORTS_NUM_SPARSE": "2",
    "CONF_PADDLE_GRADIENT_NUM": "1",
    "LAUNCHER_PEERS": "static:127.0.0.1",
}
OUTPUT = "paddle-cluster-job/output"
LAY_OUT = """
mkdir -p "$0/recommendation" && cp /opt/stand_in/trainer_config.py "$0/recommendation"
python3 /opt/stand_in/make_data.py "$0" --shards 1 --samples 600
"""


def ran(docker: Docker, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a container to its end, without a network."""
    return docker.run("docker", "run", "--rm", "--network", "none", *words)


def environment(environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for name, value in environ.items() for word in ("--env", f"{name}={value}"))


@pytest.fixture
def volume(docker: Docker, tmp_path: Path) -> Path:
    """Give a shared volume with a job's files and one shard on it, anybody's to write to."""
    made = ran(docker, "--volume", f"{tmp_path}:/v", STAND_IN, "sh", "-ceu", LAY_OUT, "/v/paddle-cluster-job")
    assert made.returncode == 0, made.stderr
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return tmp_path


def test_python_on_path_is_the_bases_and_knows_nothing_of_the_launchers_packages(docker: Docker) -> None:
    asked = "command -v python python3 start_paddle; python -c 'import kubernetes'"
    theirs = ran(docker, BASE, "bash", "-c", "command -v python python3").stdout
    ours = ran(docker, LAUNCHER, "bash", "-c", asked)
    assert ours.stdout == theirs + "/usr/local/bin/start_paddle\n"
    assert "No module named 'kubernetes'" in ours.stderr


def test_a_pythonpath_is_the_trainers_alone(docker: Docker, tmp_path: Path) -> None:
    for name in ("launcher", "structlog", "tenacity", "typing_extensions"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is the training program's')\n")
    (tmp_path / "mine.py").write_text("print('mine')\n")
    job = {"LAUNCHER_PEERS": "self", "LAUNCHER_RUNTIME": "env", "JOB_NAME": "job", "PYTHONPATH": "/lib/own"}
    words = ("--volume", f"{tmp_path}:/lib/own:ro", LAUNCHER, "start_paddle", "--", "python", "-c", "import mine")
    done = ran(docker, *environment(job), *words)
    assert (done.returncode, done.stdout) == (0, "mine\n"), done.stderr


def test_the_seeds_command_starts_the_launcher_which_says_what_is_missing(docker: Docker) -> None:
    done = ran(docker, LAUNCHER, "bin/bash", "-c", "/root/start.sh")
    assert done.returncode == 78
    assert "LAUNCHER_PEERS" in done.stderr


def test_without_a_command_it_does_the_same_and_nothing_stands_before_a_command(docker: Docker) -> None:
    known = json.loads(docker.says("inspect", LAUNCHER))[0]["Config"]
    assert known["Cmd"] == ["bash", "-c", "/root/start.sh"]
    assert known["WorkingDir"] == "/"
    assert not known["Entrypoint"]


def test_any_user_trains_on_a_read_only_root_with_a_directory_to_write_to(docker: Docker, volume: Path) -> None:
    careful = ("--read-only", "--user", "1234:1234", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
    places = ("--tmpfs", "/work:uid=1234,mode=0700", "--volume", f"{volume}:/home/jobpath")
    job = environment({**JOB, "LAUNCHER_WORKDIR": "/work"})
    done = ran(docker, *careful, *places, *job, STAND_IN, "bin/bash", "-c", "/root/start.sh")
    assert done.returncode == 0, done.stderr
    log = volume / OUTPUT / "node_0" / "train.log"
    assert "Pass=9" in log.read_text()
    assert log.stat().st_uid == 1234


def test_another_user_without_a_place_of_its_own_is_told_so(docker: Docker, volume: Path) -> None:
    job = ("--volume", f"{volume}:/home/jobpath", *environment(JOB))
    done = ran(docker, "--user", "1234:1234", *job, STAND_IN, "bin/bash", "-c", "/root/start.sh")
    assert done.returncode == 74
    assert "/root" in done.stderr
    assert "runAsUser" in done.stderr


@contextmanager
def started(docker: Docker, *words: str) -> Iterator[str]:
    container = docker.says("run", "--detach", "--network", "none", *words)
    try:
        yield container
    finally:
        docker.says("rm", "--force", container)


def test_the_launcher_is_process_1(docker: Docker, volume: Path) -> None:
    words = ("--volume", f"{volume}:/home/jobpath", *environment({**JOB, "CONF_PADDLE_GRADIENT_NUM": "2"}))
    waiting = {"LAUNCHER_PEERS": "dns:nobody"}
    with started(docker, *words, *environment(waiting), STAND_IN) as container:
        wait_until(lambda: "waiting_for_peers" in docker.run("docker", "logs", container).stderr)
        first = docker.says("exec", container, "cat", "/proc/1/cmdline").split("\0")
    assert first[0].startswith("/opt/launcher/bin/python")
    assert first[2] == "/opt/launcher/bin/start_paddle"


def test_a_plain_init_needs_nothing_of_a_job(docker: Docker) -> None:
    done = ran(docker, *environment({"LAUNCHER_PEERS": "self"}), LAUNCHER, "start_paddle", "--", "sh", "-c", "exit 7")
    assert (done.returncode, done.stderr) == (7, "")


# The first article's data Job but for its image: no command, and the claim beside OUT_DIR. The last is every pod's.
SPLIT = {"OUT_DIR": "/home/work/mfs/paddle-cluster-job", "SPLIT_COUNT": "3", "KUBERNETES_SERVICE_HOST": "10.96.0.1"}


def test_the_articles_data_job_is_told_that_its_claim_is_mounted_beside_out_dir(
    docker: Docker, tmp_path: Path
) -> None:
    done = ran(docker, "--volume", f"{tmp_path}:/mnt", *environment(SPLIT), DATA)
    assert done.returncode == 78, done.stderr
    assert done.stderr == (
        f"launcher.dataset: OUT_DIR={SPLIT['OUT_DIR']} is not on a volume: the shards would be lost with this "
        "container; the volume of this pod is mounted at /mnt: set its mountPath to /home/work/mfs, or set "
        "OUT_DIR=/mnt/paddle-cluster-job\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("at", "out"), [("/home/work/mfs", SPLIT["OUT_DIR"]), ("/mnt", "/mnt/paddle-cluster-job")])
def test_with_either_line_changed_it_leaves_the_articles_tree(
    docker: Docker, tmp_path: Path, at: str, out: str
) -> None:
    job = environment({**SPLIT, "OUT_DIR": out})
    done = ran(docker, "--volume", f"{tmp_path}:{at}", *job, DATA, "--samples", "300")  # a manifest's args
    assert done.returncode == 0, done.stderr
    assert f"{out} has 300 records in 3 shards, 100 in each" in done.stderr
    names = {path.name for path in (tmp_path / "paddle-cluster-job").iterdir()}
    assert {"0", "1", "2", "output", "quick_start"} <= names


def test_the_launcher_adds_little_to_its_base(docker: Docker, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {image: int(docker.says("inspect", "--format", "{{.Size}}", image)) for image in (BASE, LAUNCHER)}
    with capsys.disabled():
        print(f" [base {sizes[BASE] / 1e6:.0f} MB, with the launcher {sizes[LAUNCHER] / 1e6:.0f} MB]", end="")
    assert sizes[LAUNCHER] - sizes[BASE] < ROOM


def test_the_stand_ins_files_belong_to_the_tests_alone(docker: Docker) -> None:
    assert ran(docker, LAUNCHER, "sh", "-c", "command -v paddle").returncode != 0
    assert ran(docker, STAND_IN, "paddle", "version").stdout.startswith("PaddlePaddle v1 stand-in")


def test_nothing_in_the_image_is_only_its_makers_to_read(docker: Docker) -> None:
    closed = "find /opt/launcher /root ! -perm -o=r ! -type l"
    assert ran(docker, LAUNCHER, "sh", "-c", closed).stdout == ""
