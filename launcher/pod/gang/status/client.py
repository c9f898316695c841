"""Reads the statuses of peers: one kept connection to each, on which a question always waits for news.

A peer may be anybody: what it answers is bounded in time and size, and checked before it counts.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import random
import time
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlencode

import h11

from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.codec import Malformed
from launcher.pod.gang.protocol.messages import Status, Who
from launcher.pod.gang.status.members import page_of, with_members
from launcher.pod.gang.status.peer_states import PeerStates
from launcher.pod.gang.status.publisher import MEMBERS, NEWS
from launcher.pod.log import Tell

CONNECTING = 2.0
BEGINNING = 2.0  # beyond the wait for news
COMPLETING = 2.0
PACE = 0.005  # between two questions, so that a peer with endless news costs little
FIRST_PAUSE = 0.005  # a process that is killed stops to listen a moment after its connections end
LONGEST_PAUSE = 1.0
_HEAD_LIMIT = 8192
TOKEN_LIMIT = 512
TOLD_LIMIT = 8  # sentences on one peer: who sends ever new nonsense does not fill the log


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How this launcher asks: from which address, as which boot, which port, and how long an answer may wait."""

    source: str
    boot: str
    port: int
    wait: float


class Poller:
    """Polls one peer for as long as it is watched."""

    def __init__(self, address: str, asking: Asking, peers: PeerStates, tell: Tell) -> None:
        self._address = address
        self._asking = asking
        self._peers = peers
        self._tell = tell
        self._token = ""
        self._read: tuple[str, bytes, Status] | None = None  # the last answer, and what it says
        self._page = ""
        self._members: tuple[Who, ...] = ()
        self._why = ""
        self._told = 0

    async def run(self) -> None:
        """Ask and ask again; at once after an answer, ever later where there is none."""
        misses = 0
        while True:
            answered = await self._attempt()
            misses = 0 if answered else misses + 1
            await asyncio.sleep(_pause(misses))

    async def _attempt(self) -> bool:
        """Ask over one connection until it breaks; return whether anything was answered."""
        answered = False
        try:
            async with asyncio.timeout(CONNECTING):
                line = await _Line.to(self._address, self._asking)
        except OSError as error:
            if isinstance(error, ConnectionRefusedError):
                self._peers.refused(self._address)
            return False
        try:
            while True:
                await self._ask(line)
                answered = True
        except (
            OSError,
            h11.LocalProtocolError,
        ):  # gone, silent for too long, or a peer that does not keep connections
            return answered
        except h11.RemoteProtocolError:
            self._ignore("not HTTP: expected a launcher's status")
        except Malformed as why:
            self._ignore(str(why))
        finally:
            line.close()
        return answered

    async def _ask(self, line: _Line) -> None:
        wait, sent = self._asking.wait, time.monotonic()
        query = urlencode({"after": self._token, "wait": f"{wait:g}", "boot": self._asking.boot})
        headers, body = await line.get(f"/status?{query}", within=wait + BEGINNING)
        token, page = headers.get(NEWS, ""), headers.get(MEMBERS, "")
        if self._read is None or self._read[:2] != (
            page,
            body,
        ):  # in peace all stays, and to read it is the most work
            status = codec.decode(body)
            self._read = (page, body, with_members(status, await self._members_on(line, page)) if page else status)
        self._token, self._why = token, ""
        self._peers.answered(self._address, self._read[2], sent)
        await asyncio.sleep(max(0.0, sent + PACE - time.monotonic()))

    async def _members_on(self, line: _Line, digest: str) -> tuple[Who, ...]:
        """Return the members of a generation, which are fetched once."""
        if digest != self._page:
            query = urlencode({"digest": digest, "boot": self._asking.boot})
            _, body = await line.get(f"/members?{query}", within=BEGINNING)
            self._page, self._members = digest, page_of(digest, body)
        return self._members

    def _ignore(self, why: str) -> None:
        if why != self._why and self._told < TOLD_LIMIT:
            self._told += 1
            self._tell("status_ignored", peer=self._address, why=why)
        self._why = why


class _Line:
    """One connection to a peer, for one question after the other."""

    def __init__(self, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._host = host
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_LIMIT)

    @classmethod
    async def to(cls, address: str, asking: Asking) -> Self:
        """Connect, from the own address where that can be: the peer tells askers apart by it."""
        host = f"[{address}]:{asking.port}" if ":" in address else f"{address}:{asking.port}"
        own = (asking.source, 0) if _family(asking.source) == _family(address) else None
        try:
            streams = await asyncio.open_connection(address, asking.port, local_addr=own)
        except OSError as error:
            if own is None or error.errno != errno.EADDRNOTAVAIL:
                raise
            streams = await asyncio.open_connection(address, asking.port)
        return cls(host, *streams)

    async def get(self, target: str, *, within: float) -> tuple[dict[str, str], bytes]:
        """Return our headers and the body of an answer that begins within so many seconds."""
        if self._http.our_state is not h11.IDLE:
            self._http.start_next_cycle()
        asked = h11.Request(method="GET", target=target, headers=[("Host", self._host)])
        self._writer.write(self._http.send(asked) + self._http.send(h11.EndOfMessage()))
        async with asyncio.timeout(within):
            while not isinstance(begun := await self._event(), h11.Response):
                pass
        async with asyncio.timeout(COMPLETING):
            body = await self._body()
        if begun.status_code != 200:
            raise Malformed(f"answered {begun.status_code}: expected 200")
        found = dict(begun.headers)
        ours = {name: found.get(name.lower().encode(), b"")[:TOKEN_LIMIT] for name in (NEWS, MEMBERS)}
        return {name: value.decode("latin-1") for name, value in ours.items()}, body

    async def _body(self) -> bytes:
        body = bytearray()
        while isinstance(event := await self._event(), h11.Data):
            body += event.data
            if len(body) > codec.MESSAGE_LIMIT:
                raise Malformed(f"more than {codec.MESSAGE_LIMIT} bytes: expected a smaller status")
        return bytes(body)

    async def _event(self) -> h11.Event:
        """Return what comes next; the end of the connection is an error wherever it comes."""
        while not isinstance(event := self._http.next_event(), h11.Event):
            data = await self._reader.read(1 << 16)
            if not data:
                raise ConnectionResetError
            self._http.receive_data(data)
        return event

    def close(self) -> None:
        """Leave at once."""
        self._writer.transport.abort()


def _pause(misses: int) -> float:
    """Return how long to wait after so many failures in a row, spread so that peers do not come all at once."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(misses - 1, 10)) if misses else 0.0
    return longest * random.uniform(0.5, 1.0)  # noqa: S311  # no secret


def _family(address: str) -> int:
    try:
        return ipaddress.ip_address(address).version
    except ValueError:
        return 0
