"""What a pod copies when the width of its gang changes: what is new to it, and what is not as it was copied."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.dataset import epoch_reader
from launcher.dataset.arguments import split_options
from launcher.dataset.progress import SplitProgress
from launcher.dataset.splitting import split_into_shards
from launcher.pod.data.deal import deal
from launcher.pod.outcome import ShardError
from tests.process.pod.data.test_kills import Killed, Steps
from tests.support.mounts import mounted
from tests.support.volume import Volume, read_back

ROOT = Path(__file__).parents[4]
SIZE = 1000
LEFT = {"data", ".data.staged", ".data.copies"}


class Bytes:
    """Counts the bytes that are read from the volume."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, fd: int, blocks: Sequence[bytearray]) -> int:
        count = os.readv(fd, blocks)
        self.count += count
        return count


def content(shard: int, size: int = SIZE) -> str:
    return f"{shard:04}" * (size // 4)


def with_shards(top: Path, shards: int, *, pod: str = "work") -> Volume:
    volume = Volume(top=top, pod=pod)
    tree = {f"data/{each}/sub/part-{each}": content(each) for each in range(shards)}
    volume.lay_out(job=tree)
    return volume


def shards_of(slot: int, slots: Collection[int], shards: int = 12, most: int = 5) -> dict[str, str]:
    """Return what a slot is to have in its data."""
    return {f"sub/part-{each}": content(each) for each in deal(shards, most, slots)[slot]}


def part(volume: Volume, shard: int) -> Path:
    return volume.data / f"sub/part-{shard}"


@pytest.mark.parametrize("most", [4, 5])
def test_from_three_to_four_a_quarter_is_copied_in_the_whole_gang(tmp_path: Path, most: int) -> None:
    pods = [with_shards(tmp_path, 12, pod=f"pod-{slot}") for slot in range(4)]
    for slot in range(3):
        assert pods[slot].resize(slot, range(3), most=most).kept == 0
    reads, kept, whole = Bytes(), 0, 0
    for slot, pod in enumerate(pods):
        shard = pod.resize(slot, range(4), most=most, read=reads)
        assert read_back(pod.data) == shards_of(slot, range(4), most=most)
        assert {path.name for path in pod.work.iterdir()} == LEFT
        assert pod.told[-1][1]["kept_bytes"] == shard.kept_bytes == shard.kept * SIZE
        kept, whole = kept + shard.kept_bytes, whole + shard.bytes
    assert (reads.count, kept, whole) == (3 * SIZE, 9 * SIZE, 12 * SIZE)


def test_from_four_to_three_only_those_of_the_fourth_are_copied(tmp_path: Path) -> None:
    pods = [with_shards(tmp_path, 12, pod=f"pod-{slot}") for slot in range(4)]
    for slot, pod in enumerate(pods):
        pod.resize(slot, range(4))
    reads = Bytes()
    assert [pods[slot].resize(slot, range(3), read=reads).kept for slot in range(3)] == [3, 3, 3]
    assert reads.count == 3 * SIZE


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_after_any_resizes_each_record_is_in_one_pod_and_nothing_is_copied_that_was_there(
    data: st.DataObject,
) -> None:
    most, shards = 4, data.draw(st.integers(4, 9))
    gangs = st.frozensets(st.integers(0, most), min_size=1, max_size=most)
    with TemporaryDirectory() as top:
        pods = [with_shards(Path(top), shards, pod=f"pod-{slot}") for slot in range(most + 1)]
        for slots in data.draw(st.lists(gangs, min_size=2, max_size=4)):
            whole: dict[str, str] = {}
            for slot in slots:
                before, reads = read_back(pods[slot].data), Bytes()
                pods[slot].resize(slot, slots, most=most, read=reads)
                found = read_back(pods[slot].data)
                assert found == shards_of(slot, slots, shards, most)
                assert reads.count == SIZE * len(found.keys() - before.keys())
                assert not whole.keys() & found.keys()
                whole |= found
            assert len(whole) == shards


@settings(max_examples=15, deadline=None)
@given(st.integers(4, 9), st.integers())
def test_with_a_position_for_each_file_every_record_of_an_epoch_is_kept_once(shards: int, seed: int) -> None:
    """As docs/data.md has it: each trainer saves how far it is in each of its files, and reads what all saved."""
    most, draw = 4, Random(seed)  # noqa: S311  # no secret
    with TemporaryDirectory() as top:
        pods = [Volume(top=Path(top), pod=f"pod-{slot}") for slot in range(most + 1)]
        rows = {f"{each}-{row}" for each in range(shards) for row in range(each % 5)}
        for each in range(shards):
            of_shard = [row for row in sorted(rows) if row.startswith(f"{each}-")]
            pods[0].lay_out(job={f"data/{each}/part-{each}": "".join(f"{row}\n" for row in of_shard)})
        kept: list[str] = []
        seen: dict[str, int] = {}
        while len(kept) < len(rows):
            slots = draw.sample(range(most + 1), draw.randint(1, most))
            had, now = list(kept), dict(seen)
            for slot in slots:
                pods[slot].lay_out()
                pods[slot].resize(slot, slots, most=most)
                for part in sorted(pods[slot].data.iterdir()):
                    read = epoch_reader(part.read_text().splitlines(), 1, 0, seen.get(part.name, 0), 1, 0)
                    some = list(islice(read(), draw.randint(0, 5)))
                    had, now[part.name] = had + some, seen.get(part.name, 0) + len(some)
            if draw.random() < 0.5:
                kept, seen = had, now
        assert sorted(kept) == sorted(rows)


def rewrite(path: Path) -> None:
    path.write_text("x" * SIZE)


def rewrite_at_the_same_time(path: Path) -> None:
    """As a program does that writes beside the file, renames, and keeps its time."""
    info = path.stat()
    new = path.with_name("new")
    new.write_text("x" * SIZE)
    os.utime(new, ns=(info.st_atime_ns, info.st_mtime_ns))
    new.rename(path)


def as_a_link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to("../elsewhere")


def as_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def below_a_link(path: Path) -> None:
    path.parent.rename(path.parents[2] / "moved")
    path.parent.symlink_to("../moved")
    rewrite_at_the_same_time(path)


@pytest.mark.parametrize(
    "change",
    [rewrite, rewrite_at_the_same_time, as_a_link, as_a_directory, below_a_link, Path.unlink,
     lambda path: path.chmod(0o600), lambda path: os.truncate(path, 7), lambda path: os.utime(path)],
)  # fmt: skip
def test_a_copy_that_a_program_changed_is_copied_anew(tmp_path: Path, change: Callable[[Path], object]) -> None:
    volume = with_shards(tmp_path, 12)
    volume.resize(0, range(3))
    assert {0, 5, 10} < set(deal(12, 5, range(3))[0])
    change(part(volume, 5))
    shard = volume.resize(0, range(4))
    assert (shard.files, shard.kept) == (3, 2)
    assert read_back(volume.data) == shards_of(0, range(4))
    assert not part(volume, 5).stat().st_mode & 0o111


def test_a_file_that_changed_on_the_volume_is_copied_anew(tmp_path: Path) -> None:
    volume = with_shards(tmp_path, 12)
    volume.resize(0, range(3))
    of_same_size = volume.job / "data/5/sub/part-5"
    of_same_size.write_text(content(99))
    longer = volume.job / "data/10/sub/part-10"
    longer.write_text(content(10) + "more")
    shard = volume.resize(0, range(4))
    assert (shard.kept, shard.bytes) == (1, 3 * SIZE + 4)
    assert read_back(volume.data)["sub/part-5"] == content(99)
    assert read_back(volume.data)["sub/part-10"] == content(10) + "more"


def test_a_file_of_another_shard_with_the_same_name_size_and_time_is_not_taken_for_it(tmp_path: Path) -> None:
    """As shards from one archive are, in which all files have one time; a spare has now this place, now that one."""
    volume = Volume(top=tmp_path)
    volume.lay_out(job={f"data/{each}/part": content(each) for each in range(3)})
    for each in range(3):
        os.utime(volume.job / f"data/{each}/part", ns=(1, 1))
    for slots, shard in (((0, 2, 3), 1), ((1, 2, 3), 0), ((0, 1, 3), 2)):
        assert volume.resize(3, slots, least=3, most=3).kept == 0
        assert read_back(volume.data) == {"part": content(shard)}


def test_shards_whose_files_have_one_name_are_refused_before_a_narrower_start_would_need_two_of_them(
    tmp_path: Path,
) -> None:
    volume = Volume(top=tmp_path)
    volume.lay_out(job={f"data/{each}/part": content(each) for each in range(3)})
    both = (
        f"{volume.job}/data/0/part and {volume.job}/data/2/part go to one place, as a rank has both shards when fewer"
    )
    with pytest.raises(ShardError, match=both):
        volume.resize(2, range(3), most=3)
    volume.lay_out(job={"data/0/other": ""})
    (volume.job / "data/0/part").unlink()
    assert volume.resize(2, range(3), most=3).files == 1


def test_a_kept_file_is_held_against_the_manifest(tmp_path: Path) -> None:
    volume = Volume.made(tmp_path)
    words = ["split", "--out", str(volume.job), "--shards", "12", "--samples", "400"]
    split_into_shards(split_options(words, {}), {}, SplitProgress(io.StringIO()))
    assert volume.resize(0, range(3)).verified == 4
    changed = volume.data / "part-00005"
    info = changed.stat()
    with changed.open("r+b") as file:  # the same size, and then the same time
        file.write(b"X")
    os.utime(changed, ns=(info.st_atime_ns, info.st_mtime_ns))
    shard = volume.resize(0, range(4))
    assert (shard.kept, shard.verified) == (2, 3)
    for name in ("part-00000", "part-00005", "part-00010"):
        assert (volume.data / name).read_bytes() == next(volume.job.glob(f"*/*/{name}")).read_bytes()


def test_a_kept_file_needs_no_room(tmp_path: Path) -> None:
    volume = Volume(top=tmp_path)
    volume.lay_out(job={f"data/{each}/part-{each}": content(each, 150 << 10) for each in range(12)})
    with mounted("tmpfs", "tmpfs", volume.work, "size=1m"):
        volume.resize(0, range(3))
        assert volume.resize(0, range(4)).kept == 3
        with pytest.raises(ShardError, match="needs 614400 bytes more"):
            volume.resize(1, range(3))


@pytest.mark.parametrize("with_token", [True, False])
def test_from_a_copy_of_the_data_nothing_is_taken(tmp_path: Path, with_token: bool) -> None:
    volume = with_shards(tmp_path, 12)
    volume.resize(0, range(3))
    shutil.copytree(volume.data, volume.top / "copy")  # with its times and attributes
    shutil.rmtree(volume.data)
    (volume.top / "copy").rename(volume.data)
    if not with_token:
        for name in os.listxattr(volume.data):
            os.removexattr(volume.data, name)
    assert volume.resize(0, range(4)).kept == 0
    assert (volume.work / "data.before").exists() != with_token


def test_what_lies_under_every_shard_is_copied_each_time_and_the_shards_are_kept(tmp_path: Path) -> None:
    volume = with_shards(tmp_path, 12)
    volume.lay_out(data={"vocabulary": "v", "sub/part-5": "covered"})
    for width, kept in ((3, 0), (4, 3), (3, 3)):
        assert volume.resize(0, range(width)).kept == kept + (width == 3 and kept > 0)
        assert read_back(volume.data) == {"vocabulary": "v"} | shards_of(0, range(width))


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[]", "null", '{"token": 1}', '{"copied": 3, "token": "x"}', '{"copied": {"a": {"b": 1}}}',
     '{"copied": {"a": {"b": [1, 2]}}, "token": "x"}', '{"copied": {"a": []}, "token": "x"}'],
)  # fmt: skip
def test_a_note_that_cannot_be_read_knows_no_copy(tmp_path: Path, broken: str) -> None:
    volume = with_shards(tmp_path, 12)
    volume.resize(0, range(3))
    (volume.work / ".data.copies").write_text(broken)
    assert volume.resize(0, range(4)).kept == 0
    assert read_back(volume.data) == shards_of(0, range(4))
    assert json.loads((volume.work / ".data.copies").read_text())["token"]


