"""Data for every reader of the seeds, a program that reads it by them, and what came of it over all ranks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from launcher import dataset

RECORDS = 203
NAME = "count.py"
# It says neither how many trainers there are nor which it is: the launcher's environment does.
PROGRAM = """\
import json, os, pathlib, sys
import launcher.dataset as common

kept = pathlib.Path(os.environ["JOB_PATH"], os.environ["JOB_NAME"], "kept")
readers = {
    "split": common.cluster_files_reader(f"{kept}/train-*.pickle"),
    "convert": common.recordio_reader(f"{kept}/train-*-of-*"),
    "lines": common.dist_reader(f"{kept}/all.csv"),
}
found = {name: [list(map(int, record)) for record in reader()] for name, reader in readers.items()}
parts = sorted(pathlib.Path("data").glob("part-*"))
found["staged"] = [line for part in parts for line in part.read_text().splitlines()]
print(json.dumps(found))
"""


def lay_out(job: Path) -> None:
    """Write the records into a job's directory, in each of the forms that the seeds read."""

    def reader() -> Iterator[tuple[int, int]]:
        return ((number, number * number) for number in range(RECORDS))

    dataset.split(reader, 29, f"{job}/kept/train-%05d.pickle")
    dataset.convert(f"{job}/kept", reader, name_prefix="train", num_shards=5)
    dataset.dataset_from_reader(f"{job}/kept/all.csv", reader)


def hold(job: Path, trainers: int) -> None:
    """Hold that all trainers together read every record once, by each reader and from their own shards."""
    told = [_told(job / "output" / f"node_{rank}" / "train.log") for rank in range(trainers)]
    expected = [[number, number * number] for number in range(RECORDS)]
    for name in ("split", "convert", "lines"):
        parts = [each[name] for each in told]
        assert sum(map(len, parts)) == RECORDS, f"{name}: {[len(part) for part in parts]}"
        assert sorted(record for part in parts for record in part) == expected, name
        assert all(parts), f"{name}: a trainer has nothing"
    shards = sorted(job.glob("*/data/part-*"))
    assert sorted(line for each in told for line in each["staged"]) == sorted(
        line for shard in shards for line in shard.read_text().splitlines()
    )


def _told(log: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(log.read_text().splitlines()[-1])
    return found
