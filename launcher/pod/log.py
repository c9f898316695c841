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


def _in_reading_order(_log: object, _method: str, facts: MutableMapping[str, object]) -> dict[str, object]:
    return {"timestamp": facts.pop("timestamp"), "event": facts.pop("event"), **facts}
