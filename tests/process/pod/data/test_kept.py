"""What a user has in the working directory is kept, whatever inode, name or file system it has."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.pod.data.mark import MARK_FILE, mark, token_of
from launcher.pod.outcome import ShardError
from tests.support.volume import BY_RANK, Volume, as_nobody, lay_out, open_to_all, read_back

ROOT = Path(__file__).parents[4]
THESIS = {"thesis.txt": "the only copy"}


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    volume = Volume.made(tmp_path)
    volume.lay_out(job=BY_RANK)
    return volume


@pytest.fixture
def open_volume() -> Iterator[Volume]:
    with open_to_all() as volume:
        volume.lay_out(job=BY_RANK)
        yield volume


def by_the_user(volume: Volume) -> None:
    """Put a directory of the user's in the place of the staged one: ext4 gives it the same inode."""
    shutil.rmtree(volume.data)
    lay_out(volume.data, THESIS)


def test_data_that_took_a_staged_ones_place_is_kept_and_told(volume: Volume) -> None:
    volume.stage()
    by_the_user(volume)
    volume.stage()
    assert ("data_set_aside", {"moved_to": str(volume.work / "data.before")}) in volume.told
    assert read_back(volume.work / "data.before") == THESIS
    assert read_back(volume.data) == THESIS | {"part": "shard 0"}


def test_what_a_marker_of_0_1_0_knows_by_its_inode_is_kept_beside_and_not_laid_under(volume: Volume) -> None:
    lay_out(volume.data, THESIS)
    (volume.work / "data.earlier").mkdir()
    info = volume.data.stat()
    marker = {"staged": [[info.st_dev, info.st_ino]], "copied": [], "made_of": ".data.staging-0123456789ab"}
    (volume.work / ".data.staged").write_text(json.dumps(marker) + "\n")
    volume.stage()
    assert ("data_set_aside", {"moved_to": str(volume.work / "data.earlier-2")}) in volume.told
    assert read_back(volume.work / "data.earlier-2") == THESIS
    assert read_back(volume.data) == {"part": "shard 0"}
    volume.told.clear()
    volume.stage(1)
    assert [event for event, _ in volume.told] == ["staged"]


def test_a_foreign_directory_with_a_token_of_another_place_is_kept(volume: Volume) -> None:
    volume.stage()
    by_the_user(volume)
    mark(volume.data)
    volume.stage()
    assert read_back(volume.work / "data.before") == THESIS


@pytest.mark.parametrize("name", [".data.staging-of-mine", ".files.staging-0123456789abc"])
def test_only_a_name_with_a_digest_is_one_of_a_staging(volume: Volume, name: str) -> None:
    lay_out(volume.work / name, THESIS)
    volume.lay_out(job={"conf/x": "x"})
    volume.stage(environ={"TRAIN_CONFIG_DIR": "conf"})
    assert read_back(volume.work / name) == THESIS


DRIVER = """
import shutil, sys
from pathlib import Path
from tests.support.volume import Volume, lay_out
volume = Volume(top=Path(sys.argv[1]))
volume.stage(0)
volume.stage(1)
assert not (volume.work / "data.before").exists(), "a staged one was set aside"
shutil.rmtree(volume.data)
lay_out(volume.data, {"thesis.txt": "the only copy"})
volume.stage(2)
"""


