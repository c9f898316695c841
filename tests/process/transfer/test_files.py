"""Files to a volume and from it, through a real agent process: whole, exactly, and again only what is missing."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from launcher.desk.errors import Problem
from launcher.desk.files.copy import landing
from launcher.safefs.dirs import Tree
from launcher.transfer import writing
from launcher.transfer.chunks import CHUNK, PIECE
from launcher.transfer.counting import Count
from launcher.transfer.names import part_of
from launcher.transfer.problem import Broken, OtherEndFailed, TransferError
from launcher.transfer.sending import send
from tests.support.agents import agent, contents, download, noise, upload
from tests.support.mounts import mounted
from tests.support.waiting import wait_until

BIG = 64 << 20


@pytest.fixture
def here(tmp_path: Path) -> Path:
    path = tmp_path / "here"
    path.mkdir()
    return path


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    path.mkdir()
    return path


def many(top: Path, files: int = 1000) -> Path:
    """Make small files in a few directories."""
    data = top / "data"
    for number in range(files):
        path = data / f"part-{number % 10}" / f"{number:05d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(noise(number * 7919 % 3000, number))
    return data


def big(path: Path, size: int = BIG, seed: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(noise(size, seed))
    return path


def test_a_tree_comes_over_and_back_exactly(here: Path, volume: Path, tmp_path: Path) -> None:
    data = many(here)
    big(data / "model" / "weights")
    (data / "empty").write_bytes(b"")
    (data / "nothing" / "in" / "it").mkdir(parents=True)
    odd = [b"with space", b"line\nbreak", "grüße-\N{SNOWMAN}".encode(), b"no-utf8-\xff\xfe", b"-rf", b"x" * 255]
    for name in odd:
        Path(os.fsdecode(os.fsencode(data) + b"/" + name)).write_bytes(name)
    (data / "run.sh").write_text("#!/bin/sh\n")
    (data / "run.sh").chmod(0o755)
    up = upload(here, "", "data", volume)
    assert contents(volume) == contents(here)
    assert (up.files, up.bytes, up.came, up.lost, up.skipped) == (up.all_files, up.all_bytes, up.all_bytes, [], [])
    assert up.files == 1000 + 1 + 1 + len(odd) + 1
    assert (volume / "data" / "run.sh").stat().st_mode & 0o100
    back = tmp_path / "back"
    back.mkdir()
    down = download(volume, "", "data", back)
    assert contents(back) == contents(here)
    assert (down.files, down.came) == (up.files, up.came)
    assert upload(here, "", "data", volume).came == 0
    assert download(volume, "", "data", back).came == 0


def test_a_slash_at_the_end_is_what_is_in_it(here: Path, volume: Path) -> None:
    many(here, 20)
    upload(here, "data", "", volume, "somewhere/new", inside=True)
    assert contents(volume / "somewhere" / "new") == contents(here / "data")


@pytest.mark.parametrize(
    ("target", "inside", "there"),
    [
        ("", True, "one"),
        ("new", False, "new"),
        ("new", True, "new/one"),
        ("a/b/new", False, "a/b/new"),
        ("old", False, "old/one"),
    ],
)
def test_one_file_takes_the_name_that_it_is_given(
    here: Path, volume: Path, target: str, inside: bool, there: str
) -> None:
    (here / "one").write_text("1")
    (volume / "old").mkdir()
    upload(here, "", "one", volume, target, inside=inside)
    assert (volume / there).read_text() == "1"


def test_one_file_in_a_directory_is_not_taken_for_a_single_one(here: Path, volume: Path) -> None:
    (here / "data").mkdir()
    (here / "data" / "one").write_text("1")
    upload(here, "data", "", volume, "new")
    assert (volume / "new" / "one").read_text() == "1"


def test_what_was_changed_is_sent_and_takes_the_place_of_the_old(here: Path, volume: Path) -> None:
    many(here, 50)
    upload(here, "", "data", volume)
    changed = here / "data" / "part-3" / "00003"
    changed.write_bytes(bytes(reversed(changed.read_bytes())) + b"!")
    same_size = here / "data" / "part-4" / "00004"
    same_size.write_bytes(b"x" * same_size.stat().st_size)
    count = upload(here, "", "data", volume)
    assert count.came == changed.stat().st_size + same_size.stat().st_size
    assert contents(volume) == contents(here)


class Stopped(Exception):
    """Raised in the middle of a copy."""


def stop_at(size: int, do: Callable[[], object]) -> Callable[[Count], None]:
    """Return a teller that does something once so much has come."""

    def tell(count: Count) -> None:
        if count.came >= size:
            do()

    return tell


def stop() -> None:
    raise Stopped


def test_an_upload_whose_agent_is_killed_goes_on(here: Path, volume: Path) -> None:
    many(here)
    big(here / "data" / "weights")
    with agent(volume) as (channel, process), Tree(str(here), TransferError) as tree:
        channel.put("receive", target="", inside=True)
        with pytest.raises(Broken):
            send(tree, "", "data", channel, stop_at(40 << 20, process.kill))
    parts = list(volume.rglob(".paddlectl-*.part"))
    assert len(parts) <= 1
    assert not (volume / "data" / "weights").exists()
    count = upload(here, "", "data", volume)
    assert 0 < count.came <= BIG - (3 * CHUNK)
    assert contents(volume) == contents(here)


def test_an_upload_that_is_stopped_here_goes_on(here: Path, volume: Path) -> None:
    big(here / "weights")
    with pytest.raises(Stopped):
        upload(here, "", "weights", volume, tell=stop_at(40 << 20, stop))
    assert [path.name for path in volume.iterdir()] == [part_of("weights")]
    assert upload(here, "", "weights", volume).came <= BIG - 3 * CHUNK
    assert contents(volume) == contents(here)


def test_a_download_that_is_stopped_goes_on(here: Path, volume: Path) -> None:
    big(volume / "data" / "weights")
    many(volume)
    with pytest.raises(Stopped):
        download(volume, "", "data", here, tell=stop_at(40 << 20, stop))
    count = download(volume, "", "data", here)
    assert 0 < count.came < BIG
    assert contents(volume) == contents(here)


def test_what_is_begun_is_not_gone_on_with_where_the_file_is_another_one(here: Path, volume: Path) -> None:
    big(here / "weights")
    with pytest.raises(Stopped):
        upload(here, "", "weights", volume, tell=stop_at(40 << 20, stop))
    data = bytearray(big(here / "weights").read_bytes())
    data[CHUNK + 5] ^= 1  # the second chunk is another one
    (here / "weights").write_bytes(data)
    count = upload(here, "", "weights", volume)
    assert count.came == BIG - CHUNK
    assert contents(volume) == contents(here)


def test_a_part_that_is_no_good_is_thrown_away(here: Path, volume: Path) -> None:
    big(here / "weights", 3 * CHUNK + 17)
    big(volume / part_of("weights"), 4 * CHUNK, seed=2)
    assert upload(here, "", "weights", volume).came == 3 * CHUNK + 17
    assert contents(volume) == contents(here)


def test_links_and_pipes_are_told_and_left(here: Path, volume: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    many(here, 5)
    (here / "data" / "link").symlink_to(tmp_path / "secret")
    (here / "data" / "out").symlink_to(tmp_path)
    os.mkfifo(here / "data" / "pipe")
    count = upload(here, "", "data", volume)
    assert sorted(count.skipped) == ["data/link is a link", "data/out is a link", "data/pipe is a FIFO"]
    assert count.files == 5
    back = download(here, "", "data", volume, "again")
    assert sorted(back.skipped) == sorted(count.skipped)


@pytest.mark.parametrize("way", ["here", "there"])
def test_no_link_is_followed_on_the_way(here: Path, volume: Path, tmp_path: Path, way: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "one").write_text("1")
    (here / "one").write_text("1")
    if way == "here":
        (here / "data").symlink_to(outside)
        with pytest.raises(TransferError, match=r"data: Not a directory; links are not followed here"):
            upload(here, "data", "one", volume)
    else:
        (volume / "data").symlink_to(outside)
        with pytest.raises(OtherEndFailed, match=r"data: Not a directory; links are not followed here"):
            upload(here, "", "one", volume, "data/new/one")
    assert contents(outside) == {b"one": contents(here)[b"one"]}


def test_a_link_of_the_files_name_is_not_written_through(here: Path, volume: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("outside")
    (here / "one").write_text("1")
    (volume / "one").symlink_to(tmp_path / "outside")
    with pytest.raises(OtherEndFailed, match="one is a link already: remove it"):
        upload(here, "", "one", volume)
    (volume / part_of("large")).symlink_to(tmp_path / "outside")
    big(here / "large", CHUNK + 1)
    with pytest.raises(OtherEndFailed, match="large: Too many levels of symbolic links; links are not followed here"):
        upload(here, "", "large", volume)
    assert (tmp_path / "outside").read_text() == "outside"


def test_a_directory_of_the_files_name_is_told(here: Path, volume: Path) -> None:
    many(here, 5)
    (volume / "data" / "part-0" / "00000").mkdir(parents=True)
    with pytest.raises(OtherEndFailed, match="data/part-0/00000 is a directory already: remove it"):
        upload(here, "", "data", volume)


def test_two_copies_do_not_write_the_same_file(here: Path, volume: Path) -> None:
    big(here / "weights")

    def another(count: Count) -> None:
        if count.came < 20 << 20:
            return
        with pytest.raises(OtherEndFailed, match="weights is being written by another copy"):
            upload(here, "", "weights", volume)
        raise Stopped

    with pytest.raises(Stopped):
        upload(here, "", "weights", volume, tell=another)
    assert upload(here, "", "weights", volume).came < BIG
    assert contents(volume) == contents(here)


def test_a_copy_that_is_refused_leaves_the_other_one_alone(here: Path, volume: Path) -> None:
    """Also while there is less of it than anybody would go on with."""
    big(here / "weights", CHUNK + 5)
    refused: list[bool] = []

    def another(count: Count) -> None:
        if count.came >= 5 << 20 and not refused:
            refused.append(True)
            part = volume / part_of("weights")
            before = part.stat().st_ino
            for _ in range(2):
                with pytest.raises(OtherEndFailed, match="weights is being written by another copy"):
                    upload(here, "", "weights", volume)
            assert part.stat().st_ino == before

    upload(here, "", "weights", volume, tell=another)
    assert refused
    assert contents(volume) == contents(here)


@pytest.mark.parametrize("size", [100, PIECE + 1, CHUNK + 1])
def test_what_a_volume_says_only_at_the_end_leaves_the_old_file(
    here: Path, volume: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS says there that it has no room; this machine's file systems have said it before."""
    big(volume / "one", size)
    (here / "one").write_text("the old one, whole")

    def full(_: int) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(writing, "flushed", full)
    with pytest.raises(TransferError, match="one: Disk quota exceeded; expected room for all of it"):
        download(volume, "", "one", here)
    assert (here / "one").read_text() == "the old one, whole"


