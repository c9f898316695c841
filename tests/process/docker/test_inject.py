"""The init container's program: the tree is copied and started once, and what is in the way is told in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from launcher import __version__
from launcher.inject.__main__ import main
from launcher.pod.programs.stacks.files import StackFiles
from launcher.pod.settings.nouns import Role
from tests.support.mounts import mounted


def test_the_tree_copies_itself_for_every_user_and_the_copy_runs(tree: Path, tmp_path: Path) -> None:
    words = (str(tree / "bin" / "python"), "-I", "-m", "launcher.inject", str(tmp_path))
    for _ in range(2):  # an init container may be started again
        done = subprocess.run(words, capture_output=True, text=True, umask=0o077, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"launcher.inject: the launcher is in {tmp_path}, ")
    copied = (str(tmp_path / "bin" / "python"), "-I", "-m", "launcher.pod", "--version")
    assert (
        subprocess.run(copied, capture_output=True, text=True, check=True).stdout == f"start_paddle {__version__}\n"
    )
    closed = [path for path in tmp_path.rglob("*") if not path.stat().st_mode & (0o005 if path.is_dir() else 0o004)]
    assert closed == []


def test_it_makes_the_files_for_a_read_only_root_and_keeps_what_is_in_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "tree" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    (tmp_path / "to").mkdir()
    files = [tmp_path / "trainer_id", tmp_path / "train.list"]
    files[0].write_text("1\n")
    assert main([str(tmp_path / "to"), *map(str, files)], source=tmp_path / "tree") == 0
    assert [each.read_text() for each in files] == ["1\n", ""]
    assert main([str(tmp_path / "to"), f"{tmp_path}/nowhere/file"], source=tmp_path / "tree") == 74
    assert f"launcher.inject: {tmp_path}/nowhere/file: No such file" in capsys.readouterr().err


def assert_nothing(directory: Path) -> None:
    assert list(directory.iterdir()) == [], "half of it is left"


def test_what_was_copied_is_started_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tree for another processor, or one whose files are damaged, ends here."""
    own = tmp_path / "tree" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\necho it is damaged >&2\nexit 9\n")
    own.chmod(0o755)
    (tmp_path / "to").mkdir()
    assert main([str(tmp_path / "to")], source=tmp_path / "tree") == 71
    assert capsys.readouterr().err == f"launcher.inject: {tmp_path}/to/bin/python ended with 9: it is damaged\n"
    assert_nothing(tmp_path / "to")
    own.write_bytes(b"\x7fELF of another processor")
    assert main([str(tmp_path / "to")], source=tmp_path / "tree") == 71
    told = capsys.readouterr().err
    assert "to/bin/python: Exec format error; expected the launcher for a " in told
    assert "kubernetes.io/arch" in told
    assert_nothing(tmp_path / "to")


def test_a_volume_on_which_nothing_may_be_started(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mounted("tmpfs", "none", tmp_path, "noexec"):
        assert main([str(tmp_path)], source=tree) == 71
        assert_nothing(tmp_path)
    assert capsys.readouterr().err.startswith(f"launcher.inject: {tmp_path} is mounted noexec: expected a volume")


def test_a_full_disk(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=1m"):
        assert main([str(tmp_path)], source=tree) == 74
        assert_nothing(tmp_path)
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "another").touch()
        assert main([str(tmp_path)], source=tree) == 74
        assert [path.name for path in tmp_path.rglob("*")] == ["bin", "another"], "of others nothing is removed"
    assert "No space left on device; expected room for all of it" in capsys.readouterr().err


def test_a_volume_that_is_read_only(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with mounted("tmpfs", "none", tmp_path, "ro"):
        assert main([str(tmp_path)], source=tree) == 74
    told = capsys.readouterr().err
    assert told.startswith(f"launcher.inject: {tmp_path}/")
    assert told.endswith(": Read-only file system; expected a volume that can be written to: mount it for writing\n")


def test_a_volume_that_is_not_mounted(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "no")], source=tree) == 74
    assert f"{tmp_path}/no: No such file or directory; expected it to be there" in capsys.readouterr().err


def test_its_own_directory_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bin").mkdir()
    assert main([str(tmp_path)], source=tmp_path) == 71
    assert "is where this launcher runs from: name another directory" in capsys.readouterr().err
    assert (tmp_path / "bin").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_volume_of_another_user(tree: Path) -> None:
    theirs = Path(tempfile.mkdtemp(dir=tree.parent))  # which every user can reach
    theirs.chmod(0o755)
    words = (str(tree / "bin" / "python"), "-I", "-m", "launcher.inject", str(theirs))
    done = subprocess.run(words, capture_output=True, text=True, user=10001, check=False)
    assert done.returncode == 74
    assert "Permission denied; expected access for user 10001" in done.stderr


def test_no_code_of_the_image_is_loaded(tree: Path) -> None:
    asked = (
        "import ssl, ctypes, asyncio, launcher.desk.jobs.control, launcher.pod.gang.node, launcher.kube.packaged; "
        "print(open('/proc/self/maps').read())"
    )
    words = (str(tree / "bin" / "python"), "-I", "-c", asked)
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    mapped = [line.split(maxsplit=5) for line in said.splitlines() if "/" in line]
    run = {each[5] for each in mapped if "x" in each[1]}
    assert len(run) > 10
    assert [path for path in run if not path.startswith(str(tree))] == []


def test_programs_of_any_python_import_what_is_theirs(tree: Path) -> None:
    packages = next(tree.glob("lib/python3*/*-packages"))
    asked = "import sys; sys.dont_write_bytecode = True; import launcher.here, launcher.dataset, launcher.job"
    for path in (packages, packages / "launcher" / "importable"):
        subprocess.run((sys.executable, "-S", "-c", asked), env={"PYTHONPATH": str(path)}, check=True)
    found = "import importlib.util; assert not importlib.util.find_spec('pydantic')"  # nor any other package of ours
    subprocess.run((sys.executable, "-S", "-c", found), env={"PYTHONPATH": str(path)}, check=True)


def test_a_program_of_any_python_can_be_asked_where_it_stands(tree: Path) -> None:
    packages = next(tree.glob("lib/python3*/*-packages"))
    frames = dict(StackFiles().environment(Role.TRAINER, 0))
    asked = "print([line for line in open('/proc/self/status') if line.startswith('SigCgt')][0].split()[1])"
    env = {"PYTHONPATH": str(packages / "launcher" / "stackable"), "PYTHONDONTWRITEBYTECODE": "1", **frames}
    done = subprocess.run((sys.executable, "-c", asked), env=env, capture_output=True, text=True, check=True)
    assert int(done.stdout, 16) >> 40 & 3 == 3
    assert not done.stderr
