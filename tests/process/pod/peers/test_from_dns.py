"""Peers from DNS: exactly the expected number, each pod sure of itself, before anybody starts."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.pod.outcome import JoinError, SettingsError
from launcher.pod.peers import discovery, from_dns
from launcher.pod.peers.gather import Rosters
from launcher.pod.peers.roster import Roster, Waiting
from launcher.pod.peers.seeking import Seeking
from launcher.pod.settings.nouns import Settings
from tests.support.names import Names
from tests.support.pods import UID, settings
from tests.support.rosters import Looking, first
from tests.support.waiting import wait_until

THREE = ("10.0.0.9", "10.0.0.10", "10.0.0.11")
JOB = "job"
CLUSTER: dict[str, tuple[str, ...] | None] = {"kubernetes.default": ("10.96.0.1",)}  # has a DNS that answers


class Meeting(Looking):
    """One pod that looks for its peers by name, at these addresses of its own."""

    def __init__(
        self, given: Settings, names: Names, *mine: str, for_life: bool = False, early: float = 0.02
    ) -> None:
        super().__init__(for_life=for_life)
        self.early = early
        self.given, self.names, self.mine = given, names, frozenset(mine)
        BEGUN.append(self)
        self.begin()

    def look(self) -> Rosters:
        return from_dns.rosters(
            self.given,
            self.tell,
            self.seeking,
            resolve=self.names.resolve,
            addresses=lambda: self.mine,
            every=0.02,
            early=self.early,
            over=self.over,
        )


BEGUN: list[Meeting] = []


@pytest.fixture(autouse=True)
def _ending() -> Iterator[None]:
    yield
    while BEGUN:
        BEGUN.pop().end()
    wait_until(lambda: not [each for each in threading.enumerate() if each.name == "peers names"])


def service(**environ: str) -> Settings:
    return settings(LAUNCHER_PEERS="dns:gang", JOB_NAME=JOB, **environ)


def indexed(index: int, **environ: str) -> Settings:
    return service(JOB_COMPLETION_INDEX=str(index), **environ)


def test_a_service_with_all_addresses_is_a_roster_in_text_order() -> None:
    names = Names({"gang": THREE})
    rosters = [Meeting(service(POD_IP=mine), names).roster() for mine in THREE]
    assert [peer.address for peer in rosters[0].trainers] == ["10.0.0.10", "10.0.0.11", "10.0.0.9"]
    assert [roster.rank for roster in rosters] == [2, 0, 1]
    assert len({roster.digest for roster in rosters}) == 1


def test_the_own_address_may_be_any_that_this_machine_has() -> None:
    assert Meeting(service(), Names({"gang": THREE}), "10.0.0.11", "172.17.0.1").roster().rank == 1


def test_less_more_and_no_addresses_wait_and_say_so_once_per_change() -> None:
    names = Names({"gang": None})
    meeting = Meeting(service(POD_IP=THREE[0]), names)
    counted = "3 expected by CONF_PADDLE_GRADIENT_NUM"
    meeting.waits_for(f"gang does not resolve (Name or service not known), {counted}")
    names.known["gang"] = ()
    meeting.waits_for(f"gang does not resolve (Temporary failure in name resolution), {counted}")
    names.known["gang"] = THREE[:2]
    meeting.waits_for(f"gang has 2 addresses (10.0.0.10, 10.0.0.9), {counted}")
    names.known["gang"] = (*THREE, "10.0.0.12")
    meeting.waits_for(f"gang has 4 addresses (10.0.0.10, 10.0.0.11, 10.0.0.12, 10.0.0.9), {counted}: waiting for one")
    asked = len(names.asked)
    wait_until(lambda: len(names.asked) > asked + 3)
    names.known["gang"] = THREE
    meeting.roster()
    assert len(meeting.reasons()) == 4
    assert meeting.told[0] == ("peers_wanted", {"selector": "gang", "desired": 3})


def test_addresses_without_the_own_are_an_old_answer_and_wait() -> None:
    names = Names({"gang": THREE})
    meeting = Meeting(service(POD_IP="10.0.0.12"), names)
    meeting.waits_for("none of the addresses of gang is this pod's")
    names.known["gang"] = ("10.0.0.12", *THREE[1:])
    assert meeting.roster().me.address == "10.0.0.12"


def test_two_addresses_that_are_both_mine_are_refused() -> None:
    meeting = Meeting(service(), Names({"gang": THREE}), *THREE[:2])
    error = meeting.error()
    assert isinstance(error, SettingsError)
    assert str(error) == "10.0.0.10 and 10.0.0.9 of gang are both this pod's: set POD_IP to one of them"


def test_of_both_families_ipv4_is_taken_and_ipv6_where_there_is_no_other() -> None:
    both = Names({"gang": ("fd00::1", "fd00::2", "fd00::3", *THREE)})
    assert [peer.address[:5] for peer in Meeting(service(POD_IP=THREE[0]), both).roster().trainers] == ["10.0."] * 3
    six = Names({"gang": ("fd00::1", "fd00::2", "FD00:0::10%eth0")})
    roster = Meeting(service(POD_IP="fd00::2"), six).roster()
    assert [peer.address for peer in roster.trainers] == ["fd00::1", "fd00::10", "fd00::2"]


def test_an_indexed_job_looks_up_a_name_for_each_index_and_ranks_by_it() -> None:
    names = Names({f"job-{index}.gang": (address,) for index, address in enumerate(THREE)})
    rosters = [Meeting(indexed(index, POD_IP=mine), names).roster() for index, mine in enumerate(THREE)]
    assert [roster.rank for roster in rosters] == [0, 1, 2]
    assert [peer.address for peer in rosters[0].trainers] == list(THREE)
    assert [peer.name for peer in rosters[0].trainers] == ["job-0.gang", "job-1.gang", "job-2.gang"]


def test_an_indexed_job_asks_for_no_name_before_its_pod_can_have_it() -> None:
    """Whoever asks too early is told that there is none, which the cluster's DNS then tells everybody for a while."""
    names = Names({f"job-{index}.gang": (address,) for index, address in enumerate(THREE)})
    begun = time.monotonic()
    meeting = Meeting(indexed(0, POD_IP=THREE[0]), names, early=0.5)
    assert meeting.roster().rank == 0
    assert time.monotonic() - begun >= 0.5
    hurried = Meeting(indexed(0, POD_IP=THREE[0], LAUNCHER_JOIN_TIMEOUT="0.2"), Names({**CLUSTER}), early=60)
    assert "job-0.gang does not resolve" in str(hurried.error())


