"""A split of what a Python reader gives: its faults are sentences, and large records are dealt a few at a time."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.dataset import chunks, recordio, records, shards, sources
from launcher.dataset.arguments import split_options
from launcher.dataset.manifest import Manifest
from launcher.dataset.problem import DatasetError
from launcher.dataset.progress import SplitProgress
from launcher.dataset.splitting import split_into_shards

MIB = 1 << 20


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Import modules from the test's own directory, and leave nothing beside them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.modules.pop("mine", None)  # another module's tests may have left theirs
    yield
    sys.modules.pop("mine", None)


def split(module: str, *words: str, name: str = "rows") -> Manifest:
    Path("mine.py").write_text(module)
    order = split_options(["split", "--out", "deep/out", "--reader", f"mine:{name}", *words], {})
    return split_into_shards(order, {}, SplitProgress(io.StringIO()))


BEGUN = "def rows():\n    yield 'well'\n    "


@pytest.mark.parametrize(
    ("module", "kind", "told"),
    [
        (
            "def rows(:\n",
            "lines",
            "mine:rows: the module failed: SyntaxError: invalid syntax (mine.py, line 1)",
        ),
        ("1 / 0", "lines", "--reader mine:rows: the module failed: ZeroDivisionError: division by zero"),
        ("None.rows", "lines", "--reader mine:rows: the module failed: AttributeError: "),
        ("raise SystemExit(3)", "lines", "--reader mine:rows: the module failed: SystemExit: 3"),
        (BEGUN + "raise SystemExit('no more')", "lines", "the reader failed: SystemExit: no more"),
        (BEGUN + "yield lambda: 0", "recordio", "the reader failed: "),
        (BEGUN + "yield 'a\\ud800b'", "lines", r"'a\ud800b': half a character, which UTF-8 cannot encode"),
        (BEGUN + "yield 1, '\\udfff'", "lines", r"(1, '\udfff'): half a character, which UTF-8 cannot encode"),
    ],
)
def test_a_fault_of_the_reader_is_a_sentence_and_leaves_nothing(
    tmp_path: Path, module: str, kind: str, told: str
) -> None:
    with pytest.raises(DatasetError) as caught:
        split(module, "--shards=1", f"--format={kind}")
    assert caught.value.code == 65
    assert told in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_a_reader_that_interrupts_is_not_explained_away() -> None:
    with pytest.raises(KeyboardInterrupt):
        split(BEGUN + "raise KeyboardInterrupt", "--shards=1")


@pytest.mark.parametrize("spec", [":rows", ".mine:rows", "mine:nothing"])
def test_what_names_no_function_cannot_be_asked_for(spec: str) -> None:
    Path("mine.py").write_text(BEGUN)
    with pytest.raises(DatasetError, match=r"expected (module:function|a function of mine)") as caught:
        sources.reader_named(spec)
    assert caught.value.code == 78


def test_large_records_come_a_few_at_a_time() -> None:
    reader = sources.ReaderSource(lambda: ["x" * 200_000] * 20, "large", pickled=False)
    assert [(len(batch), position) for batch, position in reader.batches((0, 3))] == [
        (6, (0, 9)),
        (6, (0, 15)),
        (5, (0, 20)),
    ]


def test_many_empty_records_of_recordio_come_some_at_a_time() -> None:
    assert [behind for _, behind in records.batched([b""] * 2500, 0)] == [1000, 2000, 2500]


def test_a_readers_large_records_become_chunks_of_the_usual_size() -> None:
    (entry,) = split("def rows():\n    return [bytes(100_000)] * 60", "--shards=1", "--format=recordio").files
    found = recordio.index(f"deep/out/{entry.name}")
    assert max(chunk.end - chunk.offset for chunk in found) < MIB + 110_000
    assert sum(chunk.records for chunk in found) == entry.records == 60


def test_records_that_are_given_at_once_are_cut_into_chunks(tmp_path: Path) -> None:
    made = shards.ShardFiles(str(tmp_path), [0], recordio=True)
    made.add(0, [bytes(100_000)] * 60)
    made.settle()
    made.close()
    assert [chunk.records for chunk in recordio.index(made.all[0].path)] == [11] * 5 + [5]


def test_a_record_too_large_for_recordio_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit itself is that of `writer.write`; here it is smaller."""
    assert vars(shards)["LARGEST"] == chunks.LARGEST
    monkeypatch.setattr(shards, "LARGEST", 3 * MIB)
    module = "def rows():\n    yield bytes({} << 20)"
    with pytest.raises(DatasetError, match=r"a record of 41943\d\d bytes: RecordIO takes at most 3145728") as caught:
        split(module.format(4), "--shards=1", "--format=recordio")
    assert caught.value.code == 65
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]
    del sys.modules["mine"]
    assert split(module.format(2), "--shards=1", "--format=recordio").records == 1
