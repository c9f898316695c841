"""What is asked of a datacenter's volume: the one place where the other verbs meet PFS."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from launcher.desk.errors import Problem
from launcher.desk.jobs.lookup import Gang
from launcher.desk.session import Desk


def upload(desk: Desk, directory: Path, target: str) -> None:
    """Copy a directory of this machine to a place below /pfs."""
    from launcher.desk.files import paths, places

    places.copies()
    from launcher.desk.files import copy

    desk, (place,) = places.found(desk, (target,))
    copy.upload(desk, directory, ("", ""), paths.written(place))


def show_logs(desk: Desk, gang: Gang, wanted: Callable[[str, int], bool], tail: int | None = None) -> None:
    """Show a job's log files, which outlive its pods, or the last lines of each."""
    from launcher.desk.jobs import saved_output

    place = saved_output.output(gang, desk.datacenter)
    desk.voice.note(f"{gang.told()} and has no pods any more; its log files are in {place.told}")
    some = False
    for (role, rank), lines in groupby(saved_output.logs(desk, gang, wanted), key=lambda found: found[:2]):
        some = True
        before = desk.voice.coloured(f"{role}-{rank} | ", rank)
        for *_, line in lines if tail is None else deque(lines, tail):
            desk.voice.out(f"{before}{line.decode(errors='replace')}\n")
    if not some:
        raise Problem(f"job {gang.name} has written nothing of that to its volume")


def report(desk: Desk, gang: Gang, page: Path) -> None:
    """Make the page of a gang's story from the events on the volume."""
    from launcher.desk.jobs import saved_output
    from launcher.report.page import page as made
    from launcher.report.reading import read
    from launcher.report.story import tell

    story = tell(read(saved_output.events(desk, gang)))
    if story is None:
        raise Problem(f"no event of job {gang.name} can be read: there is no page to make")
    try:
        page.write_text(made(story, f"job {gang.name}"), encoding="utf-8")
    except OSError as error:
        raise Problem(f"{page} cannot be written: {(error.strerror or str(error)).lower()}") from None
    desk.voice.out(f"{page}\n")
