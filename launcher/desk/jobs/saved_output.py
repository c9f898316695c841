"""What a job left on its volume: where that is, its log files, the events of its gang, and the page made of them.

What copies files is imported when it is used: most commands, and every `--help`, do without.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launcher import contract
from launcher.desk.config.datacenters import Datacenter, Storage
from launcher.desk.errors import Problem
from launcher.desk.jobs.lookup import JobGang
from launcher.desk.session import Desk
from launcher.job.places import SECOND
from launcher.job.values import LogLine
from launcher.kube.objects import text_at
from launcher.text import shown, split_lines, visible

if TYPE_CHECKING:
    from launcher.desk.files.list import FileRow
    from launcher.desk.files.paths import Remote
    from launcher.desk.files.visit import Visit
    from launcher.report.story import Story
    from launcher.transfer.channel import Channel

LOGS = {contract.TRAIN_LOG: contract.TRAINER, contract.SERVER_LOG: contract.PSERVER}
_LONGEST = 1 << 20  # bytes of a line; more than that comes in pieces
_PIECE = 1 << 16


def saved_logs(
    desk: Desk, gang: JobGang, wanted: Callable[[str, int], bool], tail: int | None = None
) -> Iterator[LogLine]:
    """Yield the lines of a job's log files, which outlive its pods, or the last ones of each."""
    place = output(gang, desk.datacenter)
    desk.terminal.note(f"{gang.told()} and its pods are gone; its log files are in {place.told}")
    some = False
    for (role, rank, who), lines in groupby(_logs(desk, gang, wanted), key=lambda found: found[:3]):
        some = True
        for *_, line in lines if tail is None else deque(lines, tail):
            yield LogLine(role=role, rank=rank, pod="", text=who + line.decode(errors="replace"))
    if not some:
        raise Problem(f"job {gang.name} has no such log files on its volume")


def report(desk: Desk, gang: JobGang, page: Path) -> None:
    """Make the page of a gang's story from the events on the volume, and from the passes and logs beside them."""
    from launcher.desk.files.visit import visit
    from launcher.report.page import page as made

    place = output(gang, desk.datacenter)
    with visit(desk, place, image=agent_image(gang)) as there:
        story, trouble = _story(there, place.path)
    if story is None:
        raise Problem(f"no event of job {gang.name} can be read, so there is no page")
    if trouble:
        desk.terminal.warn(f"the page is made of the events alone: the passes and logs cannot be read: {trouble}")
    try:
        page.write_text(made(story, contract.EVENTS, _asked(desk, gang)), encoding="utf-8")
    except OSError as error:
        raise Problem(f"{page} cannot be written: {(error.strerror or str(error)).lower()}") from None
    desk.terminal.out(f"{page}\n")


class SavedEvents:
    """The events of jobs on their volumes; each volume is visited once, by a pod that stays until all is read."""

    def __init__(self, desk: Desk, stack: ExitStack) -> None:
        self._desk = desk
        self._stack = stack
        self._visits: list[Visit] = []

    def of(self, gang: JobGang) -> Iterator[bytes]:
        """Yield the lines of a job's events."""
        from launcher.desk.files.list import file_content
        from launcher.desk.files.visit import visit

        place = output(gang, self._desk.datacenter)
        there = next((each for each in self._visits if each.place.storage == place.storage), None)
        if there is None:
            there = self._stack.enter_context(visit(self._desk, place, image=agent_image(gang)))
            self._visits.append(there)
        with there.once() as channel:
            yield from split_lines(file_content(channel, f"{place.path}/{contract.EVENTS}"), _LONGEST)


