"""Makes one page of what happened to a gang: `python -m launcher.report output/`.

The events are read from a volume that others write to: no link is followed, only a regular file is read.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from launcher.contract import DONE_FILE, EVENTS, NODE_PREFIX, OUTPUT, PASS_PREFIX, TRAIN_LOG
from launcher.report.events import Progress
from launcher.report.page import page
from launcher.report.passes import logged
from launcher.report.reading import LONGEST_EVENT_LINE, read_events
from launcher.report.story import read_story, with_output
from launcher.safefs.dirs import Dir, directory, directory_inside, names, opened
from launcher.safefs.refusals import Refusal
from launcher.text import shown

_PAGE = "report.html"
EXAMPLES = """\
examples:
  python -m launcher.report output/                    writes output/report.html
  python -m launcher.report output/ -o /tmp/run.html
"""


class NoReport(Exception):
    """Why there is no page, in a sentence."""


_REFUSAL = Refusal(
    error=NoReport,
    advice={
        errno.ENOENT: "the gang's leader writes it as soon as a run starts: is this the job's output directory?",
        errno.EACCES: "expected to be allowed to read it: change its mode or owner",
    },
)


def main(words: Sequence[str] | None = None) -> int:
    """Write the page, and return 0; or say why not, and return 1."""
    given = _parse(words)
    directory = Path(given.directory)
    target = Path(given.o) if given.o else directory / _PAGE
    try:
        text = _page(directory)
        _write(target, text)
    except NoReport as error:
        sys.stderr.write(f"report: {error}\n")
        return 1
    if target.is_file():
        print(shown(target))
    return 0


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m launcher.report",
        description=f"Makes one self-contained HTML page of what happened to a gang, from its {EVENTS}.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", metavar="output", help="the job's output directory")
    parser.add_argument("-o", metavar="FILE", help=f"where the page goes ({OUTPUT}/{_PAGE})")
    return parser.parse_args(words)


def _page(path: Path) -> str:
    if not path.is_dir():
        raise NoReport(f"{path}: there is no such directory; expected the output directory of a job")
    with directory(path, _REFUSAL) as output:
        reading = read_events(_lines(output, EVENTS))
        story = read_story(reading)
        if story is None:
            what = (
                f"none of its {reading.lines:,} lines can be read as an event of a gang" if reading.lines else "empty"
            )
            raise NoReport(f"{path / EVENTS}: {what}")
        reports = () if story.progress else _logged(output)
        return page(with_output(story, logged=reports, saved=dict(_saved(output))), EVENTS)


def _lines(at: Dir, name: str) -> Iterator[bytes]:
    """Yield a file's lines; one that is far too long comes in pieces, none of which is an event."""
    with opened(at, name) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        while line := file.readline(LONGEST_EVENT_LINE + 1):
            yield line


def _logged(output: Dir) -> Iterator[Progress]:
    """Yield what the trainers' logs tell of passes; a log that cannot be read tells nothing."""
    for name, rank in _numbered(output, NODE_PREFIX):
        with contextlib.suppress(NoReport), directory_inside(output, name) as node:
            yield from logged(rank, _lines(node, TRAIN_LOG))


def _saved(output: Dir) -> Iterator[tuple[int, float]]:
    """Yield when each pass was saved: `done` is written last."""
    for name, number in _numbered(output, PASS_PREFIX):
        with (
            contextlib.suppress(NoReport),
            directory_inside(output, name) as saved,
            opened(saved, DONE_FILE) as descriptor,
        ):
            yield number, os.fstat(descriptor).st_mtime


def _numbered(output: Dir, prefix: str) -> Iterator[tuple[str, int]]:
    found = ((name, re.fullmatch(rf"{prefix}(\d{{1,9}})", name, re.ASCII)) for name in names(output))
    return ((name, int(number[1])) for name, number in found if number)


def _write(target: Path, text: str) -> None:
    """Write the whole page or none; a link at its place is replaced, not followed."""
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")  # such as /dev/stdout: nothing to put in its place
            return
        with fresh.open("x", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(target)
    except OSError as error:
        raise NoReport(f"{target}: cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()


if __name__ == "__main__":
    sys.exit(main())
