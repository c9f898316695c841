"""What a launcher serves, and to whom it does not: strangers may look, and disturb nobody."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Marks, Phase
from launcher.pod.gang.status.members import with_members
from launcher.pod.gang.status.metrics import Facts
from launcher.pod.outcome import Outcome
from tests.support.statuses import Ground, Pod, Wire, ask, ground, json_of, who
from tests.support.waiting import wait_until


@pytest.fixture
def net() -> Iterator[Ground]:
    with ground() as made:
        yield made


def pages(net: Ground, pod: Pod, path: str) -> tuple[int, str]:
    code, _, body = ask(pod, path, net.port)
    return code, body.decode()


def test_status_is_json_with_its_version(net: Ground) -> None:
    pod = net.pod(1)
    pod.says(phase=Phase.STAGING, rank=3)
    page = json_of(ask(pod, "/status", net.port))
    assert page["version"] == codec.VERSION
    assert page["status"]["phase"] == "staging"
    assert page["status"]["rank"] == 3


def test_a_reader_waits_for_news_and_an_unknown_token_is_answered_at_once(net: Ground) -> None:
    pod = net.pod(1)
    token = ask(pod, "/status?wait=30", net.port)[1]["launcher-news"]
    assert ask(pod, "/status?after=other.17&wait=30", net.port)[1]["launcher-news"] == token
    with Wire(pod.address, net.port) as wire:
        wire.get(f"/status?after={token}&wait=30")
        wire.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            wire.socket.recv(1)
        wire.socket.settimeout(5)
        pod.says(phase=Phase.STAGING)
        assert json_of(wire.answer())["status"]["phase"] == "staging"


@pytest.mark.parametrize("wait", ["soon", "nan", "-1"])
def test_a_wait_that_is_none_is_refused(net: Ground, wait: str) -> None:
    assert pages(net, net.pod(1), f"/status?wait={wait}") == (400, "wait: expected a number of seconds\n")


def test_healthz_is_ok(net: Ground) -> None:
    assert pages(net, net.pod(1), "/healthz") == (200, "ok\n")


def test_readyz_says_what_it_waits_for_until_the_pod_serves(net: Ground) -> None:
    pod, leader = net.pod(1), net.pod(2)
    assert pages(net, pod, "/readyz") == (503, "joining: waiting for its peers\n")
    leader.says(word=LeaderMessage(waiting="rank 3 stages its data"))
    pod.statuses.watch([leader.address])
    wait_until(lambda: pages(net, pod, "/readyz") == (503, "joining: rank 3 stages its data\n"))
    pod.statuses.watch([])
    pod.says(phase=Phase.STAGING)
    assert pages(net, pod, "/readyz") == (503, "staging: staging its data\n")
    for phase in (Phase.SERVING, Phase.TRAINING, Phase.TRAINED, Phase.DONE):
        pod.says(phase=phase)
        assert pages(net, pod, "/readyz") == (200, f"{phase}\n")
    pod.says(phase=Phase.STOPPED)
    assert pages(net, pod, "/readyz") == (503, "stopped: it no longer runs\n")
    pod.says(phase=Phase.FAILED, failure=Failure(generation=1, code=7, reason="the trainer exited with 7"))
    assert pages(net, pod, "/readyz") == (503, "failed: the trainer exited with 7\n")


def test_the_leader_shows_the_gang_and_the_others_say_who_leads(net: Ground) -> None:
    pod, leader = net.pod(1), net.pod(2)
    assert pages(net, pod, "/gang") == (404, "no leader is known yet\n")
    pod.statuses.leader = leader.address
    assert pages(net, pod, "/gang") == (404, f"only the leader has this page: ask {leader.address}\n")
    generation = Generation(number=2, members=(leader.own, pod.own), digest="d", restarts=1)
    leader.says(rank=0, word=LeaderMessage(generation=generation, shared={"0": {"key": "value"}}))
    said = pod.says(rank=1, phase=Phase.TRAINING, marks=Marks(progress={"loss": 0.5}))
    leader.statuses.watch([pod.address, net.at(3)])
    leader.hears(pod.address, said)
    page = json_of(ask(leader, "/gang", net.port))
    assert page["word"]["generation"]["restarts"] == 1
    assert page["word"]["shared"] == {}
    ages = {each["address"]: each.pop("age") for each in page["members"]}
    lines = {each["address"]: each for each in page["members"]}
    own = {"address": leader.address, "role": "node", "rank": 0, "phase": "joining", "progress": {}}
    its = {"address": pod.address, "role": "node", "rank": 1, "phase": "training", "progress": {"loss": 0.5}}
    assert lines == {leader.address: own, pod.address: its, net.at(3): {"address": net.at(3)}}
    assert ages[leader.address] == 0.0
    assert 0.0 <= ages[pod.address] < 5
    assert ages[net.at(3)] is None


def test_the_end_of_a_log_and_path_are_for_members_alone(net: Ground) -> None:
    pod = net.pod(1)
    pod.statuses.watch([net.at(2)])
    said = "cannot start 'train': No such file or directory on PATH; is it in the image?"
    failure = Failure(generation=1, code=71, reason=said, tail="DB_PASSWORD=hunter5")
    made = Generation(number=2, members=(pod.own,), digest="d", cause=said)
    over = Outcome(code=71, reason=said, tail=failure.tail)
    status = pod.says(failure=failure, word=LeaderMessage(generation=made, cause=failure, verdict=over))
    for path in ("/status", "/status?boot=anyone", "/gang", "/readyz"):
        page = ask(pod, path, net.port)[2].decode()
        assert "cannot start 'train': No such file or directory on PATH; is it in the image?" in page
        assert "hunter5" not in page
    with Wire(pod.address, net.port, net.at(2)) as wire:
        wire.get("/status?boot=b2")
        assert with_members(codec.decode(wire.answer()[2]), (pod.own,)) == status
        wire.get("/status")
        assert b"hunter5" not in wire.answer()[2]


def test_members_are_a_page_of_their_own_for_who_shows_a_boot(net: Ground) -> None:
    leader, member = net.pod(1), net.pod(2, boot="b2")
    members = tuple(who(net.at(number), boot=f"b{number}") for number in range(2, 202))
    said = leader.says(word=LeaderMessage(generation=Generation(number=2, members=members, digest="d")))
    with Wire(leader.address, net.port) as wire:
        wire.get("/status?boot=b2")
        _, headers, body = wire.answer()
        assert len(body) < 2048
        wire.get(f"/members?digest={headers['launcher-members']}")
        assert codec.decode_members(wire.answer()[2]) == members
        wire.get("/members?digest=other")
        assert wire.answer()[0] == 404
        wire.get("/status")  # whoever only looks has them in the status
        _, headers, body = wire.answer()
        assert "launcher-members" not in headers
        assert codec.decode(body) == said
    member.statuses.watch([leader.address])
    member.hears(leader.address, said)


def test_a_gang_page_that_is_too_large_is_not_shown(net: Ground) -> None:
    leader = net.pod(1)
    # Within the limit as a status; a page has what it reports beside the word.
    big = "x" * 600_000
    leader.says(word=LeaderMessage(waiting=big))
    assert ask(leader, "/gang", net.port)[0] == 200
    pod = net.pod(2)
    pod.says(marks=Marks(progress={"note": big}))
    leader.statuses.watch([pod.address])
    wait_until(lambda: ask(leader, "/gang", net.port)[0] == 500)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE", "GOT"])
def test_other_methods_are_refused(net: Ground, method: str) -> None:
    pod = net.pod(1)
    with Wire(pod.address, net.port) as wire:
        wire.send(f"{method} /status HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
        if method == "HEAD":
            assert wire.socket.recv(4096).startswith(b"HTTP/1.1 405 ")
        else:
            code, headers, _ = wire.answer()
            assert (code, headers["allow"]) == (405, "GET")


def test_a_body_is_refused_and_not_read(net: Ground) -> None:
    pod = net.pod(1)
    for method, code in (("GET", 413), ("POST", 405)):
        for how in ("Content-Length: 1000000000", "Transfer-Encoding: chunked"):
            with Wire(pod.address, net.port) as wire:
                wire.send(f"{method} /status HTTP/1.1\r\nHost: x\r\n{how}\r\n\r\n".encode())
                assert wire.answer()[0] == code
                assert wire.closed()


@pytest.mark.parametrize("path", ["/", "/nothing", "//[", "/status/", "http://[", "/../etc/passwd", "*"])
def test_unknown_pages_are_not_found(net: Ground, path: str) -> None:
    assert ask(net.pod(1), path, net.port)[0] == 404


def test_too_many_fields_are_refused(net: Ground) -> None:
    assert ask(net.pod(1), "/status?" + "a=1&" * 50, net.port)[0] == 400


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"GET /" + b"a" * 20_000, 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 20_000, 431),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 3_000, 431),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: rot13\r\n\r\n", 501),
    ],
    ids=["path", "header", "headers", "tls", "no host", "chunk", "coding"],
)
def test_heads_that_are_none_are_refused(net: Ground, said: bytes, code: int) -> None:
    pod = net.pod(1)
    with Wire(pod.address, net.port) as wire:
        wire.send(said)
        assert wire.answer()[0] == code
        assert wire.closed()
    assert ask(pod, "/healthz", net.port)[0] == 200


def test_questions_in_one_packet_are_answered_in_order(net: Ground) -> None:
    pod = net.pod(1)
    with Wire(pod.address, net.port) as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /gang HTTP/1.1\r\nHost: x\r\n\r\n")
        both = b""
        while both.count(b"HTTP/1.1") < 2 or not both.endswith(b"known yet\n"):
            both += wire.socket.recv(4096)
    assert both.index(b"200") < both.index(b"404")


def test_an_old_client_is_answered_and_left(net: Ground) -> None:
    with Wire(net.pod(1).address, net.port) as wire:
        wire.send(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert wire.answer()[2] == b"ok\n"
        assert wire.closed()


def test_whatever_bytes_come_the_server_goes_on(net: Ground) -> None:
    """A trouble that nobody expected is told, and fails the test."""
    pod = net.pod(1)
    dice = random.Random(7)  # noqa: S311  # the same every time
    noise = (b"\r\n", b"\r\n\r\n", b"\0", b"%", b"&" * 30, b" ", b":", b"=\xff", b"HTTP/1.1", b"chunked", b"")
    for _ in range(150):
        said = b"GET /status?after=x&wait=0&boot=z HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(said))
            said = said[:at] + dice.choice(noise) + said[at + dice.randint(0, 9) :]
        with Wire(pod.address, net.port) as wire, suppress(ConnectionError):
            wire.send(said)
            wire.socket.shutdown(1)
            while wire.socket.recv(4096):
                pass
    assert pages(net, pod, "/healthz") == (200, "ok\n")


def test_a_page_that_cannot_be_made_is_told_once_and_costs_its_own_connection_alone(net: Ground) -> None:
    def facts() -> Facts:
        raise ValueError("no facts today")

    pod = net.pod(1, facts=facts)
    for _ in range(2):
        with Wire(pod.address, net.port) as wire:
            wire.get("/metrics")
            assert wire.closed()
    wait_until(lambda: pod.told)
    assert pages(net, pod, "/healthz") == (200, "ok\n")
    assert [name for name, _ in pod.told] == ["statuses_trouble"]
    assert "no facts today" in pod.told.pop()[1]["why"]


def test_nothing_of_the_environment_or_the_command_line_is_served(
    net: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hunter2-in-the-environment")
    pod = net.pod(1)
    pod.says(word=LeaderMessage())
    for path in ("/status", "/healthz", "/readyz", "/gang", "/metrics"):
        body = ask(pod, path, net.port)[2].decode()
        assert "hunter2" not in body
        assert sys.argv[0] not in body