def test_a_dns_that_answers_nothing_is_what_is_waited_for() -> None:
    """Not the peers, whose names it does not know either."""
    names = Names({})
    meeting = Meeting(indexed(0, POD_IP=THREE[0]), names)
    meeting.waits_for(
        "the cluster's DNS does not answer: kubernetes.default does not resolve (Temporary failure in name "
        "resolution), nor does any name of this job; `kubectl -n kube-system get pods -l k8s-app=kube-dns` shows"
    )
    names.known |= CLUSTER
    meeting.waits_for("0 of 3 peers by CONF_PADDLE_GRADIENT_NUM have an address: job-0.gang does not resolve")
    names.known["job-0.gang"] = THREE[:1]
    meeting.waits_for("1 of 3 peers")
    asked = names.asked.count("kubernetes.default")
    names.known |= {"job-1.gang": THREE[1:2], "job-2.gang": THREE[2:]}
    assert meeting.roster().rank == 0
    assert names.asked.count("kubernetes.default") == asked


def test_only_missing_names_are_looked_up_and_all_once_more_at_the_end() -> None:
    names = Names({"job-0.gang": THREE[:1], "job-1.gang": THREE[1:2], "job-2.gang": None})
    meeting = Meeting(indexed(0, POD_IP=THREE[0]), names)
    meeting.seeking.set()  # a gang that begins misses everybody
    meeting.waits_for("2 of 3 peers by CONF_PADDLE_GRADIENT_NUM have an address: job-2.gang does not resolve")
    wait_until(lambda: names.asked.count("job-2.gang") > 3)
    assert names.asked.count("job-0.gang") == 1
    names.known |= {"job-1.gang": ("10.0.0.20",), "job-2.gang": THREE[2:]}
    assert [peer.address for peer in meeting.roster().trainers] == ["10.0.0.9", "10.0.0.20", "10.0.0.11"]


