"""What a user has in the working directory is kept, whatever inode, name or file system it has."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.pod.data.mark import FILE, mark, token_of
from launcher.pod.outcome import ShardError
from tests.support.volume import BY_RANK, Volume, lay_out, read_back

ROOT = Path(__file__).parents[4]
THESIS = {"thesis.txt": "the only copy"}


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    volume = Volume.made(tmp_path)
    volume.lay_out(job=BY_RANK)
    return volume


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
    assert found.pop(FILE) == token_of(volume.data)
    assert found == THESIS | {"part": "shard 2"}


def test_a_token_that_cannot_be_read_is_a_sentence(volume: Volume) -> None:
    with pytest.raises(ShardError, match="nowhere: No such file or directory"):
        token_of(volume.work / "nowhere")
    with pytest.raises(ShardError, match="nowhere: No such file or directory"):
        mark(volume.work / "nowhere")
