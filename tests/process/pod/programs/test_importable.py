"""`from launcher import here` in a Python without such a package, and with one of the program's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from launcher.pod.programs.launch import IMPORTABLE
from tests.support.gangs import gang

PYTHON = (sys.executable, "-S")  # without what is installed here
ROOT = IMPORTABLE.parent
ASKED = "from launcher import here\nprint(here.__file__)"
PROGRAM = """\
import sitecustomize  # -S leaves it out
from launcher import dataset, here
here.barrier("all")
print(here.rank(), here.__file__, dataset.__file__)
"""


def said(directory: Path, program: str, *paths: Path) -> str:
    """Return what a program prints with these directories on its PYTHONPATH; its first line is where it runs."""
    env = {"PYTHONPATH": ":".join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    words = (*PYTHON, "-c", program)
    done = subprocess.run(words, cwd=directory, env=env, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.splitlines()[-1]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A place for packages that is searched behind PYTHONPATH, as where they are installed."""
    made = tmp_path / "installed"
    made.mkdir()
    return made


def put(directory: Path, **files: str) -> None:
    directory.mkdir(exist_ok=True)
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text)


def test_without_another_it_is_ours(tmp_path: Path) -> None:
    assert said(tmp_path, ASKED, IMPORTABLE) == str(ROOT / "here.py")
    assert said(tmp_path, "import launcher.dataset, launcher.job; print(launcher.job.__file__)", IMPORTABLE) == str(
        ROOT / "job" / "__init__.py"
    )
    assert said(tmp_path, ASKED).startswith("ModuleNotFoundError")


def test_a_package_of_the_programs_own_takes_its_place_wherever_it_is(tmp_path: Path, installed: Path) -> None:
    put(installed / "launcher", __init__="mine = 'mine'\nfrom launcher import part", part="told = 'a part'")
    asked = "import launcher, launcher.part; from launcher import here; print(launcher.mine, launcher.part.told)"
    assert said(tmp_path, asked, IMPORTABLE, installed) == "mine a part"
    assert said(installed, asked.replace("from launcher import here; ", ""), IMPORTABLE) == "mine a part"


def test_what_the_programs_own_package_has_is_not_ours(tmp_path: Path, installed: Path) -> None:
    put(installed / "launcher", __init__="", here="")
    assert said(tmp_path, ASKED, IMPORTABLE, installed) == str(installed / "launcher" / "here.py")


def test_a_module_of_the_programs_own_and_one_that_fails(tmp_path: Path, installed: Path) -> None:
    put(installed, launcher="mine = 'a module'")
    assert said(tmp_path, "import launcher; print(launcher.mine)", IMPORTABLE, installed) == "a module"
    put(installed, launcher="raise ValueError('its own trouble')")
    assert said(tmp_path, "import launcher", IMPORTABLE, installed) == "ValueError: its own trouble"


def test_a_directory_without_a_file_of_its_own_is_added_to(tmp_path: Path, installed: Path) -> None:
    put(installed / "launcher", part="told = 'a part'")
    asked = "import launcher.part; from launcher import here; print(launcher.part.told, here.rank())"
    assert said(tmp_path, asked, IMPORTABLE, installed) == "a part 0"


def test_a_package_that_a_finder_knows_takes_its_place(tmp_path: Path, installed: Path) -> None:
    """As of `pip install --editable`: it is on no path."""
    put(installed / "launcher", __init__="mine = 'editable'")
    finder = f"""\
import sys
from importlib.util import spec_from_file_location
class Finds:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "launcher":
            where = {str(installed / "launcher")!r}
            return spec_from_file_location(name, where + "/__init__.py", submodule_search_locations=[where])
class FindsAsLongAgo:
    @staticmethod
    def find_module(name, path=None):
        return None
sys.meta_path.insert(0, FindsAsLongAgo)
sys.meta_path.append(Finds)
import launcher
from launcher import here
print(launcher.mine, here.rank())
"""
    assert said(tmp_path, finder, IMPORTABLE) == "editable 0"


def test_the_same_directory_by_another_name_is_no_other(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(IMPORTABLE)
    assert said(tmp_path, ASKED, tmp_path / "link", IMPORTABLE) == str(ROOT / "here.py")


def test_programs_of_a_gang_find_it_where_that_is_asked_for(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_IMPORTABLE": "on"}
    with gang(2, tmp_path, command=(*PYTHON, str(program)), env=env) as g:
        assert g.codes() == [0, 0]
        for rank in range(2):
            log = (g.output / f"node_{rank}" / "train.log").read_text()
            assert f"{rank} {ROOT}/here.py {ROOT}/dataset/__init__.py\n" in log
