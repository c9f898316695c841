"""Any command that reads its rank from the environment: torch.distributed, and whatever is like it.

No I/O here. One process a pod, no pservers.
"""

from __future__ import annotations

from launcher.contract import TRAIN_LOG
from launcher.pod.peers.roster import Roster
from launcher.pod.programs import plan as plans
from launcher.pod.programs.plan import Plan, Program, Resume
from launcher.pod.settings.nouns import Role, Settings


def plan(settings: Settings, roster: Roster, resume: Resume | None, _generation: int) -> Plan:
    """Return the command with its rank, and where the first of all can be met."""
    env = plans.identity(roster) | {
        "RANK": str(roster.rank),
        "WORLD_SIZE": str(len(roster.trainers)),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": roster.trainers[0].address,
        "MASTER_PORT": str(settings.ports.first),
    }
    trainer = Program(
        role=Role.TRAINER,
        rank=roster.rank,
        argv=settings.command + settings.flags.words,
        env=env | plans.resuming(resume),
        log=TRAIN_LOG,
    )
    return plans.plan(roster, pserver=None, trainer=trainer)
