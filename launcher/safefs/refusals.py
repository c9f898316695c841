"""What the system refuses, said as a sentence: the path, the reason, what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from launcher.text import shown

_ROOM = "expected room for all of it: free some room there, or raise the volume's size or the ephemeral-storage limit"
_ACCESS = "expected access for user {user}: change its mode or owner, or the pod's runAsUser or fsGroup"
_LINKS = "links are not followed here: expected a regular file or directory; move it away"
_ABSENT = "expected it to be there, and to stay: is the volume mounted?"
_ADVICE = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EACCES: _ACCESS,
    errno.EPERM: _ACCESS,
    errno.ELOOP: _LINKS,
    errno.ENOTDIR: _LINKS,
    errno.EROFS: "expected a volume that can be written to: mount it for writing",
    errno.ENOENT: _ABSENT,
    errno.ESTALE: _ABSENT,
    errno.ENODEV: _ABSENT,
}
_OTHERWISE = "check the volume or disk that it is on, then try again"


class SystemRefused(OSError):
    """The sentence, where a room has no error of its own for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How a room says what the system refuses: by its own error, with its own advice for some of the numbers."""

    error: type[Exception] = SystemRefused
    advice: Mapping[int, str] = field(default_factory=dict, compare=False)

    def of(self, path: str, error: OSError, where_absent: str = "") -> Exception:
        """Return the room's error; the advice given is for what is not there, or not what it should be."""
        number = error.errno or 0
        if where_absent and number in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            advice = where_absent
        else:
            advice = self.advice.get(number) or _ADVICE.get(number, _OTHERWISE).format(user=os.geteuid())
        return self.error(f"{shown(path)}: {reason(error)}; {advice}")


PLAIN = Refusal()


class naming:  # noqa: N801  # used as a verb: `with naming(path): ...`
    """Turns what the system refuses in its body into a sentence about a path, or a name below it.

    A class, since a generator costs four times as much, a dozen times for each file.
    """

    __slots__ = ("_name", "_path", "_refusal", "_where_absent")

    def __init__(self, path: str, refusal: Refusal = PLAIN, where_absent: str = "", name: str = "") -> None:
        self._path, self._name, self._refusal, self._where_absent = path, name, refusal, where_absent

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, self._refusal.error):
            path = "/".join(filter(None, (self._path, self._name)))
            raise self._refusal.of(path, error, self._where_absent) from error


def is_absent(error: BaseException) -> bool:
    """Return whether an error of a room says no more than that something was not found."""
    return isinstance(error.__cause__, FileNotFoundError)


def reason(error: OSError) -> str:
    """Return what the system says of an error, in its own words."""
    return os.strerror(error.errno) if error.errno else str(error)
