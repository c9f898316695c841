"""docker/starter.c as bin/python of the tree: its own loader, the others' variables taken aside, and given back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from launcher.pod.programs import guardian
from tests.support.lives import NAMESPACE, need_namespace

# Most of them end a Python or a loader that heeds them; the values have what a shell would touch.
ODD = {
    "PATH": os.environ["PATH"],
    "LD_LIBRARY_PATH": "/nowhere: $HOME",
    "PYTHONHOME": "/nowhere",
    "PYTHONPATH": "",
    "PYTHONSTARTUP": "a=b=c",
    "GLIBC_TUNABLES": "glibc.malloc.check=9:x",
    "PYTHON_VERSION": "3.8.20",
    "LC_ALL": "nowhere.UTF-8",
    "lD": "no loader's",
    "HOME": "/\udcff",
    "EMPTY": "",
}
JOB = {"LAUNCHER_PEERS": "self", "LAUNCHER_RUNTIME": "env", "JOB_NAME": "job"}
ASK = "import json, os, sys; print(json.dumps([sys.executable, sys.prefix, sys.path, sys.argv, dict(os.environ)]))"


def ran(
    *words: str | Path, env: Mapping[str, str] = ODD, user: int | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    said = subprocess.PIPE
    return subprocess.run(
        [*map(str, words)], env=env, user=user, cwd=cwd, stdout=said, stderr=said, timeout=60, check=False
    )


def block(env: Mapping[str, str]) -> bytes:
    """Return an environment as the kernel has it."""
    return b"".join(os.fsencode(f"{name}={value}\0") for name, value in env.items())


def without_ours(name: bytes, value: bytes) -> bytes:
    """Return a variable's value without the launcher's own directory, which is first on PYTHONPATH."""
    return value.partition(b"/stackable")[2].lstrip(b":") if name == b"PYTHONPATH" else value


def as_init(tree: Path, *words: str | Path) -> tuple[str | Path, ...]:
    return (tree / "bin" / "python", "-I", "-m", "launcher.pod", "--", *words)


def test_it_is_small_and_needs_nothing(tree: Path) -> None:
    assert (tree / "bin" / "python").stat().st_size < 20_000
    told = subprocess.run(("readelf", "-lW", tree / "bin" / "python"), capture_output=True, check=True).stdout
    assert b"LOAD" in told
    assert b"INTERP" not in told


@pytest.mark.parametrize("called", ["absolute", "relative", "by PATH", "by a link"])
def test_a_python_is_itself_however_it_is_called_and_sees_nothing_of_the_image(
    tree: Path, tmp_path: Path, called: str
) -> None:
    own = tree / "bin" / "python"
    (tmp_path / "another").symlink_to(own)
    words: dict[str, str | Path] = {
        "absolute": own,
        "relative": "bin/python",
        "by PATH": "python",
        "by a link": tmp_path / "another",
    }
    env = {**ODD, "PATH": f"{own.parent}:{ODD['PATH']}"}
    done = ran("env", "-C", tree, words[called], "-c", ASK, "a b", env=env)
    executable, prefix, path, arguments, environ = json.loads(done.stdout)
    assert (executable, prefix, arguments) == (str(own), str(tree), ["-c", "a b"])
    assert [each for each in path if each and not each.startswith(str(tree))] == []
    assert "LD_LIBRARY_PATH" not in environ
    assert environ["lD_LIBRARY_PATH"] == ODD["LD_LIBRARY_PATH"]


@pytest.mark.parametrize("place", ["process 1", "below a shell"])
def test_an_init_gives_its_command_the_environment_that_it_was_given_byte_for_byte(
    tree: Path, alone: Path, broken: Path, place: str
) -> None:
    given = {**ODD, "LAUNCHER_PEERS": "self"}
    env = {**given, "LD_PRELOAD": str(broken)}
    assert ran("true", env=env).returncode != 0, "the preloaded library is not broken"
    around: tuple[str, ...] = ("env", f"LD_PRELOAD={broken}")
    if place == "process 1":
        need_namespace()
        around = (*NAMESPACE, *around)
    done = ran(*around, *as_init(tree, alone, "environment", "3"), env=given)
    assert (done.returncode, done.stderr) == (3, b"")
    assert done.stdout == block(env)


@pytest.mark.parametrize("user", [None, 10001])
def test_a_job_that_is_not_process_1_starts_its_children_by_the_same_way(
    tree: Path, alone: Path, broken: Path, tmp_path: Path, user: int | None
) -> None:
    """The guardian, and the script by which a program is tied: both are started by sys.executable."""
    if user and os.geteuid() != 0:
        pytest.skip("only root can be another user")
    work = Path(tempfile.mkdtemp(dir=tree.parent))  # which every user can reach
    os.chown(work, user or -1, -1)
    env = {**ODD, **JOB, "LAUNCHER_WORKDIR": str(work)}
    around = ("env", f"LD_PRELOAD={broken}")
    done = ran(
        *around, *as_init(tree, alone, "environment", "4"), env=env, user=user, cwd=tmp_path if not user else None
    )
    assert done.returncode == 4, done.stderr
    given = dict(each.split(b"=", 1) for each in done.stdout.split(b"\0") if b"=" in each)
    expected = {os.fsencode(name): os.fsencode(value) for name, value in {**env, "LD_PRELOAD": str(broken)}.items()}
    assert {name: without_ours(name, given.get(name, b"")) for name in expected} == expected
    assert os.fsencode(guardian.VARIABLE) in given
    assert not [name for name in given if name[:3] in (b"lD_", b"gLI", b"pYT")]


@pytest.mark.parametrize("place", ["process 1", "below a shell"])
@pytest.mark.parametrize("runtime", ["env", "torch", "jax", "paddle", "tensorflow", "lightgbm"])
def test_a_jobs_program_is_given_what_a_launcher_of_the_image_gives_it_byte_for_byte(
    tree: Path, alone: Path, tmp_path: Path, runtime: str, place: str
) -> None:
    """But for the words of the contracts: how it reaches this launcher, which one that is, and how it is asked."""
    around: tuple[str, ...] = ()
    if place == "process 1":
        need_namespace()
        around = NAMESPACE
    # Without what would be the end of the image's own Python.
    env = {name: value for name, value in ODD.items() if name != "PYTHONHOME"}
    env |= {**JOB, "LAUNCHER_RUNTIME": runtime, "POD_IP": "127.0.0.1", "LAUNCHER_WORKDIR": str(tmp_path)}
    blocks = []
    for python in (tree / "bin" / "python", sys.executable):
        done = ran(*around, python, "-I", "-m", "launcher.pod", "--", alone, "environment", env=env)
        assert done.returncode == 0, done.stderr
        found = [each.partition(b"=") for each in done.stdout.split(b"\0")]
        own = {b"LAUNCHER_HERE", b"LAUNCHER_FRAMES"}
        own |= {os.fsencode(guardian.VARIABLE)} if place == "below a shell" else set()
        assert own <= {name for name, _, _ in found}
        blocks.append([(name, b"" if name in own else without_ours(name, value)) for name, _, value in found])
    brought, its_own = blocks
    assert brought == its_own
    assert (b"LD_LIBRARY_PATH", os.fsencode(ODD["LD_LIBRARY_PATH"])) in brought


def test_a_killed_launcher_leaves_nothing_behind(tree: Path, alone: Path, tmp_path: Path) -> None:
    """Its guardian runs on the same Python, and the tie to it was made by one."""
    env = {**ODD, **JOB, "LAUNCHER_WORKDIR": str(tmp_path)}
    words = [str(word) for word in as_init(tree, alone, "wait")]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as launcher:
        assert launcher.stdout
        assert launcher.stdout.readline() == b"waits\n"
        family = psutil.Process(launcher.pid).children(recursive=True)
        assert len(family) >= 2, "a guardian, and the program"
        launcher.send_signal(signal.SIGKILL)
    _, left = psutil.wait_procs(family, timeout=30)
    assert left == []


def test_a_tree_without_its_loader_is_a_sentence(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    own = shutil.copy(tree / "bin" / "python", tmp_path / "bin")
    done = ran(own)
    assert done.returncode == 71
    assert done.stderr.startswith(f"{tmp_path}/lib/python-ld.so cannot be started: expected the whole".encode())
