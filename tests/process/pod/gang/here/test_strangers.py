"""Who may speak to a launcher: a stranger at its door is turned away, and disturbs nobody."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from launcher import here
from launcher.pod.gang.here.service import HereService
from launcher.pod.gang.here.socket import ASKING, HELLO, SILENT
from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Marks
from tests.support.descriptors import descriptors
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[HereService]:
    """A service with a generation, whose trainer is this very process."""
    yield from serving(monkeypatch, hello=HELLO)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[HereService]:
    """The same, which waits a second for a line: time enough for the few that a test says."""
    yield from serving(monkeypatch, hello=1)


def serving(monkeypatch: pytest.MonkeyPatch, hello: float) -> Iterator[HereService]:
    """Yield a service that waits that long for a line."""
    service = HereService(lambda: None, hello=hello)
    service.start()
    service.begin(1, 0, 1)
    for name, value in service.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(here, "_KEPT", {})
    yield service
    service.close()
    wait_until(lambda: threads() == 0)


def threads() -> int:
    """Return how many threads the door has."""
    return sum(thread.name.startswith("here") for thread in threading.enumerate())


def knock(stack: ExitStack) -> socket.socket:
    """Connect to the service."""
    connection = stack.enter_context(socket.socket(socket.AF_UNIX))
    connection.settimeout(10)
    connection.connect("\0" + os.environ["LAUNCHER_HERE"].rpartition(":")[0])
    return connection


def said(**question: object) -> bytes:
    """Return a line with the right token, unless another is given."""
    return json.dumps({"token": os.environ["LAUNCHER_HERE"].rpartition(":")[2], **question}).encode() + b"\n"


def hung_up(connection: socket.socket) -> bool:
    """Return whether nothing but the end comes."""
    try:
        return connection.recv(100) == b""
    except ConnectionError:  # it did not even read all that was sent
        return True


def takes(connection: socket.socket, block: bytes, times: int, pause: float = 0) -> bool:
    """Return whether all is taken that is sent, block by block."""
    try:
        for _ in range(times):
            connection.sendall(block)
            time.sleep(pause)
    except ConnectionError:
        return False
    return True


@pytest.mark.parametrize(
    "question",
    [
        {"token": "wrong", "ask": "barrier", "name": "b"},
        {"token": "ü", "ask": "barrier", "name": "b"},
        {"token": None, "ask": "barrier", "name": "b"},
        {"ask": "shutdown"},
    ],
)
def test_without_the_token_or_a_question_nobody_is_answered(
    service: HereService, question: dict[str, object]
) -> None:
    with ExitStack() as stack:
        stranger = knock(stack)
        stranger.sendall(said(**question))
        assert hung_up(stranger)
    assert service.marks == Marks()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_is_turned_away_even_with_the_token(service: HereService) -> None:
    script = """
import json, os, socket
from launcher import here
os.setuid(65534)
try:
    here.share("k", 1)
except here.GenerationEnded:
    print("turned away")
