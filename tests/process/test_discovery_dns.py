"""Peers from DNS: exactly the expected number, each pod sure of itself, before anybody starts."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import Future

import pytest

from launcher.pod import discovery
from launcher.pod.discovery import dns
from launcher.pod.outcome import JoinError, SettingsError
from launcher.pod.roster import Roster
from launcher.pod.settings import Settings
from tests.support.names import Names
from tests.support.pods import settings
from tests.support.waiting import wait_until

THREE = ("10.0.0.9", "10.0.0.10", "10.0.0.11")
JOB = "job"


class Meeting:
    """One pod that looks for its peers, on a thread, and what it tells meanwhile."""

    def __init__(self, given: Settings, names: Names, *mine: str) -> None:
        self.told: list[tuple[str, dict[str, object]]] = []
        self.stop = threading.Event()
        self.came: Future[Roster] = Future()
        threading.Thread(target=self._run, args=(given, names, frozenset(mine)), daemon=True).start()

    def reasons(self) -> list[str]:
        return [str(facts["reason"]) for name, facts in self.told if name == "waiting_for_peers"]

    def waits_for(self, text: str) -> None:
        wait_until(lambda: self.reasons() and text in self.reasons()[-1])

    def tell(self, name: str, **facts: object) -> None:
        self.told.append((name, facts))

    def _run(self, given: Settings, names: Names, mine: frozenset[str]) -> None:
        try:
            self.came.set_result(
                dns.meet(given, self.stop, self.tell, resolve=names.resolve, addresses=lambda: mine, every=0.02)
            )
        except BaseException as error:
            self.came.set_exception(error)


def service(**environ: str) -> Settings:
    return settings(LAUNCHER_PEERS="dns:gang", JOB_NAME=JOB, **environ)


def indexed(index: int, **environ: str) -> Settings:
    return service(JOB_COMPLETION_INDEX=str(index), **environ)


def test_a_service_with_all_addresses_is_a_roster_in_text_order() -> None:
    names = Names({"gang": THREE})
    rosters = [Meeting(service(POD_IP=mine), names).came.result(5) for mine in THREE]
    assert [peer.address for peer in rosters[0].trainers] == ["10.0.0.10", "10.0.0.11", "10.0.0.9"]
    assert [roster.rank for roster in rosters] == [2, 0, 1]
    assert len({roster.digest for roster in rosters}) == 1


def test_the_own_address_may_be_any_that_this_machine_has() -> None:
    assert Meeting(service(), Names({"gang": THREE}), "10.0.0.11", "172.17.0.1").came.result(5).rank == 1


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
    meeting.came.result(5)
    assert len(meeting.reasons()) == 4
    assert meeting.told[0] == ("peers_wanted", {"selector": "gang", "desired": 3})


def test_addresses_without_the_own_are_an_old_answer_and_wait() -> None:
    names = Names({"gang": THREE})
    meeting = Meeting(service(POD_IP="10.0.0.12"), names)
    meeting.waits_for("no address of gang is this pod's own")
    names.known["gang"] = ("10.0.0.12", *THREE[1:])
    assert meeting.came.result(5).me.address == "10.0.0.12"


def test_two_addresses_that_are_both_mine_are_refused() -> None:
    meeting = Meeting(service(), Names({"gang": THREE}), *THREE[:2])
    error = meeting.came.exception(5)
    assert isinstance(error, SettingsError)
    assert str(error) == "10.0.0.10 and 10.0.0.9 of gang are both this pod's: expected POD_IP to say which it is"


def test_of_both_families_ipv4_is_taken_and_ipv6_where_there_is_no_other() -> None:
    both = Names({"gang": ("fd00::1", "fd00::2", "fd00::3", *THREE)})
    assert [peer.address[:5] for peer in Meeting(service(POD_IP=THREE[0]), both).came.result(5).trainers] == [
        "10.0."
    ] * 3
    six = Names({"gang": ("fd00::1", "fd00::2", "FD00:0::10%eth0")})
    roster = Meeting(service(POD_IP="fd00::2"), six).came.result(5)
    assert [peer.address for peer in roster.trainers] == ["fd00::1", "fd00::10", "fd00::2"]


def test_an_indexed_job_looks_up_a_name_for_each_index_and_ranks_by_it() -> None:
    names = Names({f"job-{index}.gang": (address,) for index, address in enumerate(THREE)})
    rosters = [Meeting(indexed(index, POD_IP=mine), names).came.result(5) for index, mine in enumerate(THREE)]
    assert [roster.rank for roster in rosters] == [0, 1, 2]
    assert [peer.address for peer in rosters[0].trainers] == list(THREE)
    assert [peer.name for peer in rosters[0].trainers] == ["job-0.gang", "job-1.gang", "job-2.gang"]


def test_only_missing_names_are_looked_up_and_all_once_more_at_the_end() -> None:
    names = Names({"job-0.gang": THREE[:1], "job-1.gang": THREE[1:2], "job-2.gang": None})
    meeting = Meeting(indexed(0, POD_IP=THREE[0]), names)
    meeting.waits_for("2 of 3 peers by CONF_PADDLE_GRADIENT_NUM have an address: job-2.gang does not resolve")
    wait_until(lambda: names.asked.count("job-2.gang") > 3)
    assert names.asked.count("job-0.gang") == 1
    names.known |= {"job-1.gang": ("10.0.0.20",), "job-2.gang": THREE[2:]}
    assert [peer.address for peer in meeting.came.result(5).trainers] == ["10.0.0.9", "10.0.0.20", "10.0.0.11"]


def test_an_index_that_still_leads_to_the_replaced_pod_waits() -> None:
    names = Names({f"job-{index}.gang": (address,) for index, address in enumerate(THREE)})
    meeting = Meeting(indexed(1, POD_IP="10.0.0.20"), names)
    meeting.waits_for("job-1.gang is 10.0.0.10, not yet this pod")
    names.known["job-1.gang"] = ("10.0.0.10", "10.0.0.20")
    meeting.waits_for("job-1.gang has 2 addresses (10.0.0.10, 10.0.0.20), 1 expected: waiting for one to go")
    names.known["job-1.gang"] = ("10.0.0.20",)
    assert meeting.came.result(5).rank == 1


def test_two_indexes_at_one_address_wait_until_the_old_name_is_gone() -> None:
    """A name may lead for 30 s to a pod that is gone, whose address another has by now."""
    names = Names({f"job-{index}.gang": ("10.0.0.9",) for index in range(3)})
    meeting = Meeting(indexed(1, POD_IP="10.0.0.9"), names)
    meeting.waits_for("job-0.gang and job-1.gang and job-2.gang are one address, 10.0.0.9")
    names.known |= {"job-0.gang": ("10.0.0.8",), "job-2.gang": ("10.0.0.10",)}
    assert meeting.came.result(5).rank == 1


def test_an_index_beyond_the_expected_number_is_refused() -> None:
    error = Meeting(indexed(3), Names()).came.exception(5)
    assert isinstance(error, SettingsError)
    assert str(error) == "JOB_COMPLETION_INDEX=3: expected less than 3, the number by CONF_PADDLE_GRADIENT_NUM"


def test_many_missing_names_are_told_shortly() -> None:
    meeting = Meeting(indexed(0, CONF_PADDLE_GRADIENT_NUM="40"), Names())
    meeting.waits_for("; and 35 more")
    assert "0 of 40 peers by CONF_PADDLE_GRADIENT_NUM have an address" in meeting.reasons()[0]
    assert meeting.told[0][1]["selector"] == "job-0.gang,job-1.gang,job-2.gang,job-3.gang,job-4.gang,..."
    meeting.stop.set()
    assert isinstance(meeting.came.exception(5), JoinError)


APART = {"LAUNCHER_RUNTIME": "fleet", "PSERVERS": "1", "TRAINERS": "2"}


def test_roles_apart_have_a_service_each() -> None:
    names = Names({"ps": ("10.0.1.1",), "tr": ("10.0.2.10", "10.0.2.9")})
    usual = {"LAUNCHER_PEERS": "dns:ps;tr", "JOB_NAME": JOB, **APART}
    trainer = Meeting(settings(LAUNCHER_ROLE="trainer", POD_IP="10.0.2.9", **usual), names).came.result(5)
    pserver = Meeting(settings(LAUNCHER_ROLE="pserver", POD_IP="10.0.1.1", **usual), names).came.result(5)
    assert (trainer.rank, pserver.rank) == (1, 0)
    assert trainer.digest == pserver.digest
    assert [peer.address for peer in trainer.pservers] == ["10.0.1.1"]


def test_roles_apart_in_indexed_jobs_share_one_service() -> None:
    known = {"job-pserver-0.gang": "10.0.1.1", "job-trainer-0.gang": "10.0.2.9", "job-trainer-1.gang": "10.0.2.10"}
    names = Names({name: (address,) for name, address in known.items()})
    roster = Meeting(indexed(1, POD_IP="10.0.2.10", LAUNCHER_ROLE="trainer", **APART), names).came.result(5)
    assert (roster.rank, roster.pservers[0].name, roster.me.name) == (1, "job-pserver-0.gang", "job-trainer-1.gang")


def test_the_deadline_says_what_is_missing() -> None:
    meeting = Meeting(service(LAUNCHER_JOIN_TIMEOUT="0.2"), Names({"gang": THREE[:1]}))
    error = meeting.came.exception(5)
    assert isinstance(error, JoinError)
    assert str(error).endswith(
        "(LAUNCHER_JOIN_TIMEOUT): gang has 1 addresses (10.0.0.9), 3 expected by CONF_PADDLE_GRADIENT_NUM"
    )


def test_a_resolver_that_hangs_delays_neither_the_deadline_nor_a_stop() -> None:
    hanging = threading.Event()

    class Hanging(Names):
        def resolve(self, name: str, _port: object, **_hints: object) -> list[tuple[object, ...]]:
            hanging.wait(10)
            raise OSError(f"{name} again")

    late = Meeting(service(LAUNCHER_JOIN_TIMEOUT="0.2"), Hanging())
    assert "nothing at all was heard of them" in str(late.came.exception(2))
    stopped = Meeting(service(), Hanging())
    stopped.stop.set()
    assert "told to stop" in str(stopped.came.exception(2))
    hanging.set()


def test_a_name_that_can_be_none_is_refused() -> None:
    given = settings(LAUNCHER_PEERS=f"dns:{'a' * 64}", JOB_NAME=JOB)
    with pytest.raises(SettingsError, match="expected a host name, of parts of 1 to 63 characters"):
        dns.meet(given, threading.Event(), lambda *_, **__: None)


def test_the_real_resolver_finds_localhost() -> None:
    told: list[str] = []
    given = settings(LAUNCHER_PEERS="dns:localhost", CONF_PADDLE_GRADIENT_NUM="1")
    roster = discovery.meet(given, threading.Event(), lambda name, **_: told.append(name))
    assert [peer.address for peer in roster.trainers] == [socket.gethostbyname("localhost")]
    assert told == ["peers_wanted", "roster_complete"]
