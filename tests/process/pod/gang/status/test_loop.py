"""News between pods: what one launcher says, the others know in milliseconds; progress disturbs nobody."""

from __future__ import annotations

import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pytest

from launcher.pod.gang.protocol.messages import LeaderMessage, Marks, Phase, Status
from launcher.pod.gang.protocol.state import Heard
from launcher.pod.gang.status import peer_states
from launcher.pod.gang.status.loop import Statuses
from launcher.pod.outcome import SettingsError
from tests.support.statuses import HASTY, LIMITS, Ground, Pod, Wire, ask, ground, json_of, who
from tests.support.waiting import wait_until


@pytest.fixture
def net() -> Iterator[Ground]:
    with ground() as made:
        yield made


def pair(net: Ground, **given: object) -> tuple[Pod, Pod]:
    """Return two pods that know each other's first status."""
    first, second = (net.pod(number, boot=f"b{number}", **given) for number in (1, 2))
    for pod in (first, second):
        pod.statuses.watch([first.address, second.address])
    first.hears(second.address, Status(who=second.own))
    second.hears(first.address, Status(who=first.own))
    for pod in (first, second):
        assert pod.nudged.acquire(timeout=5)
    return first, second


def test_news_is_known_to_all_long_before_the_next_look(net: Ground) -> None:
    first, second = pair(net)
    times = []
    for number in range(1, 31):
        began = time.monotonic()
        status = first.says(ready=number)
        assert second.nudged.acquire(timeout=10)
        times.append(time.monotonic() - began)
        assert second.statuses.heard()[first.address].status == status
        time.sleep(0.006)  # beyond the pace that many news in a row are kept to
    assert statistics.median(times) < LIMITS.wait / 10


def test_an_equal_status_and_mere_progress_are_no_news(net: Ground) -> None:
    first, second = pair(net, limits=HASTY)
    same = first.says(phase=Phase.TRAINING, marks=Marks(at=("a",), progress={"step": 0}))
    assert second.nudged.acquire(timeout=10)
    first.statuses.publish(replace(same))
    further = first.says(phase=Phase.TRAINING, staged_bytes=7, marks=Marks(at=("a",), progress={"step": 9}))
    second.hears(first.address, further)
    assert not second.nudged.acquire(blocking=False)
    assert json_of(ask(first, "/status", net.port))["status"]["marks"]["progress"] == {"step": 9}


def test_progress_does_not_answer_a_reader_that_waits(net: Ground) -> None:
    first = net.pod(1)
    _, headers, _ = ask(first, "/status", net.port)
    with Wire(first.address, net.port) as wire:
        began = time.monotonic()
        wire.get(f"/status?after={headers['launcher-news']}&wait=0.2")
        first.says(marks=Marks(progress={"step": 1}))
        _, again, _ = wire.answer()
    assert again["launcher-news"] == headers["launcher-news"]
    assert time.monotonic() - began > 0.15


def test_what_changed_since_without_being_published_is_there_for_who_asks(net: Ground) -> None:
    progress: dict[str, float | str] = {}
    first, second = pair(net, limits=HASTY, fresh=lambda status: replace(status, marks=Marks(progress=progress)))
    progress = {"step": 1}
    second.hears(first.address, Status(who=first.own, marks=Marks(progress=progress)))
    assert not second.nudged.acquire(blocking=False)
    first.statuses.leader = first.address
    first.says(word=LeaderMessage())
    progress = {"step": 2}
    member, _ = json_of(ask(first, "/gang", net.port))["members"]
    assert member["progress"] == {"step": 2}
    assert 'launcher_trainer_progress{name="step"} 2.0' in ask(first, "/metrics", net.port)[2].decode()


def test_many_news_in_a_row_end_with_the_last_one_known(net: Ground) -> None:
    first, second = pair(net)
    for number in range(1, 500):
        last = first.says(ready=number)
    second.hears(first.address, last)
    assert second.statuses.heard()[first.address].status == last


def test_an_idle_pair_polls_once_a_wait_and_is_not_woken(net: Ground) -> None:
    first, second = pair(net, limits=HASTY)
    before = second.statuses.heard()[first.address]
    wait_until(lambda: second.statuses.heard()[first.address].sent > before.sent + 3 * HASTY.wait)
    wait_until(partial(_is_credited, second, first.address, before.wrote))
    assert second.statuses.heard()[first.address].status == before.status
    assert not second.nudged.acquire(blocking=False)


def _is_credited(pod: Pod, address: str, before: float) -> bool:
    return pod.statuses.heard()[address].wrote > before


