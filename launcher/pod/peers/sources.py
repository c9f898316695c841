"""Several sources, each read on a thread of its own, and collected on one."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

State = TypeVar("State")

# Yields what is known, whole, at each change, until its event is set; says by the callable what is in its way.
Source = Callable[[threading.Event, Callable[[str], None]], Iterator[State]]


@dataclass(frozen=True, slots=True)
class _Heard(Generic[State]):
    """A source knows something new."""

    key: str
    state: State


@dataclass(frozen=True, slots=True)
class _Trouble:
    """A source cannot learn anything at the moment; it goes on trying."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class _Broken:
    """A source gave up: what it met does not get better by itself."""

    key: str
    error: BaseException


@dataclass(frozen=True, slots=True)
class _Ended:
    """A source was told to end."""


News = _Heard[State] | _Trouble | _Broken | _Ended


@dataclass(slots=True)
class SourceReader(Generic[State]):
    """All that the sources said so far; a source that gave up begins anew after `again` seconds at most."""

    sources: Mapping[str, Source[State]]
    over: threading.Event
    again: float
    inbox: queue.SimpleQueue[News[State]] = field(default_factory=queue.SimpleQueue)
    known: dict[str, State] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    broken: dict[str, BaseException] = field(default_factory=dict)
    ended: bool = False

    @property
    def all_known(self) -> bool:
        """Whether every source has said something."""
        return len(self.known) == len(self.sources)

    def open(self) -> None:
        """Listen to each source until it is over."""
        for key, source in self.sources.items():
            threading.Thread(target=self._feed, args=(key, source), name=f"peers {key}", daemon=True).start()

    def read(self, wait: float | None = None) -> bool:
        """Take in all that has come, so that a thousand changes are judged once; False when the wait is over."""
        if wait is not None and wait <= 0:
            return False
        try:
            self._sort(self.inbox.get(timeout=wait))
        except queue.Empty:
            return False
        with suppress(queue.Empty):
            while True:
                self._sort(self.inbox.get_nowait())
        return True

    def _sort(self, news: News[State]) -> None:
        match news:
            case _Heard(key, state):
                self.known[key] = state
                self.troubles.pop(key, None)
                self.broken.pop(key, None)
            case _Trouble(key, text):
                self.troubles[key] = text
            case _Broken(key, error):
                self.broken[key] = error
            case _Ended():
                self.ended = True

    def _feed(self, key: str, source: Source[State]) -> None:
        while not self.over.is_set():
            try:
                for state in source(self.over, lambda text: self.inbox.put(_Trouble(key, text))):
                    self.inbox.put(_Heard(key, state))
            except BaseException as error:
                self.inbox.put(_Broken(key, error))
                # A right that was taken may be given back. Luck keeps many pods from asking together.
                self.over.wait(self.again * random.uniform(0.5, 1))  # noqa: S311  # no secret
        self.inbox.put(_Ended())
