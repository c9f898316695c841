"""The inputs of a split, read in batches: files of text, gzip or RecordIO, or a reader in Python.

Each batch has the position after it, from which a later run can continue.
"""

from __future__ import annotations

import os
import pickle
import stat
import zlib
from contextlib import contextmanager
from itertools import islice

from launcher.dataset.chunks import MAGIC
from launcher.dataset.lines import record_line
from launcher.dataset.problem import DatasetError, DatasetMisuse
from launcher.dataset.records import batched, chunked, decoded, text_records
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from io import FileIO
    from typing import Any

    Position = tuple[int, int]
    Batches = Iterator[tuple[list[bytes], Position]]

# Without O_NONBLOCK, open would block on a FIFO.
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class FileSource:
    """The records of files, one file after the other: lines of text, or RecordIO's records unchanged."""

    def __init__(self, patterns: Iterable[str], *, pickled: bool) -> None:
        self._pickled = pickled
        self._files = [(path, *_signs(path, pickled)) for path in _each_once(_paths(patterns))]
        self.whole = sum(size for _, size, *_ in self._files)
        self.done = 0
        if not self.whole:
            raise DatasetError(
                f"{shown(self._files[0][0])} and all other inputs are empty: expected at least one record"
            )

    def about(self) -> object:
        """Return the facts that identify the input."""
        return [[os.path.abspath(path), size, time] for path, size, time, _ in self._files]

    def batches(self, position: Position) -> Batches:
        """Yield the records from a position on."""
        first, offset = position
        before = sum(size for _, size, *_ in self._files[:first])
        for number, (path, size, time, is_recordio) in enumerate(self._files[first:], first):
            with _naming(path), _opened(path) as raw:
                found = chunked(raw, offset, path) if is_recordio else self._lines(raw, offset, path)
                for records, behind in found:
                    self.done = before + raw.tell()
                    if raw.tell() > size:
                        break  # it grows, perhaps without end
                    yield records, (number, behind)
                info = os.fstat(raw.fileno())
                if (info.st_size, info.st_mtime_ns) != (size, time) or raw.tell() < size:
                    advice = "wait until it is complete, then run the split again"
                    raise DatasetError(f"{shown(path)} changed while it was read: {advice}")
            before += size
            offset = 0

    def _lines(self, raw: FileIO, offset: int, path: str) -> Iterator[tuple[list[bytes], int]]:
        for found, behind in text_records(raw, offset, path):
            yield [pickle.dumps(decoded(line)) for line in found] if self._pickled else found, behind


class ReaderSource:
    """The records of a reader in Python; a later run can continue only if it returns the same ones again."""

    whole = 0
    done = 0

    def __init__(self, reader: Callable[[], Any], about: object, *, pickled: bool) -> None:
        self._reader, self._about = reader, about
        self._encode: Callable[[Any], bytes] = pickle.dumps if pickled else record_line

    def about(self) -> object:
        """Return the facts that identify the reader."""
        return self._about

    def batches(self, position: Position) -> Batches:
        """Yield the records from a position on."""
        for batch, behind in batched(self._records(position[1]), position[1]):
            yield batch, (0, behind)

    def _records(self, at: int) -> Iterator[bytes]:
        with _its_faults("the reader"):
            found = self._reader()
            for record in islice(found() if callable(found) else found, at, None):
                yield self._encode(record)


def reader_named(spec: str) -> Callable[[], Any]:
    """Return the function that `module:function` names."""
    from importlib import import_module

    module, _, name = spec.partition(":")
    if not module or module.startswith("."):
        raise DatasetMisuse(f"--reader {spec}: expected module:function, importable from here")
    with _its_faults(f"--reader {spec}: the module"):
        try:
            room = import_module(module)
        except ImportError as error:
            raise DatasetMisuse(f"--reader {spec}: {error}; expected module:function, importable from here") from None
        found = getattr(room, name, None)
    if not callable(found):
        raise DatasetMisuse(f"--reader {spec}: expected a function of {module} that returns the records or a reader")
    return found  # type: ignore[no-any-return]


@contextmanager
def _its_faults(who: str) -> Iterator[None]:
    """Turn errors of a reader's own code into a sentence; SystemExit, too, must not end a split."""
    try:
        yield
    except DatasetError:
        raise
    except (Exception, SystemExit) as error:
        raise DatasetError(f"{who} failed: {type(error).__name__}: {error}") from error


def _paths(patterns: Iterable[str]) -> list[str]:
    import glob

    found: list[str] = []
    for pattern in patterns:
        paths = [pattern] if os.path.lexists(pattern) else sorted(glob.glob(pattern))
        if not paths:
            raise DatasetError(f"{shown(pattern)}: no file matches: expected at least one")
        found += paths
    return found


def _each_once(paths: Iterable[str]) -> Iterator[str]:
    """Yield the files; refuse one that comes twice, by a link or from another directory."""
    names: dict[tuple[int, int], str] = {}
    for path in paths:
        info = os.stat(path)
        file = info.st_dev, info.st_ino
        if file in names:
            also = "" if names[file] == path else f", also as {shown(names[file])}"
            raise DatasetMisuse(
                f"{shown(path)} is an input twice{also}: its records would be written twice: expected each file once"
            )
        names[file] = path
        yield path


def _signs(path: str, pickled: bool) -> tuple[int, int, bool]:
    if os.path.isdir(path):
        raise DatasetMisuse(f"{shown(path)} is a directory: expected files, such as {shown(os.path.join(path, '*'))}")
    with _naming(path), _opened(path) as raw:
        info = os.fstat(raw.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise DatasetMisuse(f"{shown(path)} is not a regular file: expected text, gzip or RecordIO")
        is_recordio = raw.read(len(MAGIC)) == MAGIC
        if is_recordio and not pickled:
            raise DatasetMisuse(f"{shown(path)} is RecordIO, which has no lines: expected text, or --format recordio")
        return info.st_size, info.st_mtime_ns, is_recordio


def _opened(path: str) -> FileIO:
    return open(os.open(path, FLAGS), "rb", buffering=0)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Put the file's name into errors of the system and of gzip."""
    try:
        yield
    except (EOFError, zlib.error) as error:
        raise DatasetError(f"{shown(path)}: {error}: expected a whole gzip file: copy it again") from None
    except OSError as error:
        if error.errno is None:  # gzip's own
            raise DatasetError(f"{shown(path)}: {error}: expected a whole gzip file: copy it again") from None
        raise OSError(error.errno, os.strerror(error.errno), path) from None
