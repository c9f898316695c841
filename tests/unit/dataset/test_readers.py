"""From readers to files and back: each record exactly once, in order; what cannot be right is a sentence."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher import dataset
from launcher.dataset.problem import DatasetError, DatasetMisuse

ROOT = Path(__file__).parents[3]
MODULES = sorted(ROOT.glob("launcher/dataset/*.py"))
VARIABLES = ("PADDLE_INIT_NUM_GRADIENT_SERVERS", "PADDLE_INIT_TRAINER_ID", "TRAINERS", "TRAINER_ID")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def reader_of(count: int) -> Callable[[], Iterator[tuple[int, int]]]:
    return lambda: ((number, number * number) for number in range(count))


def names(top: str) -> list[str]:
    return sorted(path.name for path in Path(top).iterdir())


def rows(count: int) -> list[tuple[int, int]]:
    return list(reader_of(count)())


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 9))
def test_split_gives_each_record_to_exactly_one_trainer_in_order(
    records: int, line_count: int, trainers: int
) -> None:
    with TemporaryDirectory() as top:
        files = dataset.split(reader_of(records), line_count, f"{top}/train-%05d.pickle")
        assert files == -(-records // line_count) == len(names(top))
        parts = [list(dataset.cluster_files_reader(f"{top}/*", trainers, each)()) for each in range(trainers)]
    assert sorted(row for part in parts for row in part) == rows(records)
    assert all(part == sorted(part) for part in parts)


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 9), st.booleans())
def test_convert_gives_each_record_to_exactly_one_trainer_in_order(
    records: int, number: int, trainers: int, by_shards: bool
) -> None:
    asked: dict[str, Any] = {"num_shards": min(number, records)} if by_shards else {"line_count": number}
    with TemporaryDirectory() as top:
        files = dataset.convert(top, reader_of(records), name_prefix="p", **asked)
        assert names(top) == [f"p-{each:05d}-of-{files:05d}" for each in range(files)]
        parts = [list(dataset.recordio_reader(f"{top}/p*", trainers, each)()) for each in range(trainers)]
        sizes = [len(list(dataset.recordio_reader(f"{top}/p-{each:05d}*", 1, 0)())) for each in range(files)]
    assert sorted(row for part in parts for row in part) == rows(records)
    assert sum(sizes) == records
    assert max(sizes) - min(sizes) <= 1 or not by_shards


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 9))
def test_lines_go_to_exactly_one_trainer_each(records: int, trainers: int) -> None:
    with TemporaryDirectory() as top:
        assert dataset.dataset_from_reader(f"{top}/all.csv", reader_of(records)) == records
        parts = [list(dataset.dist_reader(f"{top}/all.csv", trainers, each)()) for each in range(trainers)]
    assert sorted(row for part in parts for row in part) == rows(records)


def in_turn(parts: list[list[Any]]) -> list[Any]:
    """Return the records as the trainers had them, one each in turn."""
    longest = max(map(len, parts))
    return [part[at] for at in range(longest) for part in parts if at < len(part)]


@given(st.integers(0, 80), st.integers(), st.integers(0, 9), st.data())
def test_in_an_epoch_each_record_goes_to_exactly_one_trainer_in_the_order_of_one_also_after_a_resume_with_others(
    records: int, seed: int, epoch: int, data: st.DataObject
) -> None:
    """Stages of an epoch, each with its number of trainers, of whom each has as many records as the others."""
    rows = [f"record {number}" for number in range(records)]
    had: list[str] = []
    while len(had) < records:
        trainers = data.draw(st.integers(1, 7))
        most = data.draw(st.integers(1, 20))
        readers = [dataset.epoch_reader(rows, seed, epoch, len(had), trainers, each) for each in range(trainers)]
        parts = [list(islice(reader(), most)) for reader in readers]
        assert len({len(part) for part in parts}) == 1 or len(had) + sum(map(len, parts)) == records
        had += in_turn(parts)
    assert had == list(dataset.epoch_reader(rows, seed, epoch, 0, 1, 0)())
    assert sorted(had) == sorted(rows)


@given(st.integers(1, 120), st.integers(1, 4), st.integers())
def test_in_an_epoch_whose_trainers_come_and_go_each_record_is_kept_once(records: int, batch: int, seed: int) -> None:
    """Starts of 1 to 7 trainers, each ended after any step; what came after the position saved last is done again."""
    draw, kept = Random(seed), list[int]()  # noqa: S311  # no secret
    while len(kept) < records:
        trainers, had = draw.randint(1, 7), list(kept)
        each = [dataset.epoch_reader(range(records), 3, 5, len(kept), trainers, rank)() for rank in range(trainers)]
        for _ in range(draw.randint(1, 6)):
            had += in_turn([list(islice(reader, batch)) for reader in each])
            if draw.random() < 0.5:
                kept = list(had)
    assert kept == list(dataset.epoch_reader(range(records), 3, 5, 0, 1, 0)())


def test_an_epoch_has_its_own_order_which_stays_for_ever() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return list(dataset.epoch_reader(range(10), seed, epoch)())

    assert order(1, 0) == [6, 4, 1, 5, 2, 7, 8, 3, 0, 9]
    assert order(1, 1) == [8, 4, 6, 9, 1, 0, 3, 7, 2, 5]
    assert order(2, 0) == [1, 2, 4, 7, 3, 8, 9, 6, 0, 5]
    orders = {tuple(dataset.epoch_reader(range(50), seed, epoch)()) for seed in range(-5, 5) for epoch in range(10)}
    assert len(orders) == 100


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"position": 11}, "position=11 of 10 records: expected 0 to 10"),
        ({"position": -1}, "position=-1 of 10 records: expected 0 to 10"),
        ({"position": 1.5}, "position=1.5: expected a whole number"),
        ({"seed": None}, "seed=None: expected a whole number"),
        ({"epoch": "first"}, "epoch='first': expected a whole number"),
        ({"trainers": 2, "trainer_id": 2}, "trainer_id=2 of trainer_count=2: expected 0 to 1"),
    ],
)
def test_an_epoch_that_cannot_be_is_refused(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(DatasetMisuse) as refused:
        dataset.epoch_reader(range(10), **{"seed": 1, "epoch": 0, **asked})
    assert str(refused.value) == told


def test_count_and_number_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset.split(reader_of(6), 1, str(tmp_path / "%d.pickle"))
    pattern = str(tmp_path / "*.pickle")
    assert len(list(dataset.cluster_files_reader(pattern)())) == 6
    monkeypatch.setenv("TRAINERS", "3")
    monkeypatch.setenv("TRAINER_ID", "2")
    assert list(dataset.cluster_files_reader(pattern)()) == [rows(6)[2], rows(6)[5]]
    monkeypatch.setenv("PADDLE_INIT_NUM_GRADIENT_SERVERS", "2")
    monkeypatch.setenv("PADDLE_INIT_TRAINER_ID", "0")
    assert list(dataset.cluster_files_reader(pattern)()) == rows(6)[::2]
    assert list(dataset.cluster_files_reader(pattern, trainer_id=1)()) == rows(6)[1::2]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"trainer_count": 3, "trainer_id": 3}, r"trainer_id=3 of trainer_count=3: expected 0 to 2"),
        ({"trainer_count": 3, "train_id": -1}, r"trainer_id=-1 of trainer_count=3"),
        ({"trainer_count": 0, "trainer_id": 0}, r"trainer_count=0: expected 1 or more"),
        ({"trainer_count": 3, "trainer_id": 1, "train_id": 2}, r"two names of one argument"),
        ({"trainer_count": "three"}, r"trainer_count='three': expected a whole number"),
        ({"trainer_count": 2.5}, r"trainer_count=2.5: expected a whole number"),
        ({"loader": "pickle"}, r"loader='pickle': expected a function"),
    ],
)
def test_what_cannot_be_right_is_refused_before_a_file_is_touched(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(DatasetMisuse, match=told):
        dataset.cluster_files_reader("/nowhere/*", **asked)


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINERS", "many")
    with pytest.raises(DatasetMisuse, match="TRAINERS='many'"):
        dataset.recordio_reader("x")


@pytest.mark.parametrize("make", [dataset.cluster_files_reader, dataset.recordio_reader])
def test_a_pattern_that_matches_nothing_is_refused(make: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no file matches"):
        list(make(f"{tmp_path}/*", 1, 0)())


@pytest.mark.parametrize(
    "suffix", ["train.pickle", "%d-%d", "%s-%d", "train-%", "", "%05d/x", "%%d", "100%-%d", "%5.2f"]
)
def test_a_suffix_without_one_field_for_the_number_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(DatasetMisuse, match="expected one field for the file's number"):
        dataset.split(reader_of(3), 1, f"{tmp_path}/{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line_count", [0, -1, 1.5, "10", True])
def test_a_line_count_that_is_none_is_refused(tmp_path: Path, line_count: Any) -> None:  # noqa: ANN401
    calls: list[Callable[[], object]] = [
        lambda: dataset.split(reader_of(3), line_count, f"{tmp_path}/a/%d"),
        lambda: dataset.convert(f"{tmp_path}/a", reader_of(3), line_count),
        lambda: dataset.convert(f"{tmp_path}/a", reader_of(3), num_shards=line_count),
    ]
    for call in calls:
        with pytest.raises(DatasetMisuse, match="expected a whole number, 1 or more"):
            call()
    assert not list(tmp_path.iterdir())


def test_an_empty_reader_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: dataset.split(reader_of(0), 2, f"{tmp_path}/a/%d"),
        lambda: dataset.convert(f"{tmp_path}/a", reader_of(0), 2),
        lambda: dataset.convert(f"{tmp_path}/a", reader_of(0), num_shards=2),
        lambda: dataset.dataset_from_reader(f"{tmp_path}/a/x", reader_of(0)),
    ]
    for call in calls:
        with pytest.raises(DatasetError, match="no records"):
            call()
    assert not list(tmp_path.iterdir())


def test_more_shards_than_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetMisuse, match="num_shards=4: the reader returned only 3 records"):
        dataset.convert(str(tmp_path), reader_of(3), num_shards=4)
    assert not list(tmp_path.iterdir())


def test_convert_wants_either_records_or_shards(tmp_path: Path) -> None:
    both: list[dict[str, Any]] = [{}, {"line_count": 1, "num_shards": 1}]
    for asked in both:
        with pytest.raises(DatasetMisuse, match="either line_count"):
            dataset.convert(str(tmp_path), reader_of(3), **asked)
    with pytest.raises(DatasetMisuse, match="name_prefix='a/b'"):
        dataset.convert(str(tmp_path), reader_of(3), 1, "a/b")


def test_a_reader_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def failing() -> Iterator[int]:
        yield from range(10)
        raise RuntimeError("the network")

    calls: list[Callable[[], object]] = [
        lambda: dataset.split(failing, 2, f"{tmp_path}/a/%d"),
        lambda: dataset.convert(f"{tmp_path}/a", failing, 2),
        lambda: dataset.convert(f"{tmp_path}/a", failing, num_shards=2),
        lambda: dataset.dataset_from_reader(f"{tmp_path}/a/x", lambda: ([each] for each in failing())),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="the network"):
            call()
        assert not list(tmp_path.iterdir())


def test_files_of_an_earlier_longer_run_are_never_read_as_part_of_this_one(tmp_path: Path) -> None:
    suffix = str(tmp_path / "train-%05d.pickle")
    dataset.split(reader_of(9), 2, suffix)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    dataset.split(reader_of(9), 2, suffix)
    with pytest.raises(DatasetMisuse, match=r"train-00003.pickle is left from an earlier run \(such files: 2\)"):
        dataset.split(reader_of(5), 2, suffix)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    dataset.convert(str(tmp_path), reader_of(9), 3, "p")
    with pytest.raises(DatasetMisuse, match="p-00000-of-00003 is left from an earlier run"):
        dataset.convert(str(tmp_path), reader_of(9), 2, "p")


def test_a_dumper_and_a_loader_are_called_with_positions_alone(tmp_path: Path) -> None:
    def dumper(*given: Any) -> None:  # noqa: ANN401
        records, file = given
        file.write(repr(records).encode())

    def loader(*given: Any) -> Any:  # noqa: ANN401
        (file,) = given
        return ast.literal_eval(file.read().decode())

    dataset.split(reader_of(5), 2, str(tmp_path / "%d"), dumper)
    assert list(dataset.cluster_files_reader(f"{tmp_path}/*", 1, 0, loader)()) == rows(5)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (("a,b",), "a comma in a value"),
        (("a\nb",), "a line break"),
        (3, "a record of int"),
        ("a\nb\n", "a line break"),
    ],
)
def test_a_record_that_would_become_two_is_refused(tmp_path: Path, record: Any, told: str) -> None:  # noqa: ANN401
    with pytest.raises(DatasetError, match=told):
        dataset.dataset_from_reader(str(tmp_path / "x"), lambda: [record])
    assert not list(tmp_path.iterdir())


def test_lines_of_other_values_need_a_cell(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    dataset.dataset_from_reader(path, lambda: [(1, 2.5), (), b"3,4\n", "5\udcff"])
    assert list(dataset.dist_reader(path, 1, 0, cell=str)()) == [("1", "2.5"), (), ("3", "4"), ("5\udcff",)]
    with pytest.raises(DatasetError, match=r"x, line 1: invalid literal"):
        list(dataset.dist_reader(path, 1, 0)())


def test_gen_train_list_refuses_what_cannot_be_right(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    (tmp_path / "trainer_count").write_text("")
    with pytest.raises(DatasetError, match="trainer_count: expected one whole number"):
        dataset.gen_train_list(str(tmp_path / "space"), root=str(tmp_path))
    (tmp_path / "trainer_count").unlink()
    with pytest.raises(DatasetError, match=r"part-\*: no file matches"):
        dataset.gen_train_list(str(tmp_path / "space"), root=str(tmp_path))
    (tmp_path / "space/part-a\nb").touch()
    with pytest.raises(DatasetError, match="a line break"):
        dataset.gen_train_list(str(tmp_path / "space"), root=str(tmp_path))
    with pytest.raises(DatasetError, match="no file matches"):
        dataset.gen_train_list(str(tmp_path / "space"), test_pattern=f"{tmp_path}/none-*", root=str(tmp_path))
    assert not (tmp_path / "train.list").exists()


def test_the_environment_says_who_gen_train_list_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d").mkdir()
    for number in range(4):
        (tmp_path / f"d/part-{number}").touch()
    (tmp_path / "trainer_count").write_text("1\n")
    monkeypatch.setenv("TRAINERS", "2")
    monkeypatch.setenv("TRAINER_ID", "1")
    train, test = dataset.gen_train_list(str(tmp_path / "d"), root=str(tmp_path))
    assert [Path(each).name for each in train] == ["part-1", "part-3"]
    assert test == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_the_room_is_python_3_8(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    for node in ast.walk(tree):
        assert not (isinstance(node, ast.keyword) and node.arg == "strict"), "zip(strict=) came with 3.10"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in {"removeprefix", "removesuffix", "bit_count"}, "they came later"


def test_it_imports_little_and_at_once() -> None:
    say = "import sys, time; before = set(sys.modules); begun = time.perf_counter(); import launcher.dataset"
    say += "; took = time.perf_counter() - begun; print(took, *sorted(set(sys.modules) - before))"
    took = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-I", "-c", say], capture_output=True, text=True, check=True, cwd=ROOT)
        first, *names = done.stdout.split()
        assert set(names) <= {"launcher", "launcher.dataset", "__future__"}
        took.append(float(first))
    assert min(took) < 0.03


def test_pickles_of_the_room_are_plain() -> None:
    with TemporaryDirectory() as top:
        dataset.convert(top, reader_of(2), 2, "p")
        (file,) = Path(top).iterdir()
        assert [pickle.loads(each) for each in dataset.recordio.reader(file)] == rows(2)  # noqa: S301