def test_an_index_that_still_leads_to_the_replaced_pod_waits() -> None:
    names = Names({f"job-{index}.gang": (address,) for index, address in enumerate(THREE)})
    meeting = Meeting(indexed(1, POD_IP="10.0.0.20"), names)
    meeting.waits_for("job-1.gang leads to 10.0.0.10, not yet to this pod")
    names.known["job-1.gang"] = ("10.0.0.10", "10.0.0.20")
    meeting.waits_for("job-1.gang has 2 addresses (10.0.0.10, 10.0.0.20), 1 expected: waiting for one to go")
    names.known["job-1.gang"] = ("10.0.0.20",)
    assert meeting.roster().rank == 1


def test_two_indexes_at_one_address_wait_until_the_old_name_is_gone() -> None:
    """A name may lead for 30 s to a pod that is gone, whose address another has by now."""
    names = Names({f"job-{index}.gang": ("10.0.0.9",) for index in range(3)})
    meeting = Meeting(indexed(1, POD_IP="10.0.0.9"), names)
    meeting.waits_for("job-0.gang and job-1.gang and job-2.gang have the same address, 10.0.0.9")
    names.known |= {"job-0.gang": ("10.0.0.8",), "job-2.gang": ("10.0.0.10",)}
    assert meeting.roster().rank == 1


def test_an_index_beyond_the_expected_number_is_refused() -> None:
    error = Meeting(indexed(3), Names()).error()
    assert isinstance(error, SettingsError)
    assert str(error) == "JOB_COMPLETION_INDEX=3: expected less than 3, the number by CONF_PADDLE_GRADIENT_NUM"


def test_many_missing_names_are_told_shortly() -> None:
    meeting = Meeting(indexed(0, CONF_PADDLE_GRADIENT_NUM="40"), Names({**CLUSTER}))
    meeting.waits_for("; and 35 more")
    assert "0 of 40 peers by CONF_PADDLE_GRADIENT_NUM have an address" in meeting.reasons()[0]
    assert meeting.told[0][1]["selector"] == "job-0.gang,job-1.gang,job-2.gang,job-3.gang,job-4.gang,..."
    assert meeting.states == [Waiting(reason=meeting.reasons()[0])]


APART = {"LAUNCHER_RUNTIME": "fleet", "PSERVERS": "1", "TRAINERS": "2"}


def test_roles_apart_have_a_service_each() -> None:
    names = Names({"ps": ("10.0.1.1",), "tr": ("10.0.2.10", "10.0.2.9")})
    usual = {"LAUNCHER_PEERS": "dns:ps;tr", "JOB_NAME": JOB, **APART}
    trainer = Meeting(settings(LAUNCHER_ROLE="trainer", POD_IP="10.0.2.9", **usual), names).roster()
    pserver = Meeting(settings(LAUNCHER_ROLE="pserver", POD_IP="10.0.1.1", **usual), names).roster()
    assert (trainer.rank, pserver.rank) == (1, 0)
    assert trainer.digest == pserver.digest
    assert [peer.address for peer in trainer.pservers] == ["10.0.1.1"]


