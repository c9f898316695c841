"""Files copied side by side, as where every operation waits for a network: as exact as one after the other.

The end that is here takes each operation for late; the other one is a real agent.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launcher.safefs import parallel
from launcher.safefs.dirs import KEPT
from launcher.safefs.parallel import SIDE_BY_SIDE
from launcher.transfer.chunks import CHUNK, PIECE
from launcher.transfer.listing import TreeEntry
from launcher.transfer.problem import TransferError
from launcher.transfer.receiving import mixed
from tests.support.agents import contents, download, noise, upload
from tests.support.descriptors import descriptors

FILES = 1500  # more than are offered at once


@pytest.fixture(autouse=True)
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "WAITED", -1.0)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A tree of small files in many directories, with some that are not small, and one that is no file."""
    for number in range(FILES):
        path = tmp_path / "top" / "data" / f"part-{number % 90}" / f"{number:05d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(noise(number * 7919 % 3000, number))
    data = tmp_path / "top" / "data"
    for number, size in enumerate((PIECE, PIECE + 1, CHUNK + 5, 0)):
        (data / f"part-{number}" / "large").write_bytes(noise(size, number))
    (data / os.fsdecode(b"no-utf8-\xff\xfe")).write_text("x")
    (data / "run.sh").write_text("#!/bin/sh\n")
    (data / "run.sh").chmod(0o755)
    deep = data.joinpath(*"abcdefgh" * 20)
    deep.mkdir(parents=True)
    (deep / "one").write_text("1")
    return tmp_path / "top"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other"
    path.mkdir()
    return path


@pytest.mark.parametrize("way", [upload, download])
def test_a_tree_comes_over_exactly_and_once(top: Path, other: Path, way: type) -> None:
    before = descriptors()
    count = copied(way, top, other)
    assert contents(other) == contents(top)
    assert count == (FILES + 4 + 3, sum(path.stat().st_size for path in top.rglob("*") if path.is_file()))
    assert os.access(other / "data" / "run.sh", os.X_OK)
    assert copied(way, top, other) == (count[0], 0)
    assert not descriptors() - before


@pytest.mark.parametrize("way", [upload, download])
def test_only_what_has_changed_comes_again(top: Path, other: Path, way: type) -> None:
    copied(way, top, other)
    for number in range(0, FILES, 100):
        path = top / "data" / f"part-{number % 90}" / f"{number:05d}"
        path.write_bytes(b"x" * path.stat().st_size)
    changed = sum(number * 7919 % 3000 for number in range(0, FILES, 100))
    assert copied(way, top, other)[1] == changed
    assert contents(other) == contents(top)


def test_what_went_meanwhile_is_told_and_the_others_come(top: Path, other: Path) -> None:
    gone = [
        top / "data" / f"part-{number % 90}" / f"{number:05d}" for number in range(80, FILES, 90)
    ]  # the last of all

    def remove(_: object) -> None:
        for path in gone:
            path.unlink(missing_ok=True)

    count = upload(top, "", "data", other, inside=True, tell=remove)
    assert len(count.lost) == len(gone)
    assert all(": No such file or directory; expected it to be there" in each for each in count.lost)
    assert contents(other) == contents(top)


def test_what_cannot_be_written_is_told_and_nothing_is_left_half(top: Path, other: Path) -> None:
    (other / "data" / "part-3" / "00903").mkdir(parents=True)
    before = descriptors()
    with pytest.raises(TransferError, match="data/part-3/00903 is a directory already: remove it"):
        download(top, "", "data", other)
    assert not list(other.rglob(".paddlectl-*"))
    assert not descriptors() - before


def test_files_of_different_directories_are_neighbours() -> None:
    batch = tuple(TreeEntry(path, 1) for path in ("a/1", "a/2", "a/3", "b/1", "c/1", "c/2"))
    assert [batch[at].path for at in mixed(range(6), batch)] == ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"]


def test_no_more_directories_are_gone_round_than_stay_open() -> None:
    batch = tuple(TreeEntry(f"{number % 100:02d}/{number}", 1) for number in range(1000))
    order = mixed(range(1000), batch)
    assert sorted(order) == list(range(1000))
    in_turn = [batch[at].path[:2] for at in order]
    assert all(len(set(in_turn[at : at + 320])) <= 2 * SIDE_BY_SIDE < KEPT + 1 for at in range(0, 1000, 320))


def copied(way: type, top: Path, other: Path) -> tuple[int, int]:
    """Copy, and return how many files there are, and how many bytes had to cross."""
    count = way(top, "", "data", other, inside=True)
    assert not count.lost
    return count.files, count.came
