"""Peers from a list, and no peers at all."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from launcher.pod.outcome import JoinError, SettingsError
from launcher.pod.peers import addresses, discovery, from_list
from launcher.pod.peers.roster import Roster
from launcher.pod.peers.seeking import Seeking
from launcher.pod.settings.nouns import Settings
from tests.support.names import Names
from tests.support.pods import UID, settings
from tests.support.rosters import first

LOCAL = "static:127.0.1.9,127.0.1.10,127.0.1.11"


def met(given: Settings, names: Names | None = None, *mine: str) -> Roster:
    def tell(*_: object, **__: object) -> None:
        """Nothing is asserted of what is told here."""

    if names is None:
        return first(discovery.rosters(given, tell, Seeking()))
    here = {"resolve": names.resolve, "addresses": lambda: frozenset(mine), "every": 0.02}
    return first(from_list.rosters(given, tell, Seeking(), **here))  # type: ignore[arg-type]  # as they are named


def listed(peers: str, **environ: str) -> Settings:
    return settings(LAUNCHER_PEERS=peers, **environ)


def test_three_lives_on_one_machine_are_told_apart_by_pod_ip() -> None:
    rosters = [met(listed(LOCAL, POD_IP=f"127.0.1.{last}")) for last in (9, 10, 11)]
    assert [roster.rank for roster in rosters] == [2, 0, 1]
    assert len({roster.digest for roster in rosters}) == 1
    assert [peer.address for peer in rosters[0].trainers] == ["127.0.1.10", "127.0.1.11", "127.0.1.9"]


def test_the_only_address_that_this_machine_has_is_the_own() -> None:
    own = next((each for each in sorted(addresses.local()) if not each.startswith("127.")), "127.0.0.1")
    assert met(listed(f"static:{own},198.51.100.1,198.51.100.2")).me.address == own


def test_loopback_addresses_need_pod_ip() -> None:
    with pytest.raises(SettingsError, match=r"POD_IP is not set: 127\.0\.1\.10 and 127\.0\.1\.11"):
        met(listed(LOCAL))


def test_a_list_without_this_machine_is_refused() -> None:
    with pytest.raises(SettingsError, match="LAUNCHER_PEERS has no address of this machine: add one"):
        met(listed("static:198.51.100.1,198.51.100.2,198.51.100.3"))
    with pytest.raises(
        SettingsError, match=r"POD_IP='127\.0\.1\.12': expected one of the addresses in LAUNCHER_PEERS"
    ):
        met(listed(LOCAL, POD_IP="127.0.1.12"))


def test_host_names_are_looked_up_and_sorted_by_address() -> None:
    names = Names({"c": ("10.0.0.9",), "a": ("10.0.0.10",), "b": ("10.0.0.11",)})
    roster = met(listed("static:b,c,a"), names, "10.0.0.9")
    assert [(peer.name, peer.address[-2:]) for peer in roster.trainers] == [("a", "10"), ("b", "11"), ("c", ".9")]
    assert (roster.rank, names.asked) == (2, ["b", "c", "a"])


def test_two_names_of_one_address_are_waited_for_and_told() -> None:
    names = Names({"a": ("10.0.0.9",), "b": ("10.0.0.9",), "c": ("10.0.0.10",)})
    with pytest.raises(JoinError, match=r"a and b have the same address, 10\.0\.0\.9"):
        met(listed("static:a,b,c", LAUNCHER_JOIN_TIMEOUT="0.3"), names, "10.0.0.9")


def test_roles_apart_are_two_lists() -> None:
    given = {"PSERVERS": "1", "TRAINERS": "2", "LAUNCHER_RUNTIME": "fleet", "POD_IP": "127.0.1.11"}
    roster = met(listed("static:127.0.1.9;127.0.1.10,127.0.1.11", LAUNCHER_ROLE="trainer", **given))
    assert ([peer.address for peer in roster.pservers], roster.rank) == (["127.0.1.9"], 1)


def test_self_is_a_roster_of_one() -> None:
    alone = settings(LAUNCHER_PEERS="self", CONF_PADDLE_GRADIENT_NUM="1")
    roster = met(alone)
    assert (roster.rank, roster.me.address, roster.pservers, len(roster.trainers)) == (
        0,
        "127.0.0.1",
        roster.trainers,
        1,
    )
    assert (
        met(settings(LAUNCHER_PEERS="self", CONF_PADDLE_GRADIENT_NUM="1", POD_IP="10.0.0.9")).me.address == "10.0.0.9"
    )


def test_self_is_yielded_once_under_the_key_that_was_told() -> None:
    given = settings(LAUNCHER_PEERS="self", CONF_PADDLE_GRADIENT_NUM="1", LAUNCHER_JOB_UID=UID)
    told: list[str] = []
    (roster,) = discovery.rosters(given, lambda name, **_: told.append(name), Seeking())
    assert (roster.key, told) == (UID, ["roster_complete"])


def test_this_machine_has_the_addresses_of_its_interfaces_without_their_scopes() -> None:
    shown = {each.address.partition("%")[0] for all_of in psutil.net_if_addrs().values() for each in all_of}
    assert "127.0.0.1" in addresses.local()
    assert addresses.local() <= shown
    assert [addresses.plain_address(text) for text in ("FE80::1%eth0", "02:42:ac:11:00:02", "")] == [
        "fe80::1",
        "",
        "",
    ]


def test_only_the_way_that_is_taken_is_imported() -> None:
    program = (
        "import sys; from launcher.pod.gang import membership; from launcher.pod.peers import discovery;"
        "from launcher.pod.peers.seeking import Seeking;"
        "from launcher.pod.settings.variables import read_settings;"
        "given = {'LAUNCHER_PEERS': 'static:127.0.1.1', 'POD_IP': '127.0.1.1', 'LAUNCHER_RUNTIME': 'env'};"
        "s = read_settings(given, ['--', 'x']);"
        "next(discovery.rosters(s, lambda *_, **__: None, Seeking()));"
        "print([name for name in ('kubernetes', 'tenacity', 'psutil', 'ssl', 'urllib3') if name in sys.modules]);"
        "import ssl; assert ssl.create_default_context()  # which the client of Kubernetes needs"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
