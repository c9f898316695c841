"""All objects of one kind under a selector, kept: list, then watch from there, for as long as they are wanted."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import tenacity
from tenacity.wait import wait_base

from launcher.kube import objects, refusals
from launcher.kube.objects import Object
from launcher.kube.refusals import ApiRefused, ApiUnreachable, KubeError
from launcher.kube.transport import Transport

_T = TypeVar("_T")

WATCH_LINE_LIMIT = 8 << 20  # etcd takes no object over 1.5 MiB
AFTER_LIMIT = 60.0
LIVED = 5.0  # a watch that lasted so long, or half of what it was to last, was no failure


class Fruitless(KubeError):
    """A watch was opened, and ended at once."""


class Gone(KubeError):
    """The version to go on from is forgotten: list again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPatience:
    """Which errors pass, what is done about each of them, how long one waits and in all, and what ends it at once."""

    passes: Callable[[BaseException], bool]
    heed: Callable[[BaseException, int], None]  # with the number of the attempt
    wait: wait_base
    stop: threading.Event = field(default_factory=threading.Event)
    seconds: float = math.inf

    def retrying(self) -> tenacity.Retrying:
        """Return what tries again while the error is one that passes; then it comes up, but not after a stop."""

        def before_sleep(state: tenacity.RetryCallState) -> None:
            if error := _error(state):
                self.heed(error, state.attempt_number)

        def given_up(state: tenacity.RetryCallState) -> None:
            if (error := _error(state)) and not self.stop.is_set():
                raise error

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(self.passes),
            stop=tenacity.stop_when_event_set(self.stop) | tenacity.stop_after_delay(self.seconds),
            wait=self._wait,
            sleep=tenacity.sleep_using_event(self.stop),
            before_sleep=before_sleep,
            retry_error_callback=given_up,
        )

    def quietly(self) -> WatchPatience:
        """Return the same for a watch that ended at once: an API that lists but keeps none open is only slower."""
        return WatchPatience(passes=_ended, heed=lambda *_: None, wait=self.wait, stop=self.stop)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        # What the server asks for is the least: luck on top of it keeps many pods from coming back together.
        return min(getattr(_error(state), "after", 0.0), AFTER_LIMIT) + self.wait(state)


@dataclass(kw_only=True)
class Watch(Generic[_T]):
    """The objects as of a version; without one they are listed. The server ends each watch after so many seconds.

    A watch that is refused goes on from the last version: many pods that list at the same time would be a burden.
    A desk does not resume, but lists again. While the next list may be `cached` it is the API server's memory, where
    N pods cost its database nothing. That may be a moment old, and the watch from there tells what is newer. Only the
    first list may: another could be older than what was seen. A desk's may not: it looks for what it has just made.
    """

    transport: Transport
    path: str
    selector: str
    read: Callable[[Object], _T]
    seconds: int
    resumes: bool = True
    cached: bool = False
    version: str = ""
    found: dict[str, _T] = field(default_factory=dict)

    @property
    def all(self) -> tuple[_T, ...]:
        """Every object."""
        return tuple(self.found.values())

    def changes(self, patience: WatchPatience) -> Iterator[tuple[_T, ...]]:
        """Yield all objects, and again whenever one may have changed, until told to stop."""
        while not patience.stop.is_set():
            # A watch that brought something or lasted leaves these loops, and so begins the next back-off afresh.
            for fruitless in patience.quietly().retrying():
                with fruitless:
                    for attempt in patience.retrying():
                        with attempt:
                            if not patience.stop.is_set():  # in the pause
                                yield from self._follow()

    def _follow(self) -> Iterator[tuple[_T, ...]]:
        afresh = not self.version
        if afresh:
            self._list()
            yield self.all
        try:
            with self.transport.stream(self.path, self._query(), silence=self.transport.silence) as read:
                if not afresh:
                    yield self.all  # the API serves again, which ends a trouble
                yield from self._events(read)
        except (Gone, ApiRefused, ApiUnreachable) as error:
            forgotten = isinstance(error, Gone) or (isinstance(error, ApiRefused) and error.status == 410)
            if not forgotten and (self.resumes or not refusals.may_pass(error)):
                raise
            self.version = ""
            raise Gone(str(error)) from error

    def _list(self) -> None:
        query, headers = {"labelSelector": self.selector}, {"Accept-Encoding": "gzip"}
        if self.cached:
            query["resourceVersion"] = "0"
        text = self.transport.document("GET", self.path, query, headers=headers)
        found = objects.objects_listed(text)
        if found is None:
            name = refusals.server_named(self.transport.host)
            raise ApiUnreachable(f"{name} sends a list that cannot be read: {objects.message(text)}")
        every, self.version = found
        self.cached = False
        self.found = {name: self.read(each) for each in every if (name := _name(each))}

    def _query(self) -> dict[str, str]:
        return {
            "labelSelector": self.selector,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            "timeoutSeconds": str(self.seconds - random.randint(0, self.seconds // 4)),  # noqa: S311  # no secret
        }

    def _events(self, read: Callable[[], bytes]) -> Iterator[tuple[_T, ...]]:
        began, version = time.monotonic(), self.version
        why = "it was closed"
        try:
            for some in lines(read):
                if sum(map(self._enter, some)):  # every line is entered
                    yield self.all
        except ApiUnreachable as error:
            why = str(error)
        if self.version == version and time.monotonic() - began < min(LIVED, self.seconds / 2):
            raise Fruitless(f"a watch ended at once: {why}")

    def _enter(self, line: bytes) -> bool:
        """Enter a line of a watch, and return whether it is about an object."""
        change = objects.changed(line)
        if change is None or change.kind == "ERROR":
            raise Gone(f"the Kubernetes API ends the watch: {objects.message(line)}")
        self.version = change.version or self.version
        name = _name(change.found)
        if change.kind == "DELETED":
            self.found.pop(name, None)
        elif change.kind in ("ADDED", "MODIFIED") and name:
            self.found[name] = self.read(change.found)
        return change.kind in ("ADDED", "MODIFIED", "DELETED")


def lines(read: Callable[[], bytes], limit: int = WATCH_LINE_LIMIT) -> Iterator[list[bytes]]:
    """Yield the whole lines that came together; a half one at the end is dropped, as if it had never come."""
    half = bytearray()
    while data := read():
        half += data
        if b"\n" in data:
            *whole, rest = bytes(half).split(b"\n")
            half = bytearray(rest)
            yield [line for line in whole if line.strip()]
        if len(half) > limit:
            raise Gone(f"a line of the watch is over {limit} bytes")


def _name(found: Object) -> str:
    return objects.word(objects.mapping(found, "metadata"), "name")


def _ended(error: BaseException) -> bool:
    return isinstance(error, (Fruitless, Gone))


def _error(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None
