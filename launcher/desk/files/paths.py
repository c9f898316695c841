"""Where files are: below /pfs on a datacenter's volume, or here; by the seeds' rules.

A path below /pfs names its own datacenter.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass

from launcher.desk.config.datacenters import Datacenter, Storage
from launcher.desk.errors import Mistyped, Problem
from launcher.desk.session import Desk
from launcher.text import shown
from launcher.transfer.names import checked_path, divided
from launcher.transfer.problem import TransferError

HOMES = ("home", "user")
_TOP = "/pfs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A place on a datacenter's volume: the path below the top that pods have there."""

    top: str
    path: str
    storage: Storage
    read_only: bool
    inside: bool  # written with a slash at the end: its content is meant

    @property
    def told(self) -> str:
        """Its path, as users write it."""
        return f"{self.top}/{self.path}".rstrip("/")

    @property
    def source(self) -> tuple[str, str]:
        """The directory that paths are relative to, and the name to copy in it; empty means all."""
        return (self.path, "") if self.inside or not self.path else divided(self.path)


def check_system() -> None:
    """Refuse Windows: paths are opened part by part, without following links."""
    if os.name != "posix":
        raise Problem("files can be copied only from Linux and macOS: on Windows, run the command in WSL")


def located(desk: Desk, words: Sequence[str]) -> tuple[Desk, tuple[Remote, ...]]:
    """Return the desk of the datacenter in these paths, and the place of each on its volume."""
    local = [word for word in words if not is_remote(word)]
    if local:
        raise Mistyped(
            f"{shown(local[0])}: expected a path on the volume, such as /pfs/<datacenter>/home/<username>/..."
        )
    named = sorted({datacenter_of(word) for word in words} - {""})
    if len(named) > 1:
        raise Problem(f"{' and '.join(map(shown, named))} are two datacenters: copy from one to this machine first")
    if named and desk.flags.datacenter not in ("", named[0]):
        raise Problem(
            f"-datacenter is {desk.flags.datacenter}, and the path is in {shown(named[0])}: use one of them"
        )
    if named and named[0] != desk.flags.datacenter:
        flags = dataclasses.replace(desk.flags, datacenter=named[0])
        desk = Desk(flags, terminal=desk.terminal, environ=desk.environ)
    places = tuple(remote(word, desk.datacenter) for word in words)
    if len({(each.storage.claim, each.storage.path, each.read_only) for each in places}) > 1:
        raise Problem("these paths are on two volumes: run the command once for each")
    return desk, places


def is_remote(word: str) -> bool:
    """Return whether a word means the volume."""
    return word == _TOP or word.startswith(f"{_TOP}/")


def datacenter_of(word: str) -> str:
    """Return the datacenter that a path names, nothing where it is the current one's."""
    parts = word.split("/")
    return parts[2] if len(parts) > 3 and parts[2:] != ["public"] and parts[2] != "public" else ""


def remote(word: str, datacenter: Datacenter) -> Remote:
    """Return what a path means in the datacenter that it names."""
    name = datacenter.name
    if not name:
        raise Problem(f"{shown(word)}: no datacenter is configured: set one in ~/.paddle/config, with its volume")
    parts = tuple(_parts(word))
    own = f"{_TOP}/{name}/home/{datacenter.username}"
    if parts[:1] == ("public",):
        return _remote(word, datacenter.public, f"{_TOP}/public", parts[1:], read_only=True, name=name)
    if parts[1:2] == ("public",):
        return _remote(word, datacenter.public, f"{_TOP}/{name}/public", parts[2:], read_only=True, name=name)
    if len(parts) < 3 or parts[1] not in HOMES:
        raise Problem(f"{shown(word)}: expected a path below {own}, or to read from {_TOP}/{name}/public")
    if parts[2] != datacenter.username:
        raise Problem(f"{shown(word)}: that is another user's directory: yours is {own}")
    return _remote(word, datacenter.volume, f"{_TOP}/{'/'.join(parts[:3])}", parts[3:], read_only=False, name=name)


def package(word: str, datacenter: Datacenter) -> str:
    """Return where a job's pods find a package on the volume, by the rules of `cp`."""
    named = datacenter_of(word)
    if named not in ("", datacenter.name):
        raise Problem(
            f"{shown(word)} is in {shown(named)}, and the job in {datacenter.name or 'no datacenter'}: "
            f"copy it there, or use -datacenter {shown(named)}"
        )
    return remote(word, datacenter).told


def writable(found: Remote) -> Remote:
    """Return a place that may be written to."""
    if found.read_only:
        raise Problem(f"{found.told} is read-only: expected a path below /pfs/<datacenter>/home/<username>")
    return found


def local_source(word: str, here: str) -> tuple[str, str]:
    """Return the directory that paths are relative to, and the name to copy in it; empty means all."""
    path = word
    if word.startswith("/"):
        if not f"{word.rstrip('/')}/".startswith(f"{here.rstrip('/')}/"):
            raise Problem(
                f"{shown(word)} is not below the current directory: change to the directory that contains it"
            )
        path = word[len(here.rstrip("/")) + 1 :]
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise Mistyped(f"{shown(word)}: `..` is not allowed in src: change to the directory that contains it")
    found = "/".join(parts)
    try:
        checked_path(found or "top")
    except TransferError as trouble:
        raise Problem(str(trouble)) from None
    return (found, "") if word.endswith(("/", "/.")) or not found else divided(found)


def _parts(word: str) -> list[str]:
    path = word[len(_TOP) :].strip("/")
    try:
        return checked_path(path).split("/") if path else []
    except TransferError:
        raise Mistyped(f"{shown(word)}: expected a path without `..`, `.` and `//`") from None


def _remote(
    word: str, storage: Storage | None, top: str, parts: tuple[str, ...], *, read_only: bool, name: str
) -> Remote:
    if storage is None:
        kind = "public" if read_only else "volume"
        raise Problem(f"{shown(word)}: datacenter {name!r} has no `{kind}:` in its configuration")
    return Remote(top=top, path="/".join(parts), storage=storage, read_only=read_only, inside=word.endswith("/"))
