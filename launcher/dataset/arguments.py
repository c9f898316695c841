"""The options of a split: by arguments or the environment, all checked before anything starts.

No I/O here.
"""

from __future__ import annotations

import argparse

from launcher.dataset.problem import DatasetMisuse
from launcher.dataset.ratings import SAMPLES
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

_MOST = 99_999
SPLIT = """Split data into shards, one for each trainer, with a manifest of their digests.

Without an input it writes made-up ratings for a first training. Run again, it continues where it stopped."""


class SplitOptions:
    """The options of one split."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.out: str = given.out
        self.shards: int = given.shards
        self.layout: str = given.layout
        self.recordio: bool = given.format == "recordio"
        self.by_bytes: bool = given.balance == "bytes"
        self.inputs: tuple[str, ...] = tuple(given.inputs)
        self.reader: str = given.reader
        self.samples: int = given.samples
        self.config_dir: str = given.config_dir
        self.every: float = given.checkpoint


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise DatasetMisuse(f"{message}: see {self.prog} --help")


def split_options(words: Sequence[str], environ: Mapping[str, str]) -> SplitOptions:
    """Return the options, or raise a DatasetMisuse with the first problem."""
    given = _parser().parse_args(words)
    given.out = given.out or environ.get("OUT_DIR")
    if not given.out:
        raise DatasetMisuse(
            "OUT_DIR is not set: expected the job's directory on the volume, JOB_PATH/JOB_NAME (or --out)"
        )
    given.config_dir = given.config_dir or environ.get("TRAIN_CONFIG_DIR") or "quick_start"
    if any(part in ("", ".", "..") for part in given.config_dir.split("/")):
        raise DatasetMisuse(f"TRAIN_CONFIG_DIR={shown(given.config_dir)}: expected a directory below OUT_DIR")
    if given.reader and given.inputs:
        raise DatasetMisuse(f"--reader {given.reader} together with files: expected only one of the two")
    given.shards = _count("--shards", given.shards, "SPLIT_COUNT", environ)
    given.samples = _whole("--samples", given.samples)
    return SplitOptions(given)


def _count(flag: str, given: str | None, variable: str, environ: Mapping[str, str]) -> int:
    if given is not None:
        return _whole(flag, given)
    if not environ.get(variable):
        raise DatasetMisuse(f"{variable} is not set: expected the number of shards, one for each trainer (or {flag})")
    return _whole(variable, environ[variable])


def _whole(name: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise DatasetMisuse(f"{name}={shown(text)}: expected a whole number, 1 or more")
    if name != "--samples" and number > _MOST:
        raise DatasetMisuse(f"{name}={number}: expected at most {_MOST}")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m launcher.dataset")
    parsers = parser.add_subparsers(required=True, metavar="split")
    split = parsers.add_parser("split", description=SPLIT, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = split.add_argument
    add("inputs", nargs="*", metavar="FILE", help="files or patterns; gzip is recognised; each line is a record")
    add("--reader", default="", metavar="MODULE:FUNCTION", help="a reader in Python, instead of files")
    add("--shards", help="the number of shards (SPLIT_COUNT)")
    add("--out", help="the job's directory on the volume (OUT_DIR)")
    add("--layout", choices=("rank", "data"), default="rank", help="<rank>/data (the default) or data/<rank>")
    add(
        "--format",
        choices=("lines", "recordio"),
        default="lines",
        help="lines of text, or RecordIO with a pickle a record",
    )
    add(
        "--balance",
        choices=("records", "bytes"),
        default="records",
        help="make the shards equal in records or in bytes",
    )
    add(
        "--config-dir",
        help="the directory of the job's files, made beside the shards (TRAIN_CONFIG_DIR, else quick_start)",
    )
    add("--samples", default=str(SAMPLES), help="the number of ratings to write without an input")
    add("--checkpoint", type=float, default=30.0, metavar="SECONDS", help="the work that a kill may lose")
    return parser