def local_events(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file of events, or of the one in a job's output, or below a job's directory."""
    inside = (path / contract.EVENTS, path / contract.OUTPUT / contract.EVENTS)
    place = next((each for each in inside if each.is_file()), path)
    try:
        with place.open("rb") as file:
            yield from split_lines(iter(lambda: file.read(_PIECE), b""), _LONGEST)
    except IsADirectoryError:
        raise Problem(f"{shown(path)} has no {contract.EVENTS}: expected a job's output") from None
    except OSError as error:
        raise Problem(f"{shown(place)} cannot be read: {(error.strerror or str(error)).lower()}") from None


def _story(there: Visit, path: str) -> tuple[Story | None, str]:
    """Return what the events tell, with what the output has beside them, or without it and the reason."""
    from launcher.desk.files.list import file_content
    from launcher.report.reading import read_events
    from launcher.report.story import read_story

    story = None
    try:
        with there.once() as channel:
            pieces = file_content(channel, f"{path}/{contract.EVENTS}")
            story = read_story(read_events(split_lines(pieces, _LONGEST)))
            return (_with_output(story, channel, path) if story else None), ""
    except Problem as problem:
        if story is None:
            raise
        return story, str(problem)


def _with_output(story: Story, channel: Channel, path: str) -> Story:
    """Return a story with the passes that were saved and, of programs that report nothing, what their logs tell."""
    from launcher.desk.files.list import rows_of_each
    from launcher.report.passes import logged
    from launcher.report.story import with_output

    (rows,) = rows_of_each(channel, [path])
    saved = _numbered(rows, contract.PASS_PREFIX)
    found = rows_of_each(channel, [f"{path}/{row.name}" for _, row in saved])
    whole = ((number, each) for (number, _), inside in zip(saved, found, strict=True) for each in inside)
    times = {number: float(each.time) for number, each in whole if each.name == contract.DONE_FILE}
    trainers = _lines_of(channel, path, rows, lambda role, _: role == contract.TRAINER and not story.progress)
    told = (
        each
        for rank, lines in groupby(trainers, key=lambda line: line[1])
        for each in logged(rank, (text for *_, text in lines))
    )
    return with_output(story, logged=told, saved=times)


def _asked(desk: Desk, gang: JobGang) -> dict[str, str]:
    """Return what the gang's leader does not know; not the entry, in which a secret may be: the leader hid it."""
    found = {name: gang.lead.spec.get(name) for name in ("image", "datacenter")}
    return {name: visible(value) for name, value in found.items() if value} | {"namespace": desk.api.namespace}


def _logs(desk: Desk, gang: JobGang, wanted: Callable[[str, int], bool]) -> Iterator[tuple[str, int, str, bytes]]:
    """Yield role, rank, who said it and each line of a job's log files, of those that are wanted."""
    from launcher.desk.files.list import rows_of_each
    from launcher.desk.files.visit import visit

    place = output(gang, desk.datacenter)
    with visit(desk, place, image=agent_image(gang)) as there, there.once() as channel:
        (rows,) = rows_of_each(channel, [place.path])
        yield from _lines_of(channel, place.path, rows, wanted)


def _lines_of(
    channel: Channel, path: str, rows: Sequence[FileRow], wanted: Callable[[str, int], bool]
) -> Iterator[tuple[str, int, str, bytes]]:
    """Yield role, rank, who said it and each line of the log files below an output whose entries are known.

    Who said it stands before each line of a pod's output, too, where several trainers share it; else it is nothing.
    """
    from launcher.desk.files.list import file_content, rows_of_each

    nodes = [
        each for each in _numbered(rows, contract.NODE_PREFIX) if any(wanted(role, each[0]) for role in LOGS.values())
    ]
    found = tuple(rows_of_each(channel, [f"{path}/{node.name}" for _, node in nodes]))
    for (rank, node), inside in zip(nodes, found, strict=True):
        logs = sorted(log for row in inside if row.kind == "-" and (log := _log_of(row.name)))
        count = sum(role == contract.TRAINER for role, *_ in logs)
        for role, local, name in logs:
            if wanted(role, rank):
                who = f"[{role} {rank * count + local}] " if role == contract.TRAINER and count > 1 else ""
                pieces = file_content(channel, f"{path}/{node.name}/{name}")
                yield from ((role, rank, who, line) for line in split_lines(pieces, _LONGEST))


def _log_of(name: str) -> tuple[str, int, str] | None:
    """Return the role of a log file, the number of its program in the pod, and the name; None for another file."""
    if role := LOGS.get(name):
        return role, 0, name
    number = re.fullmatch(r"train-([1-9]\d{0,8})\.log", name, re.ASCII)
    return (contract.TRAINER, int(number[1]), name) if number else None


def output(gang: JobGang, datacenter: Datacenter) -> Remote:
    """Return where a job's output is: on the claim that it said, or on its user's volume."""
    from launcher.desk.files.paths import Remote

    spec = gang.lead.spec
    directory = spec.get("job_path")
    if not isinstance(directory, str) or not directory:
        raise Problem(f"{gang.told()}; it had no volume, so its output is gone")
    top, storage = _behind(spec, directory, datacenter)
    below = "/".join(filter(None, (directory[len(top) :].strip("/"), gang.name, contract.OUTPUT)))
    return Remote(top=top, path=below, storage=storage, read_only=True, inside=True)


def _behind(spec: Mapping[str, Any], directory: str, datacenter: Datacenter) -> tuple[str, Storage]:
    """Return where the volume was in the job's pods, and what it is."""
    found: list[tuple[str, Storage]] = []
    for each in spec.get("volumes") or ():
        top, claim = str(each.get("mount_path", "")).rstrip("/"), str(each.get("claim") or "")
        if claim and f"{directory}/".startswith(f"{top}/"):
            found.append((top, Storage(claim=claim, path=str(each.get("sub_path") or ""))))
    homes = [f"/pfs/{datacenter.name}/{kind}/{datacenter.username}" for kind in ("home", "user")]
    for top in (*homes, SECOND):
        if datacenter.volume and f"{directory}/".startswith(f"{top}/"):
            found.append((top, datacenter.volume))
    if not found:
        raise Problem(f"its output is in {directory}, on a volume that is neither a claim nor the datacenter's")
    return found[0]


def agent_image(gang: JobGang) -> str:
    """Return the image of a job that has the launcher: its own, or the one that brought it into its pods."""
    spec = gang.lead.spec
    return text_at(spec, "launcher") or text_at(spec, "image")


def _numbered(rows: Sequence[FileRow], prefix: str) -> Sequence[tuple[int, FileRow]]:
    """Return the directories that are named by a number, in its order."""
    found = ((re.fullmatch(rf"{prefix}(\d{{1,9}})", row.name, re.ASCII), row) for row in rows if row.kind == "d")
    return sorted(((int(number[1]), row) for number, row in found if number), key=lambda each: each[0])
