"""The wheel, installed: in a fresh environment of each Python that is found, with the locked versions beside it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools import sbom, wheel

pytestmark = pytest.mark.timeout(300)  # of which a slow registry may take the most

ROOT = Path(__file__).parents[2]
PORT = 26_000 + os.getpid() % 400 * 10  # apart from other rows, and from the ports that the kernel gives away
LARGE = "kubernetes"
VERSIONS = ("3.11", "3.12", "3.13")


def interpreter(version: str) -> str:
    """Return this Python's path, empty where there is none: on PATH, which may have shims for nothing, or pyenv's."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    paths = (shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python{version}")))
    asked = ("-c", "import ensurepip, venv")
    return next((str(each) for each in paths if each and run(str(each), *asked).returncode == 0), "")


def run(*words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=250, check=False)


FOUND = {version: path for version in VERSIONS if (path := interpreter(version))}  # CI has the first


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the directory that `make wheel` leaves."""
    made = tmp_path_factory.mktemp("built")
    assert wheel.main([str(made)]) == 0
    return made


def the_wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def test_two_builds_are_equal_byte_by_byte_whatever_the_umask_the_modes_and_what_lies_about(
    built: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "build", "__pycache__", "*.egg-info"))
    (copy / "launcher" / "__pycache__").mkdir()
    (copy / "launcher" / "__pycache__" / "text.cpython-311.pyc").write_bytes(b"old")
    for path in copy.rglob("*"):
        path.chmod(0o700 if path.stat().st_mode & 0o100 else 0o600)
    before = os.umask(0o077)
    try:
        again = wheel.build(tmp_path / "again", root=copy)
    finally:
        os.umask(before)
    assert again.read_bytes() == the_wheel(built).read_bytes()


def test_it_has_every_module_the_examples_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(the_wheel(built)) as archive:
        entries = {each.filename: each for each in archive.infolist()}
    modules = {str(path.relative_to(ROOT)) for path in ROOT.glob("launcher/**/*.py")}
    examples = {
        f"launcher/examples/{directory}/{path.name}"
        for directory in ("recommendation", "stand_in")
        for path in (ROOT / "examples" / directory).iterdir()
        if path.suffix in ("", ".py") and path.is_file()
    }
    had = {name for name in entries if ".dist-info/" not in name}
    assert modules | examples <= had
    assert had - modules - examples <= {"launcher/bridge/bin/paddle", "launcher/py.typed"}
    modes = {name: entries[name].external_attr >> 16 & 0o777 for name in had}
    assert {name for name, mode in modes.items() if mode != 0o644} == {
        "launcher/bridge/bin/paddle",
        "launcher/examples/stand_in/paddle",
    }


def test_beside_it_is_what_it_needs_as_a_bill_of_materials(built: Path) -> None:
    (bill,) = built.glob("*.cdx.json")
    found = json.loads(bill.read_text())
    locked = sbom.locked(wheel.LOCK.read_text())
    for each in found["components"]:
        assert (each["version"], tuple(h["content"] for h in each["hashes"])) == (
            locked[each["name"]].version,
            locked[each["name"]].digests,
        )
        assert each["hashes"]
    names = {each["name"] for each in found["components"]}
    assert {"kubernetes", "psutil", "structlog"} <= names
    assert not names & {"pytest", "mypy", "ruff"}
    assert "://" not in bill.read_text()


@pytest.fixture(scope="module")
def environments(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Give an environment of each Python with the wheel in it, and what it needs in the versions of the lock.

    `kubernetes` is most of the files, and has no part that is of one Python alone: the others have the first one's.
    """
    top = tmp_path_factory.mktemp("environments")
    needed = sbom.needed(sbom.locked(wheel.LOCK.read_text())).keys() - {sbom.OURS}
    (first, *others) = FOUND
    with ThreadPoolExecutor() as pool:  # they mostly wait for the registry
        made = [pool.submit(install, top / first, FOUND[first], needed, the_wheel(built))]
        made += [pool.submit(install, top / each, FOUND[each], needed - {LARGE}, the_wheel(built)) for each in others]
    own = {version: each.result() for version, each in zip(FOUND, made, strict=True)}
    for path in (top / first).glob(f"lib/python*/site-packages/{LARGE}*"):
        for each in others:
            (top / each / "lib" / f"python{each}" / "site-packages" / path.name).symlink_to(path)
    for place in own.values():
        done = run(*pip(place), "check")
        assert done.returncode == 0, done.stdout
    yield own
    shutil.rmtree(top)


