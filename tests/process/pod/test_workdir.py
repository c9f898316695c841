"""The working directory as it is found, and the directory of all jobs: made at the top of a mounted volume alone."""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path, PurePosixPath

import pytest

from launcher.pod.workdir import current, make_jobs_place

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


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.ESTALE])
def test_a_directory_that_cannot_be_told_counts_as_the_root(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse() -> str:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "getcwd", refuse)
    assert current() == "/"
