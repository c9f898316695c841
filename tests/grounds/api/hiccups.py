"""An API server behind something that fails now and then: a script of faults, and else what the real one answers."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.grounds.api.control_plane import ControlPlane
from tests.support.serving import served


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """So many lines of the real answer; then an end that looks whole, after these bytes, or a lost connection."""

    lines: int = 0
    last: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A refusal that asks to come again after so many seconds."""

    status: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The real answer, once this is set."""

    until: threading.Event = field(default_factory=threading.Event)


Fault = int | Cut | Busy | Held | None  # a status, or None where the real answer comes


@dataclass(slots=True, kw_only=True)
class Hiccups:
    """What comes instead of the next answers; a question is such as `list jobs`, `watch pods`, `log NAME`."""

    server: str
    authority: str
    endpoint: str = ""
    script: dict[str, list[Fault]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, question: str) -> Fault:
        """Return what is scripted now."""
        with self.lock:
            left = self.script.get(question, [])
            fault = left.pop(0) if left else None
            if not left:
                self.script.pop(question, None)
            return fault


class Handler(BaseHTTPRequestHandler):
    """Passes a question on."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server
    body: bytes  # that was sent

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        url = urlsplit(self.path)
        *_, before, last = url.path.split("/")
        verb = "watch" if "watch=true" in url.query else "list" if last in ("jobs", "pods") else "get"
        verb = verb if self.command == "GET" else self.command.lower()
        fault = self.server.hiccups.next(f"log {before}" if last == "log" else f"{verb} {last}")
        if isinstance(fault, int):
            self.refuse(fault)
        elif isinstance(fault, Busy):
            self.refuse(fault.status, after=fault.after)
        elif isinstance(fault, Held):
            fault.until.wait(30)
            self.pass_on(None)
        else:
            self.pass_on(fault)

    do_POST = do_PATCH = do_GET  # noqa: N815  # as the base class calls them

    def refuse(self, status: int, after: int | None = None) -> None:
        body = json.dumps({"kind": "Status", "code": status, "message": "dial tcp 10.0.0.7:10250: i/o timeout"})
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if after is not None:
            self.send_header("Retry-After", str(after))
        self.end_headers()
        self.wfile.write(body.encode())

    def pass_on(self, cut: Cut | None) -> None:
        hiccups = self.server.hiccups
        real = http.client.HTTPSConnection(
            urlsplit(hiccups.server).netloc, context=ssl.create_default_context(cafile=hiccups.authority)
        )
        try:
            said = {name: self.headers[name] for name in ("Authorization", "Content-Type") if self.headers[name]}
            real.request(self.command, self.path, self.body or None, said)
            answer = real.getresponse()
            self.send_response(answer.status)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            passed = 0
            while (cut is None or passed < cut.lines) and (line := answer.readline()):
                self.chunk(line)
                passed += 1
        finally:
            real.close()
        if cut and not cut.last:
            self.close_connection = True
            return
        if cut:
            self.chunk(cut.last)
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """The socket."""

    daemon_threads = True

    def __init__(self, hiccups: Hiccups) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.hiccups = hiccups

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


@contextmanager
def between(plane: ControlPlane) -> Iterator[Hiccups]:
    """Stand before an API server."""
    hiccups = Hiccups(server=plane.server, authority=str(plane.ca))
    with served(Server(hiccups)) as host:
        hiccups.endpoint = f"http://{host}"
        yield hiccups
