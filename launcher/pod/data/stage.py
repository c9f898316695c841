"""What is staged into the working directory, and in which order: the job's files, then this rank's data.

Plain blocking I/O for a thread that may be abandoned at any moment: a later start goes on or begins anew.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from launcher.contract import DATA
from launcher.dataset.manifest import Entry
from launcher.pod import workdir
from launcher.pod.data.copy import REFUSAL, Copier, remove_tree
from launcher.pod.data.deal import Portion
from launcher.pod.data.file import Read
from launcher.pod.data.job_files import JobFiles
from launcher.pod.data.layout import NUMBER, another_shard, find_shard
from launcher.pod.data.patience import AGAIN_AFTER, STAGING_PATIENCE, trouble_may_pass
from launcher.pod.data.place import StagingPlace
from launcher.pod.data.survey import Looking, listed_in, refuse_same_names
from launcher.pod.log import Tell, TroubleTold
from launcher.pod.outcome import ShardError, VolumeError
from launcher.pod.peers.roster import Roster
from launcher.pod.settings.nouns import Role, Settings
from launcher.safefs.dirs import Dir, directory, directory_inside, format_of, names

WORKDIR = "expected the working directory to be there: create it in the image, or set LAUNCHER_WORKDIR"

PAYLOAD = "..data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """What `./data` was made of: its last source, where there is one, and how much it holds."""

    source: str = ""
    files: int = 0
    bytes: int = 0
    verified: int = 0  # files that were held against a manifest
    kept: int = 0  # files that were not copied: a copy of an earlier staging is there
    kept_bytes: int = 0


def stage(
    settings: Settings,
    roster: Roster | None,
    tell: Tell,
    *,
    files: bool = True,
    every: float = 5.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    read: Read = os.readv,
    rename: Callable[[Path, Path], None] = os.rename,
    remove: Callable[[Path], None] = remove_tree,
) -> Shard:
    """Copy the job's files, unless they are there, and this rank's data, or raise a ShardError.

    Without a roster there is no rank, and no data: a spare has the files alone. A volume's trouble has a minute to
    pass, then it is a VolumeError. What is whole by then is not copied again.
    """
    if settings.job_path is None and settings.config_dir is None:
        return Shard()
    workdir.refuse_shared(settings)
    begun, until = clock(), 0.0
    trouble = TroubleTold(tell, "staging_trouble", "staging_back")
    copier = Copier(tell=tell, every=every, clock=clock, read=read, threads=settings.stage_threads)
    place = StagingPlace(workdir=Path(settings.workdir), copier=copier, rename=rename, remove=remove)
    while True:
        try:
            done = _stage(settings, roster, tell, place, files=files)
        except ShardError as error:
            if not trouble_may_pass(error):
                raise
            until = until or clock() + STAGING_PATIENCE
            if clock() >= until:
                raise VolumeError(f"{error} (for {STAGING_PATIENCE:g} s)") from error
            trouble.tell(str(error))
            sleep(AGAIN_AFTER)
        else:
            trouble.over()
            break
    if done.source:
        tell("staged", **asdict(done), seconds=round(clock() - begun, 3))
    return done


def _stage(settings: Settings, roster: Roster | None, tell: Tell, place: StagingPlace, *, files: bool) -> Shard:
    with ExitStack() as stack:
        work = stack.enter_context(directory(place.workdir, REFUSAL, trusted=True, where_absent=WORKDIR))
        job = _job(settings, stack)
        config = _config(settings, job, stack)
        config_data = tuple(_data_of(config, stack))
        if config and files:
            _stage_files(place, config)
        if roster is None or settings.role is Role.PSERVER:
            return Shard()
        shards, listed = _shards(settings, roster, job, stack, place.copier.looking())
        if settings.job_path and not shards:
            tell("no_shard", looked_in=_looked_in(settings, roster.rank))
        return _stage_data(place, work, config_data, shards, listed, noting=settings.width.elastic)


def _stage_files(place: StagingPlace, config: tuple[Dir, ...]) -> None:
    staged = place.staging("files", config[0].path)
    place.copier.assemble([_seen(each) for each in config], staged)
    JobFiles(workdir=place.workdir, tell=place.copier.tell, rename=place.rename).put(staged)


def _seen(config: Dir) -> Dir:
    # As the shell's `cp -rf dir/* .` does, names with a dot in front are passed over.
    hidden = {name for name in names(config) if name.startswith(".")}
    own = {DATA} if stat.S_ISDIR(format_of(config, DATA)) else set()
    return replace(config, without=config.without | hidden | own)


def _stage_data(
    place: StagingPlace,
    work: Dir,
    own: tuple[Dir, ...],
    shards: tuple[Dir, ...],
    listed: Mapping[str, Entry],
    *,
    noting: bool,
) -> Shard:
    sources = (*own, *shards)
    if not sources:
        return Shard()
    under = place.underlay()
    staged = place.staging(DATA, *(source.path for source in sources))
    place.take_back(staged)
    with ExitStack() as stack:
        if under:
            below = stack.enter_context(directory_inside(work, under.name))
            sources = (below, *sources)
        # Where the width does not change no shard stays while others go: nothing is noted, and nothing taken over.
        earlier = stack.enter_context(place.earlier()) if noting else None
        census = place.copier.assemble(sources, staged, listed, earlier)
    place.put(staged, census.copies if noting else None)
    return Shard(
        source=", ".join(each.path for each in shards or own),
        files=census.files,
        bytes=census.bytes,
        verified=census.verified,
        kept=census.kept,
        kept_bytes=census.kept_bytes,
    )


def _job(settings: Settings, stack: ExitStack) -> Dir | None:
    """Open the job's directory on the volume; it need not be there before something is looked for in it."""
    if settings.job_path is None:
        return None
    workdir.make_jobs_place(settings.job_path)
    advice = "expected the directory that JOB_PATH names: is the volume mounted?"
    volume = stack.enter_context(directory(Path(settings.job_path), REFUSAL, where_absent=advice))
    if not format_of(volume, settings.job):
        return None
    return stack.enter_context(directory_inside(volume, settings.job))


