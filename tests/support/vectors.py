"""What 0.1.0 wrote, as tests/vectors/0.1.0 keeps it: its runs, its statuses, its objects, its copies."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parents[1] / "vectors" / "0.1.0"
RUNS, STATUSES, FILES = VECTORS / "runs", VECTORS / "statuses", VECTORS / "files"
MANIFESTS, OBJECTS = VECTORS / "manifests", VECTORS / "api"
LENGTHS = struct.Struct("!II")  # of a frame's head and body
AT = 1_794_996_000  # 2026-11-18T10:00:00Z: since then the files of the copies' volumes have not changed

Json = dict[str, Any]
Tree = Mapping[str, Mapping[str, Any] | None]


def index(of: Path) -> Any:  # noqa: ANN401  # JSON
    """Return the index of a directory of vectors."""
    return json.loads((of / "index.json").read_text())


def objects(moment: str, kind: str) -> list[Json]:
    """Return the objects of a kind as an API server had them at a moment."""
    found: list[Json] = json.loads((OBJECTS / f"{moment}.json").read_text())[kind]
    return found


def frames(said: bytes) -> Iterator[tuple[Json, bytes]]:
    """Yield the frames of one direction of a copy: heads and bodies."""
    while said:
        head, body = LENGTHS.unpack_from(said)
        begin = LENGTHS.size + head
        yield json.loads(said[LENGTHS.size : begin]), said[begin : begin + body]
        said = said[begin + body :]


def lay(top: Path, tree: Tree) -> None:
    """Make a tree as an index tells of it."""
    top.mkdir(parents=True, exist_ok=True)
    for path, what in tree.items():
        at = top / path
        at.parent.mkdir(parents=True, exist_ok=True)
        if what is None:
            at.mkdir(exist_ok=True)
        elif "link" in what:
            at.symlink_to(what["link"])
        else:
            at.write_bytes(bytes(what["zeros"]) + what["then"].encode() if "zeros" in what else what["text"].encode())
            at.chmod(0o755 if what.get("runs") else 0o644)
    for at in sorted(top.rglob("*"), reverse=True):
        if at.suffix != ".part":  # one that is begun is removed a day later
            os.utime(at, (AT, AT), follow_symlinks=False)


def told(top: Path) -> Tree:
    """Tell of a tree as an index does."""
    return {str(at.relative_to(top)): _told(at) for at in sorted(top.rglob("*"))}


def _told(at: Path) -> Mapping[str, Any] | None:
    if at.is_symlink():
        return {"link": str(at.readlink())}
    if at.is_dir():
        return None
    data = at.read_bytes()
    text = data.lstrip(b"\0")
    zeros = len(data) - len(text)
    what = {"zeros": zeros, "then": text.decode()} if zeros else {"text": text.decode()}
    return {**what, "runs": True} if at.stat().st_mode & 0o100 else what


def has(found: object, wanted: object) -> bool:
    """Return whether all that is wanted stands in what was found, which may say more in its objects."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and has(found[key], each) for key, each in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(map(has, found, wanted))
    return found == wanted
