"""What a tree holds, asked before anything is copied: how much it is, and where its links lead."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from launcher.dataset.manifest import Entry
from launcher.pod.outcome import ShardError
from launcher.pod.staging.links import Link, leaving
from launcher.pod.staging.refusal import naming, shown
from launcher.pod.staging.tree import Dir, Found, Kind, all_inside, laid_over


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """What a tree holds."""

    files: int
    bytes: int
    links: Mapping[str, Link]
    verified: int = 0


def survey(dirs: Sequence[Dir], listed: Mapping[str, Entry], pool: ThreadPoolExecutor | None) -> Census:
    """Return what the directories laid over each other hold; a size that is listed is not asked for."""
    files = size = 0
    links: dict[str, Link] = {}

    def visit(dirs: Sequence[Dir], above: str) -> None:
        nonlocal files, size
        found = laid_over(dirs).values()
        plain = [each for each in found if each.kind is Kind.FILE]
        files += len(plain)
        size += sum(listed[each.path].bytes for each in plain if each.path in listed)
        unknown = [each for each in plain if each.path not in listed]
        size += sum(pool.map(_size, unknown) if pool else map(_size, unknown))
        for each in found:
            if each.kind is Kind.LINK:
                links[above + each.name] = read_link(each)
            elif each.kind is Kind.DIRECTORY:
                with all_inside(each) as below:
                    visit(below, f"{above}{each.name}/")

    visit(dirs, "")
    return Census(files=files, bytes=size, links=links)


def _size(found: Found) -> int:
    with naming(found.path):
        return os.stat(found.name, dir_fd=found.at.fd, follow_symlinks=False).st_size


def read_link(found: Found) -> Link:
    """Return a link."""
    with naming(found.path):
        target = os.readlink(found.name, dir_fd=found.at.fd)
    return Link(target=target, where=found.path, trusted=found.at.trusted)


def refuse_leaving(links: Mapping[str, Link]) -> None:
    """Refuse links that lead out of the tree."""
    if refused := leaving(links):
        link = links[refused[0]]
        raise ShardError(
            f"{shown(link.where)} is a link to {link.target!r}, which leads out of the tree: "
            "expected only links that stay in it; put the file itself there"
        )
