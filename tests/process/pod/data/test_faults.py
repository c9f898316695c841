"""A volume that is hostile, full or broken: every fault is a sentence, and nothing half is left as `data`."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from launcher.contract import NO_RESTART
from launcher.pod.outcome import ShardError, VolumeError
from tests.support.mounts import mounted
from tests.support.volume import BY_RANK, Volume, as_nobody, open_to_all, read_back

ROOT = Path(__file__).parents[4]
MEGABYTE = 1 << 20


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    volume = Volume.made(tmp_path)
    volume.lay_out(job=BY_RANK)
    return volume


def refusal(volume: Volume, **effects: Any) -> str:  # noqa: ANN401  # as stage() takes them
    with pytest.raises(ShardError) as caught:
        volume.stage(**effects)
    assert not volume.data.exists()
    return str(caught.value)


def shard(volume: Volume) -> Path:
    return volume.job / "0/data"


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no right to make a device here")


@pytest.mark.parametrize(("make", "told"), [(fifo, "a FIFO"), (unix_socket, "a socket"), (device, "a device")])
def test_what_is_no_file_directory_or_link_is_refused(
    volume: Volume, make: Callable[[Path], None], told: str
) -> None:
    with chdir(shard(volume)):  # a socket's path must be short
        make(Path("odd"))
    assert f"{shard(volume)}/odd is {told}: expected only files, directories and links" in refusal(volume)
    assert read_back(volume.work) == {}


@pytest.mark.parametrize("make", [fifo, unix_socket, device])
def test_what_the_training_left_in_its_data_makes_way_at_the_next_staging(
    volume: Volume, make: Callable[[Path], None]
) -> None:
    volume.lay_out(job={"0/data/sub/part": "sub"})
    volume.stage()
    for where in (volume.data, volume.data / "sub"):
        with chdir(where):
            make(Path("odd"))
    (volume.data / "sub/part").unlink()
    with chdir(volume.data / "sub"):
        make(Path("part"))
    volume.stage()
    assert read_back(volume.data) == {"part": "shard 0", "sub/part": "sub"}
    assert sorted(os.listdir(volume.data / "sub")) == ["part"]  # noqa: PTH208  # read_back shows no FIFO
    assert sorted(os.listdir(volume.data)) == ["part", "sub"]  # noqa: PTH208


def test_names_of_any_bytes_are_copied_and_shown_with_escapes(volume: Volume) -> None:
    odd = os.fsdecode(b"line\nbreak \xff \xf0\x9f\x90\xb3")
    (shard(volume) / odd).write_text("x")
    volume.stage()
    assert read_back(volume.data) == {"part": "shard 0", odd: "x"}
    shutil.rmtree(volume.data)
    (shard(volume) / odd).unlink()
    os.mkfifo(shard(volume) / odd)
    assert "line\\nbreak \\udcff" in refusal(volume)


@pytest.mark.parametrize(
    ("link", "target"),
    [("out", "/etc/passwd"), ("sub/out", "../../up"), ("sub/out", "here/../../x"), ("round", "round")],
)
def test_a_link_that_leaves_the_tree_is_refused_before_anything_is_copied(
    volume: Volume, link: str, target: str
) -> None:
    (shard(volume) / "sub").mkdir()
    (shard(volume) / "sub/here").symlink_to("../sub")
    (shard(volume) / link).symlink_to(target)
    assert f"{shard(volume)}/{link} is a link to {target!r}, which leads out of the tree" in refusal(volume)
    assert read_back(volume.work) == {}


def test_a_link_that_stays_is_kept_as_a_link(volume: Volume) -> None:
    (shard(volume) / "sub").mkdir()
    (shard(volume) / "sub/it").symlink_to("../part")
    (shard(volume) / "all").symlink_to("sub")
    volume.stage()
    assert read_back(volume.data) == {"part": "shard 0", "sub/it": "-> ../part", "all": "-> sub"}


@pytest.mark.parametrize("link", ["0", "0/data", "recommendation"])
def test_no_link_is_followed_on_the_way_to_a_source(volume: Volume, link: str) -> None:
    elsewhere = volume.top / "elsewhere"
    volume.lay_out(job={"recommendation/x": ""})
    (volume.job / link).rename(elsewhere)
    (volume.job / link).symlink_to(elsewhere)
    assert f"{volume.job}/{link}: Not a directory" in refusal(volume, environ={"TRAIN_CONFIG_DIR": "recommendation"})


def test_directories_in_each_other_without_end_are_refused(volume: Volume) -> None:
    (shard(volume) / "/".join("d" * 120)).mkdir(parents=True)
    assert "expected at most 100 nested directories" in refusal(volume)


class Meanwhile:
    """Reads, but first changes the source, as often as it is told to."""

    def __init__(self, change: Callable[[Path], object], *, times: int = 1) -> None:
        self.change, self.times = change, times

    def __call__(self, fd: int, blocks: Sequence[bytearray]) -> int:
        if self.times:
            self.times -= 1
            self.change(Path(f"/proc/self/fd/{fd}").readlink())
        return os.readv(fd, blocks)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("more")


def touch(path: Path) -> None:
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))


@pytest.mark.parametrize("change", [truncate, grow, touch])
def test_a_file_that_changes_while_it_is_copied_is_copied_once_more(
    volume: Volume, change: Callable[[Path], object]
) -> None:
    assert volume.stage(read=Meanwhile(change)).bytes == (shard(volume) / "part").stat().st_size
    assert read_back(volume.data) == read_back(shard(volume))


@pytest.mark.parametrize("change", [truncate, grow, touch])
def test_a_file_that_goes_on_changing_is_refused(volume: Volume, change: Callable[[Path], object]) -> None:
    assert f"{shard(volume)}/part changes while it is copied" in refusal(volume, read=Meanwhile(change, times=4))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (os.mkfifo, "is a FIFO"),
        (lambda path: path.symlink_to("/etc/passwd"), "links are not followed here"),
        (Path.mkdir, "is a directory: expected a regular file"),
        (Path.exists, "expected it to stay while it is copied"),
    ],
)
def test_what_a_file_becomes_after_the_survey_is_refused(
    volume: Volume, make: Callable[[Path], object], told: str
) -> None:
    def change_the_other(path: Path) -> None:
        other = path.with_name({"part": "second", "second": "part"}[path.name])
        other.unlink()
        make(other)

    volume.lay_out(job={"0/data/second": "2"})
    assert told in refusal(volume, read=Meanwhile(change_the_other))


def test_a_link_that_comes_after_the_survey_is_refused_as_well(volume: Volume) -> None:
    def add(_: Path) -> None:
        for name in "ab":
            (shard(volume) / name / "out").symlink_to("/etc")

    volume.lay_out(job={"0/data/a/x": "x", "0/data/b/x": "x"})
    assert "which leads out of the tree" in refusal(volume, read=Meanwhile(add))


@pytest.fixture
def open_volume() -> Iterator[Volume]:
    with open_to_all() as volume:
        volume.lay_out(job=BY_RANK | {"0/data/sub/x": ""})
        yield volume


@pytest.mark.parametrize("closed", ["0/data/part", "0/data/sub", "0/data"])
def test_what_may_not_be_read_is_told_with_its_path_and_the_user(open_volume: Volume, closed: str) -> None:
    (open_volume.job / closed).chmod(0)
    with as_nobody(open_volume):
        told = refusal(open_volume)
    (open_volume.job / closed).chmod(0o700)
    assert told.startswith(f"{open_volume.job}/{closed}: Permission denied; expected access for user ")


def test_a_working_directory_that_may_not_be_written_is_told(open_volume: Volume) -> None:
    with as_nobody(open_volume):
        open_volume.work.chmod(0o500)
        told = refusal(open_volume)
    open_volume.work.chmod(0o700)
    assert told.startswith(f"{open_volume.work}/.data.staging-")
    assert "Permission denied" in told


def test_too_little_room_is_told_before_anything_is_copied(volume: Volume) -> None:
    volume.lay_out(job={"0/data/big": bytes(2 * MEGABYTE)})
    with mounted("tmpfs", "tmpfs", volume.work, "size=1m"):
        assert f"{shard(volume)} needs {2 * MEGABYTE + 7} bytes more in {volume.work}, " in refusal(volume)
        assert read_back(volume.work) == {next(volume.work.iterdir()).name: "/"}


def test_a_disk_that_fills_up_meanwhile_leaves_no_data_and_can_be_gone_on_with(volume: Volume) -> None:
    def fill(_: Path) -> None:
        os.posix_fallocate(filler, 0, os.fstatvfs(filler).f_bavail * 4096)

    volume.lay_out(job={"0/data/big": bytes(MEGABYTE // 2)})
    with mounted("tmpfs", "tmpfs", volume.work, "size=1m"):
        filler = os.open(volume.work / "filler", os.O_CREAT | os.O_WRONLY)
        told = refusal(volume, read=Meanwhile(fill))
        os.close(filler)
        assert "No space left on device; expected room for all of it" in told
        (volume.work / "filler").unlink()
        volume.stage()
        assert (volume.data / "big").stat().st_size == MEGABYTE // 2


@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
def test_data_that_is_a_mount_is_refused_with_the_remedy(volume: Volume, kind: str) -> None:
    volume.data.mkdir()
    (volume.top / "other").mkdir()
    of_kind = {"tmpfs": ("tmpfs", "tmpfs", "size=1m"), "bind": ("", str(volume.top / "other"), "bind")}
    name, source, options = of_kind[kind]
    with mounted(name, source, volume.data, options), pytest.raises(ShardError) as caught:
        volume.stage()
    assert f"{volume.data} is a mount" in str(caught.value)
    assert f"mount the volume at the working directory, {volume.work}" in str(caught.value)


DRIVER = """
import sys
from pathlib import Path
from tests.support.volume import Volume
volume = Volume(top=Path(sys.argv[1]))
volume.stage(sleep=lambda _: None)
print(*(facts.get("error", event) for event, facts in volume.told), sep="\\n")
"""


@pytest.mark.parametrize(("call", "at_source"), [("readv", True), ("write", False), ("close", False)])
def test_an_input_output_error_is_told_with_its_path_and_passes(volume: Volume, call: str, at_source: bool) -> None:
    """strace makes the kernel's answer: EIO to the first such call on the file that is copied."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    refusal(volume, read=Meanwhile(touch, times=4))  # leaves the directory that the next start uses
    path = (shard(volume) if at_source else next(volume.work.iterdir())) / "part"
    argv = ["strace", "-qq", "-o", "/dev/null", "-P", str(path), "-e", f"inject={call}:error=EIO:when=1"]
    argv += [sys.executable, "-c", DRIVER, str(volume.top)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)
    if "ptrace" in done.stderr.lower():
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")
    trouble, *after = done.stdout.splitlines()
    assert trouble.startswith(f"{path}: Input/output error; check the volume or disk"), done.stderr
    assert after == ["staging_back", "staged"]
    assert read_back(volume.data) == {"part": "shard 0"}


