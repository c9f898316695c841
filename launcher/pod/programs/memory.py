"""Looks at this container's memory cgroup, so that a kill because memory ran out can be named.

Reads a few small files below /proc and the cgroup mount, of version 1 or 2. What cannot be read is not known, and
no error. psutil does not read a cgroup's limits or its OOM counters, and costs 15 ms and 4 MB to import.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Self

# Version 1 says "no limit" by the largest number of whole pages that it can count.
ENDLESS = 1 << 60
# A limit that ran out was nearly reached; well below it, something else ran out: the node, or a limit above this one.
REACHED = 0.9
# A worker that was killed makes its program fail within this time, in seconds, or has nothing to do with its end.
RECENT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What one version of cgroups calls things; the controller of version 2 has no name in /proc."""

    controller: str
    filesystem: str
    kills: str
    limit: str
    peak: str


# A machine may mount both. Then memory belongs to the one that names it, and only in version 1 is it named.
VERSIONS = (
    Version(
        controller="memory",
        filesystem="cgroup",
        kills="memory.oom_control",
        limit="memory.limit_in_bytes",
        peak="memory.max_usage_in_bytes",
    ),
    Version(controller="", filesystem="cgroup2", kills="memory.events", limit="memory.max", peak="memory.peak"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the kernel says of this container's memory: processes killed so far, the limit and the peak in bytes."""

    kills: int
    limit: int | None
    peak: int | None

    @classmethod
    def now(cls, root: Path = Path("/")) -> Self | None:
        """Look now; None where the kernel does not say how many processes it killed here."""
        try:
            for version in VERSIONS:
                if places := _places(root, version):
                    return cls._of(version, places)
        except (OSError, ValueError):
            pass
        return None

    @classmethod
    def _of(cls, version: Version, places: tuple[Path, ...]) -> Self | None:
        """Read the cgroup that comes first; the smallest limit from there to the top is the one that counts."""
        kills = re.search(r"^oom_kill (\d+)$", (places[0] / version.kills).read_text(), re.MULTILINE)
        limits = [(limit, place) for place in places if (limit := _number(place / version.limit)) is not None]
        limit, place = min(limits, key=lambda each: each[0], default=(None, places[0]))
        return cls(kills=int(kills[1]), limit=limit, peak=_number(place / version.peak)) if kills else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentMemory:
    """Two looks, the older one at least `RECENT` ago: a kill before it explains nothing that fails now."""

    at: float
    older: Memory | None
    newer: Memory | None

    @classmethod
    def begin(cls, now: float, look: Callable[[], Memory | None] = Memory.now) -> Self:
        """Look for the first time."""
        first = look()
        return cls(at=now, older=first, newer=first)

    @property
    def due(self) -> float:
        """When to look again."""
        return self.at + RECENT

    def again(self, now: float, look: Callable[[], Memory | None] = Memory.now) -> Self:
        """Look again, if it is time."""
        return self if now < self.due else replace(self, at=now, older=self.newer, newer=look())


def whom(code: int | None, *, several: bool) -> str:
    """Return whom the kernel killed where a program ended with this code; of several it may be another one."""
    return "a process of this pod" if several and code != -signal.SIGKILL else "it"


def explain(before: Memory | None, after: Memory | None, *, victim: str = "it") -> str:
    """Return why the kernel killed a process between two looks, as part of a sentence; nothing where it did not."""
    if before is None or after is None or after.kills <= before.kills:
        return ""
    said = f"the kernel killed {victim} (out of memory): "
    peak = "" if after.peak is None else f", peak {_size(after.peak)}"
    advice = "set resources.requests.memory to what it needs, or use less"
    if after.limit is None:
        return f"{said}no limit was set{peak}, so the node ran out; {advice}"
    limit = f"limit {_size(after.limit)}{peak}"
    if after.peak is not None and after.peak < REACHED * after.limit:
        return f"{said}{limit}, so it was not this limit but the node that ran out; {advice}"
    return f"{said}{limit}; raise resources.limits.memory, or use less"


def _places(root: Path, version: Version) -> tuple[Path, ...]:
    """Return the directory of this process's cgroup and those above it, up to the mount; none where there is none."""
    own = _own(root, version)
    if own is None:
        return ()
    for at, point in _mounts(root, version):
        top = root / point.lstrip("/")
        # A container often has a view of its own: its cgroup is what is mounted, whatever /proc calls it.
        for below in (_below(own, at), PurePosixPath()):
            here = top / below
            if (here / version.kills).is_file():
                return (here, *(top / parent for parent in below.parents))
    return ()


def _own(root: Path, version: Version) -> str | None:
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if version.controller in controllers.split(","):
            return path
    return None


def _mounts(root: Path, version: Version) -> Iterator[tuple[str, str]]:
    """Yield which cgroup is mounted, and where."""
    for line in _lines(root / "proc/self/mountinfo"):
        mount, _, kind = line.partition(" - ")
        filesystem, _, options = kind.split(" ", 2)
        if filesystem == version.filesystem and (version.controller in ("", *options.split(","))):
            at, point = mount.split(" ")[3:5]
            yield _unescaped(at), _unescaped(point)


def _below(own: str, at: str) -> PurePosixPath:
    """Return the way from a mounted cgroup to the process's own; a way out of the namespace leads nowhere."""
    path = PurePosixPath(own)
    return path.relative_to(at) if path.is_relative_to(at) and ".." not in path.parts else PurePosixPath()


def _lines(path: Path) -> list[str]:
    """Return the lines of a file of the kernel's; a mount may have any name, odd line ends included."""
    return path.read_bytes().decode(errors="surrogateescape").rstrip("\n").split("\n")


def _unescaped(text: str) -> str:
    """Return a path as it is: /proc writes odd characters in octal, and systemd names units with a backslash."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _number(path: Path) -> int | None:
    """Return the number in a file; None where there is no such file, no number, or one that means "no limit"."""
    try:
        number = int(path.read_text())
    except (OSError, ValueError):
        return None
    return number if number < ENDLESS else None


def _size(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size < 2**30 else f"{size / 2**30:.1f} GiB"
