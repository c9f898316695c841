"""The seeds' own snippets, with nothing changed but the import (and Python 2's `cPickle`)."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import launcher.dataset as common
from launcher.dataset import recordio

ROWS = [(number, number * 2, number % 7) for number in range(95)]
COUNT, NUMBER = "PADDLE_INIT_NUM_GRADIENT_SERVERS", "PADDLE_INIT_TRAINER_ID"


class uci_housing:  # noqa: N801  # stands for paddle.v2.dataset.uci_housing
    @staticmethod
    def train() -> Callable[[], Iterator[tuple[int, ...]]]:
        return lambda: iter(ROWS)


def run(snippet: str, **names: object) -> dict[str, Any]:
    room: dict[str, Any] = dict(names)
    exec(snippet, room)  # noqa: S102  # the seeds' text is what is tested
    return room


def everybody(monkeypatch: pytest.MonkeyPatch, count: int, read: Callable[[], Any]) -> list[Any]:
    """Return what all trainers read, one after the other."""
    found = []
    monkeypatch.setenv(COUNT, str(count))
    for number in range(count):
        monkeypatch.setenv(NUMBER, str(number))
        found += list(read())
    return found


CONVERT = """
import launcher.dataset as dataset
dataset.common.convert(output_path = "./dataset",
                reader = uci_housing.train(),
                line_count = 10,
                name_prefix = "uci_housing_train")
"""
RECORDIO_READER = """
import pickle
from launcher.dataset import recordio
import glob
import sys
def recordio_reader(filepath, parallelism, trainer_id):
    # sample filepath as "/pfs/dlnel/home/yanxu05@baidu.com/dataset/uci_housing/uci_housing_train*"
    def reader():
        if trainer_id >= parallelism:
            sys.stdout.write("invalied trainer_id: %d\\n" % trainer_id)
            return
        files = glob.glob(filepath)
        files.sort()
        my_file_list = []
        for idx, f in enumerate(files):
            if idx % parallelism == trainer_id:
                my_file_list.append(f)

        for fn in my_file_list:
            r = recordio.reader(fn)
            while True:
                d = r.read()
                if not d:
                    break
                yield pickle.loads(d)

    return reader
"""


def test_convert_and_the_seeds_recordio_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(CONVERT, uci_housing=uci_housing)
    names = sorted(path.name for path in Path("dataset").iterdir())
    assert names == [f"uci_housing_train-{number:05d}-of-00010" for number in range(10)]
    theirs = run(RECORDIO_READER)["recordio_reader"]
    for reader in (theirs, common.recordio_reader):
        found = [row for number in range(3) for row in reader("./dataset/uci_housing_train*", 3, number)()]
        assert sorted(found) == ROWS


SPLIT = """
import launcher.dataset as common
common.split(reader = uci_housing.train(),
            line_count = 10,
            suffix = "./uci_housing/train-%05d.pickle")
"""
SPLIT_MARSHAL = """
import marshal
import launcher.dataset as common
common.split(reader = uci_housing.train(),
              line_count = 10,
              suffix="./uci_housing/train-%05d.pickle",
              dumper=marshal.dump)
"""
TRAIN = """
import os
import launcher.dataset as common
TRAIN_FILES_PATTERN = os.path.join(common.DATA_HOME,
                                   "uci_housing/train-*.pickle")
def train():
    return common.cluster_files_reader(
        TRAIN_FILES_PATTERN,
        trainer_count = int(os.getenv("PADDLE_INIT_NUM_GRADIENT_SERVERS", "1")),
        trainer_id = int(os.getenv("PADDLE_INIT_TRAINER_ID", "0")))
"""
TRAIN_ID = """
import os
import launcher.dataset as common

dc = os.getenv("PADDLE_CLOUD_CURRENT_DATACENTER")

