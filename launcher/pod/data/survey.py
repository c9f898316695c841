"""The survey of a tree before it is copied: its size, where its links lead, and what a manifest lists of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from launcher.contract import MANIFEST
from launcher.dataset.manifest import MANIFEST_LIMIT, Entry, Manifest, parse_manifest
from launcher.dataset.problem import DatasetError
from launcher.pod.data.deal import Portion
from launcher.pod.data.earlier import Copied
from launcher.pod.data.links import Link, leaving
from launcher.pod.log import Tell
from launcher.pod.outcome import ShardError
from launcher.safefs.dirs import Dir, format_of, opened
from launcher.safefs.overlay import Found, Kind, all_inside, laid_over, walk
from launcher.safefs.parallel import Workers
from launcher.safefs.small_file import read_at_most
from launcher.text import shown

TOGETHER = 16  # directories that are open at a time on each level, so that they can be listed side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """How many files and bytes a tree holds, its links, and which copy is of which file where that is noted."""

    files: int
    bytes: int
    links: Mapping[str, Link]
    verified: int = 0
    kept: int = 0  # files that were there already
    kept_bytes: int = 0
    copies: Mapping[str, Copied] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Looking:
    """Counts the files that are looked at before any is copied, and tells it every few seconds."""

    tell: Tell
    every: float
    clock: Callable[[], float]
    files: int = 0
    due: float = field(init=False)

    def __post_init__(self) -> None:
        self.due = self.clock() + self.every

    def more(self, files: int = 1) -> None:
        """Count files that were looked at."""
        self.files += files
        if (now := self.clock()) >= self.due:
            self.due = now + self.every
            self.tell("surveying", looked_at=self.files)


def survey(dirs: Sequence[Dir], listed: Mapping[str, Entry], workers: Workers, looking: Looking) -> Census:
    """Return what the directories laid over each other hold; a size that is listed is not asked for."""
    files = size = 0
    links: dict[str, Link] = {}
    together = TOGETHER if workers.side_by_side else 1

    def visit(found: Collection[Found], above: str) -> None:
        nonlocal files, size
        plain = [each for each in found if each.kind is Kind.FILE]
        entries = [listed.get(each.path) for each in plain]
        files += len(plain)
        listed_bytes = [entry.bytes for entry in entries if entry]
        size += sum(listed_bytes)
        looking.more(len(listed_bytes))
        unlisted = (each for each, entry in zip(plain, entries, strict=True) if not entry)
        for one in workers.each(partial(_size, each) for each in unlisted):
            size += one
            looking.more()
        links.update({above + each.name: read_link(each) for each in found if each.kind is Kind.LINK})
        folders = [each for each in found if each.kind is Kind.DIRECTORY]
        for begin in range(0, len(folders), together):
            some = folders[begin : begin + together]
            with ExitStack() as stack:
                found_below = list(workers.each(partial(_listed, stack, each) for each in some))
                for each, below in zip(some, found_below, strict=True):
                    visit(below, f"{above}{each.name}/")

    visit(laid_over(dirs).values(), "")
    return Census(files=files, bytes=size, links=links)


def _listed(stack: ExitStack, found: Found) -> Collection[Found]:
    """Return what is in a directory that stays open as long as the stack does."""
    return laid_over(stack.enter_context(all_inside(found))).values()


def _size(found: Found) -> int:
    with found.at.naming(found.name):
        return os.stat(found.name, dir_fd=found.at.fd, follow_symlinks=False).st_size


def read_link(found: Found) -> Link:
    """Return a link as it stands, without following it."""
    with found.at.naming(found.name):
        target = os.readlink(found.name, dir_fd=found.at.fd)
    return Link(target=target, where=found.path, trusted=found.at.trusted)


def refuse_leaving(links: Mapping[str, Link]) -> None:
    """Refuse links that lead out of the tree."""
    if refused := leaving(links):
        link = links[refused[0]]
        raise ShardError(
            f"{shown(link.where)} is a link to {link.target!r}, which leads out of the tree: "
            "expected only links that stay in it; put the file itself in its place"
        )


def refuse_same_names(dirs: Sequence[Dir], looking: Looking, *, later: bool = False) -> None:
    """Refuse several shards that have a file of the same name: one would cover the other, now or in a later start."""
    why = "a rank has both shards when fewer take part" if later else "this rank has both shards"
    first: dict[str, str] = {}
    for each in dirs if len(dirs) > 1 else ():
        for path, found in walk((each,)):
            looking.more()
            if found.kind is not Kind.DIRECTORY and first.setdefault(path, found.path) != found.path:
                raise ShardError(
                    f"{shown(first[path])} and {shown(found.path)} go to one place, as {why}: "
                    "expected a name of its own for each file; rename one, or split the data into one shard a trainer"
                )


def listed_in(job: Dir, shards: Sequence[Dir], ways: int, portion: Portion) -> Mapping[str, Entry]:
    """Return the files that a manifest lists in a rank's shards, by their paths; none where there is no manifest.

    Shards of other ranks may be missing: those ranks say so, unless they have their data already.
    """
    found = _manifest(job)
    if found is None:
        return {}
    if ways > found.shards or len(shards) != len(portion.of(found.shards)):
        raise ShardError(
            f"{job.path}: {ways} shards are there, and {MANIFEST} lists {found.shards}: "
            "expected only those that it lists; move the others away, or the manifest if it is outdated"
        )
    entries = {f"{job.path}/{entry.name}": entry for entry in found.files}
    mine = tuple(f"{shard.path}/" for shard in shards)
    return {path: entry for path, entry in entries.items() if path.startswith(mine)}


def _manifest(job: Dir) -> Manifest | None:
    if not format_of(job, MANIFEST):
        return None
    with opened(job, MANIFEST) as file:
        text = read_at_most(file, MANIFEST_LIMIT + 1)
    try:
        if len(text) > MANIFEST_LIMIT:
            raise DatasetError(f"more than {MANIFEST_LIMIT} bytes")
        return parse_manifest(text)
    except DatasetError as error:
        raise ShardError(f"{job.path}/{MANIFEST}: {error}; expected the manifest of a split; move it away") from None
