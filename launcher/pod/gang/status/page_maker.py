"""Makes the leader's pages, once for all who ask: seldom enough to cost the training nothing, however many they are.

What is much to make is made in a thread of its own, and the less often the longer it took.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from launcher.pod.gang.protocol.messages import LeaderMessage
from launcher.pod.gang.status.pages import Reply, sentence_reply
from launcher.pod.gang.store.event_file import wall_clock
from launcher.pod.gang.store.recent_events import RecentEvents

LEAST_KEPT = 2.0  # seconds, at least
SHARE = 200  # a page is kept for so many times the processor's time that it took: 0.5 % of one, at most
_Members = Callable[[], Sequence[Mapping[str, Any]]]


class KeptReply:
    """An answer that is made again no sooner than so many times what it took to make."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = 0.0
        self._reply: Reply | None = None

    def of(self, make: Callable[[], Reply]) -> Reply:
        """Return the answer: as it was, or as it is made now."""
        if self._reply is None or self._clock() >= self._due:
            begun = time.thread_time()
            self._reply = make()
            took = time.thread_time() - begun if self._reply.code == 200 else 0.0  # why there is none may change
            self._due = self._clock() + SHARE * took
        return self._reply


class PageMaker:
    """The page at this moment, and when the next one may be made."""

    def __init__(
        self,
        events: RecentEvents,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], datetime] = wall_clock,
    ) -> None:
        self._events = events
        self._clock = clock
        self._wall_clock = wall_clock
        self._making: asyncio.Task[None] | None = None
        self._due = self._story_due = 0.0
        self._story = ""
        self._page = b""

    async def reply(self, about: Mapping[str, str], word: LeaderMessage, members: _Members) -> Reply:
        """Return the page; who asks while it is made waits for the same one."""
        if self._making is None and self._clock() >= self._due:
            self._due = self._clock() + LEAST_KEPT  # also where it goes wrong
            self._making = asyncio.create_task(asyncio.to_thread(self._make, about, word, members))
            self._making.add_done_callback(self._made)
        if self._making:
            await asyncio.shield(self._making)
        if not self._page:
            return sentence_reply(500, "the page could not be made: the launcher's log says why")
        from launcher.report.page import HTML, SAFE

        return Reply(code=200, body=self._page, kind=HTML, headers=SAFE)

    def _made(self, _: object) -> None:
        self._making = None

    def _make(self, about: Mapping[str, str], word: LeaderMessage, members: _Members) -> None:
        """Make it; of the run's report, which is most of the work, only what its own time has come for."""
        from launcher.pod.gang.status import live_page  # who never asks pays for nothing of it

        at = self._wall_clock()
        if self._clock() >= self._story_due:
            begun = time.thread_time()
            self._story = live_page.story_part(self._events.lines(), at.timestamp())
            self._story_due = self._next(begun)
        begun = time.thread_time()
        page = live_page.front_page(about, word, members(), self._story, at)
        self._page = page.encode(errors="replace")
        self._due = self._next(begun)

    def _next(self, begun: float) -> float:
        return self._clock() + max(LEAST_KEPT, SHARE * (time.thread_time() - begun))
