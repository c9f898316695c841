"""Which tests run in which row of tests/suites.py."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest

from tests.suites import ROOT, ROWS, TESTS, Row, row_of, turns_of


def files(*places: str) -> set[str]:
    return {str(path.relative_to(ROOT)) for place in places for path in (ROOT / place).rglob("test_*.py")}


def test_all_that_pytest_finds_runs_and_each_file_once() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    wanted = files(*config["tool:pytest"]["testpaths"].split())
    ran = [target for turn in turns_of((), ()) for target in turn.targets]
    assert sorted(ran) == sorted(wanted)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_place_of_a_row_is_there(row: Row) -> None:
    assert all((TESTS / place).is_dir() for place in row.places)


def test_a_file_runs_in_the_row_with_the_closest_place() -> None:
    names = {
        "process/pod/gang/test_runs.py": "gang",
        "process/pod/test_life.py": "pod",
        "process/dataset/test_run.py": "process",
    }
    assert {name: row_of(TESTS / name).name for name in names} == names


def test_a_folder_a_file_and_a_test_are_chosen_by_their_path() -> None:
    here = Path(__file__).relative_to(ROOT)
    words = ("tests/process/pod/gang/store", "tests/process/pod/test_life.py", f"{here}::test_it")
    turns = {turn.row.name: turn for turn in turns_of(words, ("-x",))}
    assert {name: set(turn.targets) for name, turn in turns.items()} == {
        "gang": files("tests/process/pod/gang/store"),
        "pod": {"tests/process/pod/test_life.py"},
        "unit": {f"{here}::test_it"},
    }
    assert {turn.options for turn in turns.values()} == {("-x",)}
