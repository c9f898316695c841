"""What a hostile other end says: it is refused, nothing outside is touched, and nobody waits or swells for ever."""

from __future__ import annotations

import shutil
import struct
import tempfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launcher.safefs.dirs import Tree
from launcher.transfer.agent import ACTS, serve
from launcher.transfer.channel import Channel
from launcher.transfer.frames import encoded
from launcher.transfer.names import LONGEST_PART, LONGEST_PATH, part_of
from launcher.transfer.problem import Garbled, OtherEndFailed, TransferError
from launcher.transfer.receiving import receive
from launcher.transfer.sending import send
from tests.support.agents import Script, agent, contents

NAMES = (
    "../outside/evil", "a/../../outside/evil", "/etc/evil", "", ".", "..", "a//b", "a/./b", "a/", "nul\0",
    "\udc00\ud800",
    "x" * (LONGEST_PART + 1), "a/" * (LONGEST_PATH // 2) + "b", part_of("one"), f"a/{part_of('one')}", "link/evil",
    None, 7, ["a"], {"a": 1},
)  # fmt: skip


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A directory with a way out of it, which nobody may take."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    found = tmp_path / "top"
    found.mkdir()
    (found / "link").symlink_to(outside)
    return found


def announced(files: int = 1, size: int = 1, *, single: bool = False) -> bytes:
    return encoded("begin", files=files, bytes=size, single=single, skipped=[])


def offer(*entries: object) -> bytes:
    return encoded("offer", entries=list(entries))


def data(body: bytes, *, at: object = 0, start: object = 0, **more: object) -> bytes:
    return encoded("data", body, at=at, start=start, **more)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:40])
@pytest.mark.parametrize("size", [1, -1], ids=["file", "directory"])
def test_no_desk_makes_an_agent_write_elsewhere(top: Path, name: object, size: int) -> None:
    before = contents(top.parent / "outside")
    with agent(top) as (channel, _):
        channel.put("receive", target="", inside=True)
        channel.put("begin", files=1, bytes=1, single=False, skipped=[])
        channel.put("offer", entries=[[name, size, False]])
        with pytest.raises(OtherEndFailed):
            channel.get("want") and channel.get("done")
    assert contents(top.parent / "outside") == before
    assert [path.name for path in top.iterdir()] == ["link"]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:40])
def test_no_agent_makes_a_desk_write_elsewhere(top: Path, name: object) -> None:
    before = contents(top.parent / "outside")
    said = announced() + offer([name, 1, False]) + data(b"e", digest="0" * 64) + encoded("end")
    with Tree(str(top), TransferError) as tree, pytest.raises(TransferError):
        receive(tree, "", Channel(Script(said)), inside=True)
    assert contents(top.parent / "outside") == before
    assert [path.name for path in top.iterdir()] == ["link"]


ONE = ["one", 3, False]
ENDED = encoded("end")


@pytest.mark.parametrize(
    "said",
    [
        announced() + offer(ONE) + data(b"more than was said", digest="") + ENDED,
        announced() + offer(ONE) + data(b"abc", digest="0" * 64) + ENDED,
        announced() + offer(ONE) + data(b"ab", digest="0" * 64) + ENDED,
        announced() + offer(ONE) + data(b"abc", at=1, digest="0" * 64) + ENDED,
        announced() + offer(ONE) + data(b"abc", at="0", digest="0" * 64) + ENDED,
        announced() + offer(ONE) + data(b"abc", start=1, digest="0" * 64) + ENDED,
        announced() + offer(ONE) + data(b"abc", start=3, digest="0" * 64) + ENDED,
        announced() + offer(ONE) + data(b"abc", start=-1, digest="0" * 64) + ENDED,
        announced() + offer(ONE) + data(b"", digest="0" * 64) + ENDED,
        announced() + offer(ONE) + data(b"") * 5,
        announced() + offer(ONE) + ENDED,
        announced() + offer(ONE, ["two", 1, False]) + ENDED,
        announced(single=True) + offer(ONE, ["two", 1, False]) + ENDED,
        announced() + offer() * 10 + ENDED,
        announced() + offer(["one", -2, False]),
        announced() + offer(["one", 1 << 61, False]),
        announced() + offer(["one", 1.5, False]),
        announced() + offer(["one", True, False]),
        announced() + offer(["one", 1]),
        announced() + offer("one"),
        announced() + encoded("offer", entries={"one": 1}),
        announced() + encoded("offer"),
        announced() + ENDED[:-1],
        announced(),
        encoded("begin", files=1, bytes=1, single=False, skipped=["x"] * 100),
        encoded("begin", files=-1, bytes=1, single=False, skipped=[]),
        encoded("begin", files=10**9, bytes=1, single=False, skipped=[]),
        b"HTTP/1.1 200 OK\r\n\r\n",
        struct.pack("!II", 0xFFFFFFFF, 0xFFFFFFFF),
        struct.pack("!II", 10, 0) + b"[[[[[[[[[[",
        struct.pack("!II", 100000, 0) + b"[" * 100000,
        struct.pack("!II", 4, 0) + b"null",
        struct.pack("!II", 11, 0) + b'{"kind": 1}',
        b"",
    ],
)
def test_a_desk_refuses_what_was_not_agreed(top: Path, said: bytes) -> None:
    with Tree(str(top), TransferError) as tree, pytest.raises(TransferError):
        receive(tree, "", Channel(Script(said, piece=7)), inside=True)
    assert not (top / "one").exists()
    assert not list(top.glob(".paddlectl-*"))


