"""Frames, chunks, batches, names and WebSocket frames: whatever comes in whatever pieces."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websocket._abnf import frame_buffer

from launcher.desk.config.datacenters import Storage
from launcher.desk.errors import Problem
from launcher.desk.files import pod
from launcher.desk.files.frames import BINARY, CLOSE, LONGEST_MESSAGE, MORE, PING, STDERR, STDOUT, Messages, frame
from launcher.desk.files.progress import progress_line, size
from launcher.text import shown
from launcher.transfer.chunks import CHUNK, DIGEST, MOST, agreed, chunk_of, count_of, digests
from launcher.transfer.counting import Count
from launcher.transfer.frames import HEAD, Frames, encoded
from launcher.transfer.listing import DIGESTS, IN_A_BATCH, TEXT, TreeEntry, batches
from launcher.transfer.names import checked_path, divided, joined, part_of
from launcher.transfer.problem import Garbled, TransferError


@given(st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=50)), max_size=5), st.integers(1, 30))
def test_frames_come_as_they_were_said_in_whatever_pieces(said: list[tuple[str, bytes]], piece: int) -> None:
    stream = b"".join(encoded("data", body, name=name) for name, body in said)
    reader = Frames()
    found = [frame for at in range(0, len(stream), piece) for frame in reader.feed(stream[at : at + piece])]
    assert [(frame.text("name"), frame.body) for frame in found] == said


@given(st.binary(max_size=255))
def test_a_name_of_any_bytes_survives_a_frame(name: bytes) -> None:
    word = os.fsdecode(name)
    (said,) = Frames().feed(encoded("x", name=word))
    assert os.fsencode(said.text("name")) == name


@given(st.binary(max_size=200), st.integers(1, 50))
def test_noise_is_no_frame_or_few(noise: bytes, piece: int) -> None:
    reader = Frames()
    with suppress(Garbled):
        for at in range(0, len(noise), piece):
            for frame in reader.feed(noise[at : at + piece]):
                assert len(frame.body) < len(noise)


@given(st.text() | st.none() | st.integers() | st.lists(st.text()))
def test_a_name_that_is_taken_stays_below(name: object) -> None:
    with suppress(TransferError):
        path = checked_path(name)
        top = os.fsencode("/top/of/it")
        assert os.path.normpath(top + b"/" + os.fsencode(path)) == top + b"/" + os.fsencode(path)
        assert joined(*divided(path)) == path


@given(st.text(max_size=2000))
def test_a_name_that_is_shown_cannot_move_a_cursor(name: str) -> None:
    assert shown(name).isprintable()
    assert len(shown(name)) <= 1000


def test_a_part_has_the_same_name_each_time_and_fits() -> None:
    assert part_of("x" * 255) == part_of("x" * 255) != part_of("y")
    assert len(part_of("x" * 255)) < 40
    with pytest.raises(TransferError):
        checked_path(part_of("x"))


@given(st.integers(0, 1 << 60))
def test_chunks_of_any_size_can_be_told_in_a_frame(length: int) -> None:
    assert chunk_of(length) % CHUNK == 0
    assert count_of(length) <= MOST
    assert count_of(length) * chunk_of(length) >= length
    assert MOST * DIGEST <= HEAD


@given(st.data())
def test_what_is_agreed_is_what_is_the_same(data: st.DataObject) -> None:
    length = data.draw(st.sampled_from([1, 5, CHUNK - 1, CHUNK, CHUNK + 1]))
    have = data.draw(st.integers(0, length))
    changed = data.draw(st.booleans())
    with tempfile.TemporaryFile() as mine, tempfile.TemporaryFile() as theirs:
        mine.write(bytes(length))
        theirs.write(bytes(have))
        if changed and have:
            theirs.seek(0)
            theirs.write(b"x")
        for each in (mine, theirs):
            each.flush()
        told = digests(theirs.fileno(), length, have)
        start = agreed(mine.fileno(), length, told)
        same = not (changed and have)
        assert start == (0 if not same else length if have == length else have // CHUNK * CHUNK)


@given(st.lists(st.tuples(st.integers(1, 4000), st.integers(-1, 1 << 40)), max_size=60))
def test_batches_hold_all_and_none_is_too_large(rows: list[tuple[int, int]]) -> None:
    entries = [TreeEntry("n" * length, length_of) for length, length_of in rows]
    found = list(batches(entries))
    assert [entry for batch in found for entry in batch] == entries
    for batch in found:
        assert 0 < len(batch) <= IN_A_BATCH
        assert sum(6 * len(each.path) + 40 for each in batch) <= TEXT + 6 * 4000 + 40
        assert sum(count_of(max(each.size, 0)) for each in batch) <= max(DIGESTS, MOST)


def served(kind: int, payload: bytes, *, last: bool = True) -> bytes:
    """Return a frame as a server sends it."""
    long = len(payload)
    head = bytes([kind | (0x80 if last else 0)])
    if long < 126:
        return head + bytes([long]) + payload
    return head + (b"\x7e" + long.to_bytes(2) if long < 65536 else b"\x7f" + long.to_bytes(8)) + payload


@given(
    st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), st.binary(min_size=1, max_size=300)), max_size=6),
    st.integers(1, 400),
)
def test_messages_come_as_they_were_sent(said: list[tuple[int, bytes]], piece: int) -> None:
    stream = b"".join(served(BINARY, bytes([channel]) + payload) for channel, payload in said)
    reader = Messages()
    found = [each for at in range(0, len(stream), piece) for each in reader.feed(stream[at : at + piece])]
    assert found == [(BINARY, channel, payload) for channel, payload in said]


def test_a_message_in_pieces_keeps_its_channel_and_others_come_between() -> None:
    stream = served(BINARY, b"\x01ab", last=False) + served(PING, b"?") + served(MORE, b"\x02c") + served(CLOSE, b"")
    assert list(Messages().feed(stream)) == [
        (BINARY, STDOUT, b"ab"), (PING, -1, b"?"), (BINARY, STDOUT, b"\x02c"), (CLOSE, -1, b"")
    ]  # fmt: skip


def test_long_messages_have_long_lengths() -> None:
    for long in (125, 126, 65535, 65536):
        ((_, channel, payload),) = Messages().feed(served(BINARY, b"\x01" + bytes(long - 1)))
        assert (channel, len(payload)) == (STDOUT, long - 1)


@pytest.mark.parametrize("frame", [b"\x82\xff", b"\x82\x7f" + (LONGEST_MESSAGE + 1).to_bytes(8)])
def test_frames_of_no_server_are_refused(frame: bytes) -> None:
    with pytest.raises(Garbled):
        list(Messages().feed(frame))


@given(st.binary(max_size=300), st.integers(1, 40))
def test_any_noise_is_messages_or_refused(noise: bytes, piece: int) -> None:
    reader = Messages()
    with suppress(Garbled):
        for at in range(0, len(noise), piece):
            for kind, channel, payload in reader.feed(noise[at : at + piece]):
                assert 0 <= kind < 16
                assert -1 <= channel < 256
                assert len(payload) <= len(noise)


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65535, 65536, 1 << 20])
def test_what_the_client_sends_is_what_another_reader_reads(length: int) -> None:
    payload = bytes(length)
    left = memoryview(frame(BINARY, payload[: length // 2], payload[length // 2 :]))

    def read(size: int) -> bytes:
        nonlocal left
        found, left = bytes(left[:size]), left[size:]
        return found

    found = frame_buffer(read, skip_utf8_validation=True).recv_frame()
    assert (found.fin, found.opcode, found.data, bytes(left)) == (1, BINARY, payload, b"")


def test_the_pod_is_restricted_and_does_not_stay() -> None:
    made = pod.files_pod("n", "image", Storage(claim="mfs", path="homes/me"), read_only=True, restricted=True)
    spec = made["spec"]
    (container,) = spec["containers"]
    assert spec["activeDeadlineSeconds"] > 0
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
    }  # fmt: skip
    assert container["volumeMounts"] == [
        {"name": "volume", "mountPath": "/volume", "subPath": "homes/me", "readOnly": True}
    ]
    assert spec["volumes"] == [{"name": "volume", "persistentVolumeClaim": {"claimName": "mfs"}}]


@pytest.mark.parametrize(
    ("storage", "source"),
    [
        (Storage(host_path="/data"), {"hostPath": {"path": "/data"}}),
        (Storage(nfs="[fd00::1]:/exports/a"), {"nfs": {"server": "fd00::1", "path": "/exports/a"}}),
    ],
)
def test_the_pod_has_volumes_of_other_kinds(storage: Storage, source: dict[str, object]) -> None:
    made = pod.files_pod("n", "image", storage, read_only=False, restricted=False, registries=("r",))
    assert made["spec"]["volumes"] == [{"name": "volume", **source}]
    assert made["spec"]["imagePullSecrets"] == [{"name": "r"}]
    assert "runAsUser" not in made["spec"]["securityContext"]


def test_a_volume_by_its_driver_alone_is_told() -> None:
    with pytest.raises(Problem, match="create a claim"):
        pod.files_pod("n", "image", Storage(csi={"driver": "d"}), read_only=False, restricted=True)


def test_how_far_it_is_fits_into_a_line() -> None:
    count = Count(all_files=10_000, all_bytes=2 << 30, files=5_000, bytes=1 << 30, came=1 << 30)
    assert progress_line(count, 10.0) == " 50%  5,000/10,000 files  1.1 GB/2.1 GB  107.4 MB/s"
    assert progress_line(Count(), 0.0) == "100%  0/0 files  0 B/0 B  0 B/s"
    assert [size(number) for number in (0, 999, 1000, 10**9, 10**15)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.0 GB",
        "1000.0 TB",
    ]


@pytest.mark.parametrize("size", [125, 126, 1 << 16])
def test_a_servers_frame_of_any_length_may_come_byte_by_byte(size: int) -> None:
    payload = bytes((STDOUT,)) + bytes(size - 1)
    head = bytes((0x80 | BINARY,)) + {125: bytes((125,)), 126: b"\x7e\x00\x7e"}.get(size, b"\x7f" + size.to_bytes(8))
    reader = Messages()
    assert [found for byte in head for found in reader.feed(bytes((byte,)))] == []
    assert list(reader.feed(payload)) == [(BINARY, STDOUT, payload[1:])]
