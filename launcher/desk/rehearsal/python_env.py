"""The Python with a framework that trains at the desk: an environment made once a machine, outside any checkout."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path

from launcher.desk.columns import bar
from launcher.desk.terminal import ProgressLine

MINUTES = 15
_NEEDED = 1.5  # times what is downloaded and what stays, during the installation: unpacked files, pip's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is installed together: an extra of setup.cfg, what it is called, and what it takes."""

    extra: str
    title: str
    first: str  # the package that the machine and the Python must suit
    imports: tuple[str, ...]  # which want more of the machine than pip looks at
    pythons: tuple[int, ...]  # 3.x, the likeliest first; the launcher's own before all, if it is one of these
    download: float  # bytes
    stays: float
    machines: tuple[str, ...] = ("x86_64", "aarch64")


PADDLE = Environment(
    extra="paddle",
    title="Paddle",
    first="paddlepaddle 2.6.2",
    imports=("paddle",),
    pythons=(11, 12, 10, 9, 8),
    download=150e6,
    stays=600e6,
)


class NotHere(Exception):
    """An environment cannot be made on this machine; the message says why."""


def python(environment: Environment, line: ProgressLine) -> Path:
    """Return the Python of an environment, after it was installed if need be; a line shows how far that is."""
    check_machine(environment, sys.platform, platform.machine())
    found, version = interpreter(environment, candidates(environment, sys.version_info[:2]))
    key = hashlib.sha256("\n".join((*pins(environment), version)).encode()).hexdigest()[:16]
    try:
        directory = _cache() / f"{environment.extra}-{key}"
        with _alone(environment, directory, line):
            if not (directory / "ready").exists():
                _make(environment, directory, found, line)
    except OSError as error:
        raise NotHere(f"{error.filename}: {error.strerror}") from error
    return directory / "bin" / "python"


def check_machine(environment: Environment, system: str, machine: str) -> None:
    """Refuse a machine that there are no wheels for."""
    if system != "linux" or machine not in environment.machines:
        wanted = " or ".join(environment.machines)
        raise NotHere(f"{environment.first} is for Linux on {wanted}, this is {system} on {machine}")


def candidates(environment: Environment, own: tuple[int, int]) -> tuple[str, ...]:
    """Return the Pythons to look for, the launcher's own first where there are wheels for it."""
    names = tuple(f"python3.{minor}" for minor in environment.pythons)
    return (sys.executable, *names) if own[0] == 3 and own[1] in environment.pythons else names


def interpreter(environment: Environment, names: Sequence[str]) -> tuple[str, str]:
    """Return the first Python of these that can make a virtual environment, and its version."""
    asked = ("-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])")
    for path in filter(None, map(shutil.which, names)):  # one on PATH may be a shim for nothing
        told = subprocess.run((path, *asked), capture_output=True, text=True, check=False)
        if told.returncode == 0:
            return path, told.stdout
    some = f"Python 3.{min(environment.pythons)} to 3.{max(environment.pythons)}"
    raise NotHere(f"{environment.first} needs {some} with its venv module, and none is on PATH")


def pins(environment: Environment) -> tuple[str, ...]:
    """Return what this package's extra asks for."""
    extra = f'extra == "{environment.extra}"'
    lines = [line for line in requires("paddle-launcher") or () if extra in line]
    return tuple(line.replace(f" and {extra}", "").replace(f"; {extra}", "") for line in lines)


def _make(environment: Environment, directory: Path, found: str, line: ProgressLine) -> None:
    free = shutil.disk_usage(directory.parent).free
    needed = _NEEDED * (environment.download + environment.stays)
    if free < needed:
        raise NotHere(
            f"{directory.parent} has {free / 1e6:.0f} MB free, expected {needed / 1e6:.0f}: make room there"
        )
    line.say(
        f"{environment.title} is not installed yet: {environment.first} is installed in {directory}, once; "
        f"{environment.download / 1e6:.0f} MB to download, {environment.stays / 1e6:.0f} MB on disk"
    )
    own = str(directory / "bin" / "python")
    steps = {
        "python -m venv": (found, "-m", "venv", str(directory)),
        "pip install": (own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins(environment)),
        **{f"import {name}": (own, "-c", f"import {name}") for name in environment.imports},
    }
    began = time.monotonic()
    shutil.rmtree(directory, ignore_errors=True)
    try:
        _coming(directory).mkdir(parents=True)
        for step, words in steps.items():
            _run(environment, step, words, directory, began, line)
        shutil.rmtree(_coming(directory), ignore_errors=True)
        (directory / "ready").touch()
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    line.finish(f"{environment.title} installed: {_size(directory) / 1e6:.0f} MB, {time.monotonic() - began:.0f} s")


def _run(
    environment: Environment, step: str, words: Sequence[str], directory: Path, began: float, line: ProgressLine
) -> None:
    """Run one step in a process group of its own, so that Ctrl-C ends it here and nowhere else."""
    env = {**os.environ, "TMPDIR": str(_coming(directory))}
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            words, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said, process_group=0
        )
        try:
            while process.poll() is None:
                if time.monotonic() > began + 60 * MINUTES:
                    raise NotHere(f"`{step}` did not end within {MINUTES} minutes")
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.5)
                line.show(_so_far(environment, directory, began))
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        if process.returncode:
            raise NotHere(why(step, process.returncode, said.read()))


def why(step: str, code: int, said: str) -> str:
    """Return why a step failed, from what it said."""
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "nothing")
    if "connection broken by" in said and "No matching distribution" in last:
        return "pip cannot reach a package registry from here"
    return f"`{step}` ended with {code} and said: {last}"


def _coming(directory: Path) -> Path:
    """Return where downloads are kept while they come: beside what they are for, and counted with it."""
    return directory / "coming"


def _so_far(environment: Environment, directory: Path, began: float) -> str:
    size = _size(directory)
    so_far = bar(size, environment.download + environment.stays)  # what came is removed when all is unpacked
    return f"installing {environment.title} {so_far} {size / 1e6:.0f} MB, {time.monotonic() - began:.0f} s"


def _size(directory: Path) -> int:
    size = 0
    for top, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):  # gone meanwhile
                size += Path(top, name).lstat().st_size
    return size


def _cache() -> Path:
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddle-launcher"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def _alone(environment: Environment, directory: Path, line: ProgressLine) -> Iterator[None]:
    """Keep others out for as long as the body takes: what one makes the next one finds."""
    with directory.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            line.say(f"another program installs {environment.title} on this machine: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
