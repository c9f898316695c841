"""The roots of images into which the launcher was brought, and lives of launchers in them: no container is needed."""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.grounds.docker import NotHere
from tests.grounds.docker.base import old_tar
from tests.support.lives import CHILDREN, Lives

START_PADDLE = ("/launcher/bin/start_paddle", "--")
PYTHON = "/launcher/bin/python"
# In a mount namespace that goes with its first process: what every container has, the launcher, and the tests' files.
LAY_OUT = """
root=$1 tree=$2
shift 2
for place in "$@"; do mkdir -p "$root$place" && mount --bind "$place" "$root$place" || exit; done
mkdir -p "$root/proc" "$root/launcher" && mount --bind "$tree" "$root/launcher" && echo laid && exec sleep infinity
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image's root, as it is in the mount namespace of a process that holds it."""

    holder: int
    root: Path
    alone: Path  # the static program

    @property
    def enter(self) -> tuple[str, ...]:
        """The words that lead to where it is laid out."""
        return ("nsenter", f"--mount=/proc/{self.holder}/ns/mnt", "--")

    @property
    def inside(self) -> tuple[str, ...]:
        """The words that lead into it from there, without another process; /proc is that of the process namespace."""
        return ("unshare", "--mount", f"--root={self.root}", "--mount-proc", "--")

    def words(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return a command with the static program in the place of the one of `children` that it does the work of."""
        at = next((at for at, word in enumerate(command[:4]) if Path(word).parent == CHILDREN), None)
        return tuple(command) if at is None else (str(self.alone), Path(command[at]).stem, *command[at + 1 :])


class Within(Lives):
    """Lives of launchers that were brought into an image's root, with all that they start."""

    launcher = START_PADDLE

    def __init__(self, image: Image) -> None:
        """Take the image in which all of them are."""
        super().__init__()
        self.image, self.enter, self.inside = image, image.enter, image.inside

    def words(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return how a command is called there."""
        return self.image.words(command)


def musl(root: Path) -> None:
    """Make the root of busybox and musl, which has no Python."""
    binaries, libraries = root / "bin", root / "lib"
    for directory in (binaries, libraries):
        directory.mkdir(parents=True)
    shutil.copy("/bin/busybox", binaries)
    listed = subprocess.run(("busybox", "--list"), capture_output=True, text=True, check=True).stdout
    for name in {*listed.split()} - {"busybox"}:
        (binaries / name).symlink_to("busybox")
    shutil.copy(f"/lib/ld-musl-{platform.machine()}.so.1", libraries)


def old(root: Path) -> None:
    """Make the root of the oldest Debian that is to be had."""
    root.mkdir()
    subprocess.run(("tar", "-C", str(root), "-xf", str(old_tar())), check=True)


@contextmanager
def laid_out(make: Callable[[Path], None], tree: Path, alone: Path) -> Iterator[Image]:
    """Make a root and lay it out for as long as the body runs; skip where that cannot be."""
    top = Path(tempfile.mkdtemp(prefix="root-"))
    try:
        make(top / "root")
    except (NotHere, OSError) as fault:
        shutil.rmtree(top)
        pytest.skip(f"no such image here: {fault}")
    words = ("unshare", "--mount", "--", "sh", "-c", LAY_OUT, "sh", str(top / "root"), str(tree))
    with subprocess.Popen(
        (*words, "/dev", tempfile.gettempdir(), str(CHILDREN)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        if not holder.stdout.readline():
            pytest.skip(f"a mount namespace needs root: {holder.communicate()[1].decode()}")
        yield Image(holder=holder.pid, root=top / "root", alone=alone)
        holder.kill()
    shutil.rmtree(top)
