"""A pass's directory: written under another name, renamed when it is complete, read only if it still is.

Plain I/O on the shared volume, without Paddle. Paddle never says that a save or load failed, and its pservers die of
SIGFPE on a directory that lacks files.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher.bridge.failure import BAD_DATA, SETTINGS, STORAGE, TrainingFailure
from launcher.contract import DONE_FILE, is_plain, pass_directory

DONE = DONE_FILE  # the name that examples/recommendation/infer.py reads
SAVING = ".saving-"
# Files of another machine may appear later than its report of them: NFS caches a listing up to a minute.
_PATIENCE = 65.0
_LOOK_AGAIN = 0.2


def safe(directory: str) -> Path:
    """Return the absolute path of a directory whose name Paddle can take."""
    path = Path(os.path.abspath(directory))  # noqa: PTH100  # a link is to stay in it: every pod may have its own
    if not is_plain(str(path)):
        raise TrainingFailure(
            SETTINGS,
            f"{str(path)!r}: Paddle passes this name to bash: expected only letters, digits, '_', '.', '/' and '-'",
        )
    return path


def write_pass(output: Path, number: int, fill: Callable[[Path], Mapping[str, Any]]) -> Path:
    """Write a pass and return its directory; it gets its name when all files are in it, `done` last.

    `fill` writes into it and returns more facts for `done`.
    """
    try:
        return _written(output, number, fill)
    except OSError as error:
        raise TrainingFailure(STORAGE, f"{output}: pass {number} could not be saved: {error}") from None


def _written(output: Path, number: int, fill: Callable[[Path], Mapping[str, Any]]) -> Path:
    output.mkdir(parents=True, exist_ok=True)
    for left in output.glob(f"{SAVING}*"):
        shutil.rmtree(left, ignore_errors=True)
    # A random end: a process that an earlier save left behind cannot write into this one.
    directory = output / f"{SAVING}{pass_directory(number)}-{secrets.token_hex(4)}"
    directory.mkdir()
    done = {"pass": number, **fill(directory), "files": sizes(directory)}
    _sync(directory / f"{DONE_FILE}.new", json.dumps(done, indent=1))
    (directory / f"{DONE_FILE}.new").rename(directory / DONE_FILE)
    named = output / pass_directory(number)
    if named.exists():  # of an earlier try; this pass replaces it
        named.rename(output / f"{SAVING}{pass_directory(number)}-old-{secrets.token_hex(4)}")
    directory.rename(named)
    for left in output.glob(f"{SAVING}*"):
        shutil.rmtree(left, ignore_errors=True)
    return named


def read_pass(directory: Path) -> Mapping[str, Any]:
    """Return the facts in a complete pass's `done`; refuse a torn pass."""
    try:
        facts = json.loads((directory / DONE_FILE).read_text())
        named = dict(facts["files"])
    except OSError as error:
        raise TrainingFailure(
            BAD_DATA, f"{directory} is not a complete pass: {DONE_FILE}: {error.strerror}"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise TrainingFailure(
            BAD_DATA, f"{directory / DONE_FILE} names no files: this pass was not saved by this program"
        ) from None
    found = sizes(directory)
    for name, size in named.items():
        if found.get(name) != size:
            has = "is missing" if name not in found else f"has {found[name]} bytes"
            raise TrainingFailure(BAD_DATA, f"{directory} is torn: {name} {has}, expected {size} by {DONE_FILE}")
    return dict(facts)


def check_same(directory: Path, facts: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    """Refuse a pass of another number of pservers, or of another network."""
    for what, own in mine.items():
        if facts.get(what) != own:
            said = f"{directory} was made with {what} {facts.get(what)!r}, this gang has {own!r}"
            raise TrainingFailure(SETTINGS, f"{said}: expected the same number of pservers and the same network")


def sizes(directory: Path) -> dict[str, int]:
    """Return the size of each file of a pass but `done`, by its name in it."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {str(path.relative_to(directory)): path.stat().st_size for path in files if path != directory / DONE_FILE}


def lacking_parts(directory: Path, expected: Mapping[str, int]) -> Sequence[str]:
    """Return a phrase for each table's directory with too few part files; empty ones do not count."""
    found = {name: _parts(directory / name) for name in expected}
    return [f"{name} has {found[name]} of {count} files" for name, count in expected.items() if found[name] != count]


def _parts(table: Path) -> int:
    return sum(path.stat().st_size > 0 for path in table.glob("part-*"))


def await_files(directory: Path, expected: Mapping[str, int], patience: float = _PATIENCE) -> None:
    """Wait until the pservers' files are visible here."""
    deadline = time.monotonic() + patience
    while lack := lacking_parts(directory, expected):
        if time.monotonic() > deadline:
            raise TrainingFailure(
                STORAGE,
                f"{directory}: {', '.join(lack)}, {patience:g} s after the pservers reported the pass as saved: "
                "check that the volume has room, and that every pserver's pod mounts the same volume at the same "
                "path",
            )
        time.sleep(_LOOK_AGAIN)


def _sync(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
