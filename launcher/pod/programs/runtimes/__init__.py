"""How each runtime is started: pure functions from settings and roster to a plan.

No I/O here.
"""

from __future__ import annotations

from launcher.pod.peers.roster import Roster
from launcher.pod.programs.plan import Plan, Resume
from launcher.pod.programs.runtimes import env, fleet, v1
from launcher.pod.settings.nouns import Runtime, Settings

_PLANS = {Runtime.V1: v1.plan, Runtime.FLEET: fleet.plan, Runtime.ENV: env.plan}


def plan_for(settings: Settings, roster: Roster, resume: Resume | None = None, generation: int = 1) -> Plan:
    """Return what this pod runs in a generation; resume says where training goes on, None that it starts afresh."""
    return _PLANS[settings.runtime](settings, roster, resume, generation)
