"""What a job left on its volume: where that is, its log files, the events of its gang, and the page made of them.

What copies files is imported when it is used: most commands, and every `--help`, do without.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
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
from launcher.text import split_lines, visible

if TYPE_CHECKING:
    from launcher.desk.files.paths import Remote

LOGS = {contract.TRAIN_LOG: contract.TRAINER, contract.SERVER_LOG: contract.PSERVER}
_LONGEST = 1 << 20  # bytes of a line; more than that comes in pieces


def saved_logs(
    desk: Desk, gang: JobGang, wanted: Callable[[str, int], bool], tail: int | None = None
) -> Iterator[LogLine]:
    """Yield the lines of a job's log files, which outlive its pods, or the last ones of each."""
    place = output(gang, desk.datacenter)
    desk.terminal.note(f"{gang.told()} and its pods are gone; its log files are in {place.told}")
    some = False
    for (role, rank), lines in groupby(_logs(desk, gang, wanted), key=lambda found: found[:2]):
        some = True
        for *_, line in lines if tail is None else deque(lines, tail):
            yield LogLine(role=role, rank=rank, pod="", text=line.decode(errors="replace"))
    if not some:
        raise Problem(f"job {gang.name} has no such log files on its volume")


def report(desk: Desk, gang: JobGang, page: Path) -> None:
    """Make the page of a gang's story from the events on the volume."""
    from launcher.report.page import page as made
    from launcher.report.reading import read_events
    from launcher.report.story import read_story

    story = read_story(read_events(_events(desk, gang)))
    if story is None:
        raise Problem(f"no event of job {gang.name} can be read, so there is no page")
    try:
        page.write_text(made(story, contract.EVENTS, _asked(desk, gang)), encoding="utf-8")
    except OSError as error:
        raise Problem(f"{page} cannot be written: {(error.strerror or str(error)).lower()}") from None
    desk.terminal.out(f"{page}\n")


def _asked(desk: Desk, gang: JobGang) -> dict[str, str]:
    """Return what the gang's leader does not know; not the entry, in which a secret may be: the leader hid it."""
    found = {name: gang.lead.spec.get(name) for name in ("image", "datacenter")}
    return {name: visible(value) for name, value in found.items() if value} | {"namespace": desk.api.namespace}


def _logs(desk: Desk, gang: JobGang, wanted: Callable[[str, int], bool]) -> Iterator[tuple[str, int, bytes]]:
    """Yield role, rank and each line of a job's log files, of those that are wanted."""
    from launcher.desk.files.list import file_content, file_rows
    from launcher.desk.files.visit import visit

    place = output(gang, desk.datacenter)
    with visit(desk, place, image=_image(gang)) as there:
        nodes = sorted(_number(row.name) for row in file_rows(there, place.path) if _number(row.name) >= 0)
        for number in nodes:
            for row in file_rows(there, f"{place.path}/{contract.node_directory(number)}"):
                if row.kind == "-" and row.name in LOGS and wanted(LOGS[row.name], number):
                    pieces = file_content(there, f"{place.path}/{contract.node_directory(number)}/{row.name}")
                    yield from ((LOGS[row.name], number, line) for line in split_lines(pieces, _LONGEST))


def _events(desk: Desk, gang: JobGang) -> tuple[bytes, ...]:
    """Return the lines of the gang's events."""
    from launcher.desk.files.list import file_content
    from launcher.desk.files.visit import visit

    place = output(gang, desk.datacenter)
    with visit(desk, place, image=_image(gang)) as there:
        return tuple(split_lines(file_content(there, f"{place.path}/{contract.EVENTS}"), _LONGEST))


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


def _image(gang: JobGang) -> str:
    image = gang.lead.spec.get("image")
    return image if isinstance(image, str) else ""


def _number(name: str) -> int:
    """Return the number of a node's directory, or -1."""
    number = name.removeprefix(contract.NODE_PREFIX)
    return int(number) if number != name and number.isascii() and number.isdecimal() and len(number) < 7 else -1
