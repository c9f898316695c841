"""One split, from what is asked for to shards with a manifest: the same end, however often it is started."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from functools import partial

from launcher import contract
from launcher.dataset.dealing import Dealer
from launcher.dataset.manifest import Entry, Manifest
from launcher.dataset.problem import DatasetError, Misuse
from launcher.dataset.ratings import ratings, tables
from launcher.dataset.shards import Shards
from launcher.dataset.sources import Files, Reader, named
from launcher.dataset.workspace import Ground, State, place_of
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from launcher.dataset.arguments import Asked
    from launcher.dataset.progress import Telling

    Source = Files | Reader

OCTAL = re.compile(r"\\([0-7]{3})")


def run(
    asked: Asked,
    environ: Mapping[str, str],
    telling: Telling,
    *,
    mounts: str = "/proc/self/mountinfo",
    clock: Callable[[], float] = time.monotonic,
) -> Manifest:
    """Split, unless it is done already, and return the manifest."""
    if environ.get("KUBERNETES_SERVICE_HOST"):
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            _refuse_no_mount(asked.out, file.read())
    source = _source(asked)
    ground = Ground(asked.out, _origin(asked, source))
    done = ground.standing()
    if not done:
        with ground.held():
            done = ground.standing()  # once more: another start of this Job may have come first
            if not done:
                made = ground.placing() or _deal(asked, source, ground, telling, clock)
                ground.place(made, (contract.OUTPUT, asked.config_dir), _beside(asked))
                telling.end(f"{shown(asked.out)} has {_described(made)}")
                return made
    telling.end(f"{shown(asked.out)} has been split already: {_described(done)}; nothing is changed")
    return done


def _refuse_no_mount(out: str, mounts: str) -> None:
    """Refuse a directory that is the container's own: what is written there goes with the container."""
    path = os.path.realpath(out)
    points = [OCTAL.sub(lambda code: chr(int(code[1], 8)), line.split(" ")[4]) for line in mounts.splitlines()]
    over = [point for point in points if path == point or path.startswith(point.rstrip("/") + "/")]
    if not over or max(over, key=len) == "/":
        raise Misuse(
            f"OUT_DIR={shown(out)} is on no volume: what is written there goes with this container; "
            "expected a directory on a volume: mount the claim there, or set OUT_DIR to where it is mounted"
        )


def _source(asked: Asked) -> Source:
    if asked.inputs:
        return Files(asked.inputs, pickled=asked.recordio)
    if asked.reader:
        return Reader(named(asked.reader), ["reader", asked.reader], pickled=asked.recordio)
    return Reader(partial(ratings, asked.samples), ["ratings", asked.samples], pickled=asked.recordio)


def _beside(asked: Asked) -> Mapping[str, str]:
    """Return what the example's ratings need besides: a launcher lays it under each shard."""
    if asked.inputs or asked.reader:
        return {}
    return {f"{asked.config_dir}/{contract.DATA}/{name}": text for name, text in tables(asked.samples).items()}


def _origin(asked: Asked, source: Source) -> str:
    facts = [asked.shards, asked.layout, asked.recordio, asked.by_bytes, source.about()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _deal(asked: Asked, source: Source, ground: Ground, telling: Telling, clock: Callable[[], float]) -> Manifest:
    try:
        return _dealt(asked, source, ground, telling, clock)
    except DatasetError:
        ground.forget()  # what is wrong with the data does not become right by going on
        raise


def _dealt(asked: Asked, source: Source, ground: Ground, telling: Telling, clock: Callable[[], float]) -> Manifest:
    state = ground.state() or State((0, 0), [(0, 0, 0)] * asked.shards)
    given = [(records, size) for _, records, size in state.shards]
    dealer = Dealer(asked.shards, by_bytes=asked.by_bytes, given=given)
    if any(records for records, _ in given):
        telling.end(f"going on after {sum(dealer.records)} records")
    shards = Shards(ground.work, [size for size, *_ in state.shards], recordio=asked.recordio)
    due = clock() + asked.every
    try:
        for batch, position in source.batches(state.position):
            for number, records in dealer.deal(batch):
                shards.add(number, records)
            telling.at(source.done, source.whole, sum(dealer.records))
            if clock() >= due:
                shards.settle()
                sizes = [shard.size for shard in shards.all]
                ground.keep(State(position, [*zip(sizes, dealer.records, dealer.bytes)]))  # noqa: B905  # Python 3.8
                due = clock() + asked.every
        _refuse_too_few(asked, dealer)
        shards.settle()
    finally:
        shards.close()
    files = [
        Entry(place_of(asked.layout, number), shard.size, shard.digest.hexdigest(), dealer.records[number])
        for number, shard in enumerate(shards.all)
    ]
    return Manifest(ground.origin, asked.shards, files)


def _refuse_too_few(asked: Asked, dealer: Dealer) -> None:
    found = sum(dealer.records)
    if not found:
        raise DatasetError("the input has no records: expected one or more; nothing is written")
    if min(dealer.records) == 0:
        raise Misuse(
            f"SPLIT_COUNT={asked.shards}: the input has {found} records, fewer than that; nothing is written"
        )


def _described(made: Manifest) -> str:
    counts = [entry.records for entry in made.files]
    least, most = min(counts), max(counts)
    each = f"{least}" if least == most else f"{least} to {most}"
    size = sum(entry.bytes for entry in made.files) / 1e6
    return f"{made.records} records in {made.shards} shards, {each} in each, {size:.1f} MB in all"


def raise_files(wanted: int) -> None:
    """Allow as many open files as there are shards, or refuse what the system does not let."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + 64
    if 0 <= hard < needed:
        raise Misuse(f"SPLIT_COUNT={wanted}: only {hard} files may be open here; expected at most {hard - 64} shards")
    if 0 <= soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def sentence(error: OSError, out: str) -> str:
    """Return what the system refused, and what to do."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    where = error.filename if isinstance(error.filename, str) else out
    if not os.path.isdir(os.path.join(out, ".split")):
        return f"{shown(where)}: {reason}; nothing is written"
    return f"{shown(where)}: {reason}; what is written stays in {shown(out)}/.split: started again, it goes on"
