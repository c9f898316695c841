"""Shards with a manifest, several shards for a rank, restarts that copy nothing twice, files copied side by side."""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.dataset.arguments import split_options
from launcher.dataset.progress import SplitProgress
from launcher.dataset.splitting import split_into_shards
from launcher.pod.outcome import ShardError
from launcher.safefs.parallel import file_system, is_network, threads_for
from tests.support.descriptors import descriptors
from tests.support.hanging import hanging_volume
from tests.support.volume import BY_RANK, UNDER_DATA, Volume, lay_out, read_back

ROOT = Path(__file__).parents[4]
MEGABYTE = 1 << 20


def split(volume: Volume, shards: int, *, layout: str = "rank", samples: int = 1000) -> None:
    """Put shards with their manifest on the volume, as the split Job does."""
    words = [
        "split",
        "--out",
        str(volume.job),
        "--shards",
        str(shards),
        "--layout",
        layout,
        "--samples",
        str(samples),
    ]
    split_into_shards(split_options(words, {}), {}, SplitProgress(io.StringIO()))


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume.made(tmp_path)


def refusal(volume: Volume, **effects: Any) -> str:  # noqa: ANN401  # as stage() takes them
    with pytest.raises(ShardError) as caught:
        volume.stage(**effects)
    assert not volume.data.exists()
    return str(caught.value)


def at_a_time(threads: int) -> dict[str, str]:
    return {"LAUNCHER_STAGE_THREADS": str(threads)}


class Reads:
    """Counts what is really read, and how many read at a time; the first ones wait until so many do."""

    def __init__(self, together: int = 1) -> None:
        self.count = self.now = self.most = 0
        self.together = together
        self.changed = threading.Condition()

    def __call__(self, fd: int, blocks: Sequence[bytearray]) -> int:
        with self.changed:
            self.count, self.now = self.count + 1, self.now + 1
            self.most = max(self.most, self.now)
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: self.most >= self.together, 30)
            self.now -= 1
        return os.readv(fd, blocks)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("layout", ["rank", "data"])
def test_what_a_split_wrote_is_verified_in_each_pod(volume: Volume, layout: str, threads: int) -> None:
    split(volume, 3, layout=layout)
    for rank in range(3):
        shard = volume.stage(rank, environ=at_a_time(threads))
        assert (shard.files, shard.verified) == (1, 1)
        part = f"part-{rank:05d}"
        where = f"{rank}/data" if layout == "rank" else f"data/{rank}"
        assert read_back(volume.data) == read_back(volume.job / where)
        assert (volume.data / part).stat().st_size == shard.bytes
    assert volume.told[-1][1]["verified"] == 1


@pytest.mark.parametrize("size", [1000, 5 * MEGABYTE + 3])
def test_a_byte_that_is_not_as_it_was_split_is_refused(volume: Volume, size: int) -> None:
    (volume.top / "in").write_bytes(b"a line of text\n" * (size * 3 // 15))
    words = ["split", "--out", str(volume.job), "--shards", "3", str(volume.top / "in")]
    split_into_shards(split_options(words, {}), {}, SplitProgress(io.StringIO()))
    part = volume.job / "0/data/part-00000"
    assert volume.stage(0).verified == 1
    shutil.rmtree(volume.data)
    with part.open("r+b") as file:
        file.seek(part.stat().st_size - 7)
        file.write(b"T")
    assert f"{part} is not the file that manifest.json lists (its SHA-256 differs)" in refusal(volume)
    assert not any(path.is_file() for path in volume.work.rglob("part*"))


def test_a_file_that_is_whole_again_at_the_second_copy_is_taken(volume: Volume) -> None:
    split(volume, 3)
    part = volume.job / "0/data/part-00000"
    times, broken = (part.stat().st_atime_ns, part.stat().st_mtime_ns), [True]

    def read(fd: int, blocks: Sequence[bytearray]) -> int:
        count = os.readv(fd, blocks)
        if broken.pop() if broken else False:
            blocks[0][3] ^= 1  # a network that lost a bit
        return count

    assert volume.stage(read=read).verified == 1
    assert read_back(volume.data) == read_back(part.parent)
    assert times[1] == (volume.data / "part-00000").stat().st_mtime_ns


def test_a_file_that_the_manifest_lists_and_nobody_has_is_told(volume: Volume) -> None:
    split(volume, 3)
    part = volume.job / "0/data/part-00000"
    part.unlink()
    assert f"{part} is not there, but manifest.json lists it: expected all files of the split, 1" in refusal(volume)
    assert volume.stage(1).verified == 1


def test_a_file_beside_those_that_are_listed_is_copied(volume: Volume) -> None:
    split(volume, 3)
    lay_out(volume.job, {"0/data/words": "mine"})
    shard = volume.stage()
    assert (shard.files, shard.verified) == (2, 1)


def test_shards_that_no_manifest_lists_are_told(volume: Volume) -> None:
    split(volume, 3)
    lay_out(volume.job, {"3/data/old": "of another split"})
    assert f"{volume.job}: 4 shards are there, and manifest.json lists 3" in refusal(volume)


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "not a manifest: "), ('{"version": 2}', "version 2"), ("[" * 9999, "not a manifest: ")],
)
def test_a_manifest_that_is_none_is_told(volume: Volume, content: str, told: str) -> None:
    volume.lay_out(job=BY_RANK | {"manifest.json": content})
    assert f"{volume.job}/manifest.json: " in (found := refusal(volume))
    assert told in found


