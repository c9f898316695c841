"""From a reader to files: `split` by a dumper, `convert` to RecordIO, `dataset_from_reader` to lines.

A reader is a function without arguments that returns something to iterate over.
"""

from __future__ import annotations

import os
import pickle
import re
from contextlib import ExitStack
from itertools import islice

from launcher.dataset.chunks import SIZE
from launcher.dataset.lines import record_line
from launcher.dataset.parts import Parts, numbered, pattern, positive
from launcher.dataset.problem import DatasetError, DatasetMisuse
from launcher.dataset.recordio import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO

    Reader = Callable[[], Iterable[Any]]

EMPTY = "the reader returned no records: expected at least one; nothing is written"
SMALL = 1 << 16  # bytes of a chunk, where many files are written side by side


def split(
    reader: Reader,
    line_count: int,
    suffix: str = "%05d.pickle",
    dumper: Callable[[list[Any], BinaryIO], object] = pickle.dump,
) -> int:
    """Write the records in lists of `line_count`, one list a file, and return the number of files."""
    positive("line_count", line_count)
    with Parts(numbered(os.fspath(suffix))) as parts:
        count = 0
        for records in _groups(reader, line_count):
            with parts.new() as file:
                dumper(records, file)
            count += 1
        if not count:
            raise DatasetError(EMPTY)
        parts.place([parts.name % number for number in range(count)], pattern(parts.name))
    return count


def convert(
    output_path: str,
    reader: Reader,
    line_count: int | None = None,
    name_prefix: str = "part",
    num_shards: int | None = None,
    compressor: str = "none",
    dumps: Callable[[Any], bytes] = pickle.dumps,
    *,
    num_prefix: str | None = None,
) -> int:
    """Write the records to RecordIO files of `line_count` records, or to `num_shards` files; return their number.

    `num_prefix` is another name of `name_prefix`: the seeds' list of arguments has it, their example the first one.
    """
    if num_prefix is not None and name_prefix not in ("part", num_prefix):
        raise DatasetMisuse(
            f"name_prefix={name_prefix!r} and num_prefix={num_prefix!r}: two names of one argument: set only one"
        )
    name_prefix = name_prefix if num_prefix is None else num_prefix
    if (line_count is None) == (num_shards is None):
        raise DatasetMisuse("convert: expected either line_count (records a file) or num_shards (number of files)")
    if os.path.basename(name_prefix) != name_prefix or not name_prefix:
        raise DatasetMisuse(
            f"name_prefix={name_prefix!r}: expected the start of a file name: put directories into output_path"
        )
    with Parts(os.path.join(output_path, name_prefix)) as parts:
        if num_shards is None:
            count = _in_rows(parts, _groups(reader, positive("line_count", line_count or 0)), compressor, dumps)
        else:
            count = _side_by_side(parts, reader, positive("num_shards", num_shards), compressor, dumps)
        of = re.compile(re.escape(name_prefix) + r"-\d+-of-\d+")
        names = [f"{name_prefix}-{number:05d}-of-{count:05d}" for number in range(count)]
        parts.place(names, lambda name: of.fullmatch(name) is not None)
    return count


def dataset_from_reader(filename: str, reader: Reader) -> int:
    """Write each record as a line of values with commas between them, and return the number of records."""
    with Parts(os.fspath(filename)) as parts:
        count = 0
        with parts.new() as file:
            for record in reader():
                file.write(record_line(record) + b"\n")
                count += 1
        if not count:
            raise DatasetError(EMPTY)
        parts.place([parts.name], lambda name: False)
    return count


def _groups(reader: Reader, size: int) -> Iterator[list[Any]]:
    records = iter(reader())
    group = list(islice(records, size))
    while group:
        yield group
        group = list(islice(records, size))


def _in_rows(parts: Parts, groups: Iterable[list[Any]], compressor: str, dumps: Callable[[Any], bytes]) -> int:
    count = 0
    for records in groups:
        with parts.new() as file, writer(file, compressor=compressor) as out:
            for record in records:
                out.write(dumps(record))
        count += 1
    if not count:
        raise DatasetError(EMPTY)
    return count


def _side_by_side(parts: Parts, reader: Reader, count: int, compressor: str, dumps: Callable[[Any], bytes]) -> int:
    with ExitStack() as stack:
        size = max(SMALL, SIZE // count)
        outs = []
        for _ in range(count):
            file = stack.enter_context(parts.new())
            outs.append(stack.enter_context(writer(file, size, compressor)))
        number = -1
        for number, record in enumerate(reader()):
            outs[number % count].write(dumps(record))
    if number < 0:
        raise DatasetError(EMPTY)
    if number + 1 < count:
        raise DatasetMisuse(
            f"num_shards={count}: the reader returned only {number + 1} records: expected at least one a file; "
            "nothing is written"
        )
    return count
