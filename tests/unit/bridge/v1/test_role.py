"""A v1 process's place: by flags, by the launcher's variables, by the machine's own addresses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from launcher.bridge.failure import SETTINGS, TrainingFailure
from launcher.bridge.fleet_role import FleetRole
from launcher.bridge.v1 import role
from launcher.bridge.v1.flags import V1Flags

THREE = "10.0.0.1,10.0.0.2,10.0.0.3"
ENDPOINTS = ("10.0.0.1:7164", "10.0.0.2:7164", "10.0.0.3:7164")
TOLD = {"PADDLE_INIT_PSERVERS": THREE, "POD_IP": "10.0.0.2", "LAUNCHER_HERE": "x:y"}


def pserver(flags: V1Flags, environ: Mapping[str, str], nics: Mapping[str, str], *own: str) -> FleetRole:
    return role.pserver_role(flags, environ, lambda nic: nics.get(nic, ""), lambda host: host in own)


@pytest.mark.parametrize(
    ("flags", "environ", "expected"),
    [
        (V1Flags(), TOLD, FleetRole()),
        (V1Flags(local=False, port=7164), {}, FleetRole(pservers=("127.0.0.1:7164",))),
        (V1Flags(local=False, port=7164), {"POD_IP": "10.0.0.9"}, FleetRole(pservers=("10.0.0.9:7164",))),
        (V1Flags(local=False, port=7164, pservers=THREE), {}, FleetRole(pservers=ENDPOINTS)),
        (V1Flags(local=False, port=7164), TOLD, FleetRole(pservers=ENDPOINTS)),
        (
            V1Flags(local=False, port=7164, pservers=THREE, trainer_id=1, num_gradient_servers=2),
            TOLD,
            FleetRole(rank=1, trainers=2, pservers=ENDPOINTS),
        ),
    ],
)
def test_a_trainer_is_told_by_its_flags(flags: V1Flags, environ: Mapping[str, str], expected: FleetRole) -> None:
    assert role.trainer_role(flags, environ) == expected


@pytest.mark.parametrize(
    ("flags", "environ", "own", "expected"),
    [
        (V1Flags(port=7164, num_gradient_servers=3), TOLD, (), FleetRole(True, 1, 3, ENDPOINTS)),
        (V1Flags(port=7164, pservers=THREE, nics="eth1"), {}, (), FleetRole(True, 2, 1, ENDPOINTS)),
        (V1Flags(port=7164, pservers=THREE), {}, ("10.0.0.1",), FleetRole(True, 0, 1, ENDPOINTS)),
        (V1Flags(port=7164, nics="eth1"), {}, (), FleetRole(True, 0, 1, ("10.0.0.3:7164",))),
        (V1Flags(port=7164, nics="none"), {}, (), FleetRole(True, 0, 1, ("127.0.0.1:7164",))),
    ],
)
def test_a_pserver_finds_itself_in_the_list(
    flags: V1Flags, environ: Mapping[str, str], own: tuple[str, ...], expected: FleetRole
) -> None:
    assert pserver(flags, environ, {"eth1": "10.0.0.3"}, *own) == expected


@pytest.mark.parametrize(
    ("flags", "environ", "own", "sentence"),
    [
        (
            V1Flags(pservers=THREE),
            {"POD_IP": "10.0.0.9"},
            ("10.0.0.1",),
            "this machine is 10.0.0.9, the pservers are",
        ),
        (
            V1Flags(pservers=THREE),
            {},
            ("10.0.0.1", "10.0.0.2"),
            "this machine is 10.0.0.1 and 10.0.0.2, the pservers",
        ),
        (V1Flags(pservers=THREE), {}, (), "this machine is 127.0.0.1, the pservers are"),
        (V1Flags(pservers="fd00::1"), {"POD_IP": "fd00::1"}, (), "the pserver 'fd00::1': expected an IPv4 address"),
        (V1Flags(pservers="10.0.0.1,10.0.0.1"), {"POD_IP": "10.0.0.1"}, (), "expected each of them once"),
    ],
)
def test_a_pserver_that_cannot_be_is_refused(
    flags: V1Flags, environ: Mapping[str, str], own: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(TrainingFailure, match=sentence) as told:
        pserver(flags, environ, {}, *own)
    assert told.value.code == SETTINGS


def test_several_trainers_without_a_launcher_are_refused_since_nothing_would_hold_them_together() -> None:
    with pytest.raises(TrainingFailure, match="several trainers need a launcher"):
        role.trainer_role(V1Flags(local=False, num_gradient_servers=2), {})


def test_this_machines_own_interface_and_addresses_are_found() -> None:
    assert role.address_of("lo") == "127.0.0.1"
    assert role.address_of("there-is-none,lo") == "127.0.0.1"
    assert role.address_of("there-is-none") == role.address_of("") == ""
    assert role.is_here("127.0.0.7")
    assert not role.is_here("192.0.2.1")
