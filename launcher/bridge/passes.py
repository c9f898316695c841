"""A pass's directory: written under another name, counted, and named when it is whole; read only if it still is.

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

from launcher.bridge.failure import DATA, SETTINGS, STORAGE, TrainingFailure
from launcher.contract import DONE_FILE, is_plain, pass_directory

DONE = DONE_FILE  # the name that examples/recommendation/infer.py reads
SAVING = ".saving-"
# What another machine has written may be seen later than its word that it has: NFS caches a listing up to a minute.
PATIENCE = 65.0
LOOK_AGAIN = 0.2


def safe(directory: str) -> Path:
    """Return the absolute path of a directory that Paddle may be told."""
    path = Path(os.path.abspath(directory))  # noqa: PTH100  # a link is to stay in it: every pod may have its own
    if not is_plain(str(path)):
        raise TrainingFailure(
            SETTINGS,
            f"{str(path)!r}: Paddle passes this name to bash: expected no characters but letters, digits, '_', '.', "
            "'/' and '-'",
        )
    return path


def write_pass(output: Path, number: int, fill: Callable[[Path], Mapping[str, Any]]) -> Path:
    """Let a pass be written and return its directory, which has its name only once all is in it, `done` last.

    `fill` writes into it and returns what `done` is to say besides.
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
    if named.exists():  # of an earlier try: it is trained over
        named.rename(output / f"{SAVING}{pass_directory(number)}-old-{secrets.token_hex(4)}")
    directory.rename(named)
    for left in output.glob(f"{SAVING}*"):
        shutil.rmtree(left, ignore_errors=True)
    return named


def read_pass(directory: Path) -> Mapping[str, Any]:
    """Return what a complete pass says of itself; a torn one is refused."""
    try:
        facts = json.loads((directory / DONE_FILE).read_text())
        named = dict(facts["files"])
    except OSError as error:
        raise TrainingFailure(DATA, f"{directory} is no complete pass: {DONE_FILE}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise TrainingFailure(
            DATA, f"{directory / DONE_FILE} names no files: this pass was not saved by this program"
        ) from None
    found = sizes(directory)
    for name, size in named.items():
        if found.get(name) != size:
            has = "is missing" if name not in found else f"has {found[name]} bytes"
            raise TrainingFailure(DATA, f"{directory} is torn: {name} {has}, {DONE_FILE} says {size}")
    return dict(facts)


def check_same(directory: Path, facts: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    """Refuse a pass that was saved by another number of pservers, or of another network."""
    for what, own in mine.items():
        if facts.get(what) != own:
            said = f"{directory} was made with {what} {facts.get(what)!r}, this gang has {own!r}"
            raise TrainingFailure(SETTINGS, f"{said}: only as many pservers of the same network can load parameters")


def sizes(directory: Path) -> dict[str, int]:
    """Return the size of each file of a pass but `done`, by its name in it."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {str(path.relative_to(directory)): path.stat().st_size for path in files if path != directory / DONE_FILE}


def lacking_parts(directory: Path, expected: Mapping[str, int]) -> Sequence[str]:
    """Return a phrase for each table's directory that has not as many part files as expected, none of them empty."""
    found = {name: _parts(directory / name) for name in expected}
    return [f"{name} has {found[name]} of {count} files" for name, count in expected.items() if found[name] != count]


def _parts(table: Path) -> int:
    return sum(path.stat().st_size > 0 for path in table.glob("part-*"))


def await_files(directory: Path, expected: Mapping[str, int], patience: float = PATIENCE) -> None:
    """Wait until what the pservers have written is seen here too."""
    deadline = time.monotonic() + patience
    while lack := lacking_parts(directory, expected):
        if time.monotonic() > deadline:
            raise TrainingFailure(
                STORAGE,
                f"{directory}: {', '.join(lack)}, {patience:g} s after the pservers said that it is saved: is there "
                "room on the volume, and is it the same one, at the same path, in every pserver's pod?",
            )
        time.sleep(LOOK_AGAIN)


def _sync(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