def test_roles_apart_in_indexed_jobs_share_one_service() -> None:
    known = {"job-pserver-0.gang": "10.0.1.1", "job-trainer-0.gang": "10.0.2.9", "job-trainer-1.gang": "10.0.2.10"}
    names = Names({name: (address,) for name, address in known.items()})
    roster = Meeting(indexed(1, POD_IP="10.0.2.10", LAUNCHER_ROLE="trainer", **APART), names).roster()
    assert (roster.rank, roster.pservers[0].name, roster.me.name) == (1, "job-pserver-0.gang", "job-trainer-1.gang")


def test_the_deadline_says_what_is_missing() -> None:
    meeting = Meeting(service(LAUNCHER_JOIN_TIMEOUT="0.2"), Names({"gang": THREE[:1]}))
    error = meeting.error()
    assert isinstance(error, JoinError)
    assert str(error).endswith(
        "(LAUNCHER_JOIN_TIMEOUT): gang has 1 addresses (10.0.0.9), 3 expected by CONF_PADDLE_GRADIENT_NUM"
    )


def test_a_resolver_that_hangs_does_not_delay_the_deadline() -> None:
    hanging = threading.Event()

    class Hanging(Names):
        def resolve(self, name: str, _port: object, **_hints: object) -> list[tuple[object, ...]]:
            hanging.wait(10)
            raise OSError(f"{name} again")

    late = Meeting(service(LAUNCHER_JOIN_TIMEOUT="0.2"), Hanging())
    assert "nothing was learned about them" in str(late.error(2))
    hanging.set()


def test_a_name_that_can_be_none_is_refused() -> None:
    given = settings(LAUNCHER_PEERS=f"dns:{'a' * 64}", JOB_NAME=JOB)
    with pytest.raises(SettingsError, match="expected a host name, of parts of 1 to 63 characters"):
        first(from_dns.rosters(given, lambda *_, **__: None, Seeking()))


def test_the_real_resolver_finds_localhost() -> None:
    told: list[str] = []
    given = settings(LAUNCHER_PEERS="dns:localhost", CONF_PADDLE_GRADIENT_NUM="1")
    roster = first(discovery.rosters(given, lambda name, **_: told.append(name), Seeking()))
    assert [peer.address for peer in roster.trainers] == [socket.gethostbyname("localhost")]
    assert told == ["peers_wanted", "roster_complete"]


def addresses(state: Roster | Waiting) -> list[str]:
    return [peer.address for peer in state.trainers] if isinstance(state, Roster) else []


def test_a_complete_gang_asks_for_no_name_until_it_seeks_a_member_and_then_for_all() -> None:
    names = Names({f"job-{index}.gang": (address,) for index, address in enumerate(THREE)})
    meeting = Meeting(indexed(0, POD_IP=THREE[0]), names, for_life=True)
    digest = meeting.roster().digest
    _settled(names)
    before = wake_ups()
    names.known["job-1.gang"] = ("10.0.0.20",)
    assert not meeting.done.wait(0.3)
    assert (asked := len(names.asked)) == 3
    assert wake_ups() == before
    meeting.seeking.set()
    meeting.learns(lambda state: addresses(state) == ["10.0.0.9", "10.0.0.20", "10.0.0.11"])
    found = meeting.states[-1]
    assert isinstance(found, Roster)
    assert found.digest != digest
    wait_until(lambda: names.asked[asked:].count("job-2.gang") > 3)
    assert len(meeting.states) == 2
    meeting.seeking.clear()
    asked = _settled(names)
    assert not meeting.done.wait(0.3)
    assert len(names.asked) == asked


def wake_ups() -> list[str]:
    """Return how often each thread that looks for peers has slept and woken."""
    looking = [each for each in threading.enumerate() if each.name in ("looking", "peers names")]
    status = [Path(f"/proc/self/task/{each.native_id}/status").read_text() for each in looking]
    return [line for text in status for line in text.splitlines() if line.startswith("voluntary_ctxt_switches")]


def _settled(names: Names) -> int:
    """Return how many look-ups there were, once the one that was under way is over."""
    before = -1
    while before != len(names.asked):
        before = len(names.asked)
        threading.Event().wait(0.1)
    return before


