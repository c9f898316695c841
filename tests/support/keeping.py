"""A gang's record in a directory, generations to put into it, and a process that is killed at a chosen effect."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from types import FrameType
from typing import Any

from launcher.pod.gang.protocol.messages import Generation, Who
from launcher.pod.gang.store.record import Record, on_volume
from launcher.pod.settings.nouns import Role
from launcher.safefs.dirs import Below
from launcher.safefs.small_file import MakeLink

KEY = "0b6f7c1e-2f1d-4a43-9b6f-3f3f5c0f9a11"
JOB = "job"
DEADLY = (os.write, os.pwrite, os.fsync, os.link, os.rename, os.unlink, os.mkdir)


class Told(list[tuple[str, dict[str, Any]]]):
    """What was told, in order."""

    def __call__(self, event: str, **facts: object) -> None:
        self.append((event, facts))

    def names(self) -> list[str]:
        return [name for name, _ in self]


def output_in(top: Path) -> Below:
    """Return where the output of a job on this volume goes."""
    return on_volume(PurePosixPath(top), JOB, "output")


def record_in(top: Path, key: str = KEY, *, job: str = JOB, link: MakeLink = os.link) -> Record:
    """Return a record at its usual place on this volume."""
    return Record(where=output_in(top).at(".launcher"), key=key, job=job, link=link)


def home_in(top: Path, key: str = KEY) -> Path:
    """Return that record's directory."""
    return top / JOB / "output/.launcher" / key


def generation(number: int = 1, boot: str = "b0", **more: Any) -> Generation:  # noqa: ANN401  # as Generation takes them
    """Return a generation of three nodes, whose first is told by its boot."""
    boots = (boot, "b1", "b2")
    members = tuple(
        Who(role=Role.NODE, address=f"10.0.0.{rank}", uid=f"uid-{rank}", boot=each) for rank, each in enumerate(boots)
    )
    return Generation(**{"number": number, "members": members, "digest": "d" * 16, **more})


def no_links(*_: object, **__: object) -> None:
    """Make a hard link where there are none."""
    raise PermissionError(1, "Operation not permitted")


def killed_at(effect: int, work: Callable[[], object]) -> bool:
    """Do the work in a process that is killed right before its n-th effect; return whether it came so far.

    Call it where there is one thread only.
    """
    child = os.fork()
    if not child:
        left = effect

        def count(_frame: FrameType, event: str, called: object) -> None:
            nonlocal left
            if event == "c_call" and called in DEADLY:
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
