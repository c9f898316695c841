"""Serves pages over HTTP to anybody on the network: GET only, bounded in connections, sizes and time.

No member and no probe is turned away for a stranger (`rooms`). A question that waits keeps a member's place, not a
stranger's.

asyncio and h11 cost 35 ms of CPU and 11 MB to import, uvicorn 57 ms and 16 MB, aiohttp.web 137 ms and 27 MB; neither
of the two tells when a reply was written, which the lease needs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from urllib.parse import parse_qsl

import h11

from launcher.pod.gang.status.pages import Reply, sentence_reply
from launcher.pod.gang.status.peer_states import normal
from launcher.pod.gang.status.rooms import Full, GuestKind, Rooms, has_place, who_goes

_HEAD_LIMIT = 8192
FIELDS_LIMIT = 16
BOOT_LIMIT = 128
PROBED = ("/healthz", "/readyz")
# Said without having read what was asked.
CROWDED = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@dataclass(slots=True, kw_only=True, eq=False)
class Asked:
    """One question: from which address, for which page, with which fields; and whether it waits."""

    remote: str
    path: str
    fields: Mapping[str, str]
    waits: bool = False
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def boot(self) -> str:
        """Who asks, as it says."""
        return self.fields.get("boot", "")[:BOOT_LIMIT]

    async def wait(self, seconds: float) -> None:
        """Wait until it is woken, no longer than so many seconds."""
        self.waits = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self.waits = False

    def wake(self) -> None:
        """Have it answered at once."""
        self._woken.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Seconds: without a question, for its head once it has begun, and for an answer to be taken."""

    idle: float = 30.0
    head: float = 10.0
    taking: float = 10.0


_Answer = Callable[[Asked], Awaitable[Reply]]
_IsMember = Callable[[str, str], str]


class Server:
    """All connections from outside; `member` returns whose they are by address and boot, nothing for a stranger's."""

    def __init__(self, answer: _Answer, *, member: _IsMember, rooms: Rooms, patience: Patience) -> None:
        self._answer = answer
        self._member = member
        self._rooms = rooms
        self._patience = patience
        self._visitors: dict[Visitor, None] = {}  # the oldest first
        self._counts: Counter[GuestKind | tuple[GuestKind, str]] = Counter()  # of a kind, and of whose

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection from its beginning to its end."""
        visitor = Visitor(reader, writer, self._patience)
        if not self._makes_room(visitor, GuestKind.NEWCOMER, visitor.remote):
            writer.write(CROWDED)
            writer.close()
            return
        try:
            await visitor.serve(partial(self._admit, visitor))
        except OSError:
            pass  # gone, or it takes nothing
        finally:
            self._count(visitor, -1)
            del self._visitors[visitor]
            visitor.leave()

    async def _admit(self, visitor: Visitor, asked: Asked) -> Reply | None:
        """Answer a question, if there is a place for who asks it: once a member's, a connection stays one."""
        if visitor.kind is not GuestKind.MEMBER:
            member = self._member(asked.remote, asked.boot)
            kind = GuestKind.MEMBER if member else GuestKind.PROBE if asked.path in PROBED else GuestKind.STRANGER
            if kind is not visitor.kind and not self._makes_room(visitor, kind, member or visitor.remote):
                return None
        return await self._answer(asked)

    def _makes_room(self, visitor: Visitor, kind: GuestKind, key: str) -> bool:
        """Return whether there is a place of a kind; another one may have to go for it."""
        if not self._has_place(kind, key):  # only then are all looked at: a gang of hundreds may come at once
            others = [each for each in self._visitors if each is not visitor and not each.left]
            try:
                goes = who_goes(kind, key, others, self._rooms)
            except Full:
                return False
            if goes:
                goes.dismiss()
        if visitor in self._visitors:
            self._count(visitor, -1)
        self._visitors[visitor] = None
        visitor.kind, visitor.key = kind, key
        self._count(visitor, 1)
        return True

    def _has_place(self, kind: GuestKind, key: str) -> bool:
        return has_place(kind, self._counts[kind, key], self._counts[kind], len(self._visitors), self._rooms)

    def _count(self, visitor: Visitor, change: int) -> None:
        whose = (visitor.kind, visitor.key)
        self._counts[visitor.kind] += change
        self._counts[whose] += change
        if not self._counts[whose]:
            del self._counts[whose]


