"""Which passes on the volume are complete, and from which one a gang goes on.

`done` is written last: it says that the rest is there, and where it is JSON, `{"files": {"name": size}}`, what the
rest is. Plain blocking I/O for a thread of its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from launcher.contract import DONE_FILE, PASS_PREFIX, pass_directory
from launcher.pod.gang.store.record import RecordError
from launcher.pod.outcome import SettingsError
from launcher.pod.settings.nouns import Runtime
from launcher.safefs.dirs import Below, Dir, directory_inside, names, opened
from launcher.safefs.overlay import Kind, walk
from launcher.safefs.small_file import content
from launcher.text import shown

_NAME = re.compile(rf"{PASS_PREFIX}(\d{{5,9}})")
PASSES_KEPT = 10  # as many of the newest are told: members that see different ones have one of these in common
TRIED = 100  # and so many are looked into for them

_Mark = tuple[int, int]  # when `done` was written last, and its inode


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The passes that stood there before this run, by their `done`; to be trained over, not to go on from."""

    marks: Mapping[int, _Mark] = field(default_factory=dict)

    @classmethod
    def take(cls, output: Below) -> Baseline:
        """Remember the passes that stand there now."""
        with output.found() as found:
            marks = {number: _mark(found, number) for number in _numbers(found)} if found else {}
        return cls(marks={number: mark for number, mark in marks.items() if mark})


NOTHING = Baseline()


def complete(output: Below, *, without: Baseline = NOTHING) -> tuple[int, ...]:
    """Return the newest complete passes below a job's output, at most ten, in ascending order."""
    with output.found() as found:
        return tuple(sorted(islice(_good(found, -1, without), PASSES_KEPT))) if found else ()


def newest_above(output: Below, known: int) -> int | None:
    """Return the newest complete pass above one that is known; of those up to it none is looked into."""
    with output.found() as found:
        return next(_good(found, known, NOTHING), None) if found else None


def saved_at(output: Below, passes: Sequence[int]) -> Mapping[int, float]:
    """Return when some complete passes were saved, by the volume's clock."""
    with output.found() as found:
        marks = {number: _mark(found, number) for number in passes} if found else {}
    return {number: mark[0] / 1e9 for number, mark in marks.items() if mark}


def refuse_others(output: Below, passes: tuple[int, ...], runtime: Runtime) -> None:
    """Refuse passes whose newest a program of another framework saved; `env` is any framework's."""
    if not passes:
        return
    at = output.at(pass_directory(passes[-1]))
    with at.found() as found:
        saved = _facts((content(found, DONE_FILE) if found else None) or b"").get("runtime")
    if saved and Runtime.ENV not in (saved, runtime) and saved != runtime:
        said = f"{at.path} was saved by a program of LAUNCHER_RUNTIME={shown(saved)}, and this one is of {runtime}"
        raise SettingsError([f"{said}: set LAUNCHER_RUNTIME={shown(saved)}, or move the passes away to begin anew"])


def _good(output: Dir, above: int, without: Baseline) -> Iterator[int]:
    """Yield the complete passes above a number, the newest first."""
    wanted = sorted((number for number in _numbers(output) if number > above), reverse=True)
    done = (number for number in wanted if _is_new(output, number, without))
    return (number for number in islice(done, TRIED) if _is_whole(output, number))


def _numbers(output: Dir) -> tuple[int, ...]:
    found = (_NAME.fullmatch(name) for name in names(output))
    return tuple(int(each[1]) for each in found if each and each[0] == pass_directory(int(each[1])))


def _is_new(output: Dir, number: int, without: Baseline) -> bool:
    mark = _mark(output, number)
    return mark is not None and mark != without.marks.get(number)


def _mark(output: Dir, number: int) -> _Mark | None:
    """Return the signs of a pass's `done`; it is opened, since a network volume may list what was there before."""
    try:
        with directory_inside(output, pass_directory(number)) as at, opened(at, DONE_FILE) as fd:
            info = os.fstat(fd)
            return info.st_mtime_ns, info.st_ino
    except RecordError:
        return None


def _is_whole(output: Dir, number: int) -> bool:
    """Return whether all that `done` speaks for is there; one that cannot be read is not whole."""
    try:
        with directory_inside(output, pass_directory(number)) as at:
            done = content(at, DONE_FILE)
            sizes = {path: size for path, size in _sizes(at).items() if path != DONE_FILE}
    except RecordError:
        return False
    if done is None:
        return False
    if not done:
        return bool(sizes) and all(size > 0 for size in sizes.values())
    named = _named(done)
    return bool(named) and all(sizes.get(path) == size for path, size in named.items())


def _sizes(at: Dir) -> dict[str, int]:
    """Return the size of every file of a pass by its path in it, -1 for a link, which is no file of the pass."""
    sizes = {}
    for path, found in walk((at,)):
        if found.kind is Kind.FILE:
            # Opened for its size: an NFS client may remember the size of a while ago otherwise.
            with opened(found.at, found.name) as fd:
                sizes[path] = os.fstat(fd).st_size
        elif found.kind is Kind.LINK:
            sizes[path] = -1
    return sizes


def _named(done: bytes) -> dict[str, int]:
    """Return the files that `done` names, none where it is torn or says it in another way."""
    files = _facts(done).get("files")
    if not isinstance(files, dict) or not all(type(size) is int and size >= 0 for size in files.values()):
        return {}
    return files


def _facts(done: bytes) -> dict[str, Any]:
    try:
        facts = json.loads(done)
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}
