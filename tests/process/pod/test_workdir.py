"""The working directory as it is found, and the directory of all jobs: made at the top of a mounted volume alone."""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path, PurePosixPath

import pytest

from launcher.contract import Code
from launcher.pod.workdir import current, make_jobs_place
from tests.support.lives import Lives
from tests.support.volume import lay_out, read_back

MOUNT = Path("/dev/shm")


@pytest.mark.skipif(not os.path.ismount(MOUNT), reason=f"{MOUNT} is no mount here")
def test_it_is_made_at_the_top_of_a_mount_by_whoever_is_first() -> None:
    place = MOUNT / f"jobs-{uuid.uuid4().hex}"
    try:
        make_jobs_place(PurePosixPath(place))
        (place / "job").mkdir()
        make_jobs_place(PurePosixPath(place))
        assert (place / "job").is_dir()
        make_jobs_place(PurePosixPath(place / "deeper"))
        assert not (place / "deeper").exists()
    finally:
        for each in (place / "job", place):
            each.rmdir()


def test_where_no_volume_is_mounted_nothing_is_made(tmp_path: Path) -> None:
    make_jobs_place(PurePosixPath(tmp_path / "jobs"))
    make_jobs_place(PurePosixPath(tmp_path / "no" / "jobs"))
    assert not [*tmp_path.iterdir()]


SHARED = "is on the volume at JOB_PATH, which all pods share: expected a directory that only this pod uses"
COPIED = "which is copied there: expected two separate directories"


@pytest.mark.parametrize(("onto", "told"), [("volume", SHARED), ("volume/job/work", SHARED), ("files/work", COPIED)])
@pytest.mark.parametrize("by", ["workdir", "volume"])
def test_a_working_directory_that_a_link_leads_elsewhere_is_refused(
    tmp_path: Path, onto: str, told: str, by: str
) -> None:
    """By real launchers: they end with 78, and stage nothing there."""
    lay_out(tmp_path, {"volume/job/0/data/part": "x", "volume/job/work/x": "", "files/conf": "c", "files/work/x": ""})
    real = tmp_path.with_name(f"{tmp_path.name}-real")
    tmp_path.rename(real)
    tmp_path.symlink_to(real)
    (real / "link").symlink_to(onto)
    at = {"workdir": tmp_path / "link", "volume": real / onto}[by]
    environ = {
        "JOB_NAME": "job",
        "JOB_PATH": str(tmp_path / "volume"),
        "LAUNCHER_PEERS": "static:127.0.1.1",
        "LAUNCHER_RECORD": "none",
        "LAUNCHER_RUNTIME": "env",
        "LAUNCHER_WORKDIR": str(at),
        "POD_IP": "127.0.1.1",
        "TRAIN_CONFIG_DIR": str(tmp_path / "files"),
    }
    before = read_back(real)
    with Lives() as lives:
        life = lives.start("true", env=environ)
        assert life.end() == Code.SETTINGS
        assert f"LAUNCHER_WORKDIR={real / onto} " in life.err()
        assert told in life.err()
    after = read_back(real)
    assert {path for path in after if path not in before and "output" not in path} == set()


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.ESTALE])
def test_a_directory_that_cannot_be_told_counts_as_the_root(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse() -> str:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "getcwd", refuse)
    assert current() == "/"
