"""Waits until what several sources tell makes a roster: each source on a thread of its own, one fold over all.

Told once per change: for whom the wait is, and why. It ends with the roster, the deadline, or a word to stop.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from launcher.pod.events import Tell
from launcher.pod.outcome import JoinError, LauncherError
from launcher.pod.roster import Roster, Waiting

SHOWN = 20  # of the running pods, in one line; the reason has their number

State = TypeVar("State")

# Yields what is known, whole, at each change, until its event is set; says by the callable what is in its way.
Source = Callable[[threading.Event, Callable[[str], None]], Iterator[State]]


@dataclass(frozen=True, slots=True)
class Heard(Generic[State]):
    """A source knows something new."""

    key: str
    state: State


@dataclass(frozen=True, slots=True)
class Trouble:
    """A source cannot learn anything at the moment; it goes on trying."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A source gave up, or the launcher is told to stop."""

    error: BaseException


News = Heard[State] | Trouble | Broken
Inbox = queue.SimpleQueue[News[State]]


def gather(
    sources: Mapping[str, Source[State]],
    fold: Callable[[Mapping[str, State]], Roster | Waiting],
    stop: threading.Event,
    tell: Tell,
    *,
    seconds: float,
    deaf: type[LauncherError] = JoinError,
    clock: Callable[[], float] = time.monotonic,
) -> Roster:
    """Return the roster once it is complete; `deaf` is the error for a deadline met while a source has trouble."""
    deadline = clock() + seconds
    over = threading.Event()
    inbox: Inbox[State] = queue.SimpleQueue()
    for key, source in sources.items():
        threading.Thread(target=_feed, args=(key, source, over, inbox), name=f"peers {key}", daemon=True).start()
    # Nothing can wait for a queue and an event at once: this thread sleeps until the word to stop, or for good.
    threading.Thread(target=_alarm, args=(stop, inbox), name="peers stop", daemon=True).start()
    known: dict[str, State] = {}
    troubles: dict[str, str] = {}
    said = Waiting(reason="")
    try:
        while batch := _take(inbox, deadline - clock()):
            _sort(batch, known, troubles)
            if troubles:
                found: Roster | Waiting = Waiting(reason="; ".join(sorted(set(troubles.values()))))
            else:
                found = fold(known) if len(known) == len(sources) else said
            if isinstance(found, Roster):
                return found
            if found.reason != said.reason:
                tell("waiting_for_peers", reason=found.reason, running=list(found.running[:SHOWN]))
                said = found
    finally:
        over.set()
    error = deaf if troubles or len(known) < len(sources) else JoinError
    raise error(
        f"the peers did not come within {seconds:g} s (LAUNCHER_JOIN_TIMEOUT): "
        + (said.reason or "nothing at all was heard of them")
    )


def _feed(key: str, source: Source[State], over: threading.Event, inbox: Inbox[State]) -> None:
    try:
        for state in source(over, lambda text: inbox.put(Trouble(key, text))):
            inbox.put(Heard(key, state))
    except BaseException as error:
        inbox.put(Broken(error))


def _alarm(stop: threading.Event, inbox: Inbox[State]) -> None:
    stop.wait()
    inbox.put(Broken(JoinError("told to stop while waiting for the peers")))


def _take(inbox: Inbox[State], wait: float) -> list[News[State]]:
    """Return all that has come, so that a thousand changes are judged once; nothing when the wait is over."""
    batch: list[News[State]] = []
    try:
        if wait > 0:
            batch.append(inbox.get(timeout=wait))
        while batch:
            batch.append(inbox.get_nowait())
    except queue.Empty:
        pass
    return batch


def _sort(batch: list[News[State]], known: dict[str, State], troubles: dict[str, str]) -> None:
    for news in batch:
        match news:
            case Broken(error):
                raise error
            case Trouble(key, text):
                troubles[key] = text
            case Heard(key, state):
                known[key] = state
                troubles.pop(key, None)