def _config(settings: Settings, job: Dir | None, stack: ExitStack) -> tuple[Dir, ...]:
    """Open the directory of the job's files, and what is to be laid over it."""
    if settings.config_dir is None:
        return ()
    advice = f"expected a directory with the job's files, as TRAIN_CONFIG_DIR={settings.config_dir} says"
    if settings.config_dir.is_absolute():  # of the image, or of any volume that is mounted
        top = Path(settings.config_dir)
        return _with_payload(stack.enter_context(directory(top, REFUSAL, where_absent=advice)), stack)
    if job is None:
        raise ShardError(f"{settings.job_dir} does not exist: expected the job's directory, with its files in it")
    found = job
    for part in settings.config_dir.parts:
        found = stack.enter_context(directory_inside(found, part, advice))
    return _with_payload(found, stack)


def _with_payload(config: Dir, stack: ExitStack) -> tuple[Dir, ...]:
    """Return a directory, and over it the files that it links to where it is a ConfigMap, a Secret or projected.

    The kubelet makes a link for each name, to `..data/<name>`, and `..data` a link to the directory of the day.
    """
    if format_of(config, PAYLOAD) != stat.S_IFLNK:
        return (config,)
    with config.naming(PAYLOAD):
        day = os.readlink(PAYLOAD, dir_fd=config.fd)
    if day not in names(config) or not stat.S_ISDIR(format_of(config, day)):
        return (config,)
    payload = stack.enter_context(directory_inside(config, day))
    return replace(config, without=frozenset(names(payload))), payload


def _data_of(config: tuple[Dir, ...], stack: ExitStack) -> Iterator[Dir]:
    for each in config:
        if stat.S_ISDIR(format_of(each, DATA)):
            yield stack.enter_context(directory_inside(each, DATA))


def _looked_in(settings: Settings, rank: int) -> list[str]:
    return [f"{settings.job_dir}/{rank}/{DATA}", f"{settings.job_dir}/{DATA}/{rank}"]


def _shards(
    settings: Settings, roster: Roster, job: Dir | None, stack: ExitStack, looking: Looking
) -> tuple[tuple[Dir, ...], Mapping[str, Entry]]:
    """Open this rank's shards, and return them with what a manifest lists of them."""
    if job is None:
        return (), {}
    slots = roster.slots if settings.width.elastic else ()
    portion = Portion(rank=roster.rank, trainers=len(roster.trainers), most=settings.trainers, slots=slots)
    by_rank = tuple(name for name in _numbers(job) if _has_data(job, name))
    under_data = _numbers_in_data(job)
    ways = find_shard(
        portion,
        job_dir=job.path,
        counted_by=settings.counted_by,
        by_rank=by_rank,
        under_data=under_data,
    )
    found = [_opened(job, way, stack) for way in ways]
    if not found:
        return (), {}
    refuse_same_names(found, looking)
    if settings.width.least < settings.width.most and (other := another_shard(ways, by_rank or under_data)):
        refuse_same_names((_opened(job, other, stack), found[0]), looking, later=True)
    listed = listed_in(job, found, len(by_rank) + len(under_data), portion)
    return tuple(found), listed


def _opened(job: Dir, way: tuple[str, str], stack: ExitStack) -> Dir:
    parent = stack.enter_context(directory_inside(job, way[0]))
    return stack.enter_context(directory_inside(parent, way[1]))


def _numbers(parent: Dir) -> tuple[str, ...]:
    # A link counts as there: it is refused when it is opened, and does not look like a shard that is missing.
    kinds = (stat.S_IFDIR, stat.S_IFLNK)
    return tuple(name for name in names(parent) if NUMBER.fullmatch(name) and format_of(parent, name) in kinds)


def _has_data(job: Dir, name: str) -> bool:
    if format_of(job, name) == stat.S_IFLNK:
        return True
    with directory_inside(job, name) as rank:
        return format_of(rank, DATA) in (stat.S_IFDIR, stat.S_IFLNK)


def _numbers_in_data(job: Dir) -> tuple[str, ...]:
    if not format_of(job, DATA):
        return ()
    with directory_inside(job, DATA) as data:
        return _numbers(data)