def test_a_close_is_made_before_a_file_has_its_name(tmp_path: Path) -> None:
    """On a descriptor that is closed, so is the copy of it; the file itself stays open, and locked."""
    with (tmp_path / "one").open("wb") as file:
        writing.flushed(file.fileno())
        file.write(b"x")


def test_whether_a_file_runs_comes_along_without_its_content(here: Path, volume: Path) -> None:
    big(here / "data" / "large.sh", CHUNK + 1)
    (here / "data" / "run.sh").write_text("#!/bin/sh\n")
    upload(here, "", "data", volume)
    for mode in (0o755, 0o640):
        for name in ("run.sh", "large.sh"):
            (here / "data" / name).chmod(mode)
        assert upload(here, "", "data", volume).came == 0
        for name in ("run.sh", "large.sh"):
            assert bool((volume / "data" / name).stat().st_mode & 0o111) == bool(mode & 0o111)


def test_a_file_that_is_gone_on_with_runs_as_it_does_now(here: Path, volume: Path) -> None:
    big(here / "large.sh")
    with pytest.raises(Stopped):
        upload(here, "", "large.sh", volume, tell=stop_at(40 << 20, stop))
    (here / "large.sh").chmod(0o755)
    upload(here, "", "large.sh", volume)
    assert (volume / "large.sh").stat().st_mode & 0o111


