"""The role of a process among pservers and trainers, by the variables of Paddle 2.x's fleet.

Without its list of pservers Paddle silently trains alone, even as a pserver: here that is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from launcher.bridge.failure import SETTINGS, TrainingFailure

ENDPOINT = re.compile(r"[A-Za-z0-9.-]+:\d{1,5}")
# Set by the launcher's runtime `fleet`, and only by it.
SERVERS = "PADDLE_PSERVERS_IP_PORT_LIST"
# Defaults; the environment may override them. More threads each would only take the cores from each other.
QUIET = {
    "PADDLE_NO_STAT": "1",  # without it, the wheel reports each start to its home server
    "GLOG_minloglevel": "2",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class FleetRole:
    """A pserver or a trainer, its rank among those, and all pservers' endpoints; training alone has none."""

    serves: bool = False
    rank: int = 0
    trainers: int = 1
    pservers: tuple[str, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether there are no parameter servers."""
        return not self.pservers

    @property
    def leads(self) -> bool:
        """Whether this trainer acts for all: it sends the first weights, saves, and stops the pservers."""
        return not self.serves and self.rank == 0

    def environment(self) -> dict[str, str]:
        """Return Paddle's own variables; gloo is off, since its barriers hang or crash when a rank dies."""
        host, _, port = (self.pservers[self.rank] if self.serves else "127.0.0.1:0").rpartition(":")
        return {
            "TRAINING_ROLE": "PSERVER" if self.serves else "TRAINER",
            "PADDLE_TRAINER_ID": str(0 if self.serves else self.rank),
            "PADDLE_TRAINERS_NUM": str(self.trainers),
            SERVERS: ",".join(self.pservers),
            # A pserver's must stand in the list letter for letter; a trainer's must exist and is not used.
            "POD_IP": host,
            "PADDLE_PORT": port,
            "PADDLE_WITH_GLOO": "0",
        }


def fleet_role(environ: Mapping[str, str]) -> FleetRole:
    """Return the role from the environment; without any variable it is training alone."""
    trainers = _number(environ, "PADDLE_TRAINERS_NUM" if environ.get(SERVERS) else "TRAINERS", default="1")
    if not environ.get(SERVERS):
        if trainers > 1 or environ.get("TRAINING_ROLE", "TRAINER") != "TRAINER":
            raise TrainingFailure(
                SETTINGS,
                f"{SERVERS} is not set, but this is one process of several, and each would train alone: "
                "set LAUNCHER_RUNTIME=fleet for the launcher",
            )
        return FleetRole()
    pservers = tuple(environ[SERVERS].split(","))
    for each in pservers:
        if not ENDPOINT.fullmatch(each):
            raise TrainingFailure(
                SETTINGS, f"{SERVERS} has {each!r}: expected address:port; Paddle 2.6.2 knows no IPv6"
            )
    serves = _serves(environ)
    rank = _own(environ, pservers) if serves else _number(environ, "PADDLE_TRAINER_ID")
    if not serves and rank >= trainers:
        raise TrainingFailure(
            SETTINGS, f"PADDLE_TRAINER_ID is {rank}: expected 0 to {trainers - 1} by PADDLE_TRAINERS_NUM"
        )
    return FleetRole(serves=serves, rank=rank, trainers=trainers, pservers=pservers)


def _serves(environ: Mapping[str, str]) -> bool:
    role = environ.get("TRAINING_ROLE", "")
    if role not in ("PSERVER", "TRAINER"):
        raise TrainingFailure(SETTINGS, f"TRAINING_ROLE is {role!r}: expected PSERVER or TRAINER")
    return role == "PSERVER"


def _own(environ: Mapping[str, str], pservers: tuple[str, ...]) -> int:
    own = f"{environ.get('POD_IP', '')}:{environ.get('PADDLE_PORT', '')}"
    if own not in pservers:
        raise TrainingFailure(
            SETTINGS, f"POD_IP:PADDLE_PORT is {own}: expected one of {SERVERS}={','.join(pservers)}"
        )
    return pservers.index(own)


def _number(environ: Mapping[str, str], name: str, default: str = "") -> int:
    text = environ.get(name) or default
    if not (text.isdecimal() and len(text) < 7):
        raise TrainingFailure(SETTINGS, f"{name} is {text!r}: expected a whole number")
    return int(text)
