"""Strangers who are slow, silent or many: closed or refused, with bounded memory, and the gang undisturbed."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pytest

from launcher.pod.gang.protocol.messages import LeaderMessage, Status
from launcher.pod.gang.status.rooms import FROM_ONE, GuestKind
from launcher.pod.gang.status.server import Patience
from tests.support.descriptors import descriptors
from tests.support.statuses import LIMITS, Ground, Pod, Wire, ask, ground
from tests.support.waiting import wait_until

SHORT = Patience(idle=0.3, head=0.2, taking=0.2)


@pytest.fixture
def net() -> Iterator[Ground]:
    with ground() as made:
        yield made


def test_a_slow_head_is_not_waited_for_even_if_it_never_pauses(net: Ground) -> None:
    pod = net.pod(1, patience=SHORT)
    with Wire(pod.address, net.port) as wire:
        wire.send(b"GET / HTTP/1.1\r\n")
        began = time.monotonic()
        wire.socket.settimeout(0.02)
        while time.monotonic() - began < 30:
            try:
                said = wire.socket.recv(4096)
                break
            except TimeoutError:
                wire.send(b"X: y\r\n")
    assert said.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - began < 20


def test_half_a_question_and_no_more_is_the_end(net: Ground) -> None:
    pod = net.pod(1)
    for said in (b"", b"GET", b"GET / HTTP/1.1\r\nHost"):
        with Wire(pod.address, net.port) as wire:
            wire.send(said)
            wire.socket.shutdown(1)
            assert wire.closed()


def test_a_connection_without_a_question_is_closed_after_a_while(net: Ground) -> None:
    pod = net.pod(1, patience=SHORT)
    with Wire(pod.address, net.port) as wire:
        wire.get("/healthz")
        wire.answer()
        began = time.monotonic()
        assert wire.closed()
    assert time.monotonic() - began > 0.2


def test_who_takes_no_answer_is_left(net: Ground) -> None:
    pod = net.pod(1, patience=SHORT)
    pod.says(key="x" * 1_000_000)
    before = descriptors()
    with Wire(pod.address, net.port) as wire:
        wire.send(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
        assert wire.socket.recv(1)  # and nothing more
        wait_until(lambda: len(descriptors() - before) == 1)  # the own end alone


def test_500_idle_connections_of_a_stranger_do_not_disturb_the_gang(net: Ground) -> None:
    first, second = net.pod(1), net.pod(2)
    first.statuses.watch([second.address])
    second.statuses.watch([first.address])
    second.hears(first.address, Status(who=first.own))
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(first.address, net.port)) for _ in range(500)]
        for wire in wires[:-FROM_ONE]:
            assert wire.closed()  # the oldest have gone for the newest
        second.hears(first.address, first.says(ready=1))
        wires[-1].get("/healthz")
        assert wires[-1].answer()[0] == 200
        assert len(first.statuses._server._visitors) <= FROM_ONE + 2  # and the other pod's, and the one that asked


def waiting(pod: Pod, kind: GuestKind) -> list[tuple[str, int]]:
    """Return where those come from that wait, or have no question."""
    visitors = tuple(pod.statuses._server._visitors)
    return [each._writer.get_extra_info("peername") for each in visitors if each.kind is kind and each.idle]


def _is_waiting(pod: Pod, wire: Wire) -> bool:
    return wire.socket.getsockname() in waiting(pod, GuestKind.MEMBER)


def test_a_question_of_a_stranger_that_waits_makes_room_for_its_next(net: Ground) -> None:
    pod = net.pod(1)
    token = ask(pod, "/status", net.port)[1]["launcher-news"]
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(pod.address, net.port)) for _ in range(FROM_ONE)]
        for wire in wires:
            wire.get(f"/status?after={token}&wait=30")
        wait_until(lambda: len(waiting(pod, GuestKind.STRANGER)) == FROM_ONE)
        with Wire(pod.address, net.port) as wire:
            wire.get("/gang")
            assert wire.answer()[0] == 404
        assert wires[0].closed()
        assert pod.says(ready=1)
        assert wires[1].answer()[0] == 200


def test_a_member_and_a_probe_find_room_where_strangers_took_all_with_questions_in_a_row(net: Ground) -> None:
    """512 strangers' connections from 16 addresses, in each 30 questions that would wait one after the other."""
    first, second = net.pod(1), net.pod(2, boot="b2")
    boot, _, number = ask(first, "/status", net.port)[1]["launcher-news"].rpartition(".")
    asked = [
        f"GET /status?after={boot}.{int(number) + later}&wait=30 HTTP/1.1\r\nHost: x\r\n\r\n" for later in range(30)
    ]
    with ExitStack() as stack:
        for each in range(512):
            wire = stack.enter_context(Wire(first.address, net.port, net.at(10 + each % 16)))
            wire.send("".join(asked).encode())
        wait_until(lambda: wire.socket.getsockname() in waiting(first, GuestKind.STRANGER))
        for path in ("/healthz", "/readyz"):
            assert ask(first, path, net.port)[2] != b""
        assert ask(first, "/healthz", net.port)[0] == 200
        first.statuses.watch([second.address])
        second.statuses.watch([first.address])
        for ready in range(1, 40):
            second.hears(first.address, first.says(ready=ready))
        first.hears(second.address, second.says(ready=1))
        wait_until(lambda: first.statuses.heard()[second.address].wrote > 0.0)


