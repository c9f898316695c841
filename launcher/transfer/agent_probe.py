"""The agent's probes for `paddlectl doctor`: the volume as gangs use it, names, /dev/shm, and Paddle."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from launcher.pod.programs.die_with_parent import given_back
from launcher.pod.programs.v1_check import READ, can_train
from launcher.safefs.dirs import Tree
from launcher.safefs.refusals import reason
from launcher.transfer.channel import Channel
from launcher.transfer.frames import Frame
from launcher.transfer.names import checked_path, joined
from launcher.transfer.problem import TransferError

_LOCK, _PART, SEEN = "lock", "part", "seen"
_EVERY = 0.1  # seconds
_LONGEST = 120  # seconds that a desk may let an agent wait
_PYTHONS = ("python", "python3")
WHICH = (
    "import importlib.util, importlib.metadata as m; importlib.util.find_spec('paddle') or exit(1); "
    "print(next(d.version for d in m.distributions() if (d.metadata['Name'] or '').startswith('paddlepaddle')))"
)


def probe(tree: Tree, frame: Frame, channel: Channel) -> None:
    """Answer questions about a directory; the agent that writes makes it, and removes it in any case."""
    name = checked_path(frame.text("directory"))
    made = False
    try:
        while (asked := channel.get("over", "write", *QUESTIONS)).kind != "over":
            if asked.kind == "write":
                wrong = _made(tree, name)
                made = made or not wrong
                channel.put("found", b"", **(wrong or _written(tree, name)))
            else:
                channel.put("found", b"", **QUESTIONS[asked.kind](tree, name, asked))
            channel.flush()
    finally:
        if made:
            with suppress(OSError):
                shutil.rmtree(name, dir_fd=tree.directory("").fd)
    channel.put("done")
    channel.flush()


def _made(tree: Tree, name: str) -> dict[str, object]:
    """Make the directory, which must not be there; return nothing, or the reason why not."""
    try:
        os.mkdir(name, dir_fd=tree.directory("").fd)
    except OSError as error:
        return {"step": "make a directory", "why": _why(error)}
    return {}


def _written(tree: Tree, name: str) -> dict[str, object]:
    """Do once each thing that gangs do with files; return the step that failed, and why."""
    here = tree.directory(name).fd
    step = "create a file"
    try:
        os.close(_exclusively(here, _LOCK))
        step = "create a file that must not be there (exclusive create)"
        with suppress(FileExistsError):
            os.close(_exclusively(here, _LOCK))
            return {"step": step, "why": "it was created a second time"}
        step = "write a file"
        file = _exclusively(here, _PART)
        try:
            os.write(file, name.encode())
            os.fsync(file)
        finally:
            os.close(file)
        step = "rename a file"
        os.rename(_PART, SEEN, src_dir_fd=here, dst_dir_fd=here)
    except OSError as error:
        return {"step": step, "why": _why(error)}
    return {"step": "", "why": ""}


def _look(tree: Tree, name: str, asked: Frame) -> dict[str, object]:
    """Wait for the file of the other agent, and try to create the lock that it holds."""
    begun = time.monotonic()
    most = asked.number("seconds", _LONGEST)
    while not _is_there(tree, name):
        if time.monotonic() - begun > most:
            return {"seen": False, "milliseconds": 0, "excluded": False}
        time.sleep(_EVERY)
    waited = int(1000 * (time.monotonic() - begun))
    excluded = False
    try:
        os.close(_exclusively(tree.directory(name).fd, _LOCK))
    except FileExistsError:
        excluded = True
    except OSError:
        pass  # not created, and not for the reason that counts
    return {"seen": True, "milliseconds": waited, "excluded": excluded}


def _is_there(tree: Tree, name: str) -> bool:
    """Return whether the file is there with all that was written to it."""
    try:
        with tree.opened(joined(name, SEEN)) as file:
            return os.read(file, 1000) == name.encode()
    except TransferError:
        return False


def _resolve(_tree: Tree, _name: str, asked: Frame) -> dict[str, object]:
    """Wait until a name resolves to so many addresses."""
    begun = time.monotonic()
    host, count, most = asked.text("host"), asked.number("count", 1000), asked.number("seconds", _LONGEST)
    while True:
        found, reason = _addresses(host)
        if len(found) >= count or time.monotonic() - begun > most:
            waited = int(1000 * (time.monotonic() - begun))
            return {"addresses": len(found), "why": reason, "milliseconds": waited}
        time.sleep(_EVERY)


def _addresses(host: str) -> tuple[set[str], str]:
    try:
        return {str(each[4][0]) for each in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}, ""
    except (OSError, UnicodeError) as error:
        return set(), _why(error) if isinstance(error, OSError) else "it cannot be a name"


def _machine(_tree: Tree, _name: str, _asked: Frame) -> dict[str, object]:
    """Return the size of /dev/shm, and the Paddle that the pod has."""
    shm = 0
    with suppress(OSError):
        found = os.statvfs("/dev/shm")  # noqa: S108  # its size is asked for
        shm = found.f_frsize * found.f_blocks
    return {"shm": shm, "paddle": _paddle(), "command": _command()}


def _paddle() -> str:
    """Return the version of the Paddle that `python` would import, without importing it."""
    for path in filter(None, map(shutil.which, _PYTHONS)):
        with suppress(OSError, subprocess.SubprocessError):
            words, env = (path, "-c", WHICH), given_back(os.environ)
            done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=30, check=False)
            if done.returncode == 0:
                return done.stdout.strip()[:40]
    return ""


def _command() -> str:
    """Return where the `paddle` is that v1 jobs start, if there is one that can train."""
    path = shutil.which("paddle")
    with suppress(OSError):
        if path:
            with Path(path).open("rb") as file:
                return path if can_train(file.read(READ)) else ""
    return ""


def _why(error: OSError) -> str:
    return reason(error).lower()


def _exclusively(directory: int, name: str) -> int:
    return os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=directory)


QUESTIONS: Mapping[str, Callable[[Tree, str, Frame], dict[str, object]]] = {
    "look": _look,
    "resolve": _resolve,
    "machine": _machine,
}