def train():
  return common.cluster_files_reader(
    "pfs/%s/public/dataset/uci_housing/train-*.pickle" % dc,
    trainer_count = int(os.getenv("PADDLE_INIT_NUM_GRADIENT_SERVERS")),
    train_id = int(os.getenv("PADDLE_INIT_TRAINER_ID"))
  )
"""
TRAIN_MARSHAL = """
import marshal, os
import launcher.dataset as common
dc = os.getenv("PADDLE_CLOUD_CURRENT_DATACENTER")
def train():
    return common.cluster_files_reader(
      "pfs/%s/public/dataset/uci_housing/train-*.pickle" % dc,
      trainer_count = int(os.getenv("PADDLE_INIT_NUM_GRADIENT_SERVERS")),
      train_id = int(os.getenv("PADDLE_INIT_TRAINER_ID")),
      loader = marshal.load
    )
"""


@pytest.mark.parametrize("count", [1, 3, 20])
@pytest.mark.parametrize(
    ("write", "read"), [(SPLIT, TRAIN), (SPLIT, TRAIN_ID), (SPLIT_MARSHAL, TRAIN_MARSHAL)], ids=["id", "train", "m"]
)
def test_split_and_cluster_files_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str, read: str, count: int
) -> None:
    place = tmp_path / "pfs/dc1/public/dataset"
    place.mkdir(parents=True)
    monkeypatch.chdir(place)
    monkeypatch.setattr(common, "DATA_HOME", str(place))
    monkeypatch.setenv("PADDLE_CLOUD_CURRENT_DATACENTER", "dc1")
    run(write, uci_housing=uci_housing)
    assert sorted(path.name for path in Path("uci_housing").iterdir()) == [
        f"train-{number:05d}.pickle" for number in range(10)
    ]
    with Path("uci_housing/train-00000.pickle").open("rb") as file:
        assert (marshal if "marshal" in write else pickle).load(file) == ROWS[:10]
    monkeypatch.chdir(tmp_path)
    assert sorted(everybody(monkeypatch, count, lambda: run(read)["train"]()())) == ROWS


DATASET_FROM_READER = """
def dataset_from_reader(filename, reader):
    with open(filename, "w") as fn:
        for batch_id, batch_data in enumerate(reader()):
            batch_data_str = [str(d) for d in batch_data]
            fn.write(",".join(batch_data_str))
            fn.write("\\n")
"""
DIST_READER = """
def dist_reader(filename, trainers, trainer_id):
    def dist_reader_creator():
        with open (filename) as f:
            cnt = 0
            for line in f:
                cnt += 1
                if cnt % trainers == trainer_id:
                    csv_data = [int(cell) for cell in line.split(",")]
                    yield tuple(csv_data)
    return dist_reader_creator
"""


def test_dataset_from_reader_and_dist_reader_do_as_the_seeds_do(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    run(DATASET_FROM_READER)["dataset_from_reader"](theirs, uci_housing.train())
    assert common.dataset_from_reader(str(ours), uci_housing.train()) == 95
    assert ours.read_bytes() == theirs.read_bytes()
    for number in range(4):
        expected = list(run(DIST_READER)["dist_reader"](theirs, 4, number)())
        assert list(common.dist_reader(str(ours), 4, number)()) == expected
        assert list(common.dist_reader(str(ours), trainers=4, train_id=number)()) == expected


GEN_TRAIN_LIST = """
import glob
TRAIN_FILE_PATTERN = "{top}/user001_space/part-*.gz"
TEST_FILE_PATTERN  = "{top}/user001_space_test/part-*.gz"

