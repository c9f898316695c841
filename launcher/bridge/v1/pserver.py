"""`paddle pserver`: holds its part of the parameters of the config's network until the trainers are done."""

from __future__ import annotations

import os
from pathlib import Path

from launcher.bridge import config as configs
from launcher.bridge.engine import Session
from launcher.bridge.servers import check_port
from launcher.bridge.v1 import extra_ports
from launcher.bridge.v1.flags import V1Flags
from launcher.bridge.v1.log import V1Log
from launcher.bridge.v1.role import pserver_role

CONFIG = "trainer_config.py"


def run_pserver(flags: V1Flags, log: V1Log) -> None:
    """Serve until trainer 0 ends the training."""
    role = pserver_role(flags, os.environ)
    session = Session(role)  # first: it refuses a missing Paddle or numpy with a sentence
    config = configs.load(Path(flags.config or CONFIG))
    session.minimize(config.network(session, None).cost, config.learning_rate)
    endpoint = role.pservers[role.rank]
    others = range(flags.port + 1, flags.last_port + 1)
    for port in others:
        check_port(f"{endpoint.rpartition(':')[0]}:{port}")
    open_beside = extra_ports.beside(endpoint, others)
    log.tell(f"pserver {role.rank} of {len(role.pservers)} serves {role.trainers} trainers at {endpoint}")
    session.serve()
    if open_beside:
        open_beside.communicate()
    log.tell("every trainer is done")
