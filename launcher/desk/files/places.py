"""Which datacenter the words of a verb mean, and where in it: a path below /pfs names its own."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from launcher.desk.errors import Problem
from launcher.desk.files import paths
from launcher.desk.files.paths import Remote
from launcher.desk.session import Desk
from launcher.text import shown


def copies() -> None:
    """Say where files cannot be copied from: paths are opened part by part, without links."""
    if os.name != "posix":
        raise Problem("files are copied from Linux and macOS: on Windows say it in WSL")


def found(desk: Desk, words: Sequence[str]) -> tuple[Desk, tuple[Remote, ...]]:
    """Return the desk of the datacenter that paths below /pfs name, and what they mean there."""
    local = [word for word in words if not paths.is_remote(word)]
    if local:
        raise Problem(
            f"{shown(local[0])}: expected a path on the volume, such as /pfs/<datacenter>/home/<username>/..."
        )
    named = sorted({paths.datacenter_of(word) for word in words} - {""})
    if len(named) > 1:
        raise Problem(f"{' and '.join(map(shown, named))} are two datacenters: copy from one to this machine first")
    if named and desk.asked.datacenter not in ("", named[0]):
        raise Problem(
            f"-datacenter is {desk.asked.datacenter}, and the path is in {shown(named[0])}: say one of them"
        )
    if named and named[0] != desk.asked.datacenter:
        asked = dataclasses.replace(desk.asked, datacenter=named[0])
        desk = Desk(asked, voice=desk.voice, environ=desk.environ)
    places = tuple(paths.remote(word, desk.datacenter) for word in words)
    if len({(each.storage.claim, each.storage.path, each.read_only) for each in places}) > 1:
        raise Problem("these are on two volumes: say it for each of them")
    return desk, places