def test_a_note_about_another_tree_says_nothing_of_this_one(tmp_path: Path) -> None:
    """It is written a moment before the tree is put into its place."""
    volume = with_shards(tmp_path, 12)
    volume.resize(0, range(3))
    note = volume.work / ".data.copies"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"token": "0" * 32}))
    assert volume.resize(0, range(4)).kept == 0


def test_where_the_width_is_fixed_nothing_is_noted(tmp_path: Path) -> None:
    volume = with_shards(tmp_path, 3)
    volume.stage(1)
    assert {path.name for path in volume.work.iterdir()} == {"data", ".data.staged"}


def test_killed_at_any_step_the_next_start_has_the_right_shards_and_nothing_else(tmp_path: Path) -> None:
    def life(volume: Volume, steps: Steps) -> None:
        for width in (3, 4):
            volume.resize(0, range(width), rename=steps.rename, remove=steps.remove)

    steps = Steps(1000)
    life(with_shards(tmp_path / "whole", 12), steps)
    number = 1000 - steps.left
    assert number > 10
    for deadly in range(number):
        for width in (3, 4, 5):
            volume = with_shards(tmp_path / f"{deadly}-{width}", 12)
            with pytest.raises(Killed):
                life(volume, Steps(deadly))
            assert volume.resize(0, range(width)).files == len(shards_of(0, range(width)))
            assert read_back(volume.data) == shards_of(0, range(width))
            assert {path.name for path in volume.work.iterdir()} == LEFT
            assert volume.resize(0, range(width + 1 if width < 5 else 4)).kept >= 2


