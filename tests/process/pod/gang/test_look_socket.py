"""The local socket at which the pod's own agent asks for a look: real connections, and a node that answers."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from launcher import contract
from launcher.pod.gang import look_socket
from launcher.pod.gang.look_socket import ASKED, LookSocket
from launcher.stacks.__main__ import asked, give_texts, main
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(30)
Nothing = Callable[[], None]


NUMBERS = count(os.getpid() * 1000)


@pytest.fixture
def port() -> int:
    """A status port of this test's own, as far as a name goes."""
    return next(NUMBERS)


@pytest.fixture
def name(port: int) -> str:
    return contract.look_socket("127.9.9.9", port)


@pytest.fixture
def serving(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[LookSocket]:
    """A launcher whose main thread answers each question with its number."""
    monkeypatch.setattr(look_socket, "PAUSE_BETWEEN", 0.01)
    made = LookSocket(name, lambda: answering.set())
    answering = threading.Event()

    def answer() -> None:
        while answering.wait() and not over.is_set():
            answering.clear()
            if made.waiting:
                made.give({"look": made.asked})

    over = threading.Event()
    threading.Thread(target=answer, daemon=True).start()
    made.open()
    yield made
    made.close()
    over.set()
    answering.set()


def connected(name: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(10)
    made.connect(f"\0{name}")
    return made


def said(name: str, words: bytes = ASKED) -> bytes:
    with connected(name) as line, line.makefile("rb") as answer:
        line.sendall(words)
        line.shutdown(socket.SHUT_WR)
        return answer.read()


def test_each_question_has_its_answer(name: str, serving: LookSocket) -> None:
    assert [json.loads(said(name)) for _ in range(3)] == [{"look": number} for number in (1, 2, 3)]
    assert not serving.waiting


@pytest.mark.parametrize("words", [b"", b"lo", b"hello\n", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 4000])
@pytest.mark.usefixtures("serving")
def test_other_words_have_none_and_begin_no_look(name: str, words: bytes) -> None:
    with suppress(ConnectionError):
        assert said(name, words) == b""
    assert json.loads(said(name)) == {"look": 1}


@pytest.mark.usefixtures("serving")
def test_who_says_nothing_is_given_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_socket, "QUESTION_WITHIN", 0.05)
    with connected(name) as silent:
        assert json.loads(said(name)) == {"look": 1}
        assert silent.recv(1) == b""


@pytest.mark.usefixtures("serving")
def test_who_hangs_up_costs_nobody_anything(name: str) -> None:
    for _ in range(20):
        with connected(name) as line:
            line.sendall(ASKED)
    wait_until(lambda: json.loads(said(name))["look"] > 0)


def test_a_main_thread_that_does_not_look_is_said_to_stand_still(name: str) -> None:
    made = LookSocket(name, lambda: None, within=0.05)
    made.open()
    assert "standstill" in json.loads(said(name))["problem"]
    assert not made.waiting
    made.close()


def test_there_is_a_pause_after_each_look(name: str) -> None:
    made = LookSocket(name, lambda: made.give({}), within=0.1)
    made.open()
    begun = time.monotonic()
    for _ in range(2):
        said(name)
    assert time.monotonic() - begun >= look_socket.PAUSE_BETWEEN
    made.close()


@pytest.mark.usefixtures("serving")
def test_a_second_launcher_of_the_same_name_is_refused(name: str) -> None:
    with pytest.raises(OSError, match="in use"):
        LookSocket(name, lambda: None).open()


@pytest.mark.usefixtures("serving")
def test_the_agent_finds_its_launcher_by_its_variables(port: int) -> None:
    assert asked({"POD_IP": "127.9.9.9", "LAUNCHER_STATUS_PORT": str(port)}) == {"look": 1}


def test_the_agent_without_a_launcher_says_so() -> None:
    told: list[str] = []
    assert main((), {"POD_IP": "127.9.9.8", "LAUNCHER_STATUS_PORT": "1"}, told.append) == 1
    assert "does not answer" in json.loads(told[0])["problem"]
    assert main(("--other",), {}, told.append) == 2


def programs(*places: tuple[int, str]) -> list[dict[str, object]]:
    return [{"role": "trainer", "rank": rank, "digest": at, "where": at, "state": ""} for rank, at in places]


def test_a_text_for_each_place_its_own_first_and_the_others_by_the_volume(tmp_path: Path) -> None:
    (tmp_path / "looks").mkdir()
    (tmp_path / "looks" / "3-2-trainer-1.txt").write_text("of 1")
    (tmp_path / "looks" / "3-1-trainer-2.txt").write_text("of an older look")
    told = {"generation": 3, "look": 2, "record": str(tmp_path), "texts": {"trainer 0": "of 0"}}
    told["programs"] = them = programs((0, "a"), (1, "b"), (3, "a"))
    give_texts(told, False)
    assert [each.get("text") for each in them] == ["of 0", "of 1", None]
    assert "texts" not in told
    assert "record" not in told


def test_a_text_that_does_not_come_and_a_link_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launcher.stacks.__main__._WRITTEN_WITHIN", 0.2)
    (tmp_path / "looks").mkdir()
    (tmp_path / "looks" / "1-1-trainer-0.txt").symlink_to("/etc/passwd")
    told = {"generation": 1, "look": 1, "record": str(tmp_path), "texts": {}}
    told["programs"] = them = programs((0, "a"), (1, "b"))
    give_texts(told, True)
    assert ["text" in each for each in them] == [False, False]
