"""`paddle pserver`: holds its part of the parameters of the config's network until the trainers are done."""

from __future__ import annotations

import os
from pathlib import Path

from launcher.bridge import config as configs
from launcher.bridge.engine import Session
from launcher.bridge.servers import check_port
from launcher.bridge.v1 import extra_ports, role
from launcher.bridge.v1.flags import Flags
from launcher.bridge.v1.log import Log

CONFIG = "trainer_config.py"


def serve(flags: Flags, log: Log) -> None:
    """Serve until trainer 0 says that all is done."""
    place = role.pserver(flags, os.environ)
    session = Session(place)  # first of all: it tells with a sentence where Paddle or numpy is missing
    config = configs.load(Path(flags.config or CONFIG))
    session.minimize(config.network(session, None).cost, config.learning_rate)
    endpoint = place.pservers[place.rank]
    others = range(flags.port + 1, flags.last_port + 1)
    for port in others:
        check_port(f"{endpoint.rpartition(':')[0]}:{port}")
    open_beside = extra_ports.beside(endpoint, others)
    log.tell(f"pserver {place.rank} of {len(place.pservers)} serves {place.trainers} trainers at {endpoint}")
    session.serve()
    if open_beside:
        open_beside.communicate()
    log.tell("every trainer is done")
