"""Which failures were on which node, over all runs of a job's name: a JSON line each, beside the runs on the volume.

The file is a help to people, and never larger than it may be: trouble with it stops nothing and is told nobody. Plain
blocking I/O for the record's thread.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from launcher.contract import NODE_FAILURES
from launcher.pod.gang.protocol.codec import as_json, plain_values
from launcher.pod.gang.protocol.state import NodeFailure
from launcher.pod.gang.store.event_file import APPEND_AND_READ, wall_clock
from launcher.safefs.dirs import Below, Dir, opened
from launcher.safefs.small_file import content, put_whole

MOST_BYTES = 1 << 18
NEWEST = 20  # of the newest, in memory
_REASON = 200  # characters
_TYPES: dict[str, tuple[type, ...]] = {
    "at": (str,), "run": (str,), "generation": (int,), "node": (str,), "role": (str,),
    "rank": (int, type(None)), "code": (int,), "lost": (bool,), "reason": (str,),
}  # fmt: skip


class NodeFailures:
    """The newest failures, and the one that is to be added."""

    def __init__(self, clock: Callable[[], datetime] = wall_clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._wished: NodeFailure | None = None
        self._written: NodeFailure | None = None
        self._read = False
        self.known: tuple[NodeFailure, ...] = ()

    def wish(self, failure: NodeFailure) -> bool:
        """Ask for one to be added; return whether that is news."""
        with self._lock:
            if failure == self._wished:
                return False
            self._wished = failure
            self.known = _with(self.known, replace(failure, at=self._stamp()))
            return True

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be written."""
        return self._wished == self._written

    def keep(self, home: Below) -> None:
        """Write what is wished for, and know what others wrote before it; without a wish it is read once."""
        wished = self._wished
        if self._read and wished == self._written:
            return
        with home.opened(make=True) as at:
            before = tuple(_found(content(at, NODE_FAILURES, limit=2 * MOST_BYTES) or b""))
            new = [replace(wished, at=self._stamp())] if wished and not _is_in(wished, before) else []
            for each in new:
                _append(at, as_json(plain_values(each)) + b"\n")
            with self._lock:
                self.known = (*before, *new)[-NEWEST:]
                self._read, self._written = True, wished

    def _stamp(self) -> str:
        return self._clock().isoformat(timespec="seconds").replace("+00:00", "Z")


def _with(known: tuple[NodeFailure, ...], failure: NodeFailure) -> tuple[NodeFailure, ...]:
    return known if _is_in(failure, known) else (*known, failure)[-NEWEST:]


def _is_in(failure: NodeFailure, known: tuple[NodeFailure, ...]) -> bool:
    """Return whether the end of this generation is there already: of two leaders that saw it one notes it."""
    return (failure.run, failure.generation) in {(each.run, each.generation) for each in known}


def _found(text: bytes) -> Iterator[NodeFailure]:
    """Yield what lines of the file say; what is torn or forged in another way is passed over."""
    for line in text.splitlines():
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict) and all(_fits(told.get(name), kinds) for name, kinds in _TYPES.items()):
            yield NodeFailure(**{each.name: told[each.name] for each in fields(NodeFailure)})


def _fits(value: Any, kinds: tuple[type, ...]) -> bool:  # noqa: ANN401  # whatever JSON has
    return type(value) in kinds and (not isinstance(value, str) or len(value) <= 2 * _REASON)


def _append(at: Dir, line: bytes) -> None:
    with opened(at, NODE_FAILURES, APPEND_AND_READ, mode=0o644) as fd:
        size = os.fstat(fd).st_size
        torn = size and os.pread(fd, 1, size - 1) != b"\n"
        os.write(fd, b"\n" + line if torn else line)
        os.fsync(fd)
        size = os.fstat(fd).st_size
        newest = os.pread(fd, MOST_BYTES // 2, size - MOST_BYTES // 2) if size > MOST_BYTES else b""
    if newest:
        put_whole(at, NODE_FAILURES, newest.partition(b"\n")[2])