def test_what_cannot_be_looked_at_is_told_and_the_others_come(
    here: Path, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(here, 30)
    real, names = os.stat, Tree.names

    def failing(path: str, **more: Any) -> os.stat_result:  # noqa: ANN401  # as os.stat has them
        if path == "00013":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(path, **more)

    def closed(tree: Tree, path: str) -> list[str]:
        if path == "data/part-7":
            raise TransferError("data/part-7: Permission denied")
        return names(tree, path)

    monkeypatch.setattr(os, "stat", failing)
    monkeypatch.setattr(Tree, "names", closed)
    count = upload(here, "", "data", volume)
    monkeypatch.undo()
    assert sorted(count.lost) == [
        "data/part-3/00013: Input/output error; check the volume or disk that it is on, then try again",
        "data/part-7: Permission denied",
    ]
    assert count.files == 30 - 1 - 3
    assert {
        name: digest for name, digest in contents(here).items() if b"/00013" not in name and b"-7/" not in name
    } == contents(volume)


def test_how_many_were_left_is_told_at_both_ends(here: Path, volume: Path) -> None:
    (here / "data").mkdir()
    for number in range(50):
        (here / "data" / f"l{number}").symlink_to("x")
    for count in (upload(here, "", "data", volume), download(here, "", "data", volume)):
        assert len(count.skipped) == 21
        assert count.skipped[-1] == "50 in all"


def test_a_full_volume_is_told_and_what_came_is_kept(here: Path, volume: Path) -> None:
    big(here / "weights")
    with mounted("tmpfs", "none", volume, "size=40m"):
        with pytest.raises(OtherEndFailed, match="weights: No space left on device; expected room for all of it"):
            upload(here, "", "weights", volume)
        assert [path.name for path in volume.iterdir()] == [part_of("weights")]
        big(here / "weights", 36 << 20)  # by its digests the same as far as it goes
        count = upload(here, "", "weights", volume)
        assert count.came == 4 << 20
        assert contents(volume) == contents(here)


def test_a_full_disk_here_is_told(here: Path, volume: Path) -> None:
    big(volume / "weights")
    full = pytest.raises(TransferError, match="weights: No space left on device; expected room for all of it")
    with mounted("tmpfs", "none", here, "size=20m"), full:
        download(volume, "", "weights", here)


def test_a_file_that_becomes_shorter_is_told_and_the_others_come(here: Path, volume: Path) -> None:
    many(here, 20)
    weights = big(here / "data" / "a-weights", 3 * CHUNK)
    count = upload(here, "", "data", volume, tell=lambda count: os.truncate(weights, 100))
    assert count.lost == ["data/a-weights became shorter while it was read"]
    assert {**contents(volume / "data")} == {
        name: digest for name, digest in contents(here / "data").items() if name != b"a-weights"
    } | {
        os.fsencode(path.relative_to(volume / "data")): contents(volume / "data")[
            os.fsencode(path.relative_to(volume / "data"))
        ]
        for path in volume.rglob("*.part")
    }
    assert not (volume / "data" / "a-weights").exists()


def test_what_nobody_goes_on_with_is_told_and_after_a_day_removed(here: Path, volume: Path) -> None:
    (here / "one").write_text("1")
    old, young = volume / part_of("old"), volume / part_of("young")
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (time.time() - 90000,) * 2)
    assert upload(here, "", "one", volume).unfinished == 1
    assert sorted(path.name for path in volume.iterdir()) == sorted(["one", young.name])


