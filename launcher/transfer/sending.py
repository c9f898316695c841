"""The end that has the files: it offers them batch by batch, learns what is there already, and sends the rest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from launcher.safefs.dirs import Dir, Tree, opened
from launcher.safefs.parallel import Workers
from launcher.text import shown
from launcher.transfer.channel import Channel
from launcher.transfer.chunks import DIGEST, PIECE, Standing, agreed, count_of
from launcher.transfer.counting import Count, TellCount, no_tell
from launcher.transfer.frames import Frame, frame_number
from launcher.transfer.listing import TreeEntry, batches, nothing_stays, tree_listed
from launcher.transfer.names import divided, joined
from launcher.transfer.problem import Broken, Garbled, OtherEndFailed, TransferError

TOLD = 20  # of what is skipped, by name
# Sends all frames of a file.
Say = Callable[[Channel, Count, TellCount], None]


def send(
    tree: Tree, base: str, first: str, channel: Channel, tell: TellCount = no_tell,
    stays: Callable[[str, bool], bool] = nothing_stays,
) -> Count:  # fmt: skip
    """Send what is at `first` below `base`, without it all that is there, and return how much that was."""
    with Workers() as workers:
        listing = tree_listed(tree, base, first, workers, stays)
        files = [entry for entry in listing.entries if not entry.is_directory]
        skipped, lost = _told(listing.skipped), _told(listing.lost)
        count = Count(
            all_files=len(files), all_bytes=sum(each.size for each in files), skipped=skipped, lost=list(lost)
        )
        said = {"single": listing.single, "skipped": skipped, "lost": lost}
        channel.put("begin", files=count.all_files, bytes=count.all_bytes, **said)
        for batch in batches(listing.entries):
            channel.put("offer", entries=[[each.path, each.size, each.runs] for each in batch])
            want = channel.get("want")
            for say in workers.each(_sayings(tree, base, batch, _theirs(want, batch), _order(want, batch))):
                say(channel, count, tell)
                count.files += 1
                tell(count)
        channel.put("end")
        count.unfinished = channel.get("done").number("unfinished")
        return count


def _told(sentences: tuple[str, ...]) -> list[str]:
    """Return the first of the sentences, and how many there are."""
    return [*sentences[:TOLD], *([f"{len(sentences):,} in all"] if sentences[TOLD:] else [])]


def _order(frame: Frame, batch: tuple[TreeEntry, ...]) -> list[int]:
    """Return the files' numbers in the order that the other end asks for."""
    files = [index for index, entry in enumerate(batch) if not entry.is_directory]
    found = frame.head.get("order", files)
    if not isinstance(found, list) or sorted(frame_number(each, len(batch) - 1) for each in found) != files:
        raise Garbled("the other end asks for files that were not offered")
    return found


def _theirs(frame: Frame, batch: tuple[TreeEntry, ...]) -> Mapping[int, Standing]:
    """Return the digests of what the other end has, by the files' numbers."""
    found: dict[int, Standing] = {}
    at = 0
    for given, many, whole in frame.rows("have", 3):
        index = frame_number(given, len(batch) - 1)
        length = frame_number(many, count_of(max(batch[index].size, 0))) * DIGEST
        found[index] = Standing(frame.body[at : at + length], whole is True)
        at += length
    if at != len(frame.body):
        raise Garbled("the other end sends another number of digests than it announced")
    return found


def _sayings(
    tree: Tree, base: str, batch: tuple[TreeEntry, ...], theirs: Mapping[int, Standing], order: Iterable[int]
) -> Iterator[Callable[[], Say]]:
    """Yield for each file the work that prepares its frames; only a small file is read by it."""
    for index in order:
        entry = batch[index]
        path, standing = joined(base, entry.path), theirs.get(index, Standing())
        if entry.size > PIECE:
            yield partial(partial, _large, tree, path, entry, index, standing)
            continue
        try:
            yield partial(_read, tree.lent(path), path, entry, index, standing)
        except TransferError as trouble:  # of its directory
            yield partial(partial, _lost, index, str(trouble))


def _read(within: Dir, path: str, entry: TreeEntry, index: int, theirs: Standing) -> Say:
    """Read a small file; the directory is closed."""
    try:
        with opened(within, divided(path)[1]) as file:
            start = _start(file, entry, theirs)
            piece = os.pread(file, entry.size - start, start)
    except TransferError as trouble:
        return partial(_lost, index, str(trouble))
    finally:
        os.close(within.fd)
    return partial(_whole, entry, index, start, piece)


def _whole(
    entry: TreeEntry, index: int, start: int, piece: bytes, channel: Channel, count: Count, tell: TellCount
) -> None:
    """Send a small file that was read."""
    count.bytes += start
    if start + len(piece) < entry.size:
        _lost(index, f"{shown(entry.path)} became shorter while it was read", channel, count, tell)
        return
    channel.put("data", piece, at=index, start=start, digest=hashlib.sha256(piece).hexdigest())
    count.bytes += len(piece)
    count.came += len(piece)


def _large(
    tree: Tree,
    path: str,
    entry: TreeEntry,
    index: int,
    theirs: Standing,
    channel: Channel,
    count: Count,
    tell: TellCount,
) -> None:
    """Send what the other end has not of a large file; one that cannot be read to its end is told as lost."""
    try:
        with tree.opened(path) as file:
            start = _start(file, entry, theirs)
            count.bytes += start
            _pieces(file, entry, index, start, channel, count, tell)
    except (Broken, Garbled, OtherEndFailed):  # of the connection, not of the file
        raise
    except TransferError as trouble:
        _lost(index, str(trouble), channel, count, tell)


def _start(file: int, entry: TreeEntry, theirs: Standing) -> int:
    start = agreed(file, entry.size, theirs.digests)
    # Another whole file of that name is not to be written over.
    return 0 if theirs.whole and start < entry.size else start


def _pieces(
    file: int, entry: TreeEntry, index: int, start: int, channel: Channel, count: Count, tell: TellCount
) -> None:
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
            _lost(index, f"{shown(entry.path)} became shorter while it was read", channel, count, tell)
        count.bytes += len(piece)
        count.came += len(piece)
        tell(count)
        if at == entry.size or not piece:
            return


def _lost(index: int, sentence: str, channel: Channel, count: Count, _: TellCount) -> None:
    count.lost.append(sentence)
    channel.put("lost", at=index, why=sentence)