@pytest.mark.parametrize("refusal", ["EOPNOTSUPP", "EPERM"])
def test_without_extended_attributes_a_file_has_the_token(volume: Volume, refusal: str) -> None:
    """strace makes the kernel's answer: what a file system says that knows no such attributes."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    argv = ["strace", "-qq", "-o", "/dev/null", "-e", f"inject=lsetxattr,lgetxattr:error={refusal}"]
    done = subprocess.run([*argv, sys.executable, "-c", DRIVER, str(volume.top)], capture_output=True, cwd=ROOT)
    if b"ptrace" in done.stderr.lower():
        pytest.skip(f"strace may not trace here: {done.stderr.decode().strip()}")
    assert done.returncode == 0, done.stderr.decode()
    assert read_back(volume.work / "data.before") == THESIS
    found = read_back(volume.data)
    assert found.pop(MARK_FILE) == token_of(volume.data)
    assert found == THESIS | {"part": "shard 2"}


CONF = {"TRAIN_CONFIG_DIR": "conf"}


def test_a_file_that_a_job_replaces_is_kept_beside_it_and_told(volume: Volume) -> None:
    volume.lay_out(
        job={"conf/train.py": "old", "conf/bin/tool": "old", "conf/same": "same"},
        work={"train.py": "newer", "bin/tool": "newer", "same": "same", "bin/tool.before": "older still"},
    )
    volume.stage(environ=CONF)
    assert (
        read_back(volume.work).items()
        >= {
            "train.py": "old",
            "train.py.before": "newer",
            "bin/tool": "old",
            "bin/tool.before": "older still",
            "bin/tool.before-2": "newer",
        }.items()
    )
    assert not (volume.work / "same.before").exists()
    facts = {"names": ["bin/tool.before-2", "train.py.before"], "files": 2}
    assert ("files_set_aside", facts) in volume.told


def test_a_file_that_was_staged_is_replaced_and_one_that_was_changed_since_is_kept(volume: Volume) -> None:
    volume.lay_out(job={"conf/a": "a1", "conf/b": "b1"})
    (volume.job / "conf/link").symlink_to("a")
    volume.stage(environ=CONF)
    (volume.work / "b").write_text("b of the user")
    volume.lay_out(job={"conf/a": "a2", "conf/b": "b2"})
    (volume.job / "conf/link").unlink()
    (volume.job / "conf/link").symlink_to("b")
    volume.stage(environ=CONF)
    found = volume.working()
    data = {"data/part": "shard 0"}
    assert found == {"a": "a2", "b": "b2", "b.before": "b of the user", "link": "-> b"} | data
    assert [event for event, _ in volume.told].count("files_set_aside") == 1


def test_a_link_a_fifo_and_what_may_not_be_read_are_kept_as_they_are(open_volume: Volume) -> None:
    volume = open_volume
    volume.lay_out(job={f"conf/{name}": "new" for name in ("link", "fifo", "closed")}, work={"closed": "secret"})
    (volume.work / "link").symlink_to("/etc/passwd")
    os.mkfifo(volume.work / "fifo")
    (volume.work / "closed").chmod(0)
    with as_nobody(volume):
        volume.stage(environ=CONF)
    kept = {name: (volume.work / f"{name}.before").lstat() for name in ("link", "fifo", "closed")}
    assert [stat.S_IFMT(each.st_mode) for each in kept.values()] == [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFREG]
    assert [(volume.work / name).read_text() for name in kept] == ["new"] * 3


@pytest.mark.parametrize("broken", ["{", "[]", '{"staged": 1}', '{"staged": [1, null, ""]}'])
def test_a_note_of_staged_files_that_cannot_be_read_knows_none(volume: Volume, broken: str) -> None:
    volume.lay_out(job={"conf/a": "1"})
    volume.stage(environ=CONF)
    (volume.work / ".files.staged").write_text(broken)
    volume.lay_out(job={"conf/a": "2"})
    volume.stage(environ=CONF)
    assert (volume.work / "a.before").read_text() == "1"


def test_many_files_that_are_kept_are_one_event_of_limited_length(volume: Volume) -> None:
    names = [f"f{number:02}" for number in range(20)]
    volume.lay_out(job={f"conf/{name}": "new" for name in names}, work=dict.fromkeys(names, "mine"))
    volume.stage(environ=CONF)
    assert ("files_set_aside", {"names": [f"{name}.before" for name in names[:10]], "files": 20}) in volume.told


def test_a_token_that_cannot_be_read_is_a_sentence(volume: Volume) -> None:
    with pytest.raises(ShardError, match="nowhere: No such file or directory"):
        token_of(volume.work / "nowhere")
    with pytest.raises(ShardError, match="nowhere: No such file or directory"):
        mark(volume.work / "nowhere")
