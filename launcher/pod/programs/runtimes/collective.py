"""Programs without pservers: a command that finds its rank and its peers by what its framework reads.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from launcher.contract import TRACKER_LOG, Code, trainer_log
from launcher.pod.peers.roster import Roster
from launcher.pod.programs import plan as plans
from launcher.pod.programs.plan import Plan, Program, Resume
from launcher.pod.programs.runtimes import torch_error, xgboost_tracker
from launcher.pod.programs.runtimes.frameworks import FRAMEWORKS, Place
from launcher.pod.settings.nouns import Role, Settings


def plan(settings: Settings, roster: Roster, resume: Resume | None, generation: int, devices: int) -> Plan:
    """Return the command, as often as this pod runs it, each time with what its framework reads.

    `devices` are the accelerators that this pod sees.
    """
    framework = FRAMEWORKS[settings.runtime]
    places = [_place(settings, roster, generation, devices, local) for local in range(settings.processes)]
    trainers = [
        Program(
            role=Role.TRAINER,
            rank=place.rank,
            local=place.local,
            argv=settings.command + settings.flags.words,
            env=plans.identity(roster, place.local, place.processes)
            | framework.variables(place)
            | plans.resuming(resume),
            defaults=framework.defaults(place),
            log=trainer_log(place.local),
            ports=framework.ports(place),
            files=framework.written(place),
        )
        for place in places
    ]
    tracker = _tracker(settings.command, places[0]) if framework.tracked and places[0].rank == 0 else None
    return plans.plan(roster, pserver=tracker, trainers=trainers)


def _tracker(command: Sequence[str], place: Place) -> Program:
    """Return XGBoost's tracker: to the gang it is as a pserver, there before every trainer and until all are done."""
    named = (word for word in command if PurePosixPath(word).name.startswith("python"))
    asked = (place.addresses[0], place.port, place.size, Code.CANNOT_START)
    return Program(
        role=Role.PSERVER,
        title="tracker",
        rank=place.rank,
        argv=(next(named, "python3"), xgboost_tracker.__file__, *map(str, asked)),
        env={},
        log=TRACKER_LOG,
        ports=(place.port,),
    )


def _place(settings: Settings, roster: Roster, generation: int, devices: int, local: int) -> Place:
    return Place(
        node=roster.rank,
        local=local,
        processes=settings.processes,
        addresses=tuple(peer.address for peer in roster.trainers),
        port=settings.ports.met_in(generation, settings.processes),
        interface=settings.ports.nic,
        devices=devices,
        run=settings.job_uid or settings.job or "job",
        generation=generation,
        restarts=settings.max_restarts,
        error_file=str(settings.workdir / torch_error.told_in(local)),
    )
