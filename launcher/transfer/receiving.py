"""The end that gets the files: it tells what it has, and gives a file its name only when it is complete."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

from launcher.safefs.dirs import Tree
from launcher.safefs.parallel import SIDE_BY_SIDE, Workers
from launcher.transfer.arriving import arrive, standing
from launcher.transfer.channel import Channel
from launcher.transfer.chunks import DIGEST, Standing
from launcher.transfer.counting import Count, TellCount, no_tell
from launcher.transfer.frames import LARGEST_FRAME, Frame, frame_number
from launcher.transfer.listing import A_DIRECTORY, IN_A_BATCH, MOST_ENTRIES, TreeEntry
from launcher.transfer.names import PART, checked_path, divided, joined
from launcher.transfer.problem import Garbled
from launcher.transfer.sending import TOLD

OLD = 86400.0  # seconds after which an unfinished file is not continued any more


@dataclass(frozen=True, slots=True)
class _Place:
    """The directory for the files, and another name for a single one."""

    directory: str
    name: str = ""

    def of(self, path: str) -> str:
        """Return the path of an entry in this place."""
        return joined(self.directory, self.name or path)


def receive(tree: Tree, target: str, channel: Channel, tell: TellCount = no_tell, *, inside: bool = False) -> Count:
    """Receive files below `target`, or one file as it, where it is no directory and need not be (`inside`)."""
    begin = channel.get("begin")
    count = Count(
        all_files=begin.number("files", MOST_ENTRIES),
        all_bytes=begin.number("bytes"),
        skipped=_told(begin, "skipped"),
        lost=_told(begin, "lost"),
    )
    into = inside or not begin.flag("single") or tree.is_directory(target)
    place = _Place(target) if into else _Place(*divided(target))
    tree.directory(place.directory, make=True)
    seen = {place.directory}
    entries = 0
    with Workers() as workers:
        while (frame := channel.get("offer", "end")).kind == "offer":
            batch = tuple(_entry(row) for row in frame.rows("entries", 3))
            entries += len(batch)
            if not batch or len(batch) > IN_A_BATCH or entries > MOST_ENTRIES or (place.name and entries > 1):
                raise Garbled("the other end offers other files than it announced")
            _take(tree, place, batch, channel, count, tell, workers)
            seen.update(divided(place.of(each.path))[0] for each in batch)
    count.unfinished = swept(tree, seen)
    channel.put("done", unfinished=count.unfinished)
    channel.flush()
    return count


def swept(tree: Tree, directories: set[str]) -> int:
    """Remove unfinished files that are older than a day; return how many younger ones there are."""
    young = 0
    for directory in directories:
        for name in tree.names(directory):
            if PART.fullmatch(name):
                found = tree.status(joined(directory, name))
                if found and time.time() - found.st_mtime > OLD:
                    with suppress(OSError):  # another copy may be faster
                        os.unlink(name, dir_fd=tree.directory(directory).fd)
                else:
                    young += 1
    return young


def _told(begin: Frame, what: str) -> list[str]:
    found = begin.head.get(what, [])
    if not isinstance(found, list) or len(found) > TOLD + 1 or not all(isinstance(each, str) for each in found):
        raise Garbled(f"{what} of {begin.kind!r} is not a list of texts")
    return found


def _entry(row: list[object]) -> TreeEntry:
    path, size, runs = row
    return TreeEntry(
        checked_path(path), A_DIRECTORY if size == A_DIRECTORY else frame_number(size, LARGEST_FRAME), runs is True
    )


def _take(
    tree: Tree,
    place: _Place,
    batch: tuple[TreeEntry, ...],
    channel: Channel,
    count: Count,
    tell: TellCount,
    workers: Workers,
) -> None:
    """Make the directories, say what is there of the files, and take the rest."""
    files = [index for index, entry in enumerate(batch) if not entry.is_directory]
    if count.files + len(files) > count.all_files:
        raise Garbled("the other end offers more files than it announced")
    there = dict(zip(files, workers.each(_looks(tree, place, batch)), strict=True))
    order = mixed(files, batch) if workers.side_by_side else files
    said = {} if order == files else {"order": order}
    have = [[index, len(each.digests) // DIGEST, each.whole] for index, each in there.items() if each.digests]
    channel.put("want", b"".join(each.digests for each in there.values()), have=have, **said)
    arriving = (
        arrive(tree, place.of(batch[index].path), batch[index], index, there[index], channel, count, tell)
        for index in order
    )
    for _ in workers.each(arriving):
        count.files += 1
        tell(count)


def mixed(files: Iterable[int], batch: tuple[TreeEntry, ...]) -> list[int]:
    """Return files so that neighbours are of different directories: to make a file locks its directory for all."""
    groups: dict[str, list[int]] = {}
    for index in files:
        groups.setdefault(divided(batch[index].path)[0], []).append(index)
    every = list(groups.values())
    rounds = (zip_longest(*every[at : at + SIDE_BY_SIDE]) for at in range(0, len(every), SIDE_BY_SIDE))
    return [index for rows in rounds for row in rows for index in row if index is not None]


def _looks(tree: Tree, place: _Place, batch: tuple[TreeEntry, ...]) -> Iterator[Callable[[], Standing]]:
    for entry in batch:
        path = place.of(entry.path)
        if entry.is_directory:
            tree.directory(path, make=True)
        else:
            yield partial(standing, tree.lent(path, make=True), path, entry.size)
