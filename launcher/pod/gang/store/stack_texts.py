"""The stacks of this pod's programs on the shared volume: a file for each look and program, of the last few looks.

On a thread of its own: a volume that hangs keeps no look from being told.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress

from launcher.contract import STACKS, stacks_file
from launcher.pod.gang.store.record import Record, RecordError
from launcher.pod.programs.stacks.asking import ProgramStacks
from launcher.safefs.dirs import Dir, directory_inside, names
from launcher.safefs.small_file import make

KEPT_LOOKS = 5
_WAITING = 2  # looks
_FILE = re.compile(r"(\d{1,10})-(\d{1,10})-([a-z]{1,20}-\d{1,10})\.txt")


class StackTexts:
    """Writes what looks saw; one that comes while others wait for the volume is dropped."""

    def __init__(self, record: Record) -> None:
        """Begin with nothing."""
        self._record = record
        self._looks: queue.Queue[tuple[int, int, Sequence[ProgramStacks]]] = queue.Queue(_WAITING)
        threading.Thread(target=self._serve, name="stack texts", daemon=True).start()

    def put(self, generation: int, look: int, found: Sequence[ProgramStacks]) -> None:
        """Have the texts of a look written; never wait."""
        with suppress(queue.Full):
            self._looks.put_nowait((generation, look, found))

    def _serve(self) -> None:
        while True:
            generation, look, found = self._looks.get()
            with suppress(RecordError):  # the record's own thread tells of trouble with the volume
                write(self._record, generation, look, found)


def write(record: Record, generation: int, look: int, found: Sequence[ProgramStacks]) -> None:
    """Write the texts of one look, and remove those of older looks at the same programs."""
    with record.home.opened(make=True) as home, directory_inside(home, STACKS, make=True) as here:
        for each in found:
            name = stacks_file(generation, look, each.digest.role, each.digest.rank)
            make(here, name, each.text.encode(errors="replace"))
        _forget(here, {f"{each.digest.role}-{each.digest.rank}" for each in found})


def _forget(here: Dir, programs: Collection[str]) -> None:
    """Remove what is older than the newest looks: of these programs, so that no two pods remove the same."""
    found = [match for match in map(_FILE.fullmatch, names(here)) if match]
    looks = sorted({(int(match[1]), int(match[2])) for match in found})[-KEPT_LOOKS:]
    for match in found:
        if match[3] in programs and (int(match[1]), int(match[2])) not in looks:
            with suppress(OSError):
                os.unlink(match[0], dir_fd=here.fd)
