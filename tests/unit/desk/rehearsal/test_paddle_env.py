"""Getting Paddle: what is asked for, and why it cannot be had."""

from __future__ import annotations

import configparser
import sys
from pathlib import Path

import pytest

from launcher.desk.rehearsal import paddle_env
from launcher.desk.rehearsal.paddle_env import NotHere

ROOT = Path(__file__).parents[4]


def test_what_is_installed_is_what_setup_cfg_says() -> None:
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    said = [line for line in config["options.extras_require"]["paddle"].splitlines() if line and line[0] != "#"]
    assert list(paddle_env.pins()) == said


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64"), ("win32", "x86_64")])
def test_a_machine_that_no_paddle_is_for_is_told(system: str, machine: str) -> None:
    with pytest.raises(NotHere, match=f"for Linux on x86_64 or aarch64, this is {system} on {machine}"):
        paddle_env.check_machine(system, machine)


def test_a_machine_that_paddle_is_for_is_not_refused() -> None:
    for machine in ("x86_64", "aarch64"):
        paddle_env.check_machine("linux", machine)


def test_the_first_python_that_can_make_an_environment_is_taken(tmp_path: Path) -> None:
    shim = tmp_path / "python3.11"
    shim.write_text("#!/bin/sh\necho no such version is chosen >&2\nexit 127\n")
    shim.chmod(0o755)
    found, version = paddle_env.interpreter((str(shim), str(tmp_path / "none"), sys.executable))
    assert found == sys.executable
    assert version.split() == [str(each) for each in sys.version_info[:2]]
    with pytest.raises(NotHere, match=r"needs Python 3\.8 to 3\.12 with its venv module, and none is on PATH"):
        paddle_env.interpreter((str(shim), str(tmp_path / "none")))


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
    assert paddle_env.why("pip install", 1, said) == told