class Trouble:
    """Reads that fail for so many seconds of a clock that only sleeping moves."""

    def __init__(self, number: int, seconds: float) -> None:
        self.number, self.until, self.now = number, 100.0 + seconds, 100.0

    def read(self, fd: int, blocks: Sequence[bytearray]) -> int:
        if self.now < self.until:
            raise OSError(self.number, os.strerror(self.number))
        return os.readv(fd, blocks)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def stage(self, volume: Volume) -> None:
        volume.stage(read=self.read, clock=lambda: self.now, sleep=self.sleep)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTUNREACH])
def test_trouble_of_a_volume_has_a_minute_to_pass(volume: Volume, number: int) -> None:
    Trouble(number, 59).stage(volume)
    assert [event for event, _ in volume.told] == ["staging_trouble", "staging_back", "staged"]
    assert read_back(volume.data) == {"part": "shard 0"}


def test_after_a_minute_of_trouble_another_start_may_help_as_the_code_says(volume: Volume) -> None:
    trouble = Trouble(errno.EIO, 3600)
    with pytest.raises(VolumeError) as caught:
        trouble.stage(volume)
    assert trouble.now == 160
    assert str(caught.value).startswith(f"{shard(volume)}/part: Input/output error; ")
    assert str(caught.value).endswith("(for 60 s)")
    assert caught.value.code not in NO_RESTART
    assert not volume.data.exists()


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.ENOSPC, errno.ENXIO])
def test_what_does_not_pass_by_itself_is_told_at_once(volume: Volume, number: int) -> None:
    trouble = Trouble(number, 3600)
    with pytest.raises(ShardError):
        trouble.stage(volume)
    assert trouble.now == 100
