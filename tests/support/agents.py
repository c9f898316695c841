"""The agent of a pod as a child of the test, and the other ends that tests play: honest, scripted, hostile."""

from __future__ import annotations

import hashlib
import os
import random
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from launcher.safefs.dirs import Tree
from launcher.transfer.channel import Channel
from launcher.transfer.counting import Count, TellCount, no_tell
from launcher.transfer.problem import Broken, TransferError
from launcher.transfer.receiving import receive
from launcher.transfer.sending import send


class Child:
    """An agent process, as a line."""

    def __init__(self, top: Path) -> None:
        words = (sys.executable, "-I", "-m", "launcher.files", "serve", str(top))
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._in, view) :]
            except BrokenPipeError:
                raise Broken("the agent is gone") from None

    def arrived(self) -> bytes:
        ready, _, _ = select.select([self._out], [], [], 0)
        return os.read(self._out, 1 << 16) if ready else b""

    def receive(self) -> bytes:
        return os.read(self._out, 1 << 20)


@contextmanager
def agent(top: Path) -> Iterator[tuple[Channel, subprocess.Popen[bytes]]]:
    """Have an agent that serves a directory; it is ended with the body."""
    child = Child(top)
    with child.process as process:
        try:
            yield Channel(child), process
        finally:
            process.kill()


def upload(
    top: Path,
    base: str,
    first: str,
    volume: Path,
    target: str = "",
    *,
    inside: bool = False,
    tell: TellCount = no_tell,
) -> Count:
    """Copy what is at a path below a directory to the volume."""
    with agent(volume) as (channel, _), Tree(str(top), TransferError) as tree:
        channel.put("receive", target=target, inside=inside)
        count = send(tree, base, first, channel, tell)
        channel.put("bye")
        channel.flush()
        return count


def download(
    volume: Path,
    base: str,
    first: str,
    top: Path,
    target: str = "",
    *,
    inside: bool = True,
    tell: TellCount = no_tell,
) -> Count:
    """Copy what is at a path of the volume to a directory."""
    with agent(volume) as (channel, _), Tree(str(top), TransferError) as tree:
        channel.put("send", base=base, first=first)
        count = receive(tree, target, channel, tell, inside=inside)
        channel.put("bye")
        channel.flush()
        return count


class Script:
    """A line on which somebody says what was written down, whatever is said to him."""

    def __init__(self, said: bytes, piece: int = 1 << 16) -> None:
        self._said = said
        self._piece = piece
        self.heard = bytearray()

    def send(self, data: bytes) -> None:
        self.heard += data

    def arrived(self) -> bytes:
        return b""

    def receive(self) -> bytes:
        data, self._said = self._said[: self._piece], self._said[self._piece :]
        return data


def noise(size: int, seed: int = 1) -> bytes:
    """Return the same bytes each time, which nothing makes smaller."""
    return random.Random(seed).randbytes(size)  # noqa: S311  # they are no secret


def contents(top: Path) -> dict[bytes, str]:
    """Return the digests of all files below a directory, and the directories, by their paths as bytes."""
    found = {}
    for path in top.rglob("*"):
        name = os.fsencode(path.relative_to(top))
        if path.is_dir():
            found[name] = "directory"
        elif not path.is_symlink():
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def arrived(where: Path) -> int:
    """Return how much of the largest file that is not whole yet has come; any of them may be renamed meanwhile."""
    sizes = [0]
    for each in where.rglob(".paddlectl-*"):
        with suppress(FileNotFoundError):
            sizes.append(each.stat().st_size)
    return max(sizes)
