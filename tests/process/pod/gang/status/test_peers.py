"""Peers that die, stop, are replaced or talk nonsense: known at once or ignored, and nobody waits for them."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise

import pytest

from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Status
from launcher.pod.gang.status import client
from tests.support.statuses import HASTY, LIMITS, Ground, Pod, ask, ground, who
from tests.support.waiting import wait_until


@pytest.fixture
def net() -> Iterator[Ground]:
    with ground() as made:
        yield made


@contextmanager
def fake(address: str, port: int, talk: Callable[[socket.socket], object]) -> Iterator[list[float]]:
    """Be a peer that does with each connection what a test says; yield when each came."""
    came: list[float] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            came.append(time.monotonic())
            with connection, suppress(OSError):
                connection.recv(4096)
                talk(connection)

    with socket.create_server((address, port)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield came
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def answer(body: bytes, news: str = "t", code: int = 200) -> bytes:
    return f"HTTP/1.1 {code} OK\r\nContent-Length: {len(body)}\r\nLauncher-News: {news}\r\n\r\n".encode() + body


def watching(net: Ground, address: str) -> Pod:
    pod = net.pod(1, limits=HASTY)
    pod.statuses.watch([address])
    return pod


def test_a_peer_that_dies_is_known_to_be_gone_long_before_the_next_look(net: Ground) -> None:
    pod = net.pod(1)
    took = []
    for number in (2, 3, 4):
        with net.process(number) as process:
            pod.statuses.watch([net.at(number)])
            pod.hears(net.at(number), Status(who=who(net.at(number))))
            assert pod.nudged.acquire(timeout=10)  # a moment after it was heard
            process.kill()
            died = time.monotonic()
            assert pod.nudged.acquire(timeout=10)
            took.append(time.monotonic() - died)
            assert pod.statuses.heard()[net.at(number)].refused
            assert pod.statuses.heard()[net.at(number)].status == Status(who=who(net.at(number)))
    assert min(took) < LIMITS.wait / 10


def test_a_peer_that_is_not_there_yet_is_asked_ever_more_rarely_and_heard_once_it_is(net: Ground) -> None:
    pod = watching(net, net.at(2))
    assert pod.nudged.acquire(timeout=10)
    wait_until(lambda: pod.statuses.heard()[net.at(2)].refused)
    assert not pod.nudged.acquire(timeout=0.3)  # refused again and again is no news
    second = net.pod(2)
    pod.hears(net.at(2), Status(who=second.own))
    assert not pod.statuses.heard()[net.at(2)].refused
    assert pod.nudged.acquire(timeout=10)


def test_pauses_grow_to_a_second_and_the_first_question_after_an_answer_comes_at_once() -> None:
    pauses = [[client._pause(misses) for _ in range(50)] for misses in (0, 1, 2, 20, 5000)]
    assert set(pauses[0]) == {0.0}
    for given, longest in zip(pauses[1:], (0.005, 0.01, 1.0, 1.0), strict=True):
        assert longest / 2 <= min(given) < max(given) <= longest


def test_a_stopped_peer_is_silent_and_heard_again_once_it_goes_on(net: Ground) -> None:
    with net.process(2) as process:
        pod = net.pod(1, limits=replace(LIMITS, wait=0.05))
        pod.statuses.watch([net.at(2)])
        pod.hears(net.at(2), Status(who=who(net.at(2))))
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        stopped = time.monotonic()
        time.sleep(0.4)
        assert pod.statuses.heard()[net.at(2)].sent < stopped
        assert not pod.statuses.heard()[net.at(2)].refused
        assert ask(pod, "/healthz", net.port)[0] == 200  # nobody waits for it
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: pod.statuses.heard()[net.at(2)].sent > stopped)


def test_a_peer_that_never_answers_is_given_up_and_asked_anew(net: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "BEGINNING", 0.1)
    with fake(net.at(2), net.port, lambda connection: connection.recv(1)) as came:  # until it is left
        began = time.monotonic()
        pod = watching(net, net.at(2))
        wait_until(lambda: len(came) > 1)
        assert came[1] - began >= 0.2
        assert pod.statuses.heard()[net.at(2)].sent == 0.0
        pod.statuses.watch([])


def test_an_answer_that_does_not_end_is_given_up(net: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "COMPLETING", 0.1)

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            connection.sendall(b" ")
            time.sleep(0.02)

    with fake(net.at(2), net.port, drip) as came:
        pod = watching(net, net.at(2))
        wait_until(lambda: len(came) > 1)
        assert pod.statuses.heard()[net.at(2)].status is None


def test_another_boot_at_the_same_address_takes_the_place_of_the_former(net: Ground) -> None:
    first, second = net.pod(1), net.pod(2, boot="old")
    for pod in (first, second):
        pod.statuses.watch([net.at(1), net.at(2)])
    first.hears(net.at(2), Status(who=second.own))
    wait_until(lambda: first.statuses.heard()[net.at(2)].wrote)
    net.leave(second)
    wait_until(lambda: first.statuses.heard()[net.at(2)].refused)
    replacement = net.pod(2, boot="new")
    first.hears(net.at(2), Status(who=replacement.own))
    heard = first.statuses.heard()[net.at(2)]
    assert not heard.refused
    assert heard.wrote == 0.0  # it has asked nothing yet
    replacement.statuses.watch([net.at(1)])
    wait_until(lambda: first.statuses.heard()[net.at(2)].wrote)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"\x00\xff garbage\r\n\r\n", "not HTTP"),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000, "not HTTP"),
        (answer(b"{}", code=404), "answered 404: expected 200"),
        (answer(b"not json"), "not JSON"),
        (answer(json.dumps({"version": 1}).encode()), "version 1 of the status: expected version 2"),
        (answer(b"[" * 100_000), "nested too deep"),
        (answer(b" " * (codec.MESSAGE_LIMIT + 1)), f"more than {codec.MESSAGE_LIMIT} bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b" " * 65536, "more than"),
    ],
    ids=["bytes", "another protocol", "a long header", "404", "no json", "version", "deep", "large", "endless"],
)
def test_nonsense_is_ignored_with_one_line(net: Ground, said: bytes, why: str) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(said)
        while b"chunked" in said:
            connection.sendall(b"\r\n10000\r\n" + b" " * 65536)

    with fake(net.at(2), net.port, talk) as came:
        pod = watching(net, net.at(2))
        wait_until(lambda: len(came) > 3)
        assert len(pod.why(net.at(2))) == 1
        assert pod.why(net.at(2))[0].startswith(why)
        heard = pod.statuses.heard()[net.at(2)]
        assert (heard.status, heard.sent, heard.refused) == (None, 0.0, False)
        assert not pod.nudged.acquire(blocking=False)


def test_members_of_another_digest_are_no_members(net: Ground) -> None:
    made = Generation(number=1, members=(), digest="d")
    said = answer(codec.encode(Status(who=who(net.at(2)), word=LeaderMessage(generation=made))))
    page = answer(codec.encode_members((who(net.at(2)),)))

    def talk(connection: socket.socket) -> None:
        connection.sendall(said.replace(b"\r\n\r\n", b"\r\nLauncher-Members: 0123\r\n\r\n", 1))
        connection.recv(4096)
        connection.sendall(page)

    with fake(net.at(2), net.port, talk):
        pod = watching(net, net.at(2))
        wait_until(lambda: pod.why(net.at(2)))
        assert pod.why(net.at(2))[0].startswith("its page of members has another digest")
        assert pod.statuses.heard()[net.at(2)].status is None


def test_ever_new_nonsense_fills_no_log(net: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_PAUSE", 0.02)
    versions = iter(range(codec.VERSION + 1, 10_000))

    def talk(connection: socket.socket) -> None:
        connection.sendall(answer(json.dumps({"version": next(versions)}).encode()))

    with fake(net.at(2), net.port, talk) as came:
        pod = watching(net, net.at(2))
        wait_until(lambda: len(came) > client.TOLD_LIMIT + 3)
        assert len(pod.why(net.at(2))) == client.TOLD_LIMIT


def test_a_peer_with_endless_news_is_kept_to_a_pace(net: Ground) -> None:
    def talk(connection: socket.socket) -> None:
        number = 0
        while True:
            number += 1
            status = Status(who=who(net.at(2)), ready=number)
            connection.sendall(answer(codec.encode(status), news=str(number)))
            asked.append(connection.recv(4096))
            if not asked[-1]:
                return

    asked: list[bytes] = []
    with fake(net.at(2), net.port, talk):
        pod = watching(net, net.at(2))
        wait_until(lambda: asked)
        before, began = len(asked), time.monotonic()
        wait_until(lambda: len(asked) > before + 50)
        assert time.monotonic() - began > 50 * client.PACE / 1.5
        assert pod.statuses.heard()[net.at(2)].sent
        pod.statuses.watch([])


def test_what_a_peer_calls_its_news_comes_back_to_it_whatever_it_is(net: Ground) -> None:
    asked: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        connection.sendall(answer(codec.encode(Status(who=who(net.at(2)))), news="a&b=c d\t%/\xe9"))
        asked.append(connection.recv(4096))

    with fake(net.at(2), net.port, talk):
        watching(net, net.at(2))
        wait_until(lambda: asked)
    assert asked[0].startswith(b"GET /status?after=a%26b%3Dc+d%09%25%2F%C3%83%C2%A9&wait=0.1&boot=b0 HTTP/1.1\r\n")


def test_a_peer_that_keeps_no_connection_is_heard_all_the_same(net: Ground) -> None:
    status = Status(who=who(net.at(2)))

    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(codec.encode(status)))
        connection.sendall(codec.encode(status))

    with fake(net.at(2), net.port, talk) as came:
        pod = watching(net, net.at(2))
        pod.hears(net.at(2), status)
        wait_until(lambda: len(came) > 12)
        pauses = [after - before for before, after in pairwise(came[8:13])]
        assert min(pauses) < client.LONGEST_PAUSE / 2  # after an answer there is none
        assert pod.why(net.at(2)) == []
