"""`paddlectl local`: a job's own program on this machine, as `submit` would have sent it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.desks import Said
from tests.support.lives import WITNESS, Lives

ROOT = Path(__file__).parents[3]
# Apart from the demo's tests, and from the ports that the kernel gives away.
PORT = 15_000 + os.getpid() % 400 * 10
PROGRAM = """\
import os, signal, socket, sys

print("lead", os.environ["TRAINING_ROLE"], os.environ.get("PADDLE_INIT_NUM_PASSES"), flush=True)
if os.environ["TRAINING_ROLE"] == "TRAINER":
    print(open("below/here.txt").read().strip(), os.environ["PADDLE_TRAINER_ID"], sys.argv[1], flush=True)
    sys.exit(int(sys.argv[2]))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with socket.create_server((os.environ["POD_IP"], int(os.environ["PADDLE_PORT"]))) as door:
    while True:
        door.accept()[0].close()
"""


@pytest.fixture
def lives() -> Iterator[Lives]:
    with Lives() as lives:
        yield lives


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = tmp_path / "package"
    (made / "below").mkdir(parents=True)
    (made / "train.py").write_text(PROGRAM)
    (made / "below" / "here.txt").write_text("a file of the package\n")
    (made / "below" / "old.ckpt").touch()
    (made / ".paddleignore").write_text("*.ckpt\n/here.txt\n")
    return made


def local(lives: Lives, at: Path, *words: str, **environ: str) -> Said:
    argv = (sys.executable, "-m", "launcher.desk", "local", "-port", str(PORT), *words)
    env = {**lives.environment(), "PYTHONPATH": str(ROOT), **environ}
    done = subprocess.run(argv, cwd=at, env=env, capture_output=True, text=True, timeout=60, check=False)
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def entry(code: int = 0) -> tuple[str, ...]:
    return ("-entry", f"{sys.executable} train.py 'two words' {code}")


def test_a_program_trains_in_each_pod_as_it_would_on_a_cluster(lives: Lives, package: Path) -> None:
    words = ("-jobname", "my-job", "-parallelism", "2", "-passes", "3", "-cpu", "2", "-image", "repo/paddle:1")
    said = local(lives, package.parent, *words, *entry(), "package")
    assert said.code == 0, said.out + said.err
    assert not lives.marked()
    assert "all 2 pods ended with 0" in said.out
    job = package.parent / "build" / "my-job" / "volume" / "my-job"
    for rank in (0, 1):
        log = (job / "output" / f"node_{rank}" / "train.log").read_text()
        assert f"lead TRAINER 3\na file of the package {rank} two words\n" in log
    assert (job / "package" / "below" / "here.txt").exists()


def test_its_programs_can_be_asked_where_they_stand(lives: Lives, package: Path) -> None:
    asks = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('SigCgt')][0])"
    (package / "train.py").write_text(asks)
    said = local(lives, package.parent, "-jobname", "my-job", "-pods", "1", "-runtime", "env", *entry(), "package")
    assert said.code == 0, said.out + said.err
    log = package.parent / "build" / "my-job" / "volume" / "my-job" / "output" / "node_0" / "train.log"
    assert int(log.read_text(), 16) >> 40 & 3 == 3


def test_in_the_packages_own_directory_the_last_run_is_no_part_of_the_next(lives: Lives, package: Path) -> None:
    for _ in range(2):
        said = local(lives, package, *entry(), ".")
        assert said.code == 0, said.out + said.err
    copied = package / "build" / "paddle-cluster-job" / "volume" / "paddle-cluster-job" / "package"
    assert sorted(path.name for path in copied.rglob("*") if path.is_file()) == [
        ".paddleignore",
        "here.txt",
        "train.py",
    ]


def test_a_program_that_fails_ends_it_with_its_code(lives: Lives, package: Path) -> None:
    said = local(lives, package.parent, "-jobname", "my-job", "-pods", "2", *entry(3), "package")
    assert said.code == 3, said.out + said.err
    assert "ended with 3: trainer " in said.out
    assert not lives.marked()


def test_a_v1_job_trains_with_the_paddle_on_path(lives: Lives, package: Path) -> None:
    stand_in = ROOT / "examples" / "stand_in"
    (package / "trainer_config.py").write_bytes((stand_in / "trainer_config.py").read_bytes())
    words = (sys.executable, stand_in / "make_data.py", package, "--samples", "300", "--shards=1")
    subprocess.run(words, check=True, timeout=60)
    (package / "0" / "data").rename(package / "data")
    path = f"{stand_in}:{os.environ['PATH']}"
    said = local(lives, package, "-topology", "trainer_config.py", "-passes", "2", PATH=path)
    assert said.code == 0, said.out + said.err
    assert "pass 2/2 [" in said.out
    assert list((package / "build").glob("*/volume/*/output/pass-00001/done"))


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("-entry", "python train.py", "nowhere"), 1, "nowhere is not a directory on this machine"),
        (("-entry", "python train.py", "/pfs/dc/home/me/package"), 1, "`paddlectl cp /pfs/dc/home/me/package .`"),
        (("-jobname", "my_job", "-entry", "python train.py", "package"), 2, "no _; such as 'my-job'"),
        (("-memory", "1X", "-entry", "python train.py", "package"), 2, "-memory 1X: expected"),
        (("package",), 2, "expected the command that trains"),
        (("-topology", "nowhere.py", "package"), 78, "does not contain nowhere.py: expected the program's package"),
        (("-parallelism", "0", "package"), 2, "expected a whole number"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_made(
    lives: Lives, package: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    said = local(lives, package.parent, *words)
    assert (said.code, told in said.err) == (code, True), said.err
    assert not (package.parent / "build").exists()


def test_without_a_program_it_is_an_example_of_the_package_in_any_directory(lives: Lives, tmp_path: Path) -> None:
    said = local(lives, tmp_path, "--example", "stand-in", "--pods", "1", "--passes", "1")
    assert (said.code, "on a stand-in for Paddle" in said.out) == (0, True), said.err


WHICH = """\
import os
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
print("I am {} of {}, {} of {}".format(*(os.environ[name] for name in names)))
"""
WHERE = """\
import os
names = ("RANK", "SLURM_PROCID", "PADDLE_TRAINER_ID", "DMLC_TASK_ID")
rank = next(os.environ[name] for name in names if name in os.environ)
from launcher import here
print("I am", int(rank), "of", os.environ["TRAINERS"], "without a role:", "TRAINING_ROLE" not in os.environ)
"""


@pytest.mark.parametrize("runtime", ["torch", "jax", "paddle"])
def test_a_program_without_pservers_is_a_trainer_in_each_pod(lives: Lives, package: Path, runtime: str) -> None:
    (package / "where.py").write_text(WHERE)
    # -S: of what this Python has installed it finds nothing, so that `launcher` is what it is given.
    words = (
        "-jobname",
        "my-job",
        "-runtime",
        runtime,
        "-parallelism",
        "3",
        "-entry",
        f"{sys.executable} -S where.py",
    )
    said = local(lives, package.parent, *words, "package", PYTHONPATH=str(WITNESS))
    assert said.code == 0, said.out + said.err
    assert "pserver" not in said.out
    output = package.parent / "build" / "my-job" / "volume" / "my-job" / "output"
    for rank in range(3):
        assert [path.name for path in (output / f"node_{rank}").iterdir()] == ["train.log"]
        log = (output / f"node_{rank}" / "train.log").read_text()
        assert f"I am {rank} of 3 without a role: True\n" in log


def test_a_pod_runs_as_many_programs_as_are_asked_for(lives: Lives, package: Path) -> None:
    (package / "which.py").write_text(WHICH)
    program = ("-jobname", "my-job", "-runtime", "torch", "-entry", f"{sys.executable} which.py")
    said = local(lives, package.parent, *program, "-parallelism", "2", "-processes", "2", "package")
    assert said.code == 0, said.out + said.err
    assert "2 pods at 127.0.1.1 to 127.0.1.2, each with 2 trainers" in said.out
    output = package.parent / "build" / "my-job" / "volume" / "my-job" / "output"
    logs = [output / f"node_{pod}" / name for pod in range(2) for name in ("train.log", "train-1.log")]
    assert "".join(each.read_text() for each in logs) == "".join(
        f"I am {rank} of 4, {rank % 2} of 2\n" for rank in range(4)
    )


def test_several_programs_are_refused_beside_pservers(lives: Lives, package: Path) -> None:
    said = local(lives, package.parent, "-processes", "2", *entry(), "package")
    assert said.code == 2
    assert "-processes 2: expected -runtime torch or another without pservers" in said.err
    assert not (package.parent / "build").exists()


def test_no_pservers_are_refused_where_a_runtime_has_some(lives: Lives, package: Path) -> None:
    said = local(lives, package.parent, "-pservers", "0", "-parallelism", "3", *entry(), "package")
    assert said.code == 2
    assert "pservers" in said.err
    assert "or a runtime that has none, such as torch" in said.err
    assert not (package.parent / "build").exists()


def test_pservers_of_a_runtime_that_has_none_are_refused(lives: Lives, package: Path) -> None:
    words = ("-runtime", "torch", "-pservers", "2", "-parallelism", "3", *entry())
    said = local(lives, package.parent, *words, "package")
    assert said.code == 2
    assert "-pservers 2 with -runtime torch, which has none: leave one out" in said.err
    assert not (package.parent / "build").exists()
