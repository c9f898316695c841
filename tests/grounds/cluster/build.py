"""Builds the Go modules into the cache, once each: what a binary is made of is its directory's name."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.grounds.cluster.fault import NoGround

HERE = Path(__file__).resolve().parent
VERSION = "v1.34.2"
GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A Go module of the tests, and the names that its binary is called by."""

    directory: Path
    names: tuple[str, ...]
    needs: int
    flags: str = "-s -w"
    package: str = "."  # the module's own, or a program that it has as its tool

    @property
    def digest(self) -> str:
        """What the binary is made of, in short."""
        names = ("go.mod", "go.sum", *(("main.go",) if self.package == "." else ()))
        sources = b"".join((self.directory / name).read_bytes() for name in names)
        return hashlib.sha256(sources + self.flags.encode()).hexdigest()[:16]


KUBE = Module(
    directory=HERE / "kube",
    names=("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"),
    needs=7 * GIB,
    flags=f"-s -w -X k8s.io/component-base/version.gitVersion={VERSION}",
)
DNS = Module(directory=HERE / "dns", names=("coredns",), needs=2 * GIB)


def cache() -> Path:
    """Return the directory outside the checkout that binaries and the ground's state live in."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddle-launcher"


def built(module: Module, tell: Callable[[str], None] = print) -> Path:
    """Return the directory that holds the module's binary under all its names, building it where it is not there."""
    target = cache() / module.digest
    target.parent.mkdir(parents=True, exist_ok=True)
    with alone(target.with_suffix(".lock")):
        if not target.exists():
            check_tools(module, target.parent)
            tell(f"building {', '.join(module.names)} (once; minutes on two cores), into {target}")
            begun = time.monotonic()
            compile_into(module, target)
            tell(f"built in {time.monotonic() - begun:.0f} s")
    return target


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Hold a lock that other processes wait for."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def check_tools(module: Module, where: Path) -> None:
    """Say what is missing before the minutes are spent."""
    if not shutil.which("go"):
        raise NoGround("Go is not on PATH and the ground is built with it: install Go 1.24 or newer")
    free = shutil.disk_usage(where).free
    if free < module.needs:
        raise NoGround(
            f"{where} has {free / GIB:.1f} GiB free and building {module.names[0]} needs {module.needs / GIB:.0f}: "
            "free some, or name a larger place with XDG_CACHE_HOME (and GOCACHE, GOMODCACHE for Go's own)"
        )


def compile_into(module: Module, target: Path) -> None:
    """Compile into a directory beside the target and rename it, so that a target is always whole."""
    making = target.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    binary = making / module.directory.name
    words = ("go", "build", "-trimpath", "-ldflags", module.flags, "-o", str(binary), module.package)
    environ = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    done = subprocess.run(
        words, cwd=module.directory, env=environ, stderr=subprocess.PIPE, text=True, timeout=3000, check=False
    )
    if done.returncode:
        raise NoGround(f"`go build` in {module.directory} failed; its last words:\n{done.stderr[-2000:]}")
    for name in module.names:
        if name != binary.name:
            (making / name).symlink_to(binary.name)
    making.rename(target)
