"""The bill of materials of the wheel, in CycloneDX's JSON: what it needs, by name, version and digests.

Versions and digests are the lock file's; which packages are needed, and by whom, is what the installed ones say. No
addresses, no time: the same lock gives the same text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

ENTRY = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)((?:.*\\\n)*.*)", re.MULTILINE)
DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})")
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
OURS = "paddle-launcher"
SAID = "each hash is that of one file of this version: a wheel for some platform, or the source"

Requires = Callable[[str], Iterable[str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """A package in the lock file."""

    version: str
    digests: tuple[str, ...]


def locked(lock: str) -> dict[str, Locked]:
    """Return the packages of a lock file."""
    return {
        name: Locked(version=version, digests=tuple(sorted(DIGEST.findall(rest))))
        for name, version, rest in ENTRY.findall(lock)
    }


def needed(lock: Mapping[str, Locked], requires: Requires = metadata.requires) -> dict[str, tuple[str, ...]]:
    """Return all that ours needs, each with what it needs itself: without extras, and without what is not locked."""
    found: dict[str, tuple[str, ...]] = {}
    waiting = [OURS]
    while waiting:
        if (name := waiting.pop()) not in found:
            lines = [line for line in requires(name) or () if "extra ==" not in line]
            names = {_plain(match[0]) for match in map(NAME.match, lines) if match}
            found[name] = tuple(sorted(names & lock.keys()))
            waiting += found[name]
    return found


def _plain(name: str) -> str:
    """Return a package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def text(wheel: str, content: bytes, lock: str, *, requires: Requires = metadata.requires) -> str:
    """Return the bill of a wheel, by its name and content."""
    packages = locked(lock)
    edges = needed(packages, requires)
    ours = Locked(version=wheel.split("-")[1], digests=(hashlib.sha256(content).hexdigest(),))
    known = {**packages, OURS: ours}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": _component(OURS, ours, "application"),
            "properties": [{"name": f"{OURS}:hashes", "value": SAID}],
        },
        "components": [_component(name, packages[name], "library") for name in sorted(edges) if name != OURS],
        "dependencies": [
            {"ref": _ref(name, known[name]), "dependsOn": [_ref(each, known[each]) for each in edges[name]]}
            for name in sorted(edges)
        ],
    }
    return json.dumps(bill, indent=1) + "\n"


def _component(name: str, package: Locked, kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "bom-ref": _ref(name, package),
        "name": name,
        "version": package.version,
        "purl": _ref(name, package),
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.digests],
    }


def _ref(name: str, package: Locked) -> str:
    return f"pkg:pypi/{name}@{package.version}"