class Visitor:
    """One connection, for one question after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: Patience) -> None:
        self._reader = reader
        self._writer = writer
        self._patience = patience
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_LIMIT)
        self._asked: Asked | None = None
        self._busy = self._last = self.left = False
        self.remote = normal(str((writer.get_extra_info("peername") or [""])[0]))  # none where it is gone already
        self.kind, self.key = GuestKind.NEWCOMER, self.remote
        writer.transport.set_write_buffer_limits(0)  # to drain means: the kernel has taken all

    @property
    def idle(self) -> bool:
        """Whether it has no question, or one that waits."""
        return not self._busy or self._waits

    @property
    def _waits(self) -> bool:
        return self._asked is not None and self._asked.waits

    async def serve(self, answer: Callable[[Asked], Awaitable[Reply | None]]) -> None:
        """Answer until the other side leaves, is silent for too long, or asks for what is not served."""
        while await self._begins():
            try:
                async with asyncio.timeout(self._patience.head):
                    request, whole = await self._request()
            except TimeoutError:
                return await self._say(sentence_reply(408, "too slow: expected the head of a request"))
            except h11.RemoteProtocolError as error:
                return await self._say(sentence_reply(error.error_status_hint, str(error)))
            self._busy = True
            if request.method != b"GET":
                reply = Reply(code=405, body=b"expected GET\n", headers=(("Allow", "GET"),))
            else:
                reply = await self._reply(request, answer) if whole else sentence_reply(413, "expected no body")
            await self._say(reply, bodiless=request.method == b"HEAD")
            if self._last or (self._http.our_state, self._http.their_state) != (h11.DONE, h11.DONE):
                return None
            self._http.start_next_cycle()
            self._busy = False
        return None

    def dismiss(self) -> None:
        """Make room; a member that waits has its answer first, so that nobody can cut it off from here."""
        if self.kind is GuestKind.MEMBER and self._busy and not self._last:
            self._last = True
            if self._asked:
                self._asked.wake()
        else:
            self.leave()

    def leave(self) -> None:
        """Close; what the other side has not taken by now is lost."""
        self.left = True
        if self._asked:
            self._asked.wake()
        if self._writer.transport.get_write_buffer_size():
            self._writer.transport.abort()
        self._writer.close()

    async def _begins(self) -> bool:
        """Return whether there is something of a next question before it has been silent for too long."""
        if self._http.trailing_data[0]:
            return True
        try:
            async with asyncio.timeout(self._patience.idle):
                return await self._receive()
        except TimeoutError:
            return False

    async def _receive(self) -> bool:
        data = await self._reader.read(1 << 14)
        self._http.receive_data(data)
        return bool(data)

    async def _request(self) -> tuple[h11.Request, bool]:
        """Return a whole head, and whether that is all of the request; the connection's end is an error."""
        while not isinstance(event := self._http.next_event(), h11.Request):
            if event is not h11.NEED_DATA or not await self._receive():
                raise ConnectionResetError
        return event, isinstance(self._http.next_event(), h11.EndOfMessage)

    async def _reply(self, request: h11.Request, answer: Callable[[Asked], Awaitable[Reply | None]]) -> Reply:
        path, _, query = request.target.decode("ascii", "replace").partition("?")
        try:
            fields = dict(parse_qsl(query, max_num_fields=FIELDS_LIMIT))
        except ValueError:
            return sentence_reply(400, f"expected at most {FIELDS_LIMIT} fields")
        self._asked = Asked(remote=self.remote, path=path, fields=fields)
        reply = await answer(self._asked)
        self._last |= reply is None
        return reply or sentence_reply(503, "too many connections: expected fewer")

    async def _say(self, reply: Reply, *, bodiless: bool = False) -> None:
        """Write an answer whole, unless its reader has left meanwhile."""
        if self.left or self._reader.at_eof():
            raise ConnectionResetError
        last = self._last or self._http.their_state is not h11.DONE  # what is not read by now will not be
        out = [self._http.send(_head(reply.code, reply.kind, len(reply.body), reply.headers, last=last))]
        if not bodiless:
            out.append(self._http.send(h11.Data(data=reply.body)))
        out.append(self._http.send(h11.EndOfMessage()))
        self._writer.write(b"".join(each for each in out if each))
        async with asyncio.timeout(self._patience.taking):
            await self._writer.drain()
        reply.written()


@lru_cache(maxsize=16)
def _head(code: int, kind: str, length: int, headers: tuple[tuple[str, str], ...], *, last: bool) -> h11.Response:
    """Return an answer's head, made and checked once for the thousand who wait for the same answer."""
    about = (("Content-Type", kind), ("Content-Length", str(length)), ("Cache-Control", "no-store"))
    end = (("Connection", "close"),) if last else ()
    return h11.Response(status_code=code, headers=[*about, *headers, *end])
