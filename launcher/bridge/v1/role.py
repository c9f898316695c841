"""The role of a v1 process: pservers by `--pservers` and `--port`, itself by `--trainer_id` or its address."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Callable, Mapping

from launcher.bridge.failure import SETTINGS, TrainingFailure
from launcher.bridge.fleet_role import ENDPOINT, FleetRole
from launcher.bridge.v1.flags import V1Flags

SIOCGIFADDR = 0x8915
LOOPBACK = "127.0.0.1"


def address_of(nics: str) -> str:
    """Return the address of the first of these interfaces that this machine has, nothing if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for nic in filter(None, nics.split(",")):
            try:
                found = fcntl.ioctl(asking, SIOCGIFADDR, struct.pack("256s", nic.encode()[:15]))
            except OSError:
                continue
            return socket.inet_ntoa(found[20:24])
    return ""


def is_here(host: str) -> bool:
    """Return whether an address is one of this machine's."""
    try:
        socket.create_server((host, 0)).close()
    except OSError:
        return False
    return True


def trainer_role(flags: V1Flags, environ: Mapping[str, str]) -> FleetRole:
    """Return a trainer's role: alone by `--local`, else among pservers."""
    if flags.local:
        return FleetRole()
    if flags.num_gradient_servers > 1 and not environ.get("LAUNCHER_HERE"):
        raise TrainingFailure(
            SETTINGS,
            f"--num_gradient_servers={flags.num_gradient_servers}: several trainers need a launcher: "
            "start them by start_paddle, or set --num_gradient_servers=1",
        )
    hosts = _listed(flags, environ) or (_own(flags, environ, address_of),)
    return FleetRole(rank=flags.trainer_id, trainers=flags.num_gradient_servers, pservers=_endpoints(hosts, flags))


def pserver_role(
    flags: V1Flags,
    environ: Mapping[str, str],
    address_of: Callable[[str], str] = address_of,
    is_here: Callable[[str], bool] = is_here,
) -> FleetRole:
    """Return a pserver's role: its position in the list, or the only one."""
    own = _own(flags, environ, address_of)
    listed = _listed(flags, environ) or (own,)
    mine = [own] if own in listed else [] if environ.get("POD_IP") else [host for host in listed if is_here(host)]
    if len(mine) != 1:
        here = " and ".join(mine) or own
        raise TrainingFailure(
            SETTINGS,
            f"this machine is {here}, the pservers are {','.join(listed)}: expected exactly one of them to be this "
            "machine: set POD_IP, or name its interface by --nics",
        )
    return FleetRole(
        serves=True,
        rank=listed.index(mine[0]),
        trainers=flags.num_gradient_servers,
        pservers=_endpoints(listed, flags),
    )


def _listed(flags: V1Flags, environ: Mapping[str, str]) -> tuple[str, ...]:
    text = flags.pservers or environ.get("PADDLE_INIT_PSERVERS") or ""
    return tuple(host for host in text.split(",") if host)


def _own(flags: V1Flags, environ: Mapping[str, str], address_of: Callable[[str], str]) -> str:
    return environ.get("POD_IP") or address_of(flags.nics) or LOOPBACK


def _endpoints(hosts: tuple[str, ...], flags: V1Flags) -> tuple[str, ...]:
    endpoints = tuple(f"{host}:{flags.port}" for host in hosts)
    for host, endpoint in zip(hosts, endpoints):  # noqa: B905  # Python 3.8
        if not ENDPOINT.fullmatch(endpoint):
            raise TrainingFailure(
                SETTINGS, f"the pserver {host!r}: expected an IPv4 address or a name; Paddle knows no IPv6"
            )
    if len(set(hosts)) != len(hosts):
        raise TrainingFailure(SETTINGS, f"the pservers are {','.join(hosts)}: expected each of them once")
    return endpoints
