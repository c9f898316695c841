"""Makes one page of what happened to a gang: `python -m launcher.report output/`.

The events are read from a volume that others write to: no link is followed, only a regular file is read.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from launcher.contract import EVENTS, OUTPUT
from launcher.report.page import page
from launcher.report.reading import LONGEST_EVENT_LINE, read_events
from launcher.report.story import read_story
from launcher.safefs.dirs import directory, opened
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


def _page(directory: Path) -> str:
    if not directory.is_dir():
        raise NoReport(f"{directory}: there is no such directory; expected the output directory of a job")
    source = directory / EVENTS
    reading = read_events(_lines(source))
    story = read_story(reading)
    if story is None:
        what = f"none of its {reading.lines:,} lines can be read as an event of a gang" if reading.lines else "empty"
        raise NoReport(f"{source}: {what}")
    return page(story, shown(source))


def _lines(source: Path) -> Iterator[bytes]:
    """Yield the lines of the events; one that is far too long comes in pieces, none of which is an event."""
    with (
        directory(source.parent, _REFUSAL) as output,
        opened(output, source.name) as descriptor,
        os.fdopen(descriptor, "rb", closefd=False) as file,
    ):
        while line := file.readline(LONGEST_EVENT_LINE + 1):
            yield line


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
