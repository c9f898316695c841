"""The launcher's own lines on stderr: an event, its level and its facts, as JSON where stderr is no terminal.

What is the same in all lines (the job, the pod, its rank) is bound once and stands in each.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING

from launcher.contract import Code

if TYPE_CHECKING:
    import structlog

Tell = Callable[..., None]

BOUND = ("job", "pod", "rank")
_ENDS = frozenset({"launcher_finished", "verdict"})
TROUBLE = frozenset(
    {
        "events_file_incomplete",
        "events_file_trouble",
        "generation_ended",
        "identity_file_not_written",
        "log_file_incomplete",
        "log_file_not_closed",
        "log_file_trouble",
        "looks_not_served",
        "record_trouble",
        "staging_trouble",
        "status_ignored",
        "status_not_served",
        "still_running",
        "stdout_unfinished",
    }
)
LASTING = 5.0  # seconds
BUGS = frozenset({"statuses_trouble"})


def level(event: str, facts: Mapping[str, object]) -> str:
    """Return info for news, warning for trouble, also of a run that failed, and error for a bug."""
    code = facts.get("code") if event in _ENDS else 0
    if event in BUGS or code == Code.BUG:
        return "error"
    return "warning" if event in TROUBLE or code else "info"


class EventLog:
    """Where events are told, from any thread."""

    def __init__(self, put: Callable[[bytes], None], *, terminal: bool) -> None:
        """Take what writes a finished line; it must not block."""
        self._put = put
        self._terminal = terminal
        self._bound: dict[str, object] = {}

    def bind(self, **facts: object) -> None:
        """Have these facts in every line from now on."""
        self._bound = {**self._bound, **facts}

    def tell(self, event: str, **facts: object) -> None:
        """Write one event."""
        getattr(self._lines.bind(**self._bound), level(event, facts))(event, **facts)

    @cached_property
    def _lines(self) -> structlog.BoundLogger:
        # Where rich is installed structlog would import it, for tracebacks that nobody sees here: 28 ms and 4 MB.
        sys.modules.setdefault("rich", None)  # type: ignore[arg-type]  # as Python has it for what cannot be imported
        import structlog  # 9 ms and 4 MB more, which a plain init does not need

        put = self._put

        class Lines:
            def info(self, text: str) -> None:
                put(text.encode(errors="backslashreplace") + b"\n")

            warning = error = info

        colours = self._terminal and not os.environ.get("NO_COLOR")
        last = (
            structlog.dev.ConsoleRenderer(colors=colours) if self._terminal else structlog.processors.JSONRenderer()
        )
        stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
        processors: list[structlog.typing.Processor] = [stamp, _in_reading_order, last]
        lines: structlog.BoundLogger = structlog.wrap_logger(
            Lines(), processors=processors, wrapper_class=structlog.BoundLogger
        )
        return lines


class TroubleTold:
    """Tells trouble once for each reason, however often it comes, and tells when it is over."""

    def __init__(self, tell: Tell, begins: str, ends: str, **facts: object) -> None:
        self._tell = tell
        self._begins, self._ends = begins, ends
        self._facts = facts
        self._reasons: set[str] = set()

    def tell(self, error: str, **more: object) -> None:
        """Tell the trouble, unless this reason was told since it began."""
        if error not in self._reasons:
            self._reasons.add(error)
            self._tell(self._begins, **self._facts, error=error, **more)

    def over(self, **more: object) -> bool:
        """Tell that it is over; return whether there was any."""
        if not self._reasons:
            return False
        self._reasons.clear()
        self._tell(self._ends, **self._facts, **more)
        return True


class WaitTold:
    """Tells what is waited for: once for each change, and only what lasts; a start has many waits of a moment."""

    def __init__(self, tell: Tell, *, lasting: float = LASTING) -> None:
        self._tell = tell
        self._lasting = lasting
        self._reason = self._told = ""
        self._since = 0.0

    def look(self, reason: str, now: float) -> float | None:
        """Take what is waited for now, or nothing; return when to look again."""
        if reason != self._reason:
            self._reason, self._since = reason, now
        if not reason:
            self._told = ""
        if reason == self._told:
            return None
        if now < self._since + self._lasting:
            return self._since + self._lasting
        self._told = reason
        self._tell("waiting_for_peers", reason=reason)
        return None


def _in_reading_order(_log: object, method: str, facts: MutableMapping[str, object]) -> dict[str, object]:
    first = {"timestamp": facts.pop("timestamp"), "event": facts.pop("event"), "level": method}
    bound = {name: facts.pop(name) for name in BOUND if name in facts}
    return first | dict(facts) | bound