def say(net: Ground, pod: Pod, boot: str, source: str) -> None:
    """Ask a pod as a boot from an address."""
    with Wire(pod.address, net.port, source) as wire:
        wire.get(f"/status?boot={boot}")
        assert wire.answer()[0] == 200


def test_what_was_written_counts_for_the_boot_that_asked_from_any_address(net: Ground) -> None:
    first = net.pod(1)
    second = net.pod(2, boot="b2")
    first.statuses.watch([second.address])
    first.hears(second.address, Status(who=second.own))
    for boot, source in [("other", second.address), ("other", net.at(3)), ("", second.address)]:
        say(net, first, boot, source)
    assert first.statuses.heard()[second.address].wrote == 0.0
    for source in (second.address, "127.0.0.6"):  # as of a sidecar
        before = first.statuses.heard()[second.address].wrote
        say(net, first, "b2", source)
        wait_until(partial(_is_credited, first, second.address, before))


def test_a_forged_question_changes_nothing_but_when_its_member_was_answered_last(net: Ground) -> None:
    first, second = pair(net)
    said = first.statuses._publisher.said
    before = first.statuses.heard()[second.address]
    net.leave(second)
    wait_until(lambda: first.statuses.heard()[second.address].refused)
    with Wire(first.address, net.port, net.at(9)) as wire:
        wire.get("/status?boot=b2&after=b2.99999&wait=0&failure=1&verdict=0&number=7")
        assert wire.answer()[0] == 200
    wait_until(partial(_is_credited, first, second.address, before.wrote))
    after = first.statuses.heard()[second.address]
    assert replace(after, wrote=before.wrote, sent=before.sent) == replace(before, refused=True)
    assert first.statuses._publisher.said == said


@pytest.mark.parametrize("source", ["its own", "127.0.0.6"])
def test_an_asker_known_before_its_status_counts_once_that_is_known(net: Ground, source: str) -> None:
    first = net.pod(1)
    first.statuses.watch([net.at(2)])
    say(net, first, "b2", net.at(2) if source == "its own" else source)
    second = net.pod(2, boot="b2")
    first.hears(second.address, Status(who=second.own))
    assert first.statuses.heard()[second.address].wrote > 0.0


def test_boots_that_anybody_names_are_not_kept_for_ever(net: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_states, "UNKNOWN_BOOTS", 3)
    first = net.pod(1)
    first.statuses.watch([net.at(2)])
    for boot in ("b2", "x", "y", "b2", "z", "v"):
        say(net, first, boot, net.at(9))
    wait_until(lambda: len(first.statuses._peers._unknown) == 3)
    second = net.pod(2, boot="b2")
    first.hears(second.address, Status(who=second.own))
    assert first.statuses.heard()[second.address].wrote > 0.0


def test_peers_whose_connections_come_from_a_stranger_s_address_have_places_of_their_own(net: Ground) -> None:
    """All from one address, as of a node that masquerades: more than a stranger may have."""
    first = net.pod(1, members=60)
    token = ask(first, "/status", net.port)[1]["launcher-news"]
    boots = {net.at(number): f"b{number}" for number in range(100, 160)}
    peers = first.statuses._peers
    first.statuses.watch(boots)
    for address, boot in boots.items():
        peers.answered(address, Status(who=who(address, boot)), time.monotonic())
    with ExitStack() as stack:
        wires = []
        for boot in boots.values():
            wires.append(stack.enter_context(Wire(first.address, net.port, "127.0.0.6")))
            wires[-1].get(f"/status?after={token}&wait=30&boot={boot}")
            wait_until(lambda: len(first.statuses._publisher._waiting) == len(wires))
        first.says(ready=1)
        assert {wire.answer()[0] for wire in wires} == {200}


def test_a_launcher_whose_address_is_not_this_machines_own_asks_all_the_same(net: Ground) -> None:
    first, second = net.at_address("192.0.2.99", bind=net.at(1)), net.pod(2)
    first.statuses.watch([second.address])
    first.hears(second.address, Status(who=second.own))


def test_watching_others_forgets_those_that_are_watched_no_more(net: Ground) -> None:
    first, second = pair(net, limits=HASTY)
    third = net.pod(3)
    first.statuses.watch([third.address])
    assert second.address not in first.statuses.heard()
    first.hears(third.address, Status(who=third.own))
    second.says(ready=5)
    time.sleep(2 * HASTY.wait)
    assert first.statuses.heard().keys() == {third.address}
    first.statuses.watch([second.address, third.address])
    first.hears(second.address, Status(who=second.own, ready=5))
    first.statuses.watch([])
    assert first.statuses.heard() == {}


