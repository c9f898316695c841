"""What a tree holds, asked before anything is copied: how much it is, and where its links lead."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from launcher.dataset.manifest import Entry
from launcher.pod.data.links import Link, leaving
from launcher.pod.outcome import ShardError
from launcher.safefs.dirs import Dir, Found, Kind, all_inside, laid_over
from launcher.safefs.refusals import naming
from launcher.text import shown

T = TypeVar("T")
TOGETHER = 16  # directories that are open at a time on each level, so that they can be listed side by side


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
    together = TOGETHER if pool else 1

    def visit(found: Collection[Found], above: str) -> None:
        nonlocal files, size
        plain = [each for each in found if each.kind is Kind.FILE]
        entries = [listed.get(each.path) for each in plain]
        files += len(plain)
        size += sum(entry.bytes for entry in entries if entry)
        size += sum(_each(_size, [each for each, entry in zip(plain, entries, strict=True) if not entry], pool))
        links.update({above + each.name: read_link(each) for each in found if each.kind is Kind.LINK})
        folders = [each for each in found if each.kind is Kind.DIRECTORY]
        for begin in range(0, len(folders), together):
            some = folders[begin : begin + together]
            with ExitStack() as stack:
                for each, below in zip(some, _each(partial(_listed, stack), some, pool), strict=True):
                    visit(below, f"{above}{each.name}/")

    visit(laid_over(dirs).values(), "")
    return Census(files=files, bytes=size, links=links)


def _each(work: Callable[[Found], T], found: Sequence[Found], pool: ThreadPoolExecutor | None) -> Iterable[T]:
    """Return what each comes to, after all have ended: a descriptor's number must not be used again before."""
    if pool is None:
        return map(work, found)
    futures = [pool.submit(work, each) for each in found]
    wait(futures, return_when=FIRST_EXCEPTION)
    for each in futures:
        each.cancel()
    wait(futures)
    return [each.result() for each in futures]


def _listed(stack: ExitStack, found: Found) -> Collection[Found]:
    """Return what is in a directory that stays open as long as the stack does."""
    return laid_over(stack.enter_context(all_inside(found))).values()


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
