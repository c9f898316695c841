"""The house before and after: figures of whole trees as a Markdown table, a column for each.

python -m bench.house                        # the working tree
python -m bench.house dd90c0f .              # a commit, and the working tree beside it
python -m bench.house --tests dd90c0f .      # their tests instead, and which of the first the second lacks
"""

from __future__ import annotations

import argparse
import io
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import house_figures, tests_kept

ROOT = Path(__file__).parents[1]
HERE = "."  # the working tree


def main() -> int:
    """Count, and print."""
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no tree is left behind
    columns, sources, ids = [], [], []
    for name in asked.trees:
        with tree(name) as root:
            sources.append(_sources(root, "tests" if asked.tests else "launcher"))
            columns.append(tests_kept.figures(sources[-1]) if asked.tests else house_figures.figures(sources[-1]))
            if asked.collect:
                ids.append(_collected(root))
                columns[-1]["ids that pytest collects"] = f"{len(ids[-1]):,}"
    print(table([_title(name) for name in asked.trees], columns), end="")
    if asked.tests and len(sources) == 2:
        print(_told(tests_kept.compared(*map(tests_kept.functions, sources))), end="")
        if ids:
            print(_listed("ids that are gone", tests_kept.lost(*ids)), end="")
    return 0


@contextmanager
def tree(name: str) -> Iterator[Path]:
    """Give a commit's files in a directory of their own for a while, or the working tree where it is."""
    if name == HERE:
        yield ROOT
        return
    packed = subprocess.run(("git", "-C", str(ROOT), "archive", name), capture_output=True, check=False)
    if packed.returncode:
        sys.exit(f"{name} cannot be read: {packed.stderr.decode().strip()}: expected a commit, or . for these files")
    with tempfile.TemporaryDirectory(prefix="house-") as directory:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(directory, filter="data")
        yield Path(directory)


def table(titles: Sequence[str], columns: Sequence[Mapping[str, str]]) -> str:
    """Return a Markdown table: the rows' names, and a column of figures for each tree."""
    lines = [("", *titles), *((name, *(column[name] for column in columns)) for name in columns[0])]
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    lines.insert(1, ("-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])))
    return "".join(map(partial(_line, widths=widths), lines))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.house", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "trees", nargs="*", default=[HERE], metavar="COMMIT", help="commits, or . for the working tree"
    )
    parser.add_argument("--tests", action="store_true", help="of one or two trees, the tests")
    parser.add_argument("--collect", action="store_true", help="with --tests: ids too, by this Python's pytest")
    asked = parser.parse_args()
    if asked.tests and len(asked.trees) > 2:
        parser.error(f"--tests compares two trees, not {len(asked.trees)}")
    if asked.collect and not asked.tests:
        parser.error("--collect counts tests: expected --tests with it")
    return asked


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return f"| {' | '.join((first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)))} |\n"


def _title(name: str) -> str:
    return "working tree" if name == HERE else name


def _sources(root: Path, package: str) -> dict[str, str]:
    found = {str(path.relative_to(root)): path.read_text() for path in sorted(root.glob(f"{package}/**/*.py"))}
    if not found:
        sys.exit(f"{root} has no Python below {package}/: expected a tree of this project")
    return found


def _collected(root: Path) -> tuple[str, ...]:
    """Return the ids that pytest finds; the tree's own modules come first, whatever is installed."""
    words = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider")
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return tuple(line for line in done.stdout.splitlines() if "::" in line)


def _told(comparison: tests_kept.Comparison) -> str:
    counts = ", ".join(f"{len(pairs):,} {way}" for way, pairs in comparison.found.items())
    fewer = [f"{old}: {old.expected} -> {new.expected}, now {new}" for old, new in comparison.fewer]
    renamed = [f"{old} -> {new.name}" for old, new in comparison.found["renamed"]]
    return (
        f"\nOf the test functions: {counts}, {len(comparison.gone):,} gone, {len(comparison.new):,} new.\n"
        + _listed("gone", map(str, comparison.gone))
        + _listed("renamed", renamed)
        + _listed("expects less", fewer)
        + _listed("new", map(str, comparison.new))
    )


def _listed(title: str, items: Iterable[str]) -> str:
    """Return a list of Markdown with its title, or nothing of nothing."""
    lines = [f"- {item}\n" for item in items]
    return f"\n{title} ({len(lines)}):\n\n{''.join(lines)}" if lines else ""


if __name__ == "__main__":
    sys.exit(main())
