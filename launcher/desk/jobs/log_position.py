"""How far a log was handed over, and whether to go on with it is in vain.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_SOON = 10.0  # seconds; what stood longer was a quiet log's connection, which a load balancer ends


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMark:
    """How far a log was handed over: the stamp of the last line, and how many lines with it."""

    moment: str = ""
    lines: int = 0


def beyond(mark: LogMark, found: Iterable[bytes]) -> Iterator[tuple[LogMark, bytes]]:
    """Yield a log's lines from a mark on, each with the mark that it sets.

    A log is asked for by whole seconds, so that some lines come again; and a runtime may stamp many alike.
    """
    seeking, again = bool(mark.moment), mark.lines
    for line in found:
        stamp, _, text = line.partition(b" ")
        moment = stamp.decode(errors="replace")
        if seeking and moment < mark.moment:
            continue
        if seeking and moment == mark.moment and again:
            again -= 1
            continue
        seeking = False
        mark = LogMark(moment=moment, lines=mark.lines + 1 if moment == mark.moment else 1)
        yield mark, text


def in_vain(*, brought: bool, stood: float, over: bool) -> bool:
    """Return whether an attempt came to nothing; the log of a pod that is over is never only quiet."""
    return not brought and (over or stood < _SOON)