def gen_train_list(data_dir):
    # write "/train.list" and "/test.list" for each node
    trainer_id = -1
    trainer_count = -1
    with open("{top}/trainer_id", "r") as f:
        trainer_id = int(f.readline()[:-1])
    with open("{top}/trainer_count", "r") as f:
        trainer_count = int(f.readline()[:-1])

    train_file_list = glob.glob(TRAIN_FILE_PATTERN)
    train_file_list.sort()
    my_train_list = []
    for idx, f in enumerate(train_file_list):
        if idx % trainer_count == trainer_id:
            my_train_list.append(f)
    with open("{top}/train.list", "w") as f:
        f.write('\\n'.join(my_train_list))

    test_file_list = glob.glob(TEST_FILE_PATTERN)
    test_file_list.sort()
    my_test_list = []
    for idx, f in enumerate(test_file_list):
        if idx % trainer_count == trainer_id:
            my_test_list.append(f)
    with open("{top}/test.list", "w") as f:
        f.write('\\n'.join(my_test_list))
"""


@pytest.mark.parametrize("count", [1, 2, 5])
def test_gen_train_list_writes_what_the_seeds_does(tmp_path: Path, count: int) -> None:
    for place, files in (("user001_space", 4), ("user001_space_test", 3)):
        (tmp_path / place).mkdir()
        for number in range(files):
            (tmp_path / place / f"part-{number:05d}.gz").touch()
    (tmp_path / "trainer_count").write_text(f"{count}\n")
    lists = [tmp_path / "train.list", tmp_path / "test.list"]
    everyone = []
    for number in range(count):
        (tmp_path / "trainer_id").write_text(f"{number}\n")
        run(GEN_TRAIN_LIST.format(top=tmp_path))["gen_train_list"]("")
        expected = [each.read_bytes() for each in lists]
        found = common.gen_train_list(str(tmp_path / "user001_space/"), root=str(tmp_path))
        assert [each.read_bytes() for each in lists] == expected
        assert ["\n".join(each).encode() for each in found] == expected
        everyone += found[0]
    assert len(set(everyone)) == len(everyone) == 4


def test_the_name_common_is_this_room() -> None:
    assert common.common is common
    assert common.recordio is recordio
    assert {"split", "convert", "recordio"} <= set(dir(common))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        common.nothing  # noqa: B018  # type: ignore[attr-defined]


AS_WRITTEN = """
import launcher.dataset as dataset
dataset.common.convert(output_path = "./dataset",
                reader = dataset.uci_housing.train(),
                line_count = 10,
                num_prefix = "uci_housing_train")
"""
HOUSES = [[row + 0.25 * column for column in range(12)] + [7.0, 20.0 + row] for row in range(10)]


@pytest.fixture
def housing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))
    path = tmp_path / "uci_housing" / "housing.data"
    path.parent.mkdir()
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in HOUSES))
    return path


@pytest.mark.usefixtures("housing")
def test_the_seeds_dataset_is_read_where_paddle_keeps_it() -> None:
    run(AS_WRITTEN)
    found = list(common.recordio_reader("./dataset/uci_housing_train*")())
    assert found == list(common.uci_housing.train()())
    assert [price for _, (price,) in found] == [20.0 + row for row in range(8)]
    assert [price for _, (price,) in common.uci_housing.test()()] == [28.0, 29.0]
    # Each feature around its mean, by its width; one that is always the same is 0.
    assert found[0][0] == (*[-0.5] * 12, 0.0)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "no such file: expected Paddle's dataset: download http"),
        ("1 2 x", "could not convert string to float: 'x': download"),
        ("1 2 3", "has 3 numbers, expected rows of 14: download"),
        ("", "has 0 numbers, expected rows of 14: download"),
    ],
)
def test_a_dataset_that_is_not_there_or_torn_is_told(housing: Path, content: str | None, told: str) -> None:
    housing.unlink()
    if content is not None:
        housing.write_text(content)
    with pytest.raises(common.DatasetError, match=told):
        common.uci_housing.train()


def test_two_names_of_one_argument_are_told(tmp_path: Path) -> None:
    with pytest.raises(common.DatasetError, match="name_prefix='a' and num_prefix='b': two names of one argument"):
        common.convert(str(tmp_path), uci_housing.train(), 10, "a", num_prefix="b")
