"""What comes out of a pod in which a few lines ask: an answer, piece by piece, or nothing that is believed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import cast

import pytest

from launcher.desk.errors import ApiProblem, Problem, Refused, Unreachable
from launcher.desk.files.exec_socket import Wire
from launcher.desk.live import ways
from launcher.transfer.problem import Broken


class Spoken:
    """A process in a pod that says these pieces, and then ends."""

    words = b"Traceback: boom"

    def __init__(self, pieces: Sequence[bytes], *, endless: bool = False) -> None:
        self.heard = b""
        self._pieces = chain(pieces, repeat(b"x" * 65536 if endless else b""))

    def send(self, data: bytes) -> None:
        self.heard += data

    def receive(self) -> bytes:
        return next(self._pieces)


def inside(*pieces: bytes, endless: bool = False) -> tuple[ways._Inside, Spoken]:
    spoken = Spoken(pieces, endless=endless)
    return ways._Inside(cast("Wire", spoken)), spoken


def test_answers_come_in_any_pieces_one_after_the_other() -> None:
    asks, spoken = inside(b"20", b"0 5\nhel", b"lo404 3\nno", b"!")
    assert asks.ask("10.0.0.1", "/gang") == (200, b"hello")
    assert asks.ask("10.0.0.2", "/metrics") == (404, b"no!")
    assert spoken.heard == b"10.0.0.1 /gang\n10.0.0.2 /metrics\n"


@pytest.mark.parametrize(
    ("piece", "why"),
    [
        (b"hello\n", "something else"),
        (b"200 -1\n", "too large"),
        (b"200 99999999999\n", "too large"),
        (b"200 5\nhel", "boom"),
        (b"", "boom"),
    ],
)
def test_what_is_no_answer_breaks_it(piece: bytes, why: str) -> None:
    with pytest.raises(Broken, match=why):
        inside(piece)[0].ask("10.0.0.1", "/gang")


def test_a_head_without_end_is_not_read_without_end() -> None:
    with pytest.raises(Broken):
        inside(endless=True)[0].ask("10.0.0.1", "/gang")


def test_a_launchers_refusal_is_told_as_the_api_server_tells_it() -> None:
    assert ways._answer(200, b"page") == b"page"
    with pytest.raises(Refused) as refused:
        ways._answer(404, b"only the leader has this page: ask 10.0.0.1\n\x1b[2J")
    assert (refused.value.status, refused.value.message) == (
        404, "only the leader has this page: ask 10.0.0.1 ?[2J",
    )  # fmt: skip
    with pytest.raises(Problem, match="timed out"):
        ways._answer(0, b"timed out")


@pytest.mark.parametrize(
    ("problem", "kept_out"),
    [
        (Unreachable("silent"), True),
        (Refused("no", status=403, message="pods/proxy is forbidden"), True),
        (Refused("no", status=503, message="error trying to reach service: dial tcp: i/o timeout"), True),
        (Refused("no", status=503, message="error trying to reach service: connect: connection refused"), False),
        (Refused("no", status=503, message="joining: waiting for its peers"), False),
        (Refused("no", status=404, message="only the leader has this page"), False),
    ],
)
def test_it_is_told_whether_the_way_is_closed_or_the_launcher_refuses(problem: ApiProblem, kept_out: bool) -> None:
    assert ways._kept_out(problem) is kept_out
