"""A staging that is killed at any step, and the start after it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.mounts import mounted
from tests.support.volume import BY_RANK, Volume, read_back

ROOT = Path(__file__).parents[4]
LEFT = {"data", "data.before", ".data.staged", ".files.staged", "conf", "conf.before"}  # all that a staging leaves
CONFIG = {"TRAIN_CONFIG_DIR": "recommendation"}
OF_THE_USER = {"vocabulary": "v", "sub/x": "x"}


class Killed(BaseException):
    """The process is no more."""


class Steps:
    """Effects of which the n-th does not happen, nor anything after it."""

    def __init__(self, deadly: int, *, overlay: bool = False) -> None:
        self.left, self.overlay = deadly, overlay

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        # overlayfs does not rename a directory of the image.
        if self.overlay and (source / "of-the-image").exists() and "staging" not in source.name:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        source.rename(target)

    def remove(self, path: Path) -> None:
        self._step()
        # The worst moment is in the middle of it.
        next(each for each in path.rglob("*") if each.is_file()).unlink()
        self._step()
        shutil.rmtree(path)

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


def steps_of(work: Callable[[Steps], None], overlay: bool) -> int:
    steps = Steps(1000, overlay=overlay)
    work(steps)
    return 1000 - steps.left


@pytest.mark.parametrize("overlay", [False, True], ids=["rename", "overlayfs"])
def test_killed_at_any_step_the_next_start_comes_to_the_same_end(tmp_path: Path, overlay: bool) -> None:
    tree = OF_THE_USER | ({"of-the-image": ""} if overlay else {})

    def life(volume: Volume, steps: Steps) -> None:
        for rank in (0, 1):
            volume.lay_out(job={"recommendation/conf": f"c{rank}"})
            volume.stage(rank, environ=CONFIG, rename=steps.rename, remove=steps.remove)

    def begin(name: str) -> Volume:
        volume = Volume.made(tmp_path / name)
        volume.lay_out(
            job=BY_RANK | {"recommendation/conf": "c", "0/data/only-0": ""}, data=tree, work={"conf": "mine"}
        )
        return volume

    number = steps_of(lambda steps: life(begin("whole"), steps), overlay)
    assert number > 10
    for deadly in range(number):
        volume, again = begin(str(deadly)), Steps(1000, overlay=overlay)
        with pytest.raises(Killed):
            life(volume, Steps(deadly, overlay=overlay))
        assert any(tree.items() <= read_back(path).items() for path in (volume.data, volume.work / "data.before"))
        volume.lay_out(job={"recommendation/conf": "c2"})
        volume.stage(1, environ=CONFIG, rename=again.rename, remove=again.remove)
        assert [(volume.work / name).read_text() for name in ("conf", "conf.before")] == ["c2", "mine"]
        assert read_back(volume.data) == tree | {"part": "shard 1"}
        assert read_back(volume.work / "data.before") == tree
        assert {path.name for path in volume.work.iterdir()} == LEFT


DRIVER = """
import os, sys
from pathlib import Path
from tests.support.volume import Volume

left = 20
def read(fd, blocks):
    global left
    left -= 1
    if left == 0:
        os.write(1, b"half\\n")
        os.read(0, 1)
    return os.readv(fd, blocks)

Volume(top=Path(sys.argv[1])).stage(read=read)
"""


def killed_half_way(volume: Volume) -> None:
    argv = [sys.executable, "-c", DRIVER, str(volume.top)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"half\n"
        child.kill()
    assert child.returncode == -signal.SIGKILL


class Reads:
    """Counts what is really read."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, fd: int, blocks: Sequence[bytearray]) -> int:
        self.count += 1
        return os.readv(fd, blocks)


def many(count: int) -> dict[str, str]:
    return {f"0/data/d{number % 3}/{number:02}": f"content {number}" for number in range(count)}


def test_after_a_kill_only_what_was_not_whole_is_copied_again(tmp_path: Path) -> None:
    volume = Volume.made(tmp_path)
    volume.lay_out(job=BY_RANK | many(40))
    killed_half_way(volume)
    assert not volume.data.exists()
    reads = Reads()
    assert volume.stage(read=reads).files == 41
    assert reads.count == 41 - 19
    assert read_back(volume.data) == read_back(volume.job / "0/data")


def test_after_a_kill_a_file_of_the_same_size_but_another_time_is_copied_again(tmp_path: Path) -> None:
    volume = Volume.made(tmp_path)
    volume.lay_out(job=BY_RANK | many(40))
    (volume.job / "0/data/link").symlink_to("part")
    killed_half_way(volume)
    volume.lay_out(job={path: content.upper() for path, content in many(40).items()})
    volume.stage()
    assert read_back(volume.data) == read_back(volume.job / "0/data")


def test_after_a_kill_what_went_or_became_something_else_is_not_kept(tmp_path: Path) -> None:
    volume = Volume.made(tmp_path)
    volume.lay_out(job=BY_RANK | many(40))
    killed_half_way(volume)
    for name in ("d0", "d1", "d2"):
        shutil.rmtree(volume.job / "0/data" / name)
        (volume.job / "0/data" / name).write_text("now a file")
    (volume.job / "0/data/part").unlink()
    volume.stage()
    assert read_back(volume.data) == dict.fromkeys(("d0", "d1", "d2"), "now a file")


def test_after_a_kill_another_ranks_start_keeps_nothing_of_it(tmp_path: Path) -> None:
    volume = Volume.made(tmp_path)
    volume.lay_out(job=BY_RANK | many(40))
    killed_half_way(volume)
    reads = Reads()
    volume.stage(1, read=reads)
    assert reads.count == 1
    assert read_back(volume.data) == {"part": "shard 1"}
    assert {path.name for path in volume.work.iterdir()} == {"data", ".data.staged"}


def test_data_of_an_image_is_set_aside_on_a_real_overlay(tmp_path: Path) -> None:
    volume = Volume.made(tmp_path)
    volume.lay_out(job=BY_RANK)
    image, upper, scratch = (tmp_path / name for name in ("image", "upper", "scratch"))
    for each in (image / "data", upper, scratch):
        each.mkdir(parents=True)
    (image / "data/vocabulary").write_text("v")
    options = f"lowerdir={image},upperdir={upper},workdir={scratch}"
    with mounted("overlay", "overlay", volume.work, options):
        for rank in (0, 1):
            volume.stage(rank)
            assert read_back(volume.data) == {"vocabulary": "v", "part": f"shard {rank}"}
            assert read_back(volume.work / "data.before") == {"vocabulary": "v"}
