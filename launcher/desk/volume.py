"""What is asked of a datacenter's volume: the one place where the other verbs meet PFS."""

from __future__ import annotations

from pathlib import Path

from launcher.desk.gangs import Gang
from launcher.desk.opening import Desk
from launcher.desk.problem import Problem


def upload(desk: Desk, directory: Path, target: str) -> None:
    """Copy a directory of this machine to a place below /pfs."""
    raise Problem(
        f"{directory} is on this machine, and there is no way yet to bring it to {target} "
        f"of {desk.datacenter.name or 'the cluster'}: put it on the volume, and name it by its path there, /pfs/..."
    )


def show_logs(desk: Desk, gang: Gang) -> None:
    """Show a job's log files, which outlive its pods."""
    raise Problem(f"{gang.told()} and has no pods any more: {kept(desk, gang)}")


def report(desk: Desk, gang: Gang, page: Path) -> None:
    """Make the page of a gang's story from the events on the volume."""
    raise Problem(
        f"{page} cannot be made from here yet: {kept(desk, gang)}; `python -m launcher.report` makes it there"
    )


def kept(desk: Desk, gang: Gang) -> str:
    """Return where what a job wrote is to be found."""
    place = gang.lead.spec.get("job_path")
    if not place:
        return "it had no volume, so that nothing of it is kept"
    where = f" of {desk.datacenter.name}" if desk.datacenter.name else ""
    return f"its logs and events are on the volume{where}, in {place}/{gang.name}/output"
