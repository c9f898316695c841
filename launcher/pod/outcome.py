"""How a pod's life ended: the errors that carry exit codes, the words for them.

No I/O here.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from launcher.contract import Code

TERMINATION_LIMIT = 4000  # Kubernetes cuts the message at 4,096 bytes
SMALLEST_TAIL = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How something ended, a pod's life or a gang's run: the code, the reason in a sentence, the log's last lines."""

    code: int
    reason: str
    tail: str = ""

    def message(self) -> str:
        """Return the termination message: the reason first, then as much of the log's end as fits."""
        reason = _clip(_utf8(self.reason), TERMINATION_LIMIT, keep_end=False)
        tail = _utf8(self.tail).strip()
        title = b"\n" if tail.startswith(_utf8(WHERE_THEY_STOOD)) else _TAIL_TITLE
        room = TERMINATION_LIMIT - len(reason) - len(title)
        if tail and room >= SMALLEST_TAIL:
            reason += title + _clip(tail, room, keep_end=title is _TAIL_TITLE)
        return reason.decode()


WHERE_THEY_STOOD = "where the programs stood:"  # begins a tail that has that first
_TAIL_TITLE = b"\nthe last lines of its log:\n"
_CUT = b"..."


class LauncherError(Exception):
    """An expected failure: a sentence for the user, and the exit code that goes with it."""

    code: int = Code.BUG


class SettingsError(LauncherError):
    """The settings cannot be right; every problem is told at once."""

    code = Code.SETTINGS

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class JoinError(LauncherError):
    """The peers did not come in time."""

    code = Code.JOIN


class ApiError(LauncherError):
    """The Kubernetes API refused, or could not be reached."""

    code = Code.API


class Revoked(ApiError):
    """The Kubernetes API refuses what it allowed before: so does one that was just started, for some seconds."""


class ShardError(LauncherError):
    """The job's files or this rank's data could not be staged."""

    code = Code.SHARD


class VolumeError(LauncherError):
    """A volume or disk had trouble for too long while files were staged: another start may go well."""

    code = Code.GANG


class StartError(LauncherError):
    """A child could not be started."""

    code = Code.CANNOT_START


class Stopped(LauncherError):
    """The launcher was told to stop before its children were started."""

    def __init__(self, signum: int, during: str) -> None:
        self.code = 128 + signum
        super().__init__(f"told to stop by {signal_name(signum)} while {during}")


class GangError(LauncherError):
    """The gang cannot come together again."""

    code = Code.GANG


class Decided(Exception):
    """The whole gang has its verdict: this pod ends with it, whatever it does at the moment."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def of(error: Exception) -> Outcome:
    """Return the outcome that an error leads to; of an unexpected one also where it happened."""
    if isinstance(error, Decided):
        return error.outcome
    if isinstance(error, LauncherError):
        return Outcome(code=error.code, reason=str(error))
    where = "".join(traceback.format_exception(error))
    reason = f"a bug in the launcher: {type(error).__name__}: {error}; please report it with the lines below"
    return Outcome(code=Code.BUG, reason=reason, tail=where)


def signal_name(signum: int) -> str:
    """Return SIGTERM for 15, and a number's own text for a signal without a name."""
    try:
        return signal.Signals(signum).name
    except ValueError:
        return f"signal {signum}"


def _utf8(text: str) -> bytes:
    return text.encode(errors="replace")


def _clip(text: bytes, limit: int, *, keep_end: bool) -> bytes:
    """Return as much of a text in UTF-8 as fits, cut between two characters."""
    if len(text) <= limit:
        return text
    room = limit - len(_CUT)
    kept = text[-room:] if keep_end else text[:room]
    whole = _utf8(kept.decode(errors="ignore"))
    return _CUT + whole if keep_end else whole + _CUT
