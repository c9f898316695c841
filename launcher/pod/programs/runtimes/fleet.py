"""Paddle 2.x parameter servers: one command, told by its environment which part it plays.

No I/O here. Without PADDLE_PSERVERS_IP_PORT_LIST Paddle trains alone and says nothing, so it is always there.
"""

from __future__ import annotations

from launcher.contract import SERVER_LOG, TRAIN_LOG
from launcher.pod.peers.roster import Roster
from launcher.pod.programs import plan as plans
from launcher.pod.programs.plan import Plan, Program, Resume
from launcher.pod.settings.nouns import Role, Settings


def plan(settings: Settings, roster: Roster, resume: Resume | None, generation: int) -> Plan:
    """Return the command as a pserver and as a trainer."""
    port = settings.ports.of_generation(generation)
    shared = plans.identity(roster) | {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(plans.endpoint(peer.address, port) for peer in roster.pservers),
        "PADDLE_TRAINERS_NUM": str(len(roster.trainers)),
        # A pserver listens at exactly POD_IP:PADDLE_PORT, and that must stand in the list letter for letter.
        "PADDLE_PORT": str(port),
    }
    argv = settings.command + settings.flags.words
    pserver = Program(
        role=Role.PSERVER,
        rank=roster.rank,
        argv=argv,
        env=shared | {"TRAINING_ROLE": "PSERVER"},
        log=SERVER_LOG,
        ports=(port,),
    )
    mine = {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(roster.rank)} | plans.resuming(resume)
    trainer = Program(role=Role.TRAINER, rank=roster.rank, argv=argv, env=shared | mine, log=TRAIN_LOG)
    return plans.plan(roster, pserver=pserver, trainers=(trainer,))
