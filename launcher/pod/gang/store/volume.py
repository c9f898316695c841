"""Directories on the shared volume, for what a gang keeps there, and what the system refuses of it as a sentence.

The volume is hostile and may be stale: no link is followed below a trusted directory, and every directory is opened
anew each time: that is when the client of a network volume asks for what is new in it. All of it may hang, so it
belongs on a thread of its own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from launcher.contract import OUTPUT, Code
from launcher.pod.outcome import LauncherError, ShardError
from launcher.pod.settings.nouns import Settings
from launcher.safefs.dirs import Dir, directory, inside
from launcher.text import shown


class RecordError(LauncherError):
    """What a gang keeps on the volume cannot be read, written or believed."""

    code = Code.GANG


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """A directory below a trusted one that must exist; the parts between them may be anything."""

    root: PurePosixPath
    parts: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path for messages."""
        return shown(str(self.root.joinpath(*self.parts)))

    def at(self, *parts: str) -> Below:
        """Return a directory below this one."""
        return Below(root=self.root, parts=(*self.parts, *parts))

    @contextmanager
    def opened(self, *, make: bool = False) -> Iterator[Dir]:
        """Open it without following a link; make what is missing of it if asked to."""
        with refusing(self.path), ExitStack() as stack:
            here = stack.enter_context(directory(Path(self.root)))
            for part in self.parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here.fd)
                here = stack.enter_context(inside(here, part))
            yield here

    @contextmanager
    def found(self) -> Iterator[Dir | None]:
        """Open it, or yield None where it cannot be found."""
        with ExitStack() as stack:
            try:
                here = stack.enter_context(self.opened())
            except RecordError as error:
                if not is_absent(error):
                    raise
                # The volume itself must be there: one that is not mounted must not look like an empty one.
                stack.enter_context(Below(root=self.root).opened())
                here = None
            yield here


def output_of(settings: Settings) -> Below | None:
    """Return where a job's output goes, None where it has no volume."""
    return Below(root=settings.job_path, parts=(settings.job, OUTPUT)) if settings.job_path else None


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """Turn what the system refuses into a sentence with the path, the reason, and what to do."""
    try:
        yield
    except (OSError, ShardError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError):
            raise RecordError(str(error)) from error
        reason = os.strerror(cause.errno) if cause.errno else str(cause)
        raise RecordError(f"{path}: {reason}; {_advice(cause.errno)}") from cause


def is_absent(error: BaseException) -> bool:
    """Return whether an error says no more than that something was not found."""
    return isinstance(error.__cause__, FileNotFoundError)


def _advice(number: int | None) -> str:
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "free some room on the volume"
    if number in (errno.EACCES, errno.EPERM):
        return f"open it to user {os.geteuid()}, or set runAsUser or fsGroup in the pod"
    if number in (errno.ELOOP, errno.ENOTDIR):
        return "links are not followed here: expected a plain file or directory; move it away"
    if number == errno.EROFS:
        return "mount the volume for writing, or set LAUNCHER_RECORD=none"
    if number in (errno.ENOENT, errno.ENODEV):
        return "is the volume mounted?"
    return "is the volume well?"