def test_what_is_not_there_is_told(here: Path, volume: Path) -> None:
    with pytest.raises(OtherEndFailed, match="a/b is not there"):
        download(volume, "a", "b", here)
    (volume / "one").write_text("1")
    with pytest.raises(OtherEndFailed, match="one: Not a directory; links are not followed here"):
        download(volume, "one", "", here)


def test_an_agent_ends_with_its_desk(volume: Path) -> None:
    with agent(volume) as (_, process):
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=10) == 0


def test_an_agent_whose_desk_has_gone_does_not_wait_for_somebody_to_read(volume: Path) -> None:
    big(volume / "weights")
    with agent(volume) as (channel, process):
        channel.put("send", base="", first="weights")
        channel.get("begin")
        channel.get("offer")
        channel.put("want", have=[])
        channel.flush()
        assert process.stdout
        wait_until(partial(is_full, process.stdout.fileno()))
        assert process.poll() is None
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=10) == 0


def is_full(pipe: int) -> bool:
    """Return whether nothing more fits into a pipe that somebody writes whole pages to."""
    unread: int = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]
    return unread > fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) - 4096


def test_an_agent_says_that_its_volume_is_not_there(tmp_path: Path) -> None:
    with agent(tmp_path / "nowhere") as (channel, process):
        channel.put("list", path="")
        with pytest.raises(OtherEndFailed, match="nowhere: No such file or directory; expected it to be there"):
            channel.get("listed")
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=10) == 1