def install(at: Path, python: str, needed: AbstractSet[str], wheel_file: Path) -> Path:
    """Make an environment, and return its directory of programs."""
    assert run(python, "-m", "venv", "--without-pip", str(at)).returncode == 0
    entries = re.split(r"^(?=[a-z])", wheel.LOCK.read_text(), flags=re.MULTILINE)
    lock = at / "lock"
    lock.write_text("".join(each for each in entries if each.partition("==")[0] in needed))
    flags = ("--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps")
    for words in (("--require-hashes", "-r", str(lock)), (str(wheel_file),)):
        done = run(*pip(at / "bin"), "install", *flags, *words)
        if "No matching distribution" in done.stderr and "connection broken" in done.stderr:
            pytest.skip("no package registry answers")
        assert done.returncode == 0, done.stderr
    return at / "bin"


def pip(own: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "pip", "--python", str(own / "python"))


def outside() -> dict[str, str]:
    """Return an environment in which nothing leads to the checkout."""
    return {name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME") if name in os.environ} | {
        "PATH": "/usr/bin:/bin"
    }


def test_this_python_is_among_those_tried_and_the_others_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    missing = [version for version in VERSIONS if version not in FOUND]
    with capsys.disabled():
        print(f" [tried with {', '.join(FOUND)}; not found here: {', '.join(missing) or 'none'}]", end="")
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in FOUND


@pytest.mark.parametrize("version", FOUND)
def test_local_without_a_program_trains_the_stand_in_anywhere(
    environments: dict[str, Path], tmp_path: Path, version: str
) -> None:
    own = environments[version]
    words = (str(own / "paddlectl"), "local", "--pods=2", "--passes=2", f"--port={PORT}")
    done = run(*words, cwd=tmp_path, env=outside())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on a stand-in for Paddle\n" in done.stdout
    assert "all 2 pods ended with 0" in done.stdout
    assert (tmp_path / "build/demo/volume/paddle-cluster-job/output/pass-00001/done").exists()
    assert (tmp_path / "build/demo/report.html").exists()
    assert run(str(own / "start_paddle"), "--version", cwd=tmp_path, env=outside()).returncode == 0
    asked = "import launcher.kube.transport, launcher; print(launcher.__file__)"
    where = run(str(own / "python"), "-c", asked, cwd=tmp_path, env=outside())
    assert Path(where.stdout.strip()).is_relative_to(own.parent), where.stderr


@pytest.mark.parametrize("version", FOUND)
def test_kubectls_plugin_comes_with_it(environments: dict[str, Path], tmp_path: Path, version: str) -> None:
    own = environments[version]

    def said(name: str, *words: str) -> tuple[int, str, str]:
        done = run(str(own / name), *words, cwd=tmp_path, env=outside())
        return done.returncode, done.stdout, done.stderr

    assert said("kubectl_complete-paddle", "su") == (0, "submit\nsuspend\n:4\n", "")
    assert said("kubectl_complete-paddle", "get", "jobs", "-o", "w") == (0, "wide\n:4\n", "")
    assert "--kubeconfig\n" in said("kubectl_complete-paddle", "--")[1]
    half = "kubectl paddle kill: unrecognized arguments: -r; `kubectl paddle help kill` shows how\n"
    assert said("kubectl-paddle", "kill", "-r", "my-job") == (2, "", half)


def test_where_paddle_cannot_be_had_the_command_for_the_stand_in_is_told(
    environments: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    own = next(iter(environments.values()))
    env = outside() | {"XDG_CACHE_HOME": str(tmp_path / "file")}
    words = ("local", "--example", "recommendation", f"--port={PORT}")
    done = run(str(own / "paddlectl"), *words, cwd=tmp_path, env=env)
    assert done.returncode == 69, done.stdout + done.stderr
    assert done.stderr.startswith("paddlectl: Paddle cannot be installed here: ")
    assert done.stderr.endswith("`paddlectl local` trains a stand-in, without Paddle\n")
    assert not (tmp_path / "build").exists()
