"""Standard input and output of a process in a pod, through one WebSocket: bytes both ways, on one thread.

The API server is asked with the credentials of the other requests. websocket-client shakes hands; it masks and copies
each frame, and so it sends 261 MB/s where this sends 1,608.
"""

from __future__ import annotations

import json
import selectors
import ssl
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import websocket

from launcher.desk.errors import Unreachable
from launcher.desk.files.frames import (
    BINARY,
    CLOSE,
    CLOSING,
    PING,
    PONG,
    PROTOCOL,
    STDERR,
    STDIN,
    STDOUT,
    Messages,
    frame,
)
from launcher.desk.jobs.api_calls import as_problems
from launcher.kube import kinds, refusals
from launcher.transfer.problem import Broken

if TYPE_CHECKING:
    import socket

    from launcher.desk.jobs.api_calls import Api

_CONNECT = 10.0  # seconds
_QUIET, _SILENCE = 15.0, 300.0  # seconds without a byte: one is asked for, it is given up; a volume may be slow
_HELD = 1 << 20  # bytes that wait to be sent
_COME = 16 << 20  # bytes received ahead of the reader
_READ = 256 << 10
_WORDS = 4096  # of standard error, the last ones
_WRITES, _READS = selectors.EVENT_WRITE, selectors.EVENT_READ


class Wire:
    """Standard input and output of a process that is somewhere else."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._ready = selectors.DefaultSelector()
        self._ready.register(sock, _READS)
        self._messages = Messages()
        self._out: deque[memoryview] = deque()
        self._waiting = 0
        self._come = bytearray()
        self._heard = time.monotonic()
        self._over = False
        self.words = b""  # what the process wrote on standard error, and why it ended

    def send(self, data: bytes) -> None:
        """Send, and receive meanwhile; only so much waits to be sent."""
        self._say(BINARY, bytes((STDIN,)), data)
        while self._waiting > _HELD:
            self._step()
        self._step(wait=False)

    def arrived(self) -> bytes:
        """Return what has come."""
        come, self._come = bytes(self._come), bytearray()
        return come

    def receive(self) -> bytes:
        """Wait for something to come; nothing means that the process has ended."""
        while not self._come and not self._over:
            self._step()
        return self.arrived()

    def flush(self) -> None:
        """Send all that waits."""
        while self._out and not self._over:
            self._step()

    def _say(self, kind: int, *parts: bytes) -> None:
        said = frame(kind, *parts)
        self._out.append(memoryview(said))
        self._waiting += len(said)

    def _step(self, *, wait: bool = True) -> None:
        """Send and receive as much as possible now; with `wait`, at least something."""
        if self._over:
            raise Broken(self.words.decode(errors="replace") or "the connection to the pod has ended")
        moved = self._push()
        moved = self._take() or moved
        if moved or not wait:
            return
        wanted = (_READS if len(self._come) < _COME else 0) | (_WRITES if self._out else 0)
        self._ready.modify(self._socket, wanted or _READS)
        if not self._ready.select(_QUIET):
            if time.monotonic() - self._heard > _SILENCE:
                raise Broken(f"the pod has sent nothing for {_SILENCE:.0f} s")
            self._say(PING)

    def _push(self) -> bool:
        moved = False
        while self._out:
            try:
                sent = self._socket.send(self._out[0])
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                break
            except OSError as error:
                raise _broken(error) from None
            moved = True
            self._waiting -= sent
            self._out[0] = self._out[0][sent:]
            if not self._out[0]:
                self._out.popleft()
        return moved

    def _take(self) -> bool:
        moved = False
        while len(self._come) < _COME:
            try:
                data = self._socket.recv(_READ)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                break
            except OSError as error:
                raise _broken(error) from None
            moved = True
            self._heard = time.monotonic()
            if not data:
                self._over = True
                break
            for kind, channel, payload in self._messages.feed(data):
                self._hear(kind, channel, payload)
        return moved

    def _hear(self, kind: int, channel: int, payload: bytes) -> None:
        if kind == PING:
            self._say(PONG, payload)
        elif kind == CLOSE:
            self._over = True
        elif channel == STDOUT:
            self._come += payload
        elif channel == STDERR:
            self.words = (self.words + payload)[-_WORDS:]
        elif channel == CLOSING:
            self._over = True
            self.words = (self.words + _ending(payload)).strip()

    def close(self) -> None:
        """Hang up; the process in the pod hears the end of its input."""
        self._ready.close()
        self._socket.close()


def dialed(api: Api, pod: str, container: str, command: Sequence[str]) -> Wire:
    """Start a process in a pod, and return its standard input and output, which the caller closes."""
    asked = [("container", container), *(("command", word) for word in command)]
    asked += [(name, "true") for name in ("stdin", "stdout", "stderr")]
    path = f"{kinds.path('Pod', api.namespace, pod)}/exec?{urlencode(asked)}"
    api.transport.tell(f"GET {api.host}{path}")
    return Wire(_connected(api, path))


def _connected(api: Api, path: str) -> socket.socket:
    """Shake hands, and return the connection."""
    transport = api.transport
    server = transport.server
    proxy = urlsplit(server.proxy) if server.proxy else None
    with as_problems():
        header = server.bearer()
    try:
        made = websocket.create_connection(
            f"ws{api.host.removeprefix('http')}{path}",
            timeout=_CONNECT,
            header=header,
            subprotocols=[PROTOCOL],
            suppress_origin=True,
            redirect_limit=0,
            sslopt={"context": server.tls(), "server_hostname": server.server_name},
            http_proxy_host=proxy and proxy.hostname,
            http_proxy_port=proxy and proxy.port,
            http_no_proxy=None if proxy else ["*"],
        )
    except websocket.WebSocketBadStatusException as refused:
        with as_problems():
            body = refused.resp_body or b""
            raise refusals.refusal(refused.status_code, body, host=api.host, who=transport.who) from None
    except (websocket.WebSocketException, OSError) as error:
        why = getattr(error, "strerror", None) or " ".join(str(error).split())[:300]
        raise Unreachable(f"{api.host} cannot connect to the pod: {why}") from None
    if made.sock is None:
        raise Unreachable(f"{api.host} cannot connect to the pod")
    return made.sock


def _broken(error: OSError) -> Broken:
    why = "" if isinstance(error, ssl.SSLError) or not error.strerror else f": {error.strerror.lower()}"
    return Broken(f"the connection to the pod is lost{why}")


def _ending(payload: bytes) -> bytes:
    """Return why a process ended, in words; nothing where it ended well."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return b""
    if not isinstance(found, dict) or found.get("status") == "Success":
        return b""
    return " ".join(str(found.get("message") or "it failed").split())[:_WORDS].encode()
