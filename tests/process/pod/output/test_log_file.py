"""Logs on volumes that are full, read-only, gone, hostile or hanging: all of them real."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from launcher.pod.output.log_file import Log, LogFile
from tests.support.hanging import hanging_volume
from tests.support.lives import Lives
from tests.support.mounts import mounted
from tests.support.talking import Job, all_of, events
from tests.support.waiting import wait_until

PARTS = ("job", "output", "node_0", "train.log")
pytestmark = pytest.mark.timeout(60)


class Told(list[tuple[str, dict[str, Any]]]):
    """What was told, in order."""

    def __call__(self, event: str, **facts: object) -> None:
        self.append((event, facts))

    def names(self) -> list[str]:
        return [name for name, _ in self]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with Lives() as lives:
        yield Job(lives, tmp_path)


def log_on(root: Path, told: Told, *, retry: float = 0) -> LogFile:
    return LogFile(PurePosixPath(root), PARTS, told, retry=retry)


def write(log: LogFile, block: bytes) -> None:
    rest = memoryview(block)
    while rest:
        rest = rest[log.write(rest) :]


def test_a_log_is_appended_to_and_its_directories_are_made(tmp_path: Path, told: Told) -> None:
    for block in (b"one", b"two\n"):
        log = log_on(tmp_path, told)
        write(log, block)
        log.close()
    assert tmp_path.joinpath(*PARTS).read_bytes() == b"onetwo\n"
    assert stat.S_IMODE(tmp_path.joinpath(*PARTS).stat().st_mode) & 0o133 == 0
    assert told == []


def test_a_log_is_there_from_the_start_even_if_nothing_is_said(tmp_path: Path, told: Told) -> None:
    log = Log(log_on(tmp_path, told), told)
    wait_until(tmp_path.joinpath(*PARTS).exists)
    log.finish(time.monotonic() + 5)
    assert tmp_path.joinpath(*PARTS).read_bytes() == b""
    assert told == []


def test_on_a_full_volume_trouble_is_told_once_and_its_end_once_with_all_that_was_lost(
    tmp_path: Path, told: Told
) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=256k"):
        log = log_on(tmp_path, told)
        write(log, b"a" * 200_000)
        filler = tmp_path / "filler"
        filler.write_bytes(b"f" * 40_000)
        for _ in range(5):  # each opens the file anew, which a full volume allows
            write(log, b"b" * 100_000)
        assert told.names() == ["log_file_trouble"]
        assert told[0][1]["path"] == str(tmp_path.joinpath(*PARTS))
        assert "No space left" in told[0][1]["error"]
        filler.unlink()
        write(log, b"back\n")
        whole = tmp_path.joinpath(*PARTS).read_bytes()
        log.close()
    assert told.names() == ["log_file_trouble", "log_file_back"]
    assert told[1][1] == {"path": log.path, "bytes_lost": 200_000 + 500_000 - (len(whole) - 5)}
    assert whole.endswith(b"bback\n")
    assert log.lost == 0


def test_a_read_only_volume_is_told_once_and_used_once_it_can_be_written_to(tmp_path: Path, told: Told) -> None:
    with mounted("tmpfs", "none", tmp_path, "ro"):
        log = log_on(tmp_path, told)
        for _ in range(3):
            write(log, b"lost\n")
        assert told.names() == ["log_file_trouble"]
        assert "Read-only file system" in told[0][1]["error"]
        subprocess.run(["mount", "-o", "remount,rw", str(tmp_path)], check=True)
        write(log, b"kept\n")
        log.close()
        assert tmp_path.joinpath(*PARTS).read_bytes() == b"kept\n"
    assert told.names() == ["log_file_trouble", "log_file_back"]
    assert told[1][1]["bytes_lost"] == 15


@pytest.mark.parametrize("number", [errno.EROFS, errno.EIO, errno.ESTALE, errno.EDQUOT])
def test_a_volume_that_begins_to_refuse_is_tried_again(tmp_path: Path, told: Told, number: int) -> None:
    with hanging_volume(tmp_path) as volume:
        log = log_on(tmp_path, told)
        write(log, b"one\n")
        volume.refuses = number
        write(log, b"two\n")
        volume.refuses = 0
        write(log, b"three\n")
        log.close()
        assert volume.read("/".join(PARTS)) == b"one\nthree\n"
    assert told.names() == ["log_file_trouble", "log_file_back"]
    assert os.strerror(number) in told[0][1]["error"]


def test_between_two_tries_the_volume_is_left_alone(tmp_path: Path, told: Told) -> None:
    log = log_on(tmp_path / "not there", told, retry=60)
    write(log, b"lost\n")
    (tmp_path / "not there").mkdir()
    write(log, b"lost\n")
    assert list((tmp_path / "not there").iterdir()) == []
    assert log.lost == 10


def test_a_log_whose_directory_was_removed_is_made_anew(tmp_path: Path, told: Told) -> None:
    log = log_on(tmp_path, told)
    write(log, b"one\n")
    subprocess.run(["rm", "-r", str(tmp_path / "job")], check=True)

    def written_again() -> bool:
        write(log, b"two\n")
        return tmp_path.joinpath(*PARTS).exists()

    wait_until(written_again)  # it glances at the file once a second
    log.close()
    assert tmp_path.joinpath(*PARTS).read_bytes() == b"two\n"


def test_a_log_on_a_volume_that_was_unmounted_beneath_it_goes_on_in_its_file(tmp_path: Path, told: Told) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=256k"):
        log = log_on(tmp_path, told)
        write(log, b"one\n")
        held = os.open(tmp_path.joinpath(*PARTS), os.O_RDONLY)
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)
        with mounted("tmpfs", "none", tmp_path, "size=256k"):
            write(log, b"two\n")
            log.close()
            assert os.read(held, 100) == b"one\ntwo\n"
            os.close(held)
        subprocess.run(["mount", "-t", "tmpfs", "none", str(tmp_path)], check=True)  # for the end of the first
    assert told == []


def make_device(place: Path) -> None:
    try:
        os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no right to make a device here: root may")


def in_the_way(kind: str, place: Path, elsewhere: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "FIFO":
        os.mkfifo(place)
    elif kind == "directory":
        place.mkdir()
    elif kind == "link":
        place.symlink_to(elsewhere)
    elif kind == "device":
        make_device(place)
    else:
        subprocess.run(["python3", "-c", "import socket, sys; socket.socket(1).bind(sys.argv[1])", place], check=True)


KINDS = ("FIFO", "directory", "link", "socket", "device")


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_in_the_log_s_place_is_left_alone_and_told(tmp_path: Path, told: Told, kind: str) -> None:
    volume, elsewhere = tmp_path / "volume", tmp_path / "elsewhere"
    elsewhere.write_bytes(b"mine")
    place = volume.joinpath(*PARTS)
    in_the_way(kind, place, elsewhere)
    before = place.lstat()
    log = log_on(volume, told)
    write(log, b"lost\n")
    assert told.names() == ["log_file_trouble"]
    assert place.lstat().st_mode == before.st_mode
    assert elsewhere.read_bytes() == b"mine"


def test_a_fifo_with_a_reader_in_the_log_s_place_gets_nothing(tmp_path: Path, told: Told) -> None:
    in_the_way("FIFO", tmp_path.joinpath(*PARTS), tmp_path)
    reader = os.open(tmp_path.joinpath(*PARTS), os.O_RDONLY | os.O_NONBLOCK)
    write(log_on(tmp_path, told), b"lost\n")
    assert os.read(reader, 10) == b""
    os.close(reader)
    assert "is a FIFO: expected a regular file" in told[0][1]["error"]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_link_on_the_way_to_the_log_is_not_followed_out_of_the_tree(tmp_path: Path, told: Told, depth: int) -> None:
    volume, elsewhere = tmp_path / "volume", tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = volume.joinpath(*PARTS[:depth])
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    write(log_on(volume, told), b"lost\n")
    assert list(elsewhere.iterdir()) == []
    assert told.names() == ["log_file_trouble"]


def test_a_volume_that_hangs_is_told_and_so_is_its_return_with_what_was_lost(tmp_path: Path, told: Told) -> None:
    with hanging_volume(tmp_path) as volume:
        log = Log(log_on(tmp_path, told), told)
        log.put(b"before\n")
        wait_until(lambda: volume.read("/".join(PARTS)) == b"before\n")
        with volume.hanging():
            for _ in range(20):
                log.put(b"x" * 999_999 + b"\n")
            assert told == [
                (
                    "log_file_trouble",
                    {
                        "path": str(tmp_path.joinpath(*PARTS)),
                        "error": "the volume does not answer",
                        "meanwhile": "the output goes to stdout only",
                    },
                )
            ]
        wait_until(lambda: "log_file_back" in told.names())
        log.put(b"after\n")
        log.finish(time.monotonic() + 10)
        kept = volume.read("/".join(PARTS))
        assert kept.endswith(b"\nafter\n")
        backs = [facts["bytes_lost"] for name, facts in told if name == "log_file_back"]
        rest = [facts["bytes_lost"] for name, facts in told if name == "log_file_incomplete"]
        assert len(kept) - len("before\nafter\n") + sum(backs) + sum(rest) == 20_000_000


def test_what_a_hanging_volume_never_took_is_told_at_the_end_which_does_not_wait_for_it(
    tmp_path: Path, told: Told
) -> None:
    with hanging_volume(tmp_path) as volume, volume.hanging():
        log = Log(log_on(tmp_path, told), told)
        log.put(b"lost\n")
        log.finish(time.monotonic() + 0.2)
        assert told == [("log_file_incomplete", {"path": str(tmp_path.joinpath(*PARTS)), "bytes_lost": 5})]


def test_a_log_that_cannot_be_closed_in_time_is_told(tmp_path: Path, told: Told) -> None:
    with hanging_volume(tmp_path, flushes=True) as volume:
        log = Log(log_on(tmp_path, told), told)
        log.put(b"kept\n")
        wait_until(lambda: volume.read("/".join(PARTS)) == b"kept\n")
        with volume.hanging():
            log.finish(time.monotonic() + 0.2)
    assert told.names() == ["log_file_not_closed"]


def test_an_error_that_a_network_volume_keeps_for_the_close_is_told(tmp_path: Path, told: Told) -> None:
    with hanging_volume(tmp_path, flushes=True) as volume:
        log = log_on(tmp_path, told)
        write(log, b"lost after all\n")
        volume.refuses_close = errno.EDQUOT
        log.close()
    assert told.names() == ["log_file_trouble"]
    assert os.strerror(errno.EDQUOT) in told[0][1]["error"]


# From here on whole launchers: whatever the volume does, the child ends, its words are on stdout, and its code is
# the pod's.

SAY_AND_END = """
say(b"".join(b"line %d\\n" % number for number in range(20_000)))
sys.exit(9)
"""
SAID = b"".join(b"line %d\n" % number for number in range(20_000))


def ends_well_but_for_its_log(job: Job) -> list[str]:
    """Live one job, and return what was told about its log."""
    life = job.start(SAY_AND_END, LAUNCHER_RESUME="never")
    assert all_of(life) == SAID
    assert life.end() == 9
    last = events(life)[-1]
    assert (last["event"], last["code"]) == ("launcher_finished", 9)
    about_log = [event for event in events(life) if event["event"].startswith("log_file")]
    assert all(event["path"] == str(job.log()) for event in about_log)
    return [event["event"] for event in about_log]


def test_a_full_volume_stops_neither_child_nor_stdout_nor_the_end(job: Job) -> None:
    with mounted("tmpfs", "none", job.volume, "size=64k"):
        assert ends_well_but_for_its_log(job) == ["log_file_trouble", "log_file_incomplete"]


def test_a_read_only_volume_stops_neither_child_nor_stdout_nor_the_end(job: Job) -> None:
    job.output.mkdir(parents=True)
    with mounted("tmpfs", "none", job.output, "ro"):
        assert ends_well_but_for_its_log(job) == ["log_file_trouble", "log_file_incomplete"]


@pytest.mark.parametrize("kind", KINDS)
def test_anything_in_the_log_s_place_stops_neither_child_nor_stdout_nor_the_end(job: Job, kind: str) -> None:
    in_the_way(kind, job.log(), job.top)
    assert ends_well_but_for_its_log(job) == ["log_file_trouble", "log_file_incomplete"]


def test_a_volume_that_hangs_from_the_start_stops_neither_child_nor_stdout_nor_the_end(job: Job) -> None:
    job.output.mkdir(parents=True)
    with hanging_volume(job.output) as volume, volume.hanging():
        # The launcher is gone although one of its threads waited for the volume: such a wait can be killed.
        assert ends_well_but_for_its_log(job) == ["log_file_trouble", "log_file_incomplete"]


GO_ON = """
say(b"first\\n")
wait_for(sys.argv[1])
for _ in range(30):
    say(b"x" * 999_999 + b"\\n")