def test_a_member_that_is_sought_and_gone_is_waited_for_without_a_deadline_and_untold() -> None:
    names = Names({"gang": THREE})
    meeting = Meeting(service(POD_IP=THREE[0], LAUNCHER_JOIN_TIMEOUT="0.2"), names, for_life=True)
    meeting.roster()
    names.known["gang"] = THREE[:2]
    meeting.seeking.set()
    meeting.learns(lambda state: isinstance(state, Waiting) and "gang has 2 addresses" in state.reason)
    assert not meeting.done.wait(0.4)
    names.known["gang"] = (*THREE[:2], "10.0.0.12")
    meeting.learns(lambda state: addresses(state) == ["10.0.0.10", "10.0.0.12", "10.0.0.9"])
    assert len(meeting.states) == 3
    assert meeting.reasons() == []


def test_what_ends_a_start_ends_no_gang_that_runs() -> None:
    """Two addresses of the gang that are both this pod's are refused at the start; later they may be a moment's."""
    names = Names({"gang": THREE})
    meeting = Meeting(service(), names, THREE[0], "10.0.0.12", for_life=True)
    meeting.roster()
    names.known["gang"] = (*THREE[:2], "10.0.0.12")
    meeting.seeking.set()
    wait_until(lambda: names.asked.count("gang") > 1)
    assert not meeting.done.wait(0.3)
    assert len(meeting.states) == 1


def test_the_key_is_the_trainers_jobs_where_it_is_told() -> None:
    names = Names({"ps": ("10.0.1.1",), "tr": ("10.0.2.10", "10.0.2.9"), "gang": THREE})
    usual = {"LAUNCHER_PEERS": "dns:ps;tr", "JOB_NAME": JOB, "LAUNCHER_JOB_UID": UID, **APART}
    trainer = Meeting(settings(LAUNCHER_ROLE="trainer", POD_IP="10.0.2.9", **usual), names).roster()
    pserver = Meeting(settings(LAUNCHER_ROLE="pserver", POD_IP="10.0.1.1", **usual), names).roster()
    assert (trainer.key, pserver.key, Meeting(service(POD_IP=THREE[0]), names).roster().key) == (UID, "", "")
    names.known["gang"] = THREE[:1]
    waiting = Meeting(service(POD_IP=THREE[0], LAUNCHER_JOB_UID=UID), names)
    waiting.waits_for("gang has 1 addresses")
    waiting.learns(lambda state: state.key == UID)


def elastic(index: int, **environ: str) -> Settings:
    """Return the settings of a pod of an Indexed Job with two to five."""
    given = {
        "LAUNCHER_MEMBERS": "2:5",
        "CONF_PADDLE_GRADIENT_NUM": "",
        "LAUNCHER_JOB_UID": UID,
        "JOB_PATH": "/volume",
    }
    return indexed(index, **{**given, **environ})


def test_a_gang_that_may_be_narrower_has_those_whose_names_lead_to_a_pod() -> None:
    names = Names({**CLUSTER, "job-1.gang": ("10.0.0.9",)})
    meeting = Meeting(elastic(3, POD_IP="10.0.0.10"), names, for_life=True)
    meeting.seeking.set()
    meeting.waits_for("1 of 2 to 5 peers by LAUNCHER_MEMBERS have an address: job-0.gang does not resolve")
    names.known["job-4.gang"] = ("10.0.0.11",)
    meeting.waits_for("job-3.gang does not resolve (Temporary failure in name resolution), 1 expected")
    names.known["job-3.gang"] = ("10.0.0.8",)
    meeting.waits_for("job-3.gang leads to 10.0.0.8, not yet to this pod")
    names.known["job-3.gang"] = ("10.0.0.8", "10.0.0.10")
    meeting.waits_for("job-3.gang has 2 addresses (10.0.0.10, 10.0.0.8), 1 expected: waiting for one to go")
    names.known["job-3.gang"] = ("10.0.0.10",)
    roster = meeting.roster()
    assert (addresses(roster), roster.rank, roster.key) == (["10.0.0.9", "10.0.0.10", "10.0.0.11"], 1, UID)
    assert meeting.told[0] == (
        "peers_wanted",
        {"selector": ",".join(f"job-{n}.gang" for n in range(5)), "desired": 5},
    )


