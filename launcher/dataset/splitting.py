"""One split, from its options to shards with a manifest; however often it is run, the result is the same."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from functools import partial

from launcher import contract
from launcher.dataset.manifest import Entry, Manifest
from launcher.dataset.problem import DatasetError, DatasetMisuse
from launcher.dataset.ratings import ratings, tables
from launcher.dataset.shards import ShardFiles
from launcher.dataset.sources import FileSource, ReaderSource, reader_named
from launcher.dataset.workspace import SplitState, SplitWorkspace, shard_path
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from launcher.dataset.arguments import SplitOptions
    from launcher.dataset.progress import SplitProgress

    Source = FileSource | ReaderSource

OCTAL = re.compile(r"\\([0-7]{3})")
OF_THE_KERNEL = ("/dev/", "/proc/", "/sys/")  # every container has them mounted
_MANY = 64  # records a shard; a larger batch is cut into pieces


def split_into_shards(
    options: SplitOptions,
    environ: Mapping[str, str],
    progress: SplitProgress,
    *,
    mounts: str = "/proc/self/mountinfo",
    clock: Callable[[], float] = time.monotonic,
) -> Manifest:
    """Split, unless it is done already, and return the manifest.

    `mounts` is read by hand: psutil costs 16 ms and 2.7 MB to import, and programs' Pythons have no packages of ours.
    """
    if environ.get("KUBERNETES_SERVICE_HOST"):
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            _refuse_no_mount(options.out, file.read())
    source = _source(options)
    workspace = SplitWorkspace(options.out, _origin(options, source))
    done = workspace.standing()
    if not done:
        with workspace.held():
            done = workspace.standing()  # again: another pod of this Job may have been faster
            if not done:
                made = workspace.placing() or _deal(options, source, workspace, progress, clock)
                workspace.place(made, (contract.OUTPUT, options.config_dir), _beside(options))
                progress.end(f"{shown(options.out)} has {_described(made)}")
                return made
    progress.end(f"{shown(options.out)} has been split already: {_described(done)}; nothing is changed")
    return done


def _refuse_no_mount(out: str, mounts: str) -> None:
    """Refuse a directory of the container itself: its files are lost with the container."""
    path = os.path.realpath(out)
    lines = mounts.splitlines()
    points = [_point(line) for line in lines]
    over = [point for point in points if path == point or path.startswith(point.rstrip("/") + "/")]
    if not over or max(over, key=len) == "/":
        raise DatasetMisuse(
            f"OUT_DIR={shown(out)} is not on a volume: the shards would be lost with this container; "
            + _instead(path, [_point(line) for line in lines if _may_keep(line)])
        )


def _point(line: str) -> str:
    """Return the mount point of a line of mountinfo."""
    return OCTAL.sub(lambda code: chr(int(code[1], 8)), line.split(" ")[4])


def _may_keep(line: str) -> bool:
    """Return whether a line of mountinfo is of a volume's directory that can be written to."""
    point, options = _point(line), line.split(" ")[5].split(",")
    ours = point == "/" or f"{point}/".startswith(OF_THE_KERNEL)
    return not ours and "rw" in options and os.path.isdir(point)


def _instead(path: str, volumes: Sequence[str]) -> str:
    """Return what to change: the mount, or OUT_DIR."""
    above = shown(os.path.dirname(path))
    if not volumes:
        return f"no volume is mounted in this pod: mount the claim at {above} (mountPath)"
    name, which = os.path.basename(path), " and ".join(map(shown, volumes))
    where = " or ".join(f"OUT_DIR={shown(os.path.join(volume, name))}" for volume in volumes)
    return f"the volume of this pod is mounted at {which}: set its mountPath to {above}, or set {where}"


def _source(options: SplitOptions) -> Source:
    if options.inputs:
        return FileSource(options.inputs, pickled=options.recordio)
    if options.reader:
        return ReaderSource(reader_named(options.reader), ["reader", options.reader], pickled=options.recordio)
    return ReaderSource(partial(ratings, options.samples), ["ratings", options.samples], pickled=options.recordio)


def _beside(options: SplitOptions) -> Mapping[str, str]:
    """Return the files that the example's ratings need too: a launcher lays them under each shard."""
    if options.inputs or options.reader:
        return {}
    return {f"{options.config_dir}/{contract.DATA}/{name}": text for name, text in tables(options.samples).items()}


