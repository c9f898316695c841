"""Publishes the status of this launcher, and remembers who has read it.

A status that is news has a token of its own; a reader that knows the token waits for the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.lease import lost_at, silent
from launcher.pod.gang.protocol.messages import Status
from launcher.pod.gang.protocol.state import Limits
from launcher.pod.gang.status.members import MemberPages, members_of, with_members
from launcher.pod.gang.status.pages import JSON, Reply, for_strangers, sentence_reply
from launcher.pod.gang.status.peer_states import PeerStates, news
from launcher.pod.gang.status.server import Asked

NEWS = "Launcher-News"  # the header that names a status, so that a reader can ask for the next one
MEMBERS = "Launcher-Members"  # and the one that names the page of its generation's members
LONGEST_WAIT = 30.0
READERS = 4096  # by boot and address: who asks as another does not read for it

Fresh = Callable[[Status], Status]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A status, and its token: of this boot alone, so that none is taken for another's."""

    status: Status
    number: int

    @property
    def token(self) -> str:
        """The name of this news."""
        return f"{self.status.who.boot}.{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Who asked: as which boot, when last, and the number of what was last written to it."""

    boot: str
    asked: float
    read: int


class Publisher:
    """The status at this moment; one thread takes new ones, the loop answers."""

    def __init__(self, status: Status, limits: Limits, peers: PeerStates, fresh: Fresh) -> None:
        self.said = Said(status=status, number=1)
        self._limits = limits
        self._peers = peers
        self._fresh = fresh
        self._written: dict[tuple[bool, bool], tuple[Status, bytes, str]] = {}  # for members, and for strangers
        self._pages = MemberPages()
        self._readers: dict[tuple[str, str], _Reader] = {}
        self._waiting: set[Asked] = set()
        self._was_read = asyncio.Event()

    def take(self, status: Status) -> bool:
        """Say this from now on; return whether it is news."""
        before = self.said
        if status == before.status:
            return False
        is_news = news(status) != news(before.status)
        self.said = Said(status=status, number=before.number + is_news)
        return is_news

    @property
    def now(self) -> Status:
        """What is said, with what has changed since without being news."""
        return self._fresh(self.said.status)

    def wake(self) -> None:
        """Let all readers go that wait for news."""
        for asked in self._waiting:
            asked.wake()

    async def answer(self, asked: Asked) -> Reply:
        """Return the status: at once where the asker does not know it, else with the next news."""
        try:
            wait = float(asked.fields.get("wait", "0"))
        except ValueError:
            wait = -1.0
        if not wait >= 0.0:  # nor is "nan" a time to wait
            return sentence_reply(400, "wait: expected a number of seconds")
        boot = asked.boot
        self._note(boot, asked.remote)
        if asked.fields.get("after") == self.said.token:
            self._waiting.add(asked)
            try:
                await asked.wait(min(wait, LONGEST_WAIT))
            finally:
                self._waiting.discard(asked)
        said = self.said
        if at := self._cut_off(said.status, boot):
            return sentence_reply(
                503, f"no answer from {at} for {self._limits.lease:g} s: can it be reached from here?"
            )

        def written() -> None:
            self._peers.wrote(boot, time.monotonic())
            self._note(boot, asked.remote, read=said.number)

        known = bool(self._peers.member(asked.remote, boot))
        body, page = self._as_json(self._fresh(said.status), known=known, apart=bool(boot))
        headers = ((NEWS, said.token), *(((MEMBERS, page),) if page else ()))
        return Reply(code=200, body=body, kind=JSON, headers=headers, written=written)

    def members(self, asked: Asked) -> Reply:
        """Return the members of a generation of late, by the digest that an answer named."""
        page = self._pages.page(asked.fields.get("digest", ""))
        if page is None:
            return sentence_reply(404, "expected the digest in Launcher-Members, which /status?boot=... names")
        return Reply(code=200, body=page, kind=JSON)

    async def heard_out(self, until: float) -> None:
        """Wait until every recent reader was sent the present status, or has gone, or the time is over."""
        while (now := time.monotonic()) < until:
            behind = [each for each in self._readers.values() if self._is_behind(each, now)]
            if not behind:
                return
            forgotten = lost_at(min(each.asked for each in behind), self._limits)
            self._was_read.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(until, forgotten) - now):
                    await self._was_read.wait()

    def _as_json(self, status: Status, *, known: bool, apart: bool) -> tuple[bytes, str]:
        """Return a status as it is sent, and the page of its members where that is apart; made once while it stays.

        Who shows a boot asks as launchers do, and fetches the members once; for anybody else they are in the status.
        """
        made_of, body, page = self._written.get((known, apart), (None, b"", ""))
        if status != made_of:
            shown = status if known else for_strangers(status)
            page = self._pages.name(members_of(status)) if apart else ""
            body = codec.encode(with_members(shown, ()) if page else shown)
            self._written[known, apart] = (status, body, page)
        return body, page

    def _cut_off(self, mine: Status, boot: str) -> str:
        """Return at which address a member has been silent for a lease, though a question came in its name.

        It gets no answer of its leader and runs out, and who only asks in its name holds up its loss no longer.
        """
        address, heard = self._peers.of(boot)
        follows = mine.word is not None and heard.status is not None and heard.status.word is None
        return address if follows and silent(heard, time.monotonic(), self._limits) else ""

    def _is_behind(self, reader: _Reader, now: float) -> bool:
        of_late = now < lost_at(reader.asked, self._limits)
        return of_late and reader.read != self.said.number and not self._peers.gone(reader.boot)

    def _note(self, boot: str, remote: str, read: int = 0) -> None:
        """Remember a reader; those of long ago make room."""
        if not boot:
            return
        former = self._readers.pop((boot, remote), None)
        is_read = bool(read)
        asked = former.asked if is_read and former else time.monotonic()
        read = read or (former.read if former else 0)
        self._readers[boot, remote] = _Reader(boot=boot, asked=asked, read=read)
        while len(self._readers) > READERS:
            del self._readers[next(iter(self._readers))]
        if is_read:
            self._was_read.set()
