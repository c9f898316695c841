"""Who comes to a gang that runs makes itself known by its own questions: names are looked up once more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from launcher.pod.gang.protocol.messages import Status
from launcher.pod.log import Tell
from launcher.pod.peers import from_dns
from launcher.pod.peers.discovery import PeerWatch
from launcher.pod.peers.gather import Rosters
from launcher.pod.peers.roster import Roster
from launcher.pod.peers.seeking import Seeking
from launcher.pod.settings.nouns import Settings
from tests.support.names import Names
from tests.support.pods import UID, settings
from tests.support.statuses import Ground, Pod, Wire, ground
from tests.support.waiting import wait_until

EVERY = 0.2  # seconds between two looks at the least; 1 of a launcher


@pytest.fixture
def net() -> Iterator[Ground]:
    with ground() as made:
        yield made


def asks(net: Ground, pod: Pod, source: str, target: str = "/status?boot=new") -> None:
    with Wire(pod.address, net.port, source) as wire:
        wire.get(target)
        wire.answer()


def test_a_boot_that_asks_and_is_no_member_s_is_told_of(net: Ground) -> None:
    pod, other = net.pod(1), net.pod(2, boot="b2")
    told: list[str] = []
    pod.statuses.stranger = told.append
    asks(net, pod, net.at(3))
    assert told == [net.at(3)]
    pod.statuses.watch([other.address])
    pod.hears(other.address, Status(who=other.own))
    told.clear()
    asks(net, pod, other.address)  # a peer that was started again, in the same pod
    asks(net, pod, net.at(4), "/status?boot=b2")  # a member whose connections come from elsewhere
    for target in ("/status", "/status?boot=", "/healthz?boot=new", "/metrics", "/members?boot=new&digest=x"):
        asks(net, pod, net.at(3), target)
    assert told == []
    asks(net, pod, net.at(3))
    assert told == [net.at(3)]


@pytest.fixture
def watching() -> Iterator[Callable[[Settings, Names], PeerWatch]]:
    """Give what makes the watch of a launcher that looks up scripted names."""
    over = threading.Event()

    def watch(given: Settings, names: Names) -> PeerWatch:
        def look(settings: Settings, tell: Tell, seeking: Seeking) -> Rosters:
            return from_dns.rosters(settings, tell, seeking, resolve=names.resolve, every=EVERY, early=0.0, over=over)

        made.append(PeerWatch(given, lambda: None, lambda *_, **__: None, look=look))
        return made[-1]

    made: list[PeerWatch] = []
    yield watch
    over.set()
    for each in made:
        each.seeking.set()
    wait_until(lambda: not {"peer watch", "peers names"} & {each.name for each in threading.enumerate()})


def pod_0(net: Ground, members: str) -> Settings:
    given = {"LAUNCHER_PEERS": "dns:gang", "JOB_NAME": "job", "JOB_PATH": "/volume", "LAUNCHER_JOB_UID": UID}
    given |= {"LAUNCHER_MEMBERS": members, "CONF_PADDLE_GRADIENT_NUM": "", "JOB_COMPLETION_INDEX": "0"}
    return settings(POD_IP=net.at(1), **given)


def at_peace(watch: PeerWatch, names: Names) -> int:
    """Return how many names were looked up when a gang is complete and all is quiet."""
    wait_until(lambda: isinstance(watch.latest, Roster))
    return quiet(names)


def quiet(names: Names) -> int:
    """Return how many names were looked up once none is any more."""
    before = -1
    while before != len(names.asked):
        before = len(names.asked)
        threading.Event().wait(3 * EVERY)
    return before


def widths(watch: PeerWatch) -> int:
    return len(watch.latest.trainers) if isinstance(watch.latest, Roster) else 0


def test_a_newcomer_s_question_has_all_names_looked_up_once(
    net: Ground, watching: Callable[[Settings, Names], PeerWatch]
) -> None:
    names = Names({f"job-{index}.gang": (net.at(index + 1),) for index in range(2)})
    pod, watch = net.pod(1), watching(pod_0(net, "1:3"), names)
    pod.statuses.stranger = watch.asked_by
    asked = at_peace(watch, names)
    assert widths(watch) == 2
    names.known["job-2.gang"] = (net.at(3),)
    names.known["job-1.gang"] = (net.at(9),)  # a name may lead to a pod that is gone
    assert len(names.asked) == asked
    asks(net, pod, net.at(3))
    wait_until(lambda: widths(watch) == 3)
    assert isinstance(watch.latest, Roster)
    assert [peer.address for peer in watch.latest.trainers] == [net.at(1), net.at(9), net.at(3)]
    assert quiet(names) == asked + 3
    for _ in range(20):  # it goes on asking until it takes part
        asks(net, pod, net.at(3))
    assert quiet(names) == asked + 3


def test_a_thousand_questions_of_strangers_cost_a_few_looks(
    net: Ground, watching: Callable[[Settings, Names], PeerWatch]
) -> None:
    names = Names({f"job-{index}.gang": (net.at(index + 1),) for index in range(2)})
    pod, watch = net.pod(1), watching(pod_0(net, "1:3"), names)
    pod.statuses.stranger = watch.asked_by
    asked, begun = at_peace(watch, names), time.monotonic()
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(pod.address, net.port, net.at(9))) for _ in range(10)]
        for number in range(1000):
            wires[number % 10].get(f"/status?boot=b{number}")
            wires[number % 10].answer()
    took = time.monotonic() - begun
    looks = (quiet(names) - asked) / 3
    assert 1 <= looks <= took / EVERY + 2
    assert widths(watch) == 2


def test_a_gang_of_one_width_asks_for_nobody(net: Ground, watching: Callable[[Settings, Names], PeerWatch]) -> None:
    names = Names({f"job-{index}.gang": (net.at(index + 1),) for index in range(2)})
    pod, watch = net.pod(1), watching(pod_0(net, "2"), names)
    pod.statuses.stranger = watch.asked_by
    asked = at_peace(watch, names)
    asks(net, pod, net.at(9))
    assert quiet(names) == asked
