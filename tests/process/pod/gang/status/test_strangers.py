"""Strangers who are slow, silent or many: closed or refused, with bounded memory, and the gang undisturbed."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest

from launcher.pod.gang.protocol.messages import Status
from launcher.pod.gang.status import server
from launcher.pod.gang.status.server import Patience
from tests.support.statuses import Ground, Wire, ask, ground
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
        while time.monotonic() - began < 5:
            try:
                said = wire.socket.recv(4096)
                break
            except TimeoutError:
                wire.send(b"X: y\r\n")
    assert said.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - began < 2


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
    assert 0.2 < time.monotonic() - began < 3


def test_who_takes_no_answer_is_left(net: Ground) -> None:
    pod = net.pod(1, patience=SHORT)
    pod.says(key="x" * 1_000_000)
    process = psutil.Process()
    before = process.num_fds()
    with Wire(pod.address, net.port) as wire:
        wire.send(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
        wait_until(lambda: process.num_fds() == before + 2)
        wait_until(lambda: process.num_fds() == before + 1)  # the own end alone


def test_500_idle_connections_of_a_stranger_do_not_disturb_the_gang(net: Ground) -> None:
    first, second = net.pod(1), net.pod(2)
    first.statuses.watch([second.address])
    second.statuses.watch([first.address])
    second.hears(first.address, Status(who=first.own))
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(first.address, net.port)) for _ in range(500)]
        for wire in wires[: -server.FROM_ONE]:
            assert wire.closed()  # the oldest have gone for the newest
        second.hears(first.address, first.says(ready=1))
        wires[-1].get("/healthz")
        assert wires[-1].answer()[0] == 200
        assert len(first.statuses._server._visitors) <= server.FROM_ONE + 1


def test_a_stranger_whose_questions_all_wait_gets_no_more(net: Ground) -> None:
    pod = net.pod(1)
    token = ask(pod, "/status", net.port)[1]["launcher-news"]
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(pod.address, net.port)) for _ in range(server.FROM_ONE)]
        for wire in wires:
            wire.get(f"/status?after={token}&wait=30")
        visitors = pod.statuses._server._visitors
        wait_until(lambda: len(visitors) == server.FROM_ONE and not any(each.idle for each in tuple(visitors)))
        with Wire(pod.address, net.port) as wire:
            assert wire.answer()[0] == 503
            assert wire.closed()
        with Wire(pod.address, net.port, net.at(9)) as wire:
            wire.get("/healthz")
            assert wire.answer()[0] == 200  # another stranger does


def test_a_peer_finds_room_where_strangers_from_everywhere_took_all(
    net: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 40)
    pod = net.pod(1)
    pod.statuses.watch([net.at(2)])
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(pod.address, net.port, net.at(10 + number % 20))) for number in range(40)]
        wait_until(lambda: len(pod.statuses._server._visitors) == 40)
        for _ in range(3):
            wire = stack.enter_context(Wire(pod.address, net.port, net.at(2)))
            wire.get("/healthz")
            assert wire.answer()[0] == 200
        assert all(each.closed() for each in wires[:3])


def test_what_is_served_holds_neither_memory_nor_threads(net: Ground) -> None:
    pod = net.pod(1)
    ask(pod, "/status", net.port)
    threads, before = threading.active_count(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(300):
        assert ask(pod, f"/status?boot={number}", net.port)[0] == 200
    assert threading.active_count() == threads
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB
    wait_until(lambda: not pod.statuses._server._visitors)
