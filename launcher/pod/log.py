"""The launcher's own words: constant snake_case events with facts, JSON where nobody sits before a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping

Tell = Callable[..., None]


def teller(put: Callable[[bytes], None], *, terminal: bool) -> Tell:
    """Return the function that tells an event; `put` takes the finished lines and must not block."""
    import structlog  # costs 30 ms, which a plain init does not need

    class Lines:
        def msg(self, text: str) -> None:
            put(text.encode(errors="backslashreplace") + b"\n")

        info = msg

    colours = terminal and not os.environ.get("NO_COLOR")
    last = structlog.dev.ConsoleRenderer(colors=colours) if terminal else structlog.processors.JSONRenderer()
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    processors: list[structlog.typing.Processor] = [stamp, _in_reading_order, last]
    log = structlog.wrap_logger(Lines(), processors=processors, wrapper_class=structlog.BoundLogger)

    def tell(event: str, **facts: object) -> None:
        log.info(event, **facts)

    return tell


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


def _in_reading_order(_log: object, _method: str, facts: MutableMapping[str, object]) -> dict[str, object]:
    return {"timestamp": facts.pop("timestamp"), "event": facts.pop("event"), **facts}
