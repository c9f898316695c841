"""The launcher as it is brought into images: the tree of docker/bundle.py, and programs to start beside it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHILDREN = Path(__file__).parent / "children"
NOT_IN_IMAGES = ("kubernetes/aio/", "kubernetes/client/api/", "kubernetes/client/models/")  # as docker/install.sh


def need_compiler() -> None:
    """Skip a test where no C program can be made."""
    if not shutil.which("gcc"):
        pytest.skip("there is no C compiler: install Debian's packages gcc and libc6-dev")


def make_tree(top: Path) -> Path:
    """Make the tree of this checkout's launcher with this Python, in about ten seconds."""
    need_compiler()
    tree, venv = top / "launcher", top / "venv"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(venv)), check=True)
    packages = next(venv.glob("lib/python3*/site-packages"))
    for name in ("paddle-launcher", *_packages()):
        _copy_package(name, packages)
    ours = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "launcher", packages / "launcher", ignore=ours, dirs_exist_ok=True)
    words = (str(venv / "bin" / "python"), "-I", str(ROOT / "docker" / "bundle.py"), str(tree))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(venv)
    return tree


def make_program(source: Path, path: Path, *options: str, compiler: str = "gcc") -> Path:
    """Compile a program or a library of a test's own."""
    need_compiler()
    subprocess.run((compiler, "-Wall", "-Werror", *options, "-o", str(path), str(source)), check=True)
    return path


def make_alone(path: Path) -> Path:
    """Make the static program of children/alone.c."""
    return make_program(CHILDREN / "alone.c", path, "-static")


def make_broken_library(path: Path) -> Path:
    """Make a library that ends every program into which it is preloaded, since it needs one that is nowhere."""
    empty, needed = path.with_name("empty.c"), path.with_name("libnowhere.so")
    empty.write_text("int nothing;\n")
    make_program(empty, needed, "-shared", "-fPIC")
    make_program(empty, path, "-shared", "-fPIC", "-Wl,--no-as-needed", f"-L{path.parent}", "-lnowhere")
    needed.unlink()
    return path


def _packages() -> list[str]:
    found = re.search(r'PACKAGES="([^"]*)"', (ROOT / "docker" / "install.sh").read_text())
    assert found
    return found[1].split()


def _copy_package(name: str, packages: Path) -> None:
    for file in distribution(name).files or ():
        left_out = str(file).startswith(NOT_IN_IMAGES) and file.name != "__init__.py"
        if not (
            left_out or file.parts[0] == ".." or file.suffix == ".pyc" or str(file).startswith(NOT_IN_IMAGES[:2])
        ):
            (packages / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), packages / file)
