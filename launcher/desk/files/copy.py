"""Copies between this machine and a datacenter's volume, in both directions; what broke off is gone on with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import tenacity

from launcher.desk.errors import Mistyped, Problem
from launcher.desk.files.paths import Remote
from launcher.desk.files.progress import CopyProgress
from launcher.desk.files.visit import ATTEMPTS, Visit, visit
from launcher.desk.session import Desk
from launcher.safefs.dirs import Tree
from launcher.text import shown
from launcher.transfer.channel import Channel
from launcher.transfer.counting import Count
from launcher.transfer.listing import nothing_stays
from launcher.transfer.problem import Broken, TransferError
from launcher.transfer.receiving import receive
from launcher.transfer.sending import send
from launcher.transfer.writing import BUSY

_TOLD = 20  # names of files that were skipped or lost
HEARD = 5.0  # seconds, in which the agent of a connection that was lost hears of it, too


def upload(
    desk: Desk, top: Path, source: tuple[str, str], target: Remote,
    stays: Callable[[str, bool], bool] = nothing_stays,
) -> None:  # fmt: skip
    """Copy a file or directory of this machine, or a directory's content but for what stays, to the volume."""
    base, first = source
    with _tree(top) as tree:
        _need(tree, base, first)
        progress = CopyProgress(quiet=desk.terminal.quiet)

        def say(channel: Channel) -> Count:
            tree.forget()
            progress.begin()
            channel.put("receive", target=target.path, inside=target.inside or not target.path)
            return send(tree, base, first, channel, progress, stays)

        with visit(desk, target) as made:
            count = _through(made, say, progress)
    _told(desk, count, progress, target.told)


def download(desk: Desk, source: Remote, target: str) -> None:
    """Copy a file or directory of the volume to this machine."""
    top, name, inside = landing(target)
    with _tree(top) as tree:
        progress = CopyProgress(quiet=desk.terminal.quiet)
        base, first = source.source

        def say(channel: Channel) -> Count:
            tree.forget()
            progress.begin()
            channel.put("send", base=base, first=first)
            return receive(tree, name, channel, progress, inside=inside)

        with visit(desk, source) as made:
            count = _through(made, say, progress)
    _told(desk, count, progress, target)


def landing(target: str) -> tuple[Path, str, bool]:
    """Return the directory that is there, the path below it where files go, and whether they go into that."""
    if ".." in target.split("/"):
        raise Mistyped(f"{shown(target)}: `..` is not allowed in dest: change to the directory that contains it")
    path = Path(target)
    if path.is_dir():
        return path, "", True
    top = path.parent
    while not top.is_dir():
        if top.exists() or top.parent == top:
            raise Problem(f"{shown(target)}: {shown(str(top))} is not a directory")
        top = top.parent
    return top, path.relative_to(top).as_posix(), target.endswith("/")


def _through(made: Visit, say: Callable[[Channel], Count], progress: CopyProgress) -> Count:
    """Copy; where the connection is lost, go on in the same pod."""

    def attempt() -> Count:
        with made.speaking() as channel:
            return say(channel)

    def passes(state: tenacity.RetryCallState) -> bool:
        error = state.outcome and state.outcome.exception()
        # The agent of a lost connection may still have the lock of what it wrote.
        busy = isinstance(error, Problem) and BUSY in str(error) and state.attempt_number > 1
        return busy or isinstance(error, Broken)

    def wait(state: tenacity.RetryCallState) -> float:
        return 0 if state.outcome and isinstance(state.outcome.exception(), Broken) else HEARD

    def before_sleep(state: tenacity.RetryCallState) -> None:
        progress.clear()
        if state.outcome and isinstance(state.outcome.exception(), Broken):
            made.desk.terminal.note(f"{state.outcome.exception()}; continuing from there")

    retrying = tenacity.Retrying(
        retry=passes,
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=wait,
        before_sleep=before_sleep,
        reraise=True,
    )
    try:
        return retrying(attempt)
    except Broken as broken:
        raise Problem(f"{broken}; run the command again: it continues from there") from None
    finally:
        progress.clear()


def _told(desk: Desk, count: Count, progress: CopyProgress, where: str) -> None:
    progress.clear()
    for sentence in count.skipped[: _TOLD + 1]:  # the last of them says how many there are
        desk.terminal.warn(f"not copied: {shown(sentence)}")
    if count.unfinished:
        begun = f"{where}: {count.unfinished} of the files begun there are incomplete"
        desk.terminal.warn(f"{begun}: copy them again, or the next copy after a day removes them")
    if count.lost:
        more = f"\nand {len(count.lost) - _TOLD} more" if count.lost[_TOLD:] else ""
        raise Problem("\n".join(map(shown, count.lost[:_TOLD])) + more)
    desk.terminal.note(progress.summary(count, where))


def _tree(top: Path) -> Tree:
    try:
        return Tree(str(top), TransferError)
    except TransferError as trouble:
        raise Problem(str(trouble)) from None


def _need(tree: Tree, base: str, first: str) -> None:
    """See that there is something to copy, before a pod is made for it."""
    path = "/".join(filter(None, (base, first)))
    try:
        there = tree.status(path)
        if there is not None and not first:
            tree.directory(base)
    except TransferError as trouble:
        raise Problem(str(trouble)) from None
    if there is None:
        raise Problem(f"{shown(path)} does not exist: expected a file or a directory below the current one")
