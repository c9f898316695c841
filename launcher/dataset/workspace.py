"""The directory that a split writes to: its contents before, and the renames at the end.

All files stay in `.split` until the split is complete; then they are renamed, the manifest last. Other files are
not touched.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from contextlib import contextmanager, suppress

from launcher.contract import DATA, MANIFEST
from launcher.dataset import manifest
from launcher.dataset.problem import DatasetError, DatasetMisuse
from launcher.dataset.shards import path_in
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from launcher.dataset.sources import Position

LAYOUTS = {"rank": f"{{0}}/{DATA}", "data": f"{DATA}/{{0}}"}
_NUMBER = re.compile(r"\d+")
UNLOCKED = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
STATE, PLACING, _LOCK = "state.json", "placing.json", "lock"


class SplitState:
    """The progress of a split: its position in the input; size, records and bytes of each shard."""

    __slots__ = ("position", "shards")

    def __init__(self, position: Position, shards: Sequence[tuple[int, int, int]]) -> None:
        self.position, self.shards = position, list(shards)


def shard_path(layout: str, shard: int) -> str:
    """Return the name of a shard's file; it has the shard's number, so that one rank can have several shards."""
    return f"{LAYOUTS[layout].format(shard)}/part-{shard:05d}"


class SplitWorkspace:
    """The directory, with the split's own files in `.split`."""

    def __init__(self, out: str, origin: str) -> None:
        self.out, self.origin = out, origin
        self.work = os.path.join(out, ".split")
        self._lock = -1

    def standing(self) -> manifest.Manifest | None:
        """Return the manifest of the same split, if all its files are there; refuse those of another split."""
        path = os.path.join(self.out, MANIFEST)
        try:
            with open(path, "rb") as file:
                found = manifest.parse_manifest(file.read(manifest.MANIFEST_LIMIT))
        except FileNotFoundError:
            if not self._load(PLACING):
                self._refuse_shards()
            return None
        except DatasetError as error:
            raise DatasetError(
                f"{shown(path)}: {error}; expected the manifest of a split: move the file away"
            ) from None
        if found.origin != self.origin:
            raise DatasetMisuse(
                f"{shown(self.out)} holds the shards of another split, or of inputs that have changed since, "
                f"{found.shards} shards with {found.records} records: move them away, or set "
                "OUT_DIR to an empty directory"
            )
        for entry in found.files:
            self._check(os.path.join(self.out, entry.name), entry.bytes)
        return found

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the directories and lock other splits out; directories that stay empty are removed at the end."""
        made = [path for path in _parents(self.out) if not os.path.isdir(path)]
        os.makedirs(self.work, exist_ok=True)
        self._lock = os.open(self._kept(_LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in UNLOCKED:
                os.close(self._lock)
                raise DatasetMisuse(
                    f"{shown(self.out)}: another split is running there: wait until it ends"
                ) from None
        try:
            yield
        finally:
            with suppress(OSError):
                if os.listdir(self.work) == [_LOCK]:
                    os.unlink(self._kept(_LOCK))
            os.close(self._lock)
            for path in (self.work, *made):
                with suppress(OSError):  # only where they are empty
                    os.rmdir(path)

    def state(self) -> SplitState | None:
        """Return the progress of an earlier run of this split; remove that of any other."""
        found = self._load(STATE)
        try:
            at, offset = found["position"]
            state = SplitState((int(at), int(offset)), [(int(a), int(b), int(c)) for a, b, c in found["shards"]])
            sizes = [size for size, *_ in state.shards]
            whole = all(os.path.getsize(path_in(self.work, number)) >= size for number, size in enumerate(sizes))
        except (KeyError, TypeError, ValueError, OSError):
            whole = False
        if not whole:
            self.forget()
            return None
        return state

    def keep(self, state: SplitState) -> None:
        """Save the progress."""
        self._store(STATE, {"position": list(state.position), "shards": state.shards})

    def placing(self) -> manifest.Manifest | None:
        """Return the manifest of a split that was complete, but not yet renamed."""
        found = self._load(PLACING)
        return manifest.parse_manifest(str(found["manifest"])) if "manifest" in found else None

    def place(self, made: manifest.Manifest, beside: Sequence[str], files: Mapping[str, str]) -> None:
        """Rename the shards, then the manifest; after a kill in between, the next run continues.

        The directories and files beside them are made if they are missing.
        """
        self._store(PLACING, {"manifest": made.text()})
        for name in (*beside, *map(os.path.dirname, files)):
            os.makedirs(os.path.join(self.out, name), exist_ok=True)
        for name, text in files.items():
            if not os.path.lexists(os.path.join(self.out, name)):
                self._write(os.path.join(self.out, name), text)
        for number, entry in enumerate(made.files):
            path = os.path.join(self.out, entry.name)
            if os.path.exists(path_in(self.work, number)):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.replace(path_in(self.work, number), path)
            self._check(path, entry.bytes)
        self._write(os.path.join(self.out, MANIFEST), made.text())
        self.forget()

    def forget(self) -> None:
        """Remove the split's own files."""
        for name in os.listdir(self.work):
            if name.startswith("part-") or name.endswith(".new") or name in (STATE, PLACING):
                os.unlink(self._kept(name))

    def _refuse_shards(self) -> None:
        for layout, names in ("rank", _names(self.out)), ("data", _names(os.path.join(self.out, DATA))):
            for name in filter(_NUMBER.fullmatch, names):
                path = os.path.join(self.out, LAYOUTS[layout].format(name))
                if os.path.lexists(path):
                    raise DatasetMisuse(
                        f"{shown(path)} holds a shard that is not of this split: move it away, or set OUT_DIR to "
                        "another directory"
                    )

    def _check(self, path: str, size: int) -> None:
        try:
            found = os.stat(path).st_size
        except FileNotFoundError:
            found = -1
        if found != size:
            what = "is gone" if found < 0 else f"has {found} bytes"
            raise DatasetError(
                f"{shown(path)} {what}, {size} bytes were written: remove {MANIFEST} and "
                "the shards, and run the split again"
            )

    def _kept(self, name: str) -> str:
        return os.path.join(self.work, name)

    def _load(self, name: str) -> Mapping[str, Any]:
        try:
            with open(self._kept(name), "rb") as file:
                found = json.loads(file.read(manifest.MANIFEST_LIMIT))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) and found.get("origin") == self.origin else {}

    def _store(self, name: str, facts: Mapping[str, object]) -> None:
        self._write(self._kept(name), json.dumps({"origin": self.origin, **facts}))

    def _write(self, path: str, text: str) -> None:
        new = self._kept(os.path.basename(path) + ".new")
        with open(new, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _parents(path: str) -> Iterator[str]:
    path = os.path.abspath(path)
    while path != os.path.dirname(path):
        yield path
        path = os.path.dirname(path)