def test_a_member_that_comes_again_and_again_has_two_places_and_its_older_question_is_answered(net: Ground) -> None:
    pod = net.pod(1)
    pod.statuses.watch([net.at(2)])
    token = ask(pod, "/status", net.port)[1]["launcher-news"]
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(pod.address, net.port, net.at(2))) for _ in range(3)]
        for wire in wires:
            wire.get(f"/status?after={token}&wait=30&boot=b2")
            wait_until(partial(_is_waiting, pod, wire))
        assert wires[0].answer()[0] == 200
        assert wires[0].closed()
        pod.says(ready=1)
        assert [wire.answer()[0] for wire in wires[1:]] == [200, 200]


def test_what_is_served_holds_neither_memory_nor_threads(net: Ground) -> None:
    pod = net.pod(1)
    ask(pod, "/status", net.port)
    threads, before = set(threading.enumerate()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(300):
        assert ask(pod, f"/status?boot={number}", net.port)[0] == 200
    assert not set(threading.enumerate()) - threads
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB
    wait_until(lambda: not pod.statuses._server._visitors)


def test_who_asks_as_a_member_that_is_silent_holds_up_its_loss_for_one_lease_at_most(net: Ground) -> None:
    """The leader answers no more once the member's own address has been silent for a lease, and notes no more."""
    leader, member = net.pod(1, boot="b1", limits=replace(LIMITS, lease=1.0, wait=0.2)), net.pod(2, boot="b2")
    leader.says(word=LeaderMessage())
    member.says(ready=1)
    leader.statuses.watch([member.address])
    leader.hears(member.address, Status(who=member.own, ready=1))
    assert ask(leader, "/status?boot=b2", net.port)[0] == 200
    net.leave(member)
    codes, ends = [], time.monotonic() + 3
    while time.monotonic() < ends:
        code, _, body = ask(leader, "/status?boot=b2", net.port)
        codes.append(code)
        time.sleep(0.02)
    heard = leader.statuses.heard()[member.address]
    assert sorted(codes) == codes
    assert {200, 503} == set(codes)
    assert f"no answer from {member.address} for 1 s" in body.decode()
    assert heard.sent < heard.wrote <= heard.sent + 1.0 + 0.5
    assert ask(leader, "/status?boot=nobody", net.port)[0] == 200
    # Two leaders never refuse each other: they would never meet again.
    leader.says()
    assert ask(leader, "/status?boot=b2", net.port)[0] == 200