def test_directories_are_listed_made_and_removed(volume: Path) -> None:
    with agent(volume) as (channel, _):
        channel.put("make", path="a/b/c")
        channel.get("done")
        channel.put("make", path="a/b/c")
        channel.get("done")
        (volume / "a" / "file").write_text("content")
        (volume / "a" / "link").symlink_to("/etc/passwd")
        channel.put("list", path="a")
        rows = channel.get("listed").head["rows"]
        channel.get("done")
        assert isinstance(rows, list)
        assert [(name, kind) for name, kind, _, _ in rows] == [("b", "d"), ("file", "-"), ("link", "l")]
        channel.put("show", path="a/file")
        assert channel.get("piece").body == b"content"
        channel.get("done")
        channel.put("remove", path="a/file", all=False)
        channel.get("done")
        channel.put("remove", path="a", all=True)
        channel.get("done")
        channel.put("list", path="")
        assert channel.get("listed").head["rows"] == []
    assert Path("/etc/passwd").exists()


@pytest.mark.parametrize(
    ("kind", "head", "told"),
    [
        ("remove", {"path": "", "all": True}, "the top of the volume cannot be removed: name a file"),
        ("remove", {"path": "a", "all": False}, "a is a directory: add -r"),
        ("remove", {"path": "link/secret", "all": True}, "link: Not a directory; links are not followed here"),
        ("remove", {"path": "../outside/secret", "all": True}, "expected a path without"),
        ("show", {"path": "link/secret"}, "link: Not a directory; links are not followed here"),
        ("show", {"path": "pipe"}, "pipe is a FIFO: expected a regular file"),
        ("show", {"path": "a"}, "a is a directory: expected a regular file"),
        ("show", {"path": "nothing"}, "nothing is not there"),
        ("list", {"path": "/etc"}, "expected a relative path"),
        ("list", {"path": "link"}, None),
        ("make", {"path": "link/new"}, "link: Not a directory; links are not followed here"),
        ("make", {"path": "a/../../new"}, "expected a path without"),
        ("send", {"base": "..", "first": "outside"}, "expected a path without"),
        ("receive", {"target": "/tmp", "inside": True}, "expected a relative path"),
        ("list", {}, "path of 'list' is not a text"),
        ("nonsense", {}, "expected bye or send"),
    ],
)
def test_what_a_desk_may_not_ask_is_refused(
    volume: Path, tmp_path: Path, kind: str, head: dict[str, object], told: str | None
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (volume / "a").mkdir()
    (volume / "link").symlink_to(outside)
    os.mkfifo(volume / "pipe")
    with agent(volume) as (channel, _):
        channel.put(kind, b"", **head)
        if told is None:
            assert channel.get("listed").head["rows"] == [
                ["link", "l", len(str(outside)), pytest.approx(time.time(), abs=60)]
            ]
        else:
            with pytest.raises(OtherEndFailed, match=told):
                channel.get("done", "listed", "piece", "begin", "want")
    assert contents(outside) == {b"secret": contents(outside)[b"secret"]}


AWAITS_SIGNALS = ("128", "137")  # rt_sigtimedwait() on x86_64 and aarch64


def awaits_signals(pid: int) -> bool:
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] in AWAITS_SIGNALS


def test_an_agent_that_holds_a_pod_ends_when_it_is_told() -> None:
    with subprocess.Popen((sys.executable, "-I", "-m", "launcher.files", "hold")) as process:
        wait_until(partial(awaits_signals, process.pid))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("there", ("there", "", True)),
        ("there/", ("there", "", True)),
        ("there/new", ("there", "new", False)),
        ("there/a/b/", ("there", "a/b", True)),
        ("new", (".", "new", False)),
        (".", (".", "", True)),
        ("link", ("link", "", True)),
        ("link/new", ("link", "new", False)),
    ],
)
def test_a_download_lands_where_it_was_said(
    here: Path, monkeypatch: pytest.MonkeyPatch, target: str, found: tuple[str, str, bool]
) -> None:
    (here / "there").mkdir()
    (here / "link").symlink_to(here / "there")  # the user's own, which he means
    monkeypatch.chdir(here)
    top, name, inside = landing(target)
    assert (str(top), name, inside) == found


@pytest.mark.parametrize("target", ["../new", "file/new", "a/../b"])
def test_a_download_that_can_land_nowhere_is_told(here: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    (here / "file").write_text("file")
    monkeypatch.chdir(here)
    with pytest.raises(Problem):
        landing(target)