"""
    assert subprocess.check_output([sys.executable, "-c", script], env=os.environ) == b"turned away\n"
    assert service.marks == Marks()


def test_a_hundred_who_say_nothing_keep_nobody_out(hasty: HereService) -> None:
    with ExitStack() as stack:
        strangers = [knock(stack) for _ in range(100)]
        here.share("k", 1)
        assert hasty.marks.shared == {"k": "1"}
        assert threads() == 1
        assert all(hung_up(stranger) for stranger in strangers)


def test_more_callers_than_places_are_told_so(service: HereService) -> None:
    with ExitStack() as stack:
        for number in range(ASKING):
            knock(stack).sendall(said(ask="barrier", name=f"b{number}"))
        wait_until(lambda: len(service.marks.at) == ASKING)
        with pytest.raises(here.Misuse, match=f"{ASKING} threads and processes of this trainer are waiting"):
            here.barrier("one more")
    wait_until(lambda: service.marks.at == ())
    here.share("k", 1)


def test_of_the_connections_that_are_kept_the_longest_silent_makes_room(service: HereService) -> None:
    with ExitStack() as stack:
        kept = []
        for _ in range(SILENT + 1):  # one by one: who says nothing makes room for the newcomers behind it
            kept.append(connection := knock(stack))
            connection.sendall(said(ask="share", key="k", value=1))
            assert connection.recv(100) == b'{"ok": null}\n'
        assert hung_up(kept[0])
        for connection in kept[1:]:
            connection.sendall(said(ask="get", key="k", rank=0))
            assert connection.recv(100) == b'{"ok": 1}\n'
        kept[1].sendall(said(ask="shutdown"))
        assert hung_up(kept[1])
        kept[2].sendall(said(token="wrong", ask="get", key="k", rank=0))  # noqa: S106  # no password
        assert hung_up(kept[2])
        here.share("k", 2)
        assert service.marks.shared == {"k": "2"}


def test_half_a_second_line_is_waited_for_for_a_while_only(hasty: HereService) -> None:
    with ExitStack() as stack:
        half, silent = knock(stack), knock(stack)
        for connection in (half, silent):
            connection.sendall(said(ask="share", key="k", value=1))
            assert connection.recv(100) == b'{"ok": null}\n'
        half.sendall(said(ask="barrier", name="b")[:-5])
        assert hung_up(half)
        silent.sendall(said(ask="get", key="k", rank=0))
        assert silent.recv(100) == b'{"ok": 1}\n'
    assert hasty.marks.at == ()


def test_one_who_ran_out_of_time_may_ask_again_over_the_same_connection(service: HereService) -> None:
    with ExitStack() as stack:
        caller = knock(stack)
        for _ in range(3):
            caller.sendall(said(ask="get", key="k", rank=0, timeout=0.05))
            assert b"no trainer shared" not in (answer := caller.recv(200))
            assert b"trainer 0 has not shared it within 0.05 s" in answer
        here.share("k", 1)
        caller.sendall(said(ask="get", key="k", rank=0, timeout=0.05))
        assert caller.recv(200) == b'{"ok": 1}\n'
    assert service.marks.shared == {"k": "1"}


def test_a_line_too_long_is_not_read_to_its_end(service: HereService) -> None:
    with ExitStack() as stack:
        stranger = knock(stack)
        assert not takes(stranger, b"x" * 65536, times=64)
        assert hung_up(stranger)
    here.share("k", 1)
    assert service.marks.shared == {"k": "1"}


def test_half_a_line_and_a_slow_one_are_waited_for_for_a_while_only(hasty: HereService) -> None:
    with ExitStack() as stack:
        half, slow = knock(stack), knock(stack)
        half.sendall(said(ask="barrier", name="b")[:-5])
        assert not takes(slow, b" ", times=1000, pause=0.01)
        assert hung_up(half)
    assert hasty.marks == Marks()


def test_who_leaves_in_the_middle_is_forgotten(service: HereService) -> None:
    before = descriptors()
    with ExitStack() as stack:
        knock(stack).sendall(said(ask="share", key="k", value=1)[:-5])
        wait_until(lambda: len(descriptors() - before) == 2)  # both ends of the connection
    wait_until(lambda: not descriptors() - before)
    assert threads() == 1
    assert service.marks == Marks()


def test_a_second_question_and_noise_after_the_first_are_not_heard(service: HereService) -> None:
    with ExitStack() as stack:
        talker = knock(stack)
        talker.sendall(said(ask="barrier", name="b") + said(ask="barrier", name="c"))
        talker.sendall(b"x" * 500_000)
        wait_until(lambda: service.marks.at == ("b",))
        service.hear(LeaderMessage(generation=Generation(number=1, members=(), digest=""), passed=("b", "c")))
        assert talker.recv(100) == b'{"ok": null}\n'


def test_a_launcher_of_0_1_0_which_hangs_up_after_each_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def answer(listening: socket.socket) -> None:
        while len(asked) < 5:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as lines:
                asked.append(lines.readline())
                connection.sendall(b'{"ok": null}\n')
                connection.shutdown(socket.SHUT_RDWR)

    with ExitStack() as stack:
        listening = stand_still(stack, monkeypatch, queue=10)
        launcher = threading.Thread(target=answer, args=(listening,))
        launcher.start()
        for number in range(5):
            here.barrier(f"b{number}")
        launcher.join()
    assert [json.loads(line)["name"] for line in asked] == [f"b{number}" for number in range(5)]


def stand_still(stack: ExitStack, monkeypatch: pytest.MonkeyPatch, queue: int) -> socket.socket:
    """Listen as a launcher that has been stopped: callers queue up before its door."""
    monkeypatch.setattr(here, "_KEPT", {})
    monkeypatch.setattr(here, "LATE", 0.2)
    monkeypatch.setenv("LAUNCHER_HERE", f"paddle-launcher-still-{os.getpid()}:token")
    still = stack.enter_context(socket.socket(socket.AF_UNIX))
    still.bind(f"\0paddle-launcher-still-{os.getpid()}")
    still.listen(queue)
    stack.callback(wait_until, lambda: not late_reports())  # or they go to the next test's launcher
    return still


def late_reports() -> list[threading.Thread]:
    """Return what is still to send a report."""
    return [each for each in threading.enumerate() if isinstance(each, threading.Timer)]


@pytest.mark.parametrize("queue", [0, 10])
def test_a_launcher_that_stands_still_costs_a_report_a_moment(monkeypatch: pytest.MonkeyPatch, queue: int) -> None:
    with ExitStack() as stack:
        stand_still(stack, monkeypatch, queue)
        begun = time.monotonic()
        for step in range(1000):
            here.progress(step=step)
        assert time.monotonic() - begun < 1000 * here.LATE / 10  # it would be ten times that if each cost it


def test_a_launcher_that_stands_still_is_given_up_a_little_after_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        stand_still(stack, monkeypatch, queue=10)
        with pytest.raises(TimeoutError, match="the launcher does not respond: no answer"):
            here.barrier("b", timeout=0.1)
    with pytest.raises(here.GenerationEnded, match="the launcher is gone"):
        here.barrier("b")
    here.progress(step=1)


def test_what_was_heard_before_a_generation_began_counts_in_it(service: HereService) -> None:
    word = LeaderMessage(generation=Generation(number=2, members=(), digest=""), shared={"1": {"k": "7"}})
    service.hear(word)
    service.begin(2, 0, 2)
    os.environ.update(service.environment())
    assert here.get("k") == 7
