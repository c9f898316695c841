"""The directories of a pod: the working directory entered and held, that of all jobs made, two files in `/` written.

Held, since two launchers in one working directory would replace each other's `./data`.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from launcher.contract import IDENTITY_FILES
from launcher.pod.outcome import SettingsError, ShardError, StartError
from launcher.pod.settings.conflicts import paths_in_each_other
from launcher.pod.settings.nouns import Role, Settings

if TYPE_CHECKING:  # a plain init pays for neither
    from launcher.pod.log import Tell
    from launcher.pod.peers.roster import Roster


def current() -> str:
    """Return the directory that this process is in; one that is gone, or closed to us, counts as the root."""
    try:
        return os.getcwd()  # noqa: PTH109  # text is what the settings take
    except OSError:
        return "/"  # a job that needs another says so


def enter(workdir: PurePosixPath) -> None:
    """Make a directory the current one; it may be so already, and even be deleted by now."""
    try:
        if current() != str(workdir):
            os.chdir(workdir)
    except OSError as error:
        raise StartError(f"cannot enter LAUNCHER_WORKDIR={workdir}: {error.strerror}") from error


def refuse_shared(settings: Settings) -> None:
    """Refuse a working directory that links lead onto the volume of all pods, or into the job's files.

    It asks the volume, which may hang: a step of staging, not of entering.
    """
    real = replace(
        settings,
        workdir=_real(settings.workdir),
        job_path=_real(settings.job_path) if settings.job_path else None,
        config_dir=_real(settings.config_dir) if settings.config_dir and settings.config_dir.is_absolute() else None,
    )
    if problems := paths_in_each_other(real):
        raise SettingsError(problems)


def make_jobs_place(job_path: PurePosixPath) -> None:
    """Make the directory of all jobs where it is to be at the top of a volume, and no job was there before.

    Nowhere else: a volume that is not mounted must not look like an empty one.
    """
    with suppress(OSError):  # the step that needs it says why it is not there
        if os.path.ismount(job_path.parent):
            os.mkdir(job_path)  # noqa: PTH102  # Path has none for a pure path


def hold(workdir: PurePosixPath) -> int:
    """Hold a directory for as long as this process lives; return the descriptor that does it."""
    try:
        held = os.open(workdir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(held)
            raise ShardError(
                f"another launcher uses {workdir}: set LAUNCHER_WORKDIR to a directory that only this pod uses"
            ) from error
    except OSError:
        return -1  # a file system without locks
    return held


def write_identity(settings: Settings, roster: Roster, tell: Tell, *, root: Path = Path("/")) -> None:
    """Write /trainer_id and /trainer_count, which older training programs read instead of their environment.

    Only where `/` is this pod's own; a read-only one is no failure, the environment says the same.
    """
    if not settings.owns_root or roster.role is Role.PSERVER:
        return
    values = ((roster.rank, "TRAINER_ID"), (len(roster.trainers), "TRAINERS"))
    for name, (value, instead) in zip(IDENTITY_FILES, values, strict=True):
        try:
            (root / name).write_text(f"{value}\n")
        except OSError as error:
            tell("identity_file_not_written", path=str(root / name), error=error.strerror, instead=instead)


def _real(path: PurePosixPath) -> PurePosixPath:
    return PurePosixPath(os.path.realpath(path))