@pytest.mark.parametrize(
    "said",
    [
        encoded("want", have=[[0, 1, False]]),
        encoded("want", bytes(32), have=[]),
        encoded("want", bytes(31), have=[[0, 1, False]]),
        encoded("want", bytes(64), have=[[0, 2, True]]),
        encoded("want", bytes(32), have=[[1, 1, False]]),
        encoded("want", bytes(32), have=[[-1, 1, False]]),
        encoded("want", bytes(32), have=[["0", 1, False]]),
        encoded("want", have=None),
        *(encoded("want", have=[], order=each) for each in ([], [1], [0, 0], ["0"], [True], [None], 0, "0", None)),
        encoded("done"),
        b"",
    ],
)
def test_a_sender_refuses_what_was_not_agreed(top: Path, said: bytes) -> None:
    (top / "one").write_text("123")
    with Tree(str(top), TransferError) as tree, pytest.raises(TransferError):
        send(tree, "", "one", Channel(Script(said)))


def test_digests_of_another_file_only_mean_that_all_is_sent(top: Path) -> None:
    (top / "one").write_text("123")
    line = Script(encoded("want", bytes(32), have=[[0, 1, True]]) + encoded("done", unfinished=0))
    with Tree(str(top), TransferError) as tree:
        assert send(tree, "", "one", Channel(line)).came == 3
    assert line.heard.endswith(encoded("end"))


def test_one_who_talks_on_is_cut_off(top: Path) -> None:
    class Talker(Script):
        def arrived(self) -> bytes:
            return encoded("want", have=[]) * 100

    (top / "one").write_bytes(bytes(1 << 20))
    with Tree(str(top), TransferError) as tree, pytest.raises(Garbled, match="sends more than it was asked for"):
        send(tree, "", "one", Channel(Talker(encoded("want", have=[]))))


def test_lengths_that_are_said_take_no_memory(top: Path) -> None:
    said = struct.pack("!II", 1 << 20, 1 << 20) + b" " * 1000
    tracemalloc.start()
    try:
        with Tree(str(top), TransferError) as tree, pytest.raises(TransferError):
            receive(tree, "", Channel(Script(said)), inside=True)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["a/b", "../x", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
KEYS = ("files", "bytes", "single", "skipped", "entries", "have", "at", "start", "digest", "path", "base", "first",
        "target", "inside", "all", "why", "unfinished")  # fmt: skip
NAMED = st.sampled_from(["one", "a", "a/b", "../x", "/x", "link/x"])
ENTRIES = st.lists(st.tuples(NAMED, st.integers(-1, 4), st.booleans()), max_size=3)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from([*ACTS, "begin", "offer", "want", "data", "lost", "end", "done", "failed", "x"]))
    likely: dict[str, object] = {
        "files": draw(st.integers(0, 3)), "bytes": 3, "single": draw(st.booleans()), "skipped": [],
        "entries": draw(ENTRIES), "have": [], "at": draw(st.integers(0, 2)), "start": 0, "path": "a", "base": "",
        "first": "", "target": "", "inside": True, "all": True, "why": "", "unfinished": 0,
    }  # fmt: skip
    changed = draw(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=2))
    return encoded(kind, draw(st.binary(max_size=5)), **{**likely, **changed})


def sane(sayings: Iterable[bytes], piece: int, *, desk: bool) -> None:
    """Say something to one of the ends: it ends in order or in trouble, and touches nothing outside."""
    place = Path(tempfile.mkdtemp(prefix="files-"))
    try:
        (place / "outside").mkdir()
        (place / "outside" / "secret").write_text("secret")
        top = place / "top"
        (top / "a").mkdir(parents=True)
        (top / "a" / "b").write_text("ab")
        (top / "link").symlink_to(place / "outside")
        channel = Channel(Script(b"".join(sayings), piece))
        with Tree(str(top), TransferError) as tree:
            try:
                if desk:
                    receive(tree, "", channel, inside=True)
                else:
                    serve(tree, channel)
            except TransferError:
                pass
        assert {path.name for path in place.iterdir()} == {"outside", "top"}
        assert [path.name for path in (place / "outside").iterdir()] == ["secret"]
    finally:
        shutil.rmtree(place)


# A watch that another test left asks for luck in its pauses, on a thread of its own, while a strategy draws.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
FUZZ = settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])


@FUZZ
@given(st.lists(frames(), max_size=6), st.integers(1, 4096))
def test_an_agent_survives_whatever_is_said(said: list[bytes], piece: int) -> None:
    sane(said, piece, desk=False)


@FUZZ
@given(st.lists(frames(), max_size=6), st.integers(1, 4096))
def test_a_desk_survives_whatever_is_said(said: list[bytes], piece: int) -> None:
    sane([encoded("begin", files=3, bytes=9, single=False, skipped=[]), *said], piece, desk=True)


@FUZZ
@given(st.binary(max_size=4096), st.integers(1, 4096), st.booleans())
def test_noise_is_refused(noise: bytes, piece: int, desk: bool) -> None:
    sane([noise], piece, desk=desk)


def test_an_agent_that_copies_a_large_tree_stays_small(top: Path, tmp_path: Path) -> None:
    for number in range(3000):
        (top / f"file-{number:05d}").write_bytes(b"x")
    (top / "weights").write_bytes(bytes(200 << 20))
    with agent(top) as (channel, process), Tree(str(tmp_path), TransferError) as tree:
        channel.put("send", base="", first="")
        receive(tree, "back", channel, inside=True)
        status = Path(f"/proc/{process.pid}/status").read_text()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    assert peak < 64 << 10  # KiB