touch(sys.argv[2])
sys.exit(9)
"""


@pytest.mark.parametrize("children", [1, 2])
def test_a_volume_that_begins_to_hang_stops_neither_children_nor_stdout_nor_the_end(job: Job, children: int) -> None:
    job.output.mkdir(parents=True)
    with hanging_volume(job.output) as volume:
        life = job.start(GO_ON, job.top / "go", job.top / "gone", children=children, LAUNCHER_RESUME="never")
        wait_until(lambda: volume.read("node_0/train.log") == b"first\n")
        with volume.hanging():
            (job.top / "go").touch()
            out = all_of(life)
            assert life.end() == 9
    assert out.count(b"x" * 999_999 + b"\n") >= 30
    assert (job.top / "gone").exists()
    trainer = [event for event in events(life) if event.get("path") == str(job.log())]
    assert [event["event"] for event in trainer] == ["log_file_trouble", "log_file_incomplete"]
    assert trainer[0]["error"] == "the volume does not answer"


def test_a_volume_whose_directory_is_removed_meanwhile_stops_nothing(job: Job) -> None:
    life = job.start(GO_ON, job.top / "go", job.top / "gone")
    wait_until(lambda: job.log().exists() and job.log().read_bytes() == b"first\n")
    subprocess.run(["rm", "-r", str(job.volume)], check=True)
    (job.top / "go").touch()
    assert len(all_of(life)) == len("first\n") + 30_000_000
    assert life.end() == 9
