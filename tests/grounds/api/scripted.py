"""A Kubernetes API server, as far as pods need one: real sockets, TLS under a CA of its own, and a script.

It holds pods and serves them, listed and watched. What is scripted for the next list, watch or get comes
instead, once each or for ever: a status, silence, a closed connection, given bytes.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme

from tests.support.serving import served


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Answer with a status that is no success."""

    code: int
    message: str = "scripted"
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Take the request and never answer it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Answer the head and no byte more, and keep the connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """Answer 200 with these bytes and end: whole lines, half a line, or nothing at all."""

    body: bytes = b""
    torn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """Answer as if nothing were scripted, but late."""

    seconds: float


Answer = Status | Silence | Hang | Raw | Slow


def event(kind: str, body: Mapping[str, Any]) -> bytes:
    """Return one line of a watch."""
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def expired() -> bytes:
    """Return the line that says that the version to go on from is forgotten."""
    return event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked, when, and by which token."""

    at: float
    kind: str
    path: str
    query: Mapping[str, str]
    token: str
    agent: str


@dataclass(slots=True)
class ApiServer:
    """The pods, their history, the script, and every request that came."""

    token: str = "token-of-the-test"  # noqa: S105  # opens nothing
    version: int = 100
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    script: dict[str, list[Answer]] = field(default_factory=dict)
    memory: tuple[int, dict[str, dict[str, Any]]] | None = None  # where it is behind what was written
    always: dict[str, Answer] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    closing: bool = False
    port: int = 0

    def put(self, *pods: dict[str, Any]) -> None:
        """Add pods, or change them."""
        for pod in pods:
            name = pod["metadata"]["name"]
            self._happen("MODIFIED" if name in self.pods else "ADDED", name, pod)

    def remove(self, name: str) -> None:
        """Delete a pod."""
        self._happen("DELETED", name, self.pods[name])

    def say(self, kind: str, *answers: Answer) -> None:
        """Script the next answers to a list, a watch or a get."""
        self.script.setdefault(kind, []).extend(answers)

    def asked(self, kind: str) -> list[Request]:
        """Return the requests of one kind so far."""
        return [request for request in self.requests if request.kind == kind]

    def lag(self) -> None:
        """Answer from memory, from now on, with what there is now; a watch tells what came since."""
        self.memory = (self.version, dict(self.pods))

    def forget(self) -> None:
        """Forget the history, as etcd's compaction does: whoever goes on from an old version gets 410."""
        with self.changed:
            self.version += 10
            self.history.clear()

    def environ(self, directory: Path, ca: trustme.CA) -> dict[str, str]:
        """Write a service account into a directory, and return the variables of a pod in this cluster."""
        (directory / "token").write_text(self.token + "\n")
        (directory / "namespace").write_text("default")
        ca.cert_pem.write_to_path(directory / "ca.crt")
        return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port)}

    def close(self) -> None:
        """End every watch."""
        with self.changed:
            self.closing = True
            self.changed.notify_all()

    def _happen(self, kind: str, name: str, pod: dict[str, Any]) -> None:
        with self.changed:
            self.version += 1
            pod = {**pod, "metadata": {**pod["metadata"], "resourceVersion": str(self.version)}}
            self.pods[name] = pod
            if kind == "DELETED":
                del self.pods[name]
            self.history.append((self.version, kind, pod))
            self.changed.notify_all()

    def next(self, kind: str) -> Answer | None:
        """Return what is scripted now."""
        with self.changed:
            waiting = self.script.get(kind)
            return waiting.pop(0) if waiting else self.always.get(kind)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    # As the real server does: else each answer is 40 ms late, between Nagle's algorithm and the delayed ACK.
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        api, url = self.server.api, urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        kind = "watch" if query.get("watch") else "list" if url.path.endswith("/pods") else "get"
        token = self.headers.get("Authorization", "").removeprefix("bearer ")
        agent = self.headers.get("User-Agent", "")
        api.requests.append(
            Request(at=time.monotonic(), kind=kind, path=url.path, query=query, token=token, agent=agent)
        )
        scripted = api.next(kind)
        if isinstance(scripted, Slow):
            self.hold(scripted.seconds)
            scripted = None
        if token != api.token:
            self.refuse(Status(code=401, message="Unauthorized"))
        elif scripted:
            self.play(scripted)
        elif kind == "watch":
            self.watch(query)
        else:
            self.read(kind, url.path.rpartition("/")[2], query)

    def play(self, scripted: Answer) -> None:
        match scripted:
            case Status():
                self.refuse(scripted)
            case Raw(body=body, torn=torn):
                self.begin()
                self.chunk(body)
                if torn:
                    self.close_connection = True
                else:
                    self.end()
            case Hang():
                self.begin()
                self.hold()
            case Silence():
                self.hold()

    def hold(self, seconds: float | None = None) -> None:
        """Keep the connection without a word, until the server ends at the latest."""
        api = self.server.api
        with api.changed:
            self.close_connection = api.changed.wait_for(lambda: api.closing, timeout=seconds)

    def read(self, kind: str, name: str, query: Mapping[str, str]) -> None:
        api = self.server.api
        with api.changed:
            from_memory = query.get("resourceVersion") == "0" and api.memory
            version, pods = from_memory or (api.version, api.pods)
            items = [pod for pod in pods.values() if matches(pod, query)]
            found = api.pods.get(name)
        if kind == "list":
            self.send(200, {"kind": "PodList", "metadata": {"resourceVersion": str(version)}, "items": items})
        elif found:
            self.send(200, found)
        else:
            self.refuse(Status(code=404, message=f'pods "{name}" not found'))

    def watch(self, query: Mapping[str, str]) -> None:
        api, version = self.server.api, int(query["resourceVersion"])
        until = time.monotonic() + float(query["timeoutSeconds"])
        self.begin()
        with api.changed:
            forgotten = version < api.version and not any(at == version + 1 for at, _, _ in api.history)
        if forgotten:
            self.chunk(expired())
            return self.end()
        while True:
            with api.changed:
                while not api.closing and api.version == version and time.monotonic() < until:
                    api.changed.wait(timeout=max(0.0, until - time.monotonic()))
                news = [(at, kind, pod) for at, kind, pod in api.history if at > version]
                version = max(version, api.version)
            for _, kind, pod in news:
                if matches(pod, query):
                    self.chunk(event(kind, pod))
            if api.closing or time.monotonic() >= until:
                self.chunk(event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version)}}))
                return self.end()

    def refuse(self, status: Status) -> None:
        body = {"kind": "Status", "status": "Failure", "message": status.message, "code": status.code}
        self.send(status.code, body, {"Retry-After": status.after} if status.after else {})

    def send(self, code: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        text = json.dumps(body).encode()
        self.send_response(code)
        for name, value in {"Content-Length": str(len(text)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Say nothing: the requests are kept."""


class Server(ThreadingHTTPServer):
    """The sockets; each connection shakes hands on its own thread."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, api: ApiServer, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.api = api

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


def serving(api: ApiServer, ca: trustme.CA) -> Iterator[ApiServer]:
    """Serve until resumed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    server = Server(api, context)
    api.port = server.server_address[1]
    with served(server):
        try:
            yield api
        finally:
            api.close()


def matches(pod: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    """Return whether a label selector of one equality takes the pod."""
    name, _, value = query.get("labelSelector", "").partition("=")
    return not name or pod["metadata"]["labels"].get(name) == value
