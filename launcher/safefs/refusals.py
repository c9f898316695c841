"""What the system refuses, said as a sentence: the path, the reason, what to do."""

from __future__ import annotations

import errno
import os

from launcher.pod.outcome import ShardError
from launcher.text import shown


class naming:  # noqa: N801  # used as a verb: `with naming(path): ...`
    """Turns what the system refuses into a sentence with the path, the reason, and what to do.

    The advice that is given stands where something is not there, or not what it should be. A class, since a generator
    costs four times as much, a dozen times for each file.
    """

    __slots__ = ("_advice", "_path")

    def __init__(self, path: str, advice: str = "") -> None:
        self._path, self._advice = path, advice

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Say it as a sentence, if the system refused something."""
        if isinstance(error, OSError):
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise ShardError(f"{shown(self._path)}: {reason}; {_advice(error.errno, self._advice)}") from error


def _advice(number: int | None, where_absent: str) -> str:
    if where_absent and number in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
        return where_absent
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "expected room for all of it: free some, or raise the size or the ephemeral-storage limit"
    if number in (errno.EACCES, errno.EPERM):
        return f"expected it open to user {os.geteuid()}: change its mode or owner, or the pod's runAsUser or fsGroup"
    if number in (errno.ELOOP, errno.ENOTDIR):
        return "links are not followed here: expected a plain file or directory"
    if number == errno.EROFS:
        return "expected a place that this pod may write to: mount a volume there, or set LAUNCHER_WORKDIR"
    if number in (errno.ENOENT, errno.ESTALE):
        return "expected it to stay while it is copied: start the job again when nothing changes it"
    return "check the volume or disk that it is on, then start the job again"
