"""The Python with Paddle that trains at the desk: a virtual environment made once a machine, outside any checkout."""

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
from importlib.metadata import requires
from pathlib import Path

from launcher.desk.columns import bar
from launcher.desk.terminal import ProgressLine

DOWNLOAD = 150e6  # bytes
_STAYS = 600e6
_NEEDED = 1.5e9  # during the installation: downloads, unpacked files, pip's cache
MINUTES = 15
# 2.6.2 has wheels for 3.8 to 3.12; the launcher itself may run on a newer one.
_PYTHONS = ("python3.11", "python3.12", "python3.10", "python3.9", "python3.8")
MACHINES = ("x86_64", "aarch64")
EXTRA = 'extra == "paddle"'


class NotHere(Exception):
    """Paddle cannot be installed on this machine; the message says why."""


def python(line: ProgressLine) -> Path:
    """Return the Python that has Paddle, after it was installed if need be; a line shows how far that is."""
    check_machine(sys.platform, platform.machine())
    own = (sys.executable,) if (3, 8) <= sys.version_info[:2] <= (3, 12) else ()
    found, version = interpreter((*own, *_PYTHONS))
    key = hashlib.sha256("\n".join((*pins(), version)).encode()).hexdigest()[:16]
    try:
        directory = _cache() / f"paddle-{key}"
        with _alone(directory, line):
            if not (directory / "ready").exists():
                _make(directory, found, line)
    except OSError as error:
        raise NotHere(f"{error.filename}: {error.strerror}") from error
    return directory / "bin" / "python"


def check_machine(system: str, machine: str) -> None:
    """Refuse a machine that there is no Paddle for."""
    if system != "linux" or machine not in MACHINES:
        raise NotHere(f"paddlepaddle 2.6.2 is for Linux on {' or '.join(MACHINES)}, this is {system} on {machine}")


def interpreter(names: Sequence[str]) -> tuple[str, str]:
    """Return the first Python of these that can make a virtual environment, and its version."""
    asked = ("-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])")
    for path in filter(None, map(shutil.which, names)):  # one on PATH may be a shim for nothing
        told = subprocess.run((path, *asked), capture_output=True, text=True, check=False)
        if told.returncode == 0:
            return path, told.stdout
    raise NotHere("paddlepaddle 2.6.2 needs Python 3.8 to 3.12 with its venv module, and none is on PATH")


def pins() -> tuple[str, ...]:
    """Return what this package's extra `paddle` asks for."""
    lines = [line for line in requires("paddle-launcher") or () if EXTRA in line]
    return tuple(line.replace(f" and {EXTRA}", "").replace(f"; {EXTRA}", "") for line in lines)


def _make(directory: Path, found: str, line: ProgressLine) -> None:
    free = shutil.disk_usage(directory.parent).free
    if free < _NEEDED:
        raise NotHere(
            f"{directory.parent} has {free / 1e6:.0f} MB free, expected {_NEEDED / 1e6:.0f}: make room there"
        )
    line.say(
        f"Paddle is not installed yet: {pins()[0]} is installed in {directory}, once; "
        f"{DOWNLOAD / 1e6:.0f} MB to download, {_STAYS / 1e6:.0f} MB on disk"
    )
    own = str(directory / "bin" / "python")
    steps = {
        "python -m venv": (found, "-m", "venv", str(directory)),
        "pip install": (own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins()),
        "import paddle": (own, "-c", "import paddle"),  # which wants more of the machine than pip looks at
    }
    began = time.monotonic()
    shutil.rmtree(directory, ignore_errors=True)
    try:
        _coming(directory).mkdir(parents=True)
        for step, words in steps.items():
            _run(step, words, directory, began, line)
        shutil.rmtree(_coming(directory), ignore_errors=True)
        (directory / "ready").touch()
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    line.finish(f"Paddle installed: {_size(directory) / 1e6:.0f} MB, {time.monotonic() - began:.0f} s")


def _run(step: str, words: Sequence[str], directory: Path, began: float, line: ProgressLine) -> None:
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
                line.show(_so_far(directory, began))
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


def _so_far(directory: Path, began: float) -> str:
    size = _size(directory)
    so_far = bar(size, DOWNLOAD + _STAYS)  # what came is removed when all is unpacked
    return f"installing Paddle {so_far} {size / 1e6:.0f} MB, {time.monotonic() - began:.0f} s"


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
def _alone(directory: Path, line: ProgressLine) -> Iterator[None]:
    """Keep others out for as long as the body takes: what one makes the next one finds."""
    with directory.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            line.say("another program installs Paddle on this machine: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
