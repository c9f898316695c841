"""Paddle's v1 command line: `paddle pserver` and `paddle train`, flag for flag as start_paddle always gave them.

No I/O here.
"""

from __future__ import annotations

from launcher.contract import OUTPUT, SERVER_LOG, TRAIN_LOG
from launcher.pod.peers.roster import Roster
from launcher.pod.programs import plan as plans
from launcher.pod.programs.plan import Plan, Program, Resume
from launcher.pod.settings.nouns import Role, Settings

NIC = "eth0"  # where nobody says which
COMMENT = "paddle_process_by_paddle"


def plan(settings: Settings, roster: Roster, resume: Resume | None, _generation: int) -> Plan:
    """Return a v1 pserver and trainer."""
    env = plans.identity(roster)
    ports = settings.ports
    pserver = Program(
        role=Role.PSERVER,
        rank=roster.rank,
        argv=_pserver(settings, roster),
        env=env,
        log=SERVER_LOG,
        ports=tuple(range(ports.first, ports.last + 1)),
    )
    trainer = Program(
        role=Role.TRAINER, rank=roster.rank, argv=_trainer(settings, roster, resume), env=env, log=TRAIN_LOG
    )
    return plans.plan(roster, pserver=pserver, trainers=(trainer,))


def _pserver(settings: Settings, roster: Roster) -> tuple[str, ...]:
    ports = settings.ports
    return (
        "paddle",
        "pserver",
        f"--nics={ports.nic or NIC}",
        f"--port={ports.first}",
        f"--ports_num={ports.dense}",
        f"--ports_num_for_sparse={ports.sparse}",
        f"--num_gradient_servers={len(roster.trainers)}",
        f"--comment={COMMENT}",
    )


def _trainer(settings: Settings, roster: Roster, resume: Resume | None) -> tuple[str, ...]:
    ports = settings.ports
    own = (
        "paddle",
        "train",
        f"--nics={ports.nic or NIC}",
        f"--port={ports.first}",
        f"--ports_num={ports.dense}",
        f"--comment={COMMENT}",
        "--pservers=" + ",".join(peer.address for peer in roster.pservers),
        f"--num_gradient_servers={len(roster.trainers)}",
    )
    last = (f"--trainer_id={roster.rank}", f"--save_dir={settings.job_dir}/{OUTPUT}")
    return own + _unless_given(settings) + _flags(settings, resume) + last + _start(resume)


def _unless_given(settings: Settings) -> tuple[str, ...]:
    """Return the flags that a trainer needs to be one of many; `--local` is 1 by default, and trains alone."""
    defaults = {"ports_num_for_sparse": str(settings.ports.sparse), "local": "0"}
    if settings.threads:
        defaults["trainer_count"] = str(settings.threads)
    return tuple(f"--{name}={value}" for name, value in defaults.items() if name not in settings.flags.names)


def _flags(settings: Settings, resume: Resume | None) -> tuple[str, ...]:
    """Return the user's flags; where training goes on overrides where the user would have started."""
    if resume is None:
        return settings.flags.words
    return tuple(word for word in settings.flags.words if word.partition("=")[0] != "--start_pass")


def _start(resume: Resume | None) -> tuple[str, ...]:
    return () if resume is None else (f"--start_pass={resume.start_pass}",)
