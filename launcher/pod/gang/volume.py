"""Small files and directories on the shared volume, for what a gang keeps there.

The volume is hostile and may be stale: no link is followed below a trusted directory, sizes are limited, and every
directory is opened anew each time: that is when the client of a network volume asks for what is new in it. All of it
may hang, so it belongs on a thread of its own.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from launcher.pod.outcome import Code, LauncherError, ShardError
from launcher.pod.settings import Settings
from launcher.pod.staging.refusal import shown
from launcher.pod.staging.tree import FILE, Dir, directory, inside, opened

Link = Callable[..., None]

LIMIT = 1 << 20
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
IN_PLACE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
# What file systems say that know no hard links.
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)


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
    return Below(root=settings.job_path, parts=(settings.job, "output")) if settings.job_path else None


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


def content(at: Dir, name: str, limit: int = LIMIT) -> bytes | None:
    """Return what a small regular file holds, None where it cannot be found."""
    path = shown(f"{at.path}/{name}")
    try:
        with refusing(path), opened(path, FILE, name=name, at=at.fd) as fd:
            found = _read(_regular(fd, path), limit + 1)
    except RecordError as error:
        if is_absent(error):
            return None
        raise
    if len(found) > limit:
        raise RecordError(f"{path} is larger than {limit} bytes: no launcher wrote it; move it away")
    return found


def make(at: Dir, name: str, text: bytes, *, link: Link = os.link) -> bool:
    """Make a file under a name that nobody took, whole from its first moment; return whether this text stands there.

    NFS may answer a link that worked with "exists": only what stands there in the end tells who was first.
    """
    new = f".{name}.{secrets.token_hex(8)}"
    path = shown(f"{at.path}/{name}")
    if len(text) > LIMIT:
        raise RecordError(f"{path} would be larger than {LIMIT} bytes, which nobody would read: not written")
    with refusing(path):
        try:
            _write_new(at, new, text)
            with suppress(FileExistsError):
                _give_name(at, new, name, text, link)
        finally:
            with suppress(OSError):
                os.unlink(new, dir_fd=at.fd)
        with suppress(OSError):  # not every file system knows it, and those that need it do
            os.fsync(at.fd)
    return content(at, name) == text


def overwrite(at: Dir, name: str, text: bytes) -> None:
    """Write a few bytes over a file where it is; of the same length each time, they are never seen half."""
    path = shown(f"{at.path}/{name}")
    with refusing(path), opened(path, IN_PLACE, name=name, at=at.fd, mode=0o644) as fd:
        os.pwrite(_regular(fd, path), text, 0)
        if os.fstat(fd).st_size > len(text):
            os.ftruncate(fd, len(text))
        os.fsync(fd)


def _give_name(at: Dir, new: str, name: str, text: bytes, link: Link) -> None:
    try:
        link(new, name, src_dir_fd=at.fd, dst_dir_fd=at.fd, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _write_new(at, name, text)


def _write_new(at: Dir, name: str, text: bytes) -> None:
    fd = os.open(name, NEW, 0o644, dir_fd=at.fd)
    try:
        try:
            _write(fd, text)
            os.fsync(fd)
        finally:
            os.close(fd)  # which may fail too, and then counts
    except OSError:
        with suppress(OSError):
            os.unlink(name, dir_fd=at.fd)  # made a moment ago, and here: half a file must not keep the name
        raise


def _write(fd: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _regular(fd: int, path: str) -> int:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise RecordError(f"{path} is not a regular file: expected what a launcher wrote; move it away")
    return fd


def _read(fd: int, limit: int) -> bytes:
    found = b""
    while len(found) < limit and (block := os.read(fd, limit - len(found))):
        found += block
    return found


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