def _origin(options: SplitOptions, source: Source) -> str:
    facts = [options.shards, options.layout, options.recordio, options.by_bytes, source.about()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _deal(
    options: SplitOptions,
    source: Source,
    workspace: SplitWorkspace,
    progress: SplitProgress,
    clock: Callable[[], float],
) -> Manifest:
    try:
        return _dealt(options, source, workspace, progress, clock)
    except DatasetError:
        workspace.forget()  # wrong data stays wrong: the next run must not continue from here
        raise


def _dealt(
    options: SplitOptions,
    source: Source,
    workspace: SplitWorkspace,
    progress: SplitProgress,
    clock: Callable[[], float],
) -> Manifest:
    state = workspace.state() or SplitState((0, 0), [(0, 0, 0)] * options.shards)
    given = [(records, size) for _, records, size in state.shards]
    dealer = _Dealer(options.shards, by_bytes=options.by_bytes, given=given)
    if any(records for records, _ in given):
        progress.end(f"continuing after {sum(dealer.records)} records")
    shards = ShardFiles(workspace.work, [size for size, *_ in state.shards], recordio=options.recordio)
    due = clock() + options.every
    try:
        for batch, position in source.batches(state.position):
            for number, records in dealer.deal(batch):
                shards.add(number, records)
            progress.at(source.done, source.whole, sum(dealer.records))
            if clock() >= due:
                shards.settle()
                sizes = [shard.size for shard in shards.all]
                workspace.keep(SplitState(position, [*zip(sizes, dealer.records, dealer.bytes)]))  # noqa: B905  # Python 3.8
                due = clock() + options.every
        _refuse_too_few(options, dealer)
        shards.settle()
    finally:
        shards.close()
    files = [
        Entry(shard_path(options.layout, number), shard.size, shard.digest.hexdigest(), dealer.records[number])
        for number, shard in enumerate(shards.all)
    ]
    return Manifest(workspace.origin, options.shards, files)


class _Dealer:
    """Deals records to shards, in turn or to the shard with the fewest bytes.

    A shard keeps its records in input order; `records` and `bytes` count those of each.
    """

    def __init__(self, count: int, *, by_bytes: bool, given: Sequence[tuple[int, int]] = ()) -> None:
        self.count, self.by_bytes = count, by_bytes
        self.records = [records for records, _ in given] or [0] * count
        self.bytes = [size for _, size in given] or [0] * count

    def deal(self, batch: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        """Yield each shard with its part of a batch."""
        pieces = self._by_bytes(batch) if self.by_bytes else self._in_turn(batch)
        for shard, piece in pieces:
            if piece:
                self.records[shard] += len(piece)
                yield shard, piece

    def _in_turn(self, batch: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        done = sum(self.records) % self.count
        for shard in range(self.count):
            yield shard, batch[(shard - done) % self.count :: self.count]

    def _by_bytes(self, batch: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        if len(batch) < _MANY * self.count:
            given: list[list[bytes]] = [[] for _ in range(self.count)]
            for record in batch:
                shard = self.bytes.index(min(self.bytes))
                given[shard].append(record)
                self.bytes[shard] += len(record) + 1
            yield from enumerate(given)
            return
        cuts = [len(batch) * piece // self.count for piece in range(self.count + 1)]
        pieces = [batch[begin:end] for begin, end in zip(cuts, cuts[1:])]  # noqa: B905, RUF007  # Python 3.8
        sizes = [sum(map(len, piece)) + len(piece) for piece in pieces]
        # The largest piece goes to the smallest shard: differences level out instead of adding up.
        largest = sorted(range(self.count), key=sizes.__getitem__, reverse=True)
        least = sorted(range(self.count), key=self.bytes.__getitem__)
        for shard, piece in zip(least, largest):  # noqa: B905  # Python 3.8 has no strict=
            self.bytes[shard] += sizes[piece]
            yield shard, pieces[piece]


def _refuse_too_few(options: SplitOptions, dealer: _Dealer) -> None:
    found = sum(dealer.records)
    if not found:
        raise DatasetError("the input has no records: expected at least one; nothing is written")
    if min(dealer.records) == 0:
        raise DatasetMisuse(
            f"SPLIT_COUNT={options.shards}: the input has only {found} records: expected at least one a shard; "
            "nothing is written"
        )


def _described(made: Manifest) -> str:
    counts = [entry.records for entry in made.files]
    least, most = min(counts), max(counts)
    each = f"{least}" if least == most else f"{least} to {most}"
    size = sum(entry.bytes for entry in made.files) / 1e6
    return f"{made.records} records in {made.shards} shards, {each} in each, {size:.1f} MB in all"


def raise_files(wanted: int) -> None:
    """Raise the limit of open files to the number of shards, or refuse that many shards."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + 64
    if 0 <= hard < needed:
        raise DatasetMisuse(
            f"SPLIT_COUNT={wanted}: only {hard} files may be open here; expected at most {hard - 64} shards"
        )
    if 0 <= soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def refusal_sentence(error: OSError, out: str) -> str:
    """Return a sentence about an error of the system, with the remedy."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    where = error.filename if isinstance(error.filename, str) else out
    if not os.path.isdir(os.path.join(out, ".split")):
        return f"{shown(where)}: {reason}; nothing is written"
    return f"{shown(where)}: {reason}; the finished part stays in {shown(out)}/.split: run it again to continue"
