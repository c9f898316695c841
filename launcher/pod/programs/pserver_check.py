"""Looks at a pserver once every trainer is done: a training whose pserver was dead or frozen by then did not succeed.

The kernel's word at this moment counts: a death that is not collected yet, a process that was stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

from launcher.contract import Code
from launcher.pod.outcome import Outcome
from launcher.pod.programs.policy import Child
from launcher.pod.programs.processes import family

_STOPPED, _DEAD = frozenset("Tt"), frozenset("ZXx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """How a pserver is; neither well nor failed: it has ended, and its end is not known yet."""

    well: bool = False
    failure: Outcome | None = None


def look_at(pserver: Child) -> Checked:
    """Return how a pserver is now; one that ended with 0 let its trainers go, as fleet's do."""
    if not pserver.running:
        return Checked(well=pserver.code == 0 and pserver.told is None)
    states = {process.pid: process.state for process in family(pserver.pid)}
    if states.get(pserver.pid, "X") in _DEAD:
        return Checked()
    if _STOPPED.intersection(states.values()):
        reason = f"{pserver.name} was found stopped when every trainer was done"
        return Checked(failure=Outcome(code=Code.GANG, reason=reason, tail=pserver.tail))
    return Checked(well=True)
