"""How each runtime is started: pure functions from settings and roster to a plan.

No I/O here.
"""

from __future__ import annotations

from launcher.pod.peers.roster import Roster
from launcher.pod.programs.plan import Plan, Resume
from launcher.pod.programs.runtimes import collective, fleet, v1
from launcher.pod.settings.nouns import Runtime, Settings

_WITH_PSERVERS = {Runtime.V1: v1.plan, Runtime.FLEET: fleet.plan}


def plan_for(
    settings: Settings, roster: Roster, resume: Resume | None = None, generation: int = 1, *, devices: int = 0
) -> Plan:
    """Return what this pod runs in a generation; resume says where training goes on, None that it starts afresh."""
    if plan := _WITH_PSERVERS.get(settings.runtime):
        return plan(settings, roster, resume, generation)
    return collective.plan(settings, roster, resume, generation, devices)
