"""What the agent does for a desk besides copying: list, make, remove, and show a file."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping

from launcher.safefs.dirs import Tree
from launcher.text import shown
from launcher.transfer.agent_probe import probe
from launcher.transfer.channel import Channel
from launcher.transfer.chunks import PIECE
from launcher.transfer.frames import Frame
from launcher.transfer.names import below, divided, joined
from launcher.transfer.problem import TransferError
from launcher.transfer.receiving import receive
from launcher.transfer.sending import send

_ROWS = 500  # in a frame


def serve(tree: Tree, channel: Channel) -> None:
    """Answer the desk's requests until it says goodbye."""
    while (frame := channel.get("bye", *ACTS)).kind != "bye":
        ACTS[frame.kind](tree, frame, channel)


def _send(tree: Tree, frame: Frame, channel: Channel) -> None:
    send(tree, below(frame.text("base")), below(frame.text("first")), channel)


def _receive(tree: Tree, frame: Frame, channel: Channel) -> None:
    receive(tree, below(frame.text("target")), channel, inside=frame.flag("inside"))


def _list(tree: Tree, frame: Frame, channel: Channel) -> None:
    """Send a row for each name in a directory, or for one file: name, kind, size, time."""
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
        if len(rows) == _ROWS:
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
    """Remove a file, or, where the desk says `all`, a directory and everything in it."""
    path = below(frame.text("path"))
    if not path:
        raise TransferError("the top of the volume cannot be removed: name a file or directory in it")
    above, name = divided(path)
    found, at = _there(tree, path), tree.directory(above)
    with at.naming(name):
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(name, dir_fd=at.fd)
        elif frame.flag("all"):
            shutil.rmtree(name, dir_fd=at.fd)
        else:
            raise at.refused(name, "is a directory: add -r to remove it and everything in it")
    tree.forget()
    channel.put("done")
    channel.flush()


def _show(tree: Tree, frame: Frame, channel: Channel) -> None:
    """Send the content of a file, up to the end that it has now."""
    path = below(frame.text("path"))
    _there(tree, path)
    with tree.opened(path) as file:
        left = os.fstat(file).st_size
        while left and (piece := os.read(file, min(PIECE, left))):
            left -= len(piece)
            channel.put("piece", piece)
    channel.put("done")
    channel.flush()


def _there(tree: Tree, path: str) -> os.stat_result:
    found = tree.status(path)
    if found is None:
        raise TransferError(f"{shown(path)} is not there")
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
