"""The programs of a launcher that is gone, where its guardian was killed with it: found by the word that they carry.

The word names the launcher by what no other process of this machine has, so that the next one can see that it is
gone. One in another namespace of processes cannot be looked for, and its programs are left alone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from launcher.pod.programs import processes
from launcher.pod.programs.guardian import VARIABLE
from launcher.pod.programs.processes import Process


def own_word() -> str:
    """Return this launcher's word."""
    return next(_word(each, _namespace()) for each in processes.every_process() if each.pid == os.getpid())


def abandoned() -> list[Process]:
    """Return the programs here whose launcher is gone; those of a process 1 end with it."""
    if os.getpid() == 1:
        return []
    ours, here = _namespace(), [each for each in processes.every_process() if each.state not in processes.ENDED]
    living = {_word(each, ours) for each in here}
    carried = [(each, _carried(each.pid)) for each in here if each.pid != os.getpid()]
    return [each for each, its in carried if its.startswith(f"{ours}.") and its not in living]


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _word(launcher: Process, namespace: int) -> str:
    return f"{namespace}.{launcher.pid}.{launcher.started}"


def _carried(pid: int) -> str:
    """Return the word in a process's environment, nothing where there is none, or where it is another user's."""
    with suppress(OSError):
        found = (b"\0" + Path(f"/proc/{pid}/environ").read_bytes()).partition(f"\0{VARIABLE}=".encode())[2]
        return found.partition(b"\0")[0].decode(errors="replace")
    return ""