DRIVER = """
import sys
from pathlib import Path
from tests.support.volume import Volume
volume = Volume(top=Path(sys.argv[1]))
shard = volume.resize(0, range(int(sys.argv[2])))
print(shard.kept, shard.files)
"""


def under_strace(volume: Volume, width: int, inject: str) -> subprocess.CompletedProcess[str]:
    """Stage in a process of its own; strace makes the kernel's answer, or ends it at a call."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    argv = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={inject}"]
    argv += [sys.executable, "-c", DRIVER, str(volume.top), str(width)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)
    if "ptrace" in done.stderr.lower():
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")
    return done


@pytest.mark.parametrize("refusal", ["EPERM", "EMLINK", "EOPNOTSUPP"])
def test_without_hard_links_all_is_copied(tmp_path: Path, refusal: str) -> None:
    volume = with_shards(tmp_path, 12)
    volume.resize(0, range(3))
    done = under_strace(volume, 4, f"linkat:error={refusal}")
    assert done.stdout == "0 3\n", done.stderr
    assert read_back(volume.data) == shards_of(0, range(4))


@pytest.mark.parametrize("call", ["linkat", "unlinkat", "fchmod", "fsetxattr,lsetxattr", "rename"])
def test_killed_at_any_such_call_the_next_start_has_the_right_shards(tmp_path: Path, call: str) -> None:
    """From three to four one shard goes; two are linked, and with a changed copy one is copied."""
    for number in range(1, 20):
        volume = with_shards(tmp_path / str(number), 12)
        volume.resize(0, range(3))
        rewrite(part(volume, 5))
        done = under_strace(volume, 4, f"{call}:signal=KILL:when={number}")
        if done.stdout:  # what is killed after that is not the staging
            break
        assert done.returncode
        volume.resize(0, range(4 - number % 2))
        assert read_back(volume.data) == shards_of(0, range(4 - number % 2))
        assert {path.name for path in volume.work.iterdir()} == LEFT
    assert 1 < number < 19
