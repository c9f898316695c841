"""Lists, makes, removes and reads on a volume."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from launcher.desk.files.paths import Remote
from launcher.desk.files.visit import visit
from launcher.desk.session import Desk
from launcher.transfer.channel import Channel
from launcher.transfer.frames import frame_number
from launcher.transfer.listing import MOST_ENTRIES
from launcher.transfer.problem import Garbled

_KINDS = ("d", "-", "l", "?")
_AT_ONCE = 50  # requests that are sent before an answer is read


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A file or a directory, as `ls` shows it."""

    name: str
    kind: str
    size: int
    time: int


def files_listed(desk: Desk, places: Sequence[Remote]) -> tuple[tuple[Remote, tuple[FileRow, ...]], ...]:
    """Return the entries of directories on one volume; of a file, itself."""
    with visit(desk, places[0]) as there, there.once() as channel:
        rows = rows_of_each(channel, [place.path for place in places])
        return tuple(zip(places, rows, strict=True))


def made(desk: Desk, places: Sequence[Remote]) -> None:
    """Make directories, and those above them that are not there."""
    with visit(desk, places[0]) as there, there.once() as channel:
        for place in places:
            channel.put("make", path=place.path)
            channel.get("done")


def files_removed(desk: Desk, places: Sequence[Remote], *, all_of_it: bool) -> None:
    """Remove files, and directories with everything in them where that was said."""
    with visit(desk, places[0]) as there, there.once() as channel:
        for place in places:
            channel.put("remove", path=place.path, all=all_of_it)
            channel.get("done")


def rows_of_each(channel: Channel, paths: Sequence[str]) -> Iterator[tuple[FileRow, ...]]:
    """Yield of each path a directory's entries, or the one file."""
    for begin in range(0, len(paths), _AT_ONCE):
        some = paths[begin : begin + _AT_ONCE]
        for path in some:
            channel.put("list", path=path)
        for _ in some:
            yield _rows(channel)


def file_content(channel: Channel, path: str) -> Iterator[bytes]:
    """Yield a file, piece by piece."""
    channel.put("show", path=path)
    while (frame := channel.get("piece", "done")).kind == "piece":
        yield frame.body


def _rows(channel: Channel) -> tuple[FileRow, ...]:
    found: list[FileRow] = []
    while (frame := channel.get("listed", "done")).kind == "listed":
        found += [_row(row) for row in frame.rows("rows", 4)]
        if len(found) > MOST_ENTRIES:
            raise Garbled(f"more than {MOST_ENTRIES:,} names are in the directory")
    return tuple(found)


def _row(row: list[object]) -> FileRow:
    name, kind, size, time = row
    if not isinstance(name, str) or kind not in _KINDS:
        raise Garbled("a row of the list is malformed")
    return FileRow(name=name, kind=str(kind), size=frame_number(size), time=frame_number(time))
