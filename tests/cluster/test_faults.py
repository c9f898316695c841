"""What keeps a cluster from being had is said in a sentence with the remedy, before the minutes are spent."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster.cluster import NAMED, chosen
from tests.grounds.cluster import NoGround, packages
from tests.grounds.cluster.build import KUBE, Module, built

needs_go = pytest.mark.skipif(not shutil.which("go"), reason="Go is not on PATH: install Go 1.24 or newer")
MAIN = "package main\n\nfunc main() {%s}\n"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache with nothing in it but what Go has compiled of its own."""
    if shutil.which("go"):
        compiled = subprocess.run(("go", "env", "GOCACHE"), capture_output=True, text=True, check=True).stdout
        monkeypatch.setenv("GOCACHE", compiled.strip())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def module(tmp_path: Path, body: str = "", *, needs: int = 0) -> Module:
    """Return a Go module of one file."""
    directory = tmp_path / "tool"
    directory.mkdir(exist_ok=True)
    (directory / "go.mod").write_text("module tool.test/tool\n\ngo 1.21\n")
    (directory / "go.sum").write_text("")
    (directory / "main.go").write_text(MAIN % body)
    return Module(directory=directory, names=("one", "other"), needs=needs)


@needs_go
def test_a_binary_is_built_once_and_again_when_its_sources_change(tmp_path: Path) -> None:
    told: list[str] = []
    first = built(module(tmp_path), told.append)
    assert built(module(tmp_path), told.append) == first
    assert len(told) == 2
    assert (first / "one").resolve() == (first / "other").resolve() == first / "tool"
    assert built(module(tmp_path, "println()"), told.append) != first


def test_go_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoGround, match=r"Go is not on PATH .* install Go 1\.24 or newer"):
        built(KUBE)


@needs_go
def test_disk_short(tmp_path: Path) -> None:
    with pytest.raises(NoGround, match="GiB free and building one needs 1048576: free some, or name a larger place"):
        built(module(tmp_path, needs=1 << 50))


@needs_go
def test_sources_that_do_not_compile(tmp_path: Path) -> None:
    with pytest.raises(NoGround, match=r"(?s)`go build` in .* failed; its last words:.*undefined: nothing"):
        built(module(tmp_path, "nothing()"))


def test_not_root() -> None:
    with pytest.raises(NoGround, match=f"run as root, or name a cluster with {NAMED}"):
        packages.check(user=lambda: 1000)


def test_packages_missing() -> None:
    with pytest.raises(NoGround, match=r"missing: containerd runc; say `python -m tests\.grounds\.cluster install`"):
        packages.check(user=lambda: 0, look=lambda: ("containerd", "runc"))


def test_ci_installs_every_package_that_a_ground_wants() -> None:
    text = (Path(__file__).parents[2] / ".ci" / "run").read_text()
    assert set(packages.WANTED.values()) <= set(re.findall(r":([a-z][a-z0-9.-]+)", text))


def test_a_named_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoGround, match=f"{NAMED} names .*/nowhere, and no such file is there"):
        chosen({NAMED: str(tmp_path / "nowhere")}).__enter__()