def test_while_it_seeks_each_change_of_who_is_there_is_another_roster() -> None:
    names = Names({**CLUSTER, **{f"job-{index}.gang": (address,) for index, address in enumerate(THREE[:2])}})
    meeting = Meeting(elastic(0, POD_IP=THREE[0]), names, for_life=True)
    meeting.seeking.set()
    assert addresses(meeting.roster()) == [*THREE[:2]]
    names.known["job-2.gang"] = (THREE[2],)
    meeting.learns(lambda state: addresses(state) == [*THREE])
    names.known["job-1.gang"] = (THREE[1], "10.0.0.20")  # its replacement, and it in its grace
    meeting.learns(lambda state: addresses(state) == [THREE[0], THREE[2]])
    names.known["job-1.gang"] = ("10.0.0.20",)
    meeting.learns(lambda state: addresses(state) == [THREE[0], "10.0.0.20", THREE[2]])
    names.known |= {"job-1.gang": None, "job-2.gang": None}
    meeting.learns(lambda state: isinstance(state, Waiting) and "1 of 2 to 5 peers" in state.reason)


def test_in_peace_it_asks_for_no_name_until_somebody_comes() -> None:
    names = Names({**CLUSTER, **{f"job-{index}.gang": (address,) for index, address in enumerate(THREE[:2])}})
    meeting = Meeting(elastic(0, POD_IP=THREE[0]), names, for_life=True)
    meeting.roster()
    asked, before = _settled(names), wake_ups()
    assert not meeting.done.wait(0.3)
    assert (len(names.asked), wake_ups()) == (asked, before)
    names.known["job-4.gang"] = (THREE[2],)
    meeting.seeking.once()
    meeting.learns(lambda state: addresses(state) == [*THREE])
    assert _settled(names) == asked + 5
    for _ in range(1000):
        meeting.seeking.once()
    assert asked + 10 <= _settled(names) <= asked + 20


def test_where_its_dns_answers_nothing_more_it_waits_and_is_not_narrower() -> None:
    names = Names({**CLUSTER, **{f"job-{index}.gang": (address,) for index, address in enumerate(THREE)}})
    meeting = Meeting(elastic(0, POD_IP=THREE[0]), names, for_life=True)
    known = dict(names.known)
    meeting.roster()
    names.known.clear()
    meeting.seeking.once()
    meeting.learns(lambda state: isinstance(state, Waiting) and "the cluster's DNS does not answer" in state.reason)
    names.known |= known
    meeting.learns(lambda state: addresses(state) == [*THREE])
    assert {len(addresses(state)) for state in meeting.states if isinstance(state, Roster)} == {3}


def test_pservers_apart_are_waited_for_where_the_trainers_may_be_fewer() -> None:
    names = Names({**CLUSTER, "job-trainer-0.gang": ("10.0.2.9",), "job-pserver-0.gang": ("10.0.1.1",)})
    apart = {"LAUNCHER_ROLE": "trainer", "PSERVERS": "2", "LAUNCHER_RUNTIME": "fleet", "LAUNCHER_MEMBERS": "1:3"}
    meeting = Meeting(elastic(0, POD_IP="10.0.2.9", **apart), names)
    meeting.waits_for("1 of 2 peers by PSERVERS have an address: job-pserver-1.gang does not resolve")
    names.known["job-pserver-1.gang"] = ("10.0.1.2",)
    roster = meeting.roster()
    assert ([len(roster.pservers), len(roster.trainers)], roster.rank) == ([2, 1], 0)
