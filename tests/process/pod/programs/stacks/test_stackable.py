"""The `sitecustomize` before all others: a handler is there, and all else is as without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launcher.pod.programs.launch import STACKABLE
from launcher.pod.programs.plan import stackable
from launcher.pod.programs.stacks.files import StackFiles
from launcher.pod.settings.nouns import Role
from tests.support.pythons import pythons

pytestmark = pytest.mark.timeout(60)
# What a program may see of its Python; in any version of it, and before `site` has added the script's directory.
PROBE = """
import json, os, sys
modules, path = sorted(sys.modules), list(sys.path)
found = sys.modules.get("sitecustomize")
masks = [line.split()[1] for line in open("/proc/self/status") if line.startswith("SigCgt")]
print(json.dumps({
    "modules": modules, "path": path, "own": getattr(found, "__file__", None), "told": getattr(found, "told", None),
    "name": getattr(found, "__name__", None), "caught": int(masks[0], 16),
}))
"""
TWO = 1 << 40 | 1 << 41
OWN = "import sys\ntold = 'mine'\nsys.mine = True\n"


@pytest.fixture
def frames() -> dict[str, str]:
    return dict(StackFiles().environment(Role.TRAINER, 0))


def run(python: str, env: dict[str, str], cwd: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    words = (python, *flags, "-c", PROBE)
    return subprocess.run(words, env=env, cwd=cwd, capture_output=True, text=True, check=False)


def both(python: str, cwd: Path, frames: dict[str, str], **env: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a program sees without the launcher's directory, and with it; neither says a word more."""
    plain = {"PYTHONDONTWRITEBYTECODE": "1", **env}
    without = run(python, plain, cwd)
    with_it = run(python, stackable(plain, str(STACKABLE)) | frames, cwd)
    assert with_it.stderr == without.stderr
    assert with_it.returncode == without.returncode == 0, with_it.stderr
    return json.loads(without.stdout), json.loads(with_it.stdout)


def same(without: dict[str, Any], with_it: dict[str, Any]) -> bool:
    seen = {**with_it, "modules": [each for each in with_it["modules"] if each != "faulthandler"]}
    seen["caught"] &= ~TWO
    return seen == without


@pytest.mark.parametrize("python", pythons())
def test_without_another_there_is_none(python: str, tmp_path: Path, frames: dict[str, str]) -> None:
    """Debian's own, in the standard library, is another."""
    without, with_it = both(python, tmp_path, frames)
    assert same(without, with_it)
    assert with_it["caught"] & TWO == (0 if "2.7" in python else TWO)


@pytest.mark.parametrize("python", pythons())
def test_the_programs_own_takes_its_place(python: str, tmp_path: Path, frames: dict[str, str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(OWN)
    without, with_it = both(python, tmp_path, frames, PYTHONPATH=str(tmp_path))
    assert same(without, with_it)
    assert (with_it["own"], with_it["told"], with_it["name"]) == (
        str(tmp_path / "sitecustomize.py"),
        "mine",
        "sitecustomize",
    )


@pytest.mark.parametrize(
    "trouble", ["raise ValueError('its own')", "import not_there", "x = (", "raise SystemExit(3)"]
)
def test_the_errors_of_the_programs_own_are_told_as_without_us(
    trouble: str, tmp_path: Path, frames: dict[str, str]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(trouble)
    plain = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(tmp_path)}
    without = run(sys.executable, plain, tmp_path)
    with_it = run(sys.executable, stackable(plain, str(STACKABLE)) | frames, tmp_path)
    assert with_it.returncode == without.returncode
    told, more = without.stderr.splitlines(), with_it.stderr.splitlines()
    assert [line for line in more if line in told] == told
    assert len(more) <= len(told) + 3  # of a traceback, our line


def test_that_of_a_virtual_environment_is_found(tmp_path: Path, frames: dict[str, str]) -> None:
    made = tmp_path / "venv"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(made)), check=True)
    [packages] = made.glob("lib/python3.*/site-packages")
    (packages / "sitecustomize.py").write_text(OWN)
    without, with_it = both(str(made / "bin" / "python"), tmp_path, frames)
    assert same(without, with_it)
    assert with_it["told"] == without["told"]


def test_a_launcher_within_a_launcher_is_found_twice_and_goes_twice(tmp_path: Path, frames: dict[str, str]) -> None:
    copied = tmp_path / "other"
    copied.mkdir()
    (copied / "sitecustomize.py").write_bytes((STACKABLE / "sitecustomize.py").read_bytes())
    (tmp_path / "sitecustomize.py").write_text(OWN)
    without, with_it = both(sys.executable, tmp_path, frames, PYTHONPATH=str(tmp_path))
    env = stackable(stackable({"PYTHONPATH": str(tmp_path)}, str(copied)), str(STACKABLE)) | frames
    twice = run(sys.executable, {"PYTHONDONTWRITEBYTECODE": "1", **env}, tmp_path)
    assert json.loads(twice.stdout) == with_it
    assert same(without, with_it)


@pytest.mark.parametrize("path", ["", "/proc/self/fd/99", "/dev/null", "/etc/passwd", "nowhere", "/proc/1/fd/0"])
def test_a_file_that_is_not_the_launchers_is_left_alone(path: str, tmp_path: Path) -> None:
    _, with_it = both(sys.executable, tmp_path, {"LAUNCHER_FRAMES": path})
    assert with_it["caught"] & TWO == 0


def test_a_launcher_that_is_gone_leaves_no_handler(tmp_path: Path) -> None:
    launcher = "import os\nfile = os.memfd_create('paddle-launcher-stacks')\nprint(f'/proc/{os.getpid()}/fd/{file}')"
    gone = subprocess.run((sys.executable, "-c", launcher), capture_output=True, text=True, check=True).stdout.strip()
    _, with_it = both(sys.executable, tmp_path, {"LAUNCHER_FRAMES": gone})
    assert with_it["caught"] & TWO == 0


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_a_python_that_does_not_look_has_no_handler(flag: str, tmp_path: Path, frames: dict[str, str]) -> None:
    env = stackable(dict(os.environ), str(STACKABLE)) | frames
    seen = json.loads(run(sys.executable, env, tmp_path, flag).stdout)
    assert seen["caught"] & TWO == 0


def test_a_directory_that_is_gone_is_no_trouble(tmp_path: Path, frames: dict[str, str]) -> None:
    (work := tmp_path / "work").mkdir()
    own = sys.executable
    program = f"import os\nos.rmdir({str(work)!r})\nos.execv({own!r}, [{own!r}, '-c', {PROBE!r}])"
    env = stackable({}, str(STACKABLE)) | frames
    done = subprocess.run((own, "-c", program), cwd=work, env=env, capture_output=True, text=True, check=False)
    assert not done.stderr
    assert json.loads(done.stdout)["caught"] & TWO == TWO
