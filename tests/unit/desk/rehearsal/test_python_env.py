"""Getting a Python with a framework: what is asked for, and why it cannot be had."""

from __future__ import annotations

import configparser
import sys
from pathlib import Path

import pytest

from launcher.desk.rehearsal import python_env
from launcher.desk.rehearsal.python_env import PADDLE, Environment, NotHere
from tests.real.install import ALL, FRAMEWORKS

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("environment", ALL, ids=lambda each: each.extra)
def test_what_is_installed_is_what_setup_cfg_says(environment: Environment) -> None:
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    said = [
        line for line in config["options.extras_require"][environment.extra].splitlines() if line and line[0] != "#"
    ]
    assert list(python_env.pins(environment)) == said


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64"), ("win32", "x86_64")])
def test_a_machine_that_no_paddle_is_for_is_told(system: str, machine: str) -> None:
    with pytest.raises(NotHere, match=f"for Linux on x86_64 or aarch64, this is {system} on {machine}"):
        python_env.check_machine(PADDLE, system, machine)


def test_a_machine_that_paddle_is_for_is_not_refused() -> None:
    for machine in ("x86_64", "aarch64"):
        python_env.check_machine(PADDLE, "linux", machine)


def test_the_first_python_that_can_make_an_environment_is_taken(tmp_path: Path) -> None:
    shim = tmp_path / "python3.11"
    shim.write_text("#!/bin/sh\necho no such version is chosen >&2\nexit 127\n")
    shim.chmod(0o755)
    found, version = python_env.interpreter(PADDLE, (str(shim), str(tmp_path / "none"), sys.executable))
    assert found == sys.executable
    assert version.split() == [str(each) for each in sys.version_info[:2]]
    with pytest.raises(NotHere, match=r"needs Python 3\.8 to 3\.12 with its venv module, and none is on PATH"):
        python_env.interpreter(PADDLE, (str(shim), str(tmp_path / "none")))


def test_the_launchers_own_python_comes_first_where_there_are_wheels_for_it() -> None:
    names = ("python3.11", "python3.12", "python3.10", "python3.9", "python3.8")
    assert python_env.candidates(PADDLE, (3, 12)) == (sys.executable, *names)
    assert python_env.candidates(PADDLE, (3, 13)) == names
    assert python_env.candidates(FRAMEWORKS, (3, 10))[0] == "python3.11"


RETRIED = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError: refused'\n"
NONE = "ERROR: No matching distribution found for paddlepaddle==2.6.2\n"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (RETRIED + NONE, "pip cannot reach a package registry from here"),
        (NONE, "`pip install` ended with 1 and said: ERROR: No matching distribution found for paddlepaddle==2.6.2"),
        (RETRIED + "ERROR: no space left\n\n", "`pip install` ended with 1 and said: ERROR: no space left"),
        ("", "`pip install` ended with 1 and said: nothing"),
    ],
    ids=["no network", "no wheel", "no room", "not a word"],
)
def test_why_a_step_failed_is_one_sentence(said: str, told: str) -> None:
    assert python_env.why("pip install", 1, said) == told
