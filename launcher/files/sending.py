"""The end that has the files: it offers them batch by batch, hears what is there already, and sends the rest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from launcher.files.channel import Channel
from launcher.files.chunks import DIGEST, PIECE, Standing, agreed, count_of
from launcher.files.counting import Count, Tell, nobody
from launcher.files.frames import Frame, number
from launcher.files.listing import Entry, batches, listed
from launcher.files.names import joined, shown
from launcher.files.problem import Garbled, Trouble
from launcher.files.tree import Tree, why

TOLD = 20  # of what is skipped, by name


def send(tree: Tree, base: str, first: str, channel: Channel, tell: Tell = nobody) -> Count:
    """Send what is at `first` below `base`, without it all that is there, and return how much that was."""
    listing = listed(tree, base, first)
    files = [entry for entry in listing.entries if not entry.is_directory]
    count = Count(all_files=len(files), all_bytes=sum(each.size for each in files), skipped=list(listing.skipped))
    told = [*listing.skipped[:TOLD], *([f"{len(listing.skipped):,} in all"] if listing.skipped[TOLD:] else [])]
    channel.put("begin", files=count.all_files, bytes=count.all_bytes, single=listing.single, skipped=told)
    for batch in batches(listing.entries):
        channel.put("offer", entries=[[each.path, each.size, each.runs] for each in batch])
        theirs = _theirs(channel.get("want"), batch)
        for index, entry in enumerate(batch):
            if not entry.is_directory:
                _file(tree, base, entry, index, theirs.get(index, Standing()), channel, count, tell)
                count.files += 1
                tell(count)
    channel.put("end")
    count.unfinished = channel.get("done").number("unfinished")
    return count


def _theirs(frame: Frame, batch: tuple[Entry, ...]) -> Mapping[int, Standing]:
    """Return what the other end has, by the files' numbers."""
    found: dict[int, Standing] = {}
    at = 0
    for given, many, whole in frame.rows("have", 3):
        index = number(given, len(batch) - 1)
        length = number(many, count_of(max(batch[index].size, 0))) * DIGEST
        found[index] = Standing(frame.body[at : at + length], whole is True)
        at += length
    if at != len(frame.body):
        raise Garbled("the digests of what is there are not as many as is said")
    return found


def _file(
    tree: Tree, base: str, entry: Entry, index: int, theirs: Standing, channel: Channel, count: Count, tell: Tell
) -> None:
    """Send what the other end has not; a file that cannot be read, or not to its end, is told as lost."""
    try:
        file = tree.opened(joined(base, entry.path))
    except Trouble as trouble:
        _lost(channel, index, str(trouble), count)
        return
    try:
        start = agreed(file, entry.size, theirs.digests)
        if theirs.whole and start < entry.size:  # another file of that name, which is not to be written over
            start = 0
        count.bytes += start
        _pieces(file, entry, index, start, channel, count, tell)
    except OSError as error:
        _lost(channel, index, f"{shown(entry.path)} cannot be read: {why(error)}", count)
    finally:
        os.close(file)


def _pieces(file: int, entry: Entry, index: int, start: int, channel: Channel, count: Count, tell: Tell) -> None:
    digest = hashlib.sha256()
    at = start
    while True:
        piece = os.pread(file, min(PIECE, entry.size - at), at)
        at += len(piece)
        digest.update(piece)
        if at == entry.size:
            channel.put("data", piece, at=index, start=start, digest=digest.hexdigest())
        elif piece:
            channel.put("data", piece, at=index, start=start)
        else:
            _lost(channel, index, f"{shown(entry.path)} became shorter while it was read", count)
        count.bytes += len(piece)
        count.came += len(piece)
        tell(count)
        if at == entry.size or not piece:
            return


def _lost(channel: Channel, index: int, sentence: str, count: Count) -> None:
    count.lost.append(sentence)
    channel.put("lost", at=index, why=sentence)
