"""A node without containers: pods that are put on it run at once, and `exec` starts the agent on a directory here.

The API server is a real one: it hands a WebSocket of the protocol v4 through to the kubelet as it is.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qs, urlsplit

import trustme

from tests.grounds.api.control_plane import ControlPlane, place_of
from tests.grounds.api.kubelet import register
from tests.support.serving import served

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
RUNNING: dict[str, Any] = {
    "phase": "Running",
    "startTime": "2026-11-18T10:00:00Z",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [
        {"name": "files", "ready": True, "restartCount": 0, "image": "i", "imageID": "i",
         "state": {"running": {"startedAt": "2026-11-18T10:00:00Z"}}}
    ],
}  # fmt: skip
AGENT = (sys.executable, "-I", "-m", "launcher.files", "serve")
PULLING: dict[str, Any] = {
    "phase": "Pending",
    "containerStatuses": [
        {"name": "files", "ready": False, "restartCount": 0, "image": "i", "imageID": "i",
         "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}
    ],
}  # fmt: skip


@dataclass(slots=True)
class Node:
    """What runs there, and what it was asked to be."""

    plane: ControlPlane
    volume: Path
    name: str = ""
    become: dict[str, Any] = field(default_factory=lambda: RUNNING)
    specs: list[dict[str, Any]] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)
    agents: list[subprocess.Popen[bytes]] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)  # after how many bytes a connection is lost, one by one
    closing: bool = False
    silent: bool = False  # it takes calls, and says of no pod that it runs
    agent: tuple[str, ...] = AGENT  # what `exec` starts, with the volume as its last word

    def keep(self, namespace: str) -> None:
        """Run the pods of a namespace, and end those that are deleted."""
        while not self.closing:
            for pod in self.plane.items(namespace, "Pod"):
                self._look(namespace, pod)
            time.sleep(0.05)

    def _look(self, namespace: str, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        path = f"{place_of('Pod', namespace)}/{name}"
        if not pod["metadata"].get("deletionTimestamp") and not pod["spec"].get("nodeName"):
            self.specs.append(pod["spec"])
        with contextlib.suppress(AssertionError):  # it may be gone already
            if pod["metadata"].get("deletionTimestamp"):
                self.plane.ask("DELETE", path, {"gracePeriodSeconds": 0})
            elif not pod["spec"].get("nodeName"):
                binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
                target = {"apiVersion": "v1", "kind": "Node", "name": self.name}
                self.plane.ask("POST", f"{path}/binding", {**binding, "target": target})
                if not self.silent:
                    self.plane.become(namespace, name, self.become)


class Handler(BaseHTTPRequestHandler):
    """Answers the API server's exec."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        node = self.server.node
        if node.become is not RUNNING:
            self.send_error(404, "container not found")
            return
        node.asked.append(parse_qs(url.query)["command"])
        self.shake_hands()
        with subprocess.Popen(
            (*node.agent, str(node.volume)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as agent:
            node.agents.append(agent)
            out = threading.Thread(target=self.pass_out, args=(agent,))
            out.start()
            try:
                assert agent.stdin
                self.pass_in(agent.stdin, node.breaks.pop(0) if node.breaks else 1 << 60)
            finally:
                with contextlib.suppress(OSError):
                    agent.stdin and agent.stdin.close()
                out.join()

    def shake_hands(self) -> None:
        """Make the connection a WebSocket."""
        key = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + GUID).digest()  # noqa: S324  # RFC 6455's
        self.send_response(101)
        for name, value in (
            ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Protocol", "v4.channel.k8s.io"),
            ("Sec-WebSocket-Accept", base64.b64encode(key).decode()),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

    def pass_in(self, stdin: IO[bytes], most: int) -> None:
        """Hand on what comes for standard input."""
        try:
            while (message := self.message()) and most > 0:
                kind, payload = message
                if kind == 8:
                    return
                if kind == 9:
                    self.say(b"", kind=10)
                elif payload[:1] == b"\0":
                    most -= len(payload)
                    stdin.write(payload[1:])
                    stdin.flush()
        except OSError:
            return
        self.connection.close()

    def message(self) -> tuple[int, bytes] | None:
        head = self.rfile.read(2)
        if len(head) < 2:
            return None
        long = head[1] & 0x7F
        if long > 125:
            long = int.from_bytes(self.rfile.read(2 if long == 126 else 8))
        mask = self.rfile.read(4) * (long // 4 + 1)
        data = self.rfile.read(long)
        return head[0] & 15, (int.from_bytes(data) ^ int.from_bytes(mask[:long])).to_bytes(long)

    def pass_out(self, agent: subprocess.Popen[bytes]) -> None:
        """Hand on what comes from standard output, and at last how it ended."""
        assert agent.stdout
        try:
            while data := agent.stdout.read1(32 << 10):  # type: ignore[attr-defined]  # a buffered reader's
                self.say(b"\x01" + data)
            code = agent.wait()
            ended = {"status": "Success"} if code == 0 else {"status": "Failure", "message": f"exit code {code}"}
            self.say(b"\x03" + json.dumps(ended).encode())
            self.say(b"\x03\xe8", kind=8)
        except (OSError, ValueError):
            agent.kill()

    def say(self, payload: bytes, kind: int = 2) -> None:
        long = len(payload)
        more = (
            bytes([long])
            if long < 126
            else b"\x7e" + long.to_bytes(2)
            if long < 65536
            else b"\x7f" + long.to_bytes(8)
        )
        self.connection.sendall(bytes([0x80 | kind]) + more + payload)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """The socket."""

    daemon_threads = True

    def __init__(self, node: Node, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.node = node

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


@contextmanager
def node_of(plane: ControlPlane, namespace: str, volume: Path, *, agent: tuple[str, ...] = AGENT) -> Iterator[Node]:
    """Be the only node of a namespace's pods."""
    node = Node(plane=plane, volume=volume, name=f"node-{time.monotonic_ns()}", agent=agent)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued: trustme.LeafCert = plane.authority.ca.issue_cert("127.0.0.1")
    issued.configure_cert(context)
    server = Server(node, context)
    register(plane, node.name, server)
    with served(server):
        keeping = threading.Thread(target=node.keep, args=(namespace,))
        keeping.start()
        try:
            yield node
        finally:
            node.closing = True
            keeping.join()
            for each in node.agents:
                each.kill()
