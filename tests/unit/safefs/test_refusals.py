"""Refusals of the system as sentences: the path, the reason, the advice; by each room's own error."""

from __future__ import annotations

import errno
import os

import pytest

from launcher.safefs.refusals import Refusal, SystemRefused, is_absent, naming


class OfARoom(Exception):
    """A room's own error."""


ROOM = Refusal(error=OfARoom, advice={errno.EROFS: "set OUR_OWN"})


@pytest.mark.parametrize(
    ("number", "where_absent", "sentence"),
    [
        (errno.ENOSPC, "", "/v/x: No space left on device; expected room for all of it"),
        (errno.EACCES, "", f"/v/x: Permission denied; expected access for user {os.geteuid()}: change its mode"),
        (errno.ELOOP, "", "/v/x: Too many levels of symbolic links; links are not followed here"),
        (errno.ENOENT, "", "/v/x: No such file or directory; expected it to be there, and to stay: is the volume"),
        (errno.ENOENT, "expected a shard", "/v/x: No such file or directory; expected a shard"),
        (errno.EIO, "expected a shard", "/v/x: Input/output error; check the volume or disk that it is on"),
        (errno.EROFS, "", "/v/x: Read-only file system; set OUR_OWN"),
    ],
)
def test_a_refusal_has_the_path_the_reason_and_what_to_do(number: int, where_absent: str, sentence: str) -> None:
    with pytest.raises(OfARoom) as caught, naming("/v", ROOM, where_absent, "x"):
        raise OSError(number, os.strerror(number))
    assert str(caught.value).startswith(sentence)
    assert is_absent(caught.value) == (number == errno.ENOENT)


def test_a_room_without_an_error_of_its_own_gets_one_that_the_system_could_have_raised() -> None:
    with pytest.raises(OSError, match="/v: Read-only file system; expected a volume") as caught, naming("/v"):
        raise OSError(errno.EROFS, "")
    assert type(caught.value) is SystemRefused


def test_what_was_named_inside_is_not_named_again() -> None:
    with pytest.raises(SystemRefused, match=r"^inner: "), naming("outer"), naming("inner"):
        raise OSError(errno.EIO, "")


def test_a_path_in_a_sentence_moves_no_terminal() -> None:
    with pytest.raises(SystemRefused) as caught, naming("/v", name="a\n\x1b[2J\udcff"):
        raise OSError(errno.EIO, "")
    assert str(caught.value).isprintable()