def test_the_own_address_is_never_polled(net: Ground) -> None:
    first = net.pod(1)
    first.statuses.watch([first.address])
    assert first.statuses.heard() == {}


def test_lingering_ends_once_all_have_read_the_last_words(net: Ground) -> None:
    first, second = pair(net)
    last = first.says(phase=Phase.DONE)
    began = time.monotonic()
    first.statuses.linger(20)
    assert time.monotonic() - began < 15
    net.leave(first)
    second.hears(first.address, last)


def test_lingering_ends_at_its_time_where_a_reader_does_not_come_back(net: Ground) -> None:
    first = net.pod(1)
    with Wire(first.address, net.port) as wire:
        wire.get("/status?boot=b9")
        wire.answer()
        first.says(phase=Phase.DONE)
        began = time.monotonic()
        first.statuses.linger(0.3)
    assert time.monotonic() - began > 0.25


def test_who_left_before_the_last_words_has_not_read_them(net: Ground) -> None:
    first = net.pod(1)
    token = ask(first, "/status", net.port)[1]["launcher-news"]
    with Wire(first.address, net.port) as wire:
        wire.get(f"/status?boot=b9&wait=30&after={token}")
        wait_until(lambda: first.statuses._publisher._readers)
    first.says(phase=Phase.DONE)
    began = time.monotonic()
    first.statuses.linger(0.3)
    assert time.monotonic() - began > 0.25


def test_lingering_does_not_wait_for_readers_of_long_ago_or_gone(net: Ground) -> None:
    first = net.pod(1, limits=replace(LIMITS, lost=0.2))
    with Wire(first.address, net.port) as wire:
        wire.get("/status?boot=b9")
        wire.answer()
    first.says(phase=Phase.DONE)
    began = time.monotonic()
    first.statuses.linger(20)
    assert time.monotonic() - began < 15


def test_lingering_does_not_wait_for_a_peer_where_nobody_listens(net: Ground) -> None:
    first, second = pair(net)
    net.leave(second)
    wait_until(lambda: first.statuses.heard()[second.address].refused)
    first.says(phase=Phase.DONE)
    began = time.monotonic()
    first.statuses.linger(20)
    assert time.monotonic() - began < 15


def test_after_its_end_nothing_waits(net: Ground) -> None:
    first = net.pod(1)
    net.leave(first)
    first.says(ready=1)
    first.statuses.watch([net.at(2)])
    began = time.monotonic()
    first.statuses.linger(20)
    assert time.monotonic() - began < 15
    assert "statuses" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("bind", ["", "own"])
def test_a_port_that_is_taken_is_a_mistake_of_the_settings(net: Ground, bind: str) -> None:
    address = net.at(1)
    with socket.create_server((bind and address, 0)) as taken:
        port = taken.getsockname()[1]
        statuses = Statuses(
            who(address),
            bind=bind and address,
            port=port,
            members=1,
            limits=LIMITS,
            nudge=lambda: None,
            tell=lambda *_, **__: None,
        )
        with pytest.raises(SettingsError, match=f"LAUNCHER_STATUS_PORT={port} is taken at .*: expected a free port"):
            statuses.start()


def test_an_address_that_is_not_here_is_said(net: Ground) -> None:
    with pytest.raises(SettingsError, match=f"LAUNCHER_STATUS_PORT={net.port} cannot be bound at 192.0.2.99: Cannot"):
        net.at_address("192.0.2.99")


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_statuses_travel_over_ipv6_and_all_interfaces_means_both(net: Ground) -> None:
    first = net.at_address("::1", boot="b1", bind="")
    assert ask(first, "/healthz", net.port)[0] == 200
    with Wire(net.at(1), net.port) as wire:
        wire.get("/healthz")
        assert wire.answer()[0] == 200
    first.statuses.watch(["0:0::1", net.at(1)])  # the own address in other digits; and itself by another
    wait_until(lambda: first.statuses.heard().get(net.at(1), Heard()).status == Status(who=first.own))
    assert first.statuses.heard().keys() == {net.at(1)}


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_a_peer_at_an_ipv6_address_is_polled_from_an_ipv4_one(net: Ground) -> None:
    first, second = net.at_address("::1", boot="b1"), net.pod(2)
    second.statuses.watch(["::1"])
    second.hears("::1", Status(who=first.own))
