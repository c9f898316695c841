"""Serves pages over HTTP to anybody on the network: GET only, bounded in connections, sizes and time.

A peer is never turned away for a stranger. Of connections without a question the oldest makes room for the newest.

asyncio and h11 cost 35 ms of CPU and 11 MB to import, uvicorn 57 ms and 16 MB, aiohttp.web 137 ms and 27 MB; neither
of the two tells when a reply was written, which the lease needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

import h11

from launcher.pod.gang.status.pages import Reply, sentence_reply
from launcher.pod.gang.status.peer_states import normal

_HEAD_LIMIT = 8192
FIELDS_LIMIT = 16
CONNECTIONS = 512
FROM_ONE = 32  # of an address that is no peer's
# Said without having read what was asked.
CROWDED = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: from which address, for which page, and the query's fields."""

    remote: str
    path: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Seconds: without a question, for its head once it has begun, and for an answer to be taken."""

    idle: float = 30.0
    head: float = 10.0
    taking: float = 10.0


_Answer = Callable[[Asked], Awaitable[Reply]]


class Server:
    """All connections from outside."""

    def __init__(self, answer: _Answer, *, is_peer: Callable[[str], bool], patience: Patience) -> None:
        self._answer = answer
        self._is_peer = is_peer
        self._patience = patience
        self._visitors: dict[Visitor, None] = {}  # the oldest first

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection from its beginning to its end."""
        visitor = Visitor(reader, writer, self._patience)
        if not self._makes_room(visitor.remote):
            writer.write(CROWDED)
            writer.close()
            return
        self._visitors[visitor] = None
        try:
            await visitor.serve(self._answer)
        except OSError:
            pass  # gone, or it takes nothing
        finally:
            del self._visitors[visitor]
            visitor.leave()

    def _makes_room(self, remote: str) -> bool:
        """Return whether one more may come; one without a question may have to go for it."""
        rivals = [] if self._is_peer(remote) else [each for each in self._visitors if each.remote == remote]
        if len(rivals) < FROM_ONE:
            if len(self._visitors) < CONNECTIONS:
                return True
            strangers = [each for each in self._visitors if not self._is_peer(each.remote)]
            rivals = strangers or list(self._visitors)
        idle = next((each for each in rivals if each.idle), None)
        if idle:
            idle.leave()
        return idle is not None


class Visitor:
    """One connection, for one question after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: Patience) -> None:
        self._reader = reader
        self._writer = writer
        self._patience = patience
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_LIMIT)
        self.idle = True
        self.remote = normal(str((writer.get_extra_info("peername") or [""])[0]))  # none where it is gone already
        writer.transport.set_write_buffer_limits(0)  # to drain means: the kernel has taken all

    async def serve(self, answer: _Answer) -> None:
        """Answer until the other side leaves, is silent for too long, or asks for what is not served."""
        while await self._begins():
            try:
                async with asyncio.timeout(self._patience.head):
                    request, whole = await self._request()
            except TimeoutError:
                return await self._say(sentence_reply(408, "too slow: expected the head of a request"))
            except h11.RemoteProtocolError as error:
                return await self._say(sentence_reply(error.error_status_hint, str(error)))
            self.idle = False
            if request.method != b"GET":
                reply = Reply(code=405, body=b"expected GET\n", headers=(("Allow", "GET"),))
            else:
                reply = await self._reply(request, answer) if whole else sentence_reply(413, "expected no body")
            await self._say(reply, bodiless=request.method == b"HEAD")
            if (self._http.our_state, self._http.their_state) != (h11.DONE, h11.DONE):
                return None
            self._http.start_next_cycle()
            self.idle = True
        return None

    def leave(self) -> None:
        """Close; what the other side has not taken by now is lost."""
        self.idle = False
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

    async def _reply(self, request: h11.Request, answer: _Answer) -> Reply:
        path, _, query = request.target.decode("ascii", "replace").partition("?")
        try:
            fields = dict(parse_qsl(query, max_num_fields=FIELDS_LIMIT))
        except ValueError:
            return sentence_reply(400, f"expected at most {FIELDS_LIMIT} fields")
        return await answer(Asked(remote=self.remote, path=path, fields=fields))

    async def _say(self, reply: Reply, *, bodiless: bool = False) -> None:
        """Write an answer whole, unless its reader has left meanwhile."""
        if self._reader.at_eof():
            raise ConnectionResetError
        about = {"Content-Type": reply.kind, "Content-Length": str(len(reply.body)), "Cache-Control": "no-store"}
        headers = [*about.items(), *reply.headers]
        if self._http.their_state is not h11.DONE:  # something of it was not read, nor will it be
            headers.append(("Connection", "close"))
        out = [self._http.send(h11.Response(status_code=reply.code, headers=headers))]
        if not bodiless:
            out.append(self._http.send(h11.Data(data=reply.body)))
        out.append(self._http.send(h11.EndOfMessage()))
        self._writer.write(b"".join(each for each in out if each))
        async with asyncio.timeout(self._patience.taking):
            await self._writer.drain()
        reply.written()
