"""The manifest of a split: name, size, digest and records of each file. It is read as untrusted input.

No I/O here.
"""

from __future__ import annotations

import json

from launcher.dataset.problem import DatasetError
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MANIFEST_LIMIT = 64 << 20  # bytes of a manifest: some hundred thousand files
_DIGITS = 18
HEX = frozenset("0123456789abcdef")
NOWHERE = frozenset(["", ".", ".."])


class Entry:
    """One file: its name below the job's directory, its size, its SHA-256, the records in it."""

    __slots__ = ("bytes", "name", "records", "sha256")

    def __init__(self, name: str, size: int, sha256: str, records: int) -> None:
        self.name, self.bytes, self.sha256, self.records = name, size, sha256, records


class Manifest:
    """All files of a split, and the digest of its options and inputs."""

    __slots__ = ("files", "origin", "shards")

    def __init__(self, origin: str, shards: int, files: Sequence[Entry]) -> None:
        self.origin, self.shards, self.files = origin, shards, tuple(files)

    @property
    def records(self) -> int:
        """The records of all files."""
        return sum(entry.records for entry in self.files)

    def text(self) -> str:
        """Return the text of the manifest's file."""
        files = [
            {"name": each.name, "bytes": each.bytes, "sha256": each.sha256, "records": each.records}
            for each in self.files
        ]
        size = sum(each.bytes for each in self.files)
        whole = {"version": 1, "origin": self.origin, "shards": self.shards, "records": self.records, "bytes": size}
        return json.dumps({**whole, "files": files}, indent=1) + "\n"


def parse_manifest(text: str | bytes) -> Manifest:
    """Return the manifest in a file, or raise a DatasetError with the reason."""
    try:
        found = json.loads(text, parse_int=_number)
        if found["version"] != 1:
            raise DatasetError(f"a manifest of version {found['version']!r}: expected 1")
        files = [_entry(each) for each in _of(list, found["files"])]
        if len({each.name for each in files}) != len(files):
            raise DatasetError("a manifest that names a file twice")
        return Manifest(_of(str, found["origin"]), int(_of(int, found["shards"])), files)
    except DatasetError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DatasetError(f"not a manifest: {type(error).__name__}: {str(error)[:200]}") from None


def _number(digits: str) -> int:
    if len(digits) > _DIGITS or digits.startswith("-"):  # very long ones take Python minutes
        raise ValueError(f"the number {digits[:20]}")
    return int(digits)


def _of(kind: type, value: Any) -> Any:  # noqa: ANN401  # as json.loads
    if type(value) is not kind:
        raise TypeError(f"{str(value)[:80]!r} where {kind.__name__} was expected")
    return value


def _entry(found: dict[str, object]) -> Entry:
    name, digest = _of(str, found["name"]), _of(str, found["sha256"])
    if "\0" in name or not NOWHERE.isdisjoint(name.split("/")):
        raise DatasetError(f"a manifest with the name {shown(name)[:200]}: expected one below the job's directory")
    if len(digest) != 64 or not HEX.issuperset(digest):
        raise DatasetError(f"a manifest with the digest {digest[:80]!r} for {shown(name)[:200]}: expected SHA-256")
    return Entry(name, _of(int, found["bytes"]), digest, _of(int, found["records"]))