def test_a_manifest_that_is_no_file_is_told(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK)
    os.mkfifo(volume.job / "manifest.json")
    assert f"{volume.job}/manifest.json is a FIFO" in refusal(volume)
    (volume.job / "manifest.json").unlink()
    (volume.job / "manifest.json").mkdir()
    assert f"{volume.job}/manifest.json is a directory: expected a regular file" in refusal(volume)
    (volume.job / "manifest.json").rmdir()
    (volume.job / "manifest.json").symlink_to("/etc/passwd")
    assert "links are not followed here" in refusal(volume)


def test_a_manifest_without_end_is_not_read_to_it(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launcher.pod.data.survey.MANIFEST_LIMIT", 5000)
    volume.lay_out(job=BY_RANK | {"manifest.json": " " * 6000})
    assert "more than 5000 bytes" in refusal(volume)


@settings(max_examples=12)
@given(st.integers(1, 8), st.integers(0, 9), st.sampled_from(["rank", "data"]))
def test_every_record_reaches_exactly_one_rank(trainers: int, more: int, layout: str) -> None:
    shards, found = trainers + more, []
    with TemporaryDirectory() as top:
        for rank in range(trainers):
            volume = Volume.made(Path(top), trainers=trainers)
            split(volume, shards, layout=layout, samples=40)
            shard = volume.stage(rank)
            assert shard.verified == shard.files == len(range(rank, shards, trainers))
            parts = sorted(volume.data.iterdir())
            assert [part.name for part in parts] == [f"part-{each:05d}" for each in range(rank, shards, trainers)]
            found += [line for part in parts for line in part.read_text().splitlines()]
        whole = [line for part in volume.job.glob("*/*/part*") for line in part.read_text().splitlines()]
    assert sorted(found) == sorted(whole)
    assert len(found) == 40


def test_fewer_shards_than_ranks_are_refused(volume: Volume) -> None:
    split(volume, 2)
    assert "missing: 2; expected one or more for each trainer" in refusal(volume, rank=2)


@pytest.mark.parametrize("manifest", [False, True])
def test_a_shard_that_is_missing_is_said_by_the_rank_whose_it_is(volume: Volume, manifest: bool) -> None:
    """The others may be started again: that rank may have staged it before it was cleaned away."""
    if manifest:
        split(volume, 3)
    else:
        volume.lay_out(job=BY_RANK)
    shutil.rmtree(volume.job / "1/data")
    assert "missing: 1" in refusal(volume, rank=1)
    for rank in (0, 2):
        assert bool(volume.stage(rank).verified) == manifest


def test_a_last_shard_that_is_missing_is_said_by_its_rank_as_the_manifest_has_it(volume: Volume) -> None:
    split(volume, 5)
    shutil.rmtree(volume.job / "4/data")
    assert "4 shards are there, and manifest.json lists 5" in refusal(volume, rank=1)
    for rank in (0, 2):
        assert volume.stage(rank).verified


def test_after_a_resize_the_shards_are_dealt_anew(tmp_path: Path) -> None:
    volume = Volume.made(tmp_path, trainers=4)
    volume.lay_out(job={f"data/{number}/part-{number}": f"{number}" for number in range(4)})
    assert volume.stage(1).files == 1
    smaller = Volume.made(tmp_path, trainers=3)
    assert smaller.stage(0).source == f"{volume.job}/data/0, {volume.job}/data/3"
    assert read_back(volume.data) == {"part-0": "0", "part-3": "3"}
    larger = Volume.made(tmp_path, trainers=5)
    with pytest.raises(ShardError, match="missing: 4"):
        larger.stage(4)


def test_two_shards_with_one_name_for_one_rank_are_refused(volume: Volume) -> None:
    volume.lay_out(job=UNDER_DATA | {"data/3/part": "covers"})
    told = refusal(volume)
    assert f"{volume.job}/data/0/part and {volume.job}/data/3/part go to one place" in told
    assert volume.stage(1).files == 1


@pytest.mark.parametrize("manifest", [True, False])
def test_a_restart_copies_nothing_that_is_unchanged(volume: Volume, manifest: bool) -> None:
    if manifest:
        split(volume, 3)
    else:
        volume.lay_out(job=BY_RANK)
    lay_out(volume.job, {"0/data/d/a": "1", "0/data/d/b": "2"})
    reads = Reads()
    whole = volume.stage(read=reads)
    assert reads.count == 3
    (volume.job / "0/data/d/b").write_text("changed")
    (volume.data / "of-the-program").write_text("x")
    (volume.data / "d/a").unlink()
    reads = Reads()
    assert volume.stage(read=reads).verified == whole.verified
    assert reads.count == 2
    assert read_back(volume.data) == read_back(volume.job / "0/data")
    assert {path.name for path in volume.work.iterdir()} == {"data", ".data.staged"}


def test_a_kept_copy_is_held_against_the_manifest_too(volume: Volume) -> None:
    split(volume, 3)
    volume.stage()
    copy = volume.data / "part-00000"
    times = copy.stat().st_atime_ns, copy.stat().st_mtime_ns
    with copy.open("r+b") as file:
        file.write(b"XXX")
    os.utime(copy, ns=times)
    reads = Reads()
    assert volume.stage(read=reads).verified == 1
    assert reads.count == 1
    assert read_back(volume.data) == read_back(volume.job / "0/data")


def test_another_ranks_data_is_never_taken_for_ones_own(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK)
    for rank in range(3):
        os.utime(volume.job / f"{rank}/data/part", ns=(1, 1))  # the same size, time and mode
    for rank in (0, 1):
        volume.stage(rank)
        assert read_back(volume.data) == {"part": f"shard {rank}"}


DRIVER = """
import os, sys
from pathlib import Path
from tests.support.volume import Volume

def read(fd, blocks):
    os.write(1, b"half\\n")
    os.read(0, 1)
    return os.readv(fd, blocks)

Volume(top=Path(sys.argv[1])).stage(read=read, environ={"LAUNCHER_STAGE_THREADS": sys.argv[2]})
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_killed_in_a_restart_the_next_start_goes_on(volume: Volume, threads: str) -> None:
    volume.lay_out(job=BY_RANK | {f"0/data/{number}": str(number) for number in range(9)})
    volume.stage()
    (volume.job / "0/data/5").write_text("changed")
    argv = [sys.executable, "-c", DRIVER, str(volume.top), threads]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"half\n"
        child.kill()
    assert child.returncode == -signal.SIGKILL
    reads = Reads()
    volume.stage(read=reads)
    assert reads.count == 1
    assert read_back(volume.data) == read_back(volume.job / "0/data")


@pytest.mark.parametrize("folders", [2, 40])
def test_side_by_side_many_files_are_copied_at_a_time(volume: Volume, folders: int) -> None:
    tree = {f"0/data/{number % folders}/sub/{number}": str(number) for number in range(80)}
    volume.lay_out(job=BY_RANK | tree)
    reads = Reads(together=5)
    volume.stage(read=reads, environ=at_a_time(16))
    assert read_back(volume.data) == read_back(volume.job / "0/data")
    shutil.rmtree(volume.data)
    reads = Reads()
    volume.stage(read=reads, environ=at_a_time(1))
    assert reads.most == 1


def test_side_by_side_what_stands_in_the_way_of_the_survey_is_one_sentence(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK | {f"0/data/{number:02}/file": str(number) for number in range(40)})
    os.mkfifo(volume.job / "0/data/17/fifo")
    before = descriptors()
    told = refusal(volume, environ=at_a_time(8))
    assert told.startswith(f"{volume.job}/0/data/17/fifo is a FIFO")
    assert read_back(volume.work) == {}
    assert not descriptors() - before
    (volume.job / "0/data/17/fifo").unlink()
    assert volume.stage(environ=at_a_time(8)).files == 41


def test_side_by_side_a_failure_is_one_sentence_and_nothing_half(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK | {f"0/data/d/{number:02}": str(number) for number in range(40)})

    def read(fd: int, blocks: Sequence[bytearray]) -> int:
        if Path(f"/proc/self/fd/{fd}").readlink().name == "17":
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
        return os.readv(fd, blocks)

    told = refusal(volume, read=read, environ=at_a_time(8))
    assert told.startswith(f"{volume.job}/0/data/d/17: No such device or address")
    assert not (next(volume.work.iterdir()) / "d/17").exists()
    before = descriptors()
    assert volume.stage(environ=at_a_time(8)).files == 41
    assert not descriptors() - before


MOUNTS = """36 25 0:32 / /mnt/nfs rw,relatime shared:1 - nfs4 server:/export rw
37 25 254:1 / / rw - ext4 /dev/vda rw
38 25 0:40 / /mnt/fuse rw - fuse.sshfs host: rw
a broken line
"""


def test_the_kind_of_the_file_system_says_how_many_at_a_time(tmp_path: Path) -> None:
    assert [file_system(os.makedev(0, minor), MOUNTS) for minor in (32, 40, 99)] == ["nfs4", "fuse.sshfs", ""]
    assert file_system(os.makedev(254, 1), MOUNTS) == "ext4"
    kinds = ("nfs4", "ceph", "fuse.sshfs", "fuse", "ext4", "overlay", "fuseblk", "tmpfs", "")
    assert [is_network(kind) for kind in kinds] == [True] * 4 + [False] * 5
    with (tmp_path / "x").open("w") as file:
        assert threads_for(file.fileno()) == 1
        assert threads_for(file.fileno(), tmp_path / "nowhere") == 1


def test_a_volume_in_user_space_is_copied_side_by_side(tmp_path: Path) -> None:
    with hanging_volume(tmp_path / "volume") as volume:
        directory = os.open(volume.where, os.O_RDONLY)
        try:
            assert threads_for(directory) == 32
        finally:
            os.close(directory)
