"""What the agent does for a desk besides copying: lists, makes and removes, and shows a file."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping

from launcher.text import shown
from launcher.transfer.agent_probe import probe
from launcher.transfer.channel import Channel
from launcher.transfer.chunks import PIECE
from launcher.transfer.frames import Frame
from launcher.transfer.names import below, divided, joined
from launcher.transfer.problem import Trouble
from launcher.transfer.receiving import receive
from launcher.transfer.sending import send
from launcher.transfer.tree import Tree, told

ROWS = 500  # in a frame


def serve(tree: Tree, channel: Channel) -> None:
    """Do what is asked, until there is nothing more."""
    while (frame := channel.get("bye", *ACTS)).kind != "bye":
        ACTS[frame.kind](tree, frame, channel)


def _send(tree: Tree, frame: Frame, channel: Channel) -> None:
    send(tree, below(frame.text("base")), below(frame.text("first")), channel)


def _receive(tree: Tree, frame: Frame, channel: Channel) -> None:
    receive(tree, below(frame.text("target")), channel, inside=frame.flag("inside"))


def _list(tree: Tree, frame: Frame, channel: Channel) -> None:
    """Tell what is in a directory, or of one file: name, kind, size, time."""
    path = below(frame.text("path"))
    if stat.S_ISDIR(_there(tree, path).st_mode):
        directory, names = path, tree.names(path)
    else:
        directory, names = divided(path)[0], [divided(path)[1]]
    rows: list[list[object]] = []
    for name in names:
        each = tree.status(joined(directory, name))
        if each is not None:
            rows.append([name, _kind(each.st_mode), each.st_size, max(int(each.st_mtime), 0)])
        if len(rows) == ROWS:
            channel.put("listed", rows=rows)
            rows = []
    channel.put("listed", rows=rows)
    channel.put("done")
    channel.flush()


def _make(tree: Tree, frame: Frame, channel: Channel) -> None:
    tree.directory(below(frame.text("path")), make=True)
    channel.put("done")
    channel.flush()


def _remove(tree: Tree, frame: Frame, channel: Channel) -> None:
    """Remove a file, or a directory with all that is in it where that was said."""
    path = below(frame.text("path"))
    if not path:
        raise Trouble("the volume's top is not removed: name what is in it")
    directory, name = divided(path)
    found = _there(tree, path)
    with told(path, "removed"):
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(name, dir_fd=tree.directory(directory))
        elif frame.flag("all"):
            shutil.rmtree(name, dir_fd=tree.directory(directory))
        else:
            raise Trouble(f"{shown(path)} is a directory: say -r to remove it with all that is in it")
    tree.forget()
    channel.put("done")
    channel.flush()


def _show(tree: Tree, frame: Frame, channel: Channel) -> None:
    """Tell what is in a file, up to the end that it has now."""
    path = below(frame.text("path"))
    file = tree.opened(path)
    try:
        left = os.fstat(file).st_size
        with told(path, "read"):
            while left and (piece := os.read(file, min(PIECE, left))):
                left -= len(piece)
                channel.put("piece", piece)
    finally:
        os.close(file)
    channel.put("done")
    channel.flush()


def _there(tree: Tree, path: str) -> os.stat_result:
    found = tree.status(path)
    if found is None:
        raise Trouble(f"{shown(path)} is not there")
    return found


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "d"
    return "-" if stat.S_ISREG(mode) else ("l" if stat.S_ISLNK(mode) else "?")


ACTS: Mapping[str, Callable[[Tree, Frame, Channel], None]] = {
    "send": _send,
    "receive": _receive,
    "list": _list,
    "probe": probe,
    "make": _make,
    "remove": _remove,
    "show": _show,
}
