"""The stacks of programs on a volume: a file for each look and program, of the last five."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

from launcher.pod.gang.protocol.messages import StackDigest
from launcher.pod.gang.store.record import Record, RecordError, on_volume
from launcher.pod.gang.store.stack_texts import StackTexts, write
from launcher.pod.programs.stacks.asking import ProgramStacks
from launcher.pod.settings.nouns import Role
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(30)


def stacks(rank: int, text: str = "frames") -> ProgramStacks:
    return ProgramStacks(digest=StackDigest(role=Role.TRAINER, rank=rank, digest="d"), text=text)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(where=on_volume(PurePosixPath(tmp_path)), key="a-key", job="a-job")


def files(top: Path) -> Sequence[str]:
    return sorted(path.name for path in (top / "a-key" / "looks").iterdir())


def test_a_look_is_a_file_for_each_program(tmp_path: Path, record: Record) -> None:
    write(record, 2, 7, (stacks(0), stacks(1, "more \udcff")))
    assert files(tmp_path) == ["2-7-trainer-0.txt", "2-7-trainer-1.txt"]
    assert (tmp_path / "a-key" / "looks" / "2-7-trainer-1.txt").read_text() == "more ?"


def test_five_looks_are_kept_those_of_later_generations_being_newer(tmp_path: Path, record: Record) -> None:
    for generation, look in ((1, 9), (1, 10), (2, 1), (2, 2), (10, 1), (10, 2)):
        write(record, generation, look, (stacks(0),))
    assert files(tmp_path) == sorted(f"{each}-trainer-0.txt" for each in ("1-10", "2-1", "2-2", "10-1", "10-2"))


def test_those_of_other_pods_and_other_files_are_left_alone(tmp_path: Path, record: Record) -> None:
    write(record, 1, 1, (stacks(5),))
    (tmp_path / "a-key" / "looks" / "notes").touch()
    for look in range(2, 9):
        write(record, 1, look, (stacks(0),))
    assert [name for name in files(tmp_path) if not name.endswith("-0.txt")] == ["1-1-trainer-5.txt", "notes"]


def test_no_link_is_followed(tmp_path: Path, record: Record) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a-key").mkdir()
    (tmp_path / "a-key" / "looks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordError):
        write(record, 1, 1, (stacks(0),))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_volume_that_is_not_there_is_no_trouble_to_who_puts(tmp_path: Path) -> None:
    gone = Record(where=on_volume(PurePosixPath(tmp_path / "gone")), key="a-key", job="a-job")
    texts = StackTexts(gone)
    for look in range(100):
        texts.put(1, look, (stacks(0),))


def test_what_is_put_comes_to_be_there(tmp_path: Path, record: Record) -> None:
    StackTexts(record).put(1, 1, (stacks(0),))
    wait_until(lambda: (tmp_path / "a-key" / "looks" / "1-1-trainer-0.txt").exists())
