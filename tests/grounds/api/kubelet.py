"""The part of a kubelet that shows logs, so that they come through a real API server where no node is."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import trustme

from tests.grounds.api.control_plane import ControlPlane
from tests.support.serving import served


@dataclass(slots=True)
class Kubelet:
    """What the pods of a node have written, and which of them have ended."""

    name: str = "node-1"
    written: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    breaks: dict[str, int] = field(default_factory=dict)  # after how many lines a connection is lost, once
    changed: threading.Condition = field(default_factory=threading.Condition)
    closing: bool = False

    def write(self, pod: str, *lines: str) -> None:
        """Let a pod write lines at once: CRI-O's conmon stamps all that it reads at once alike."""
        with self.changed:
            log = self.written.setdefault(pod, [])
            second = len(log)
            log.extend((f"2026-11-18T10:00:{second:02d}.000000000Z", line) for line in lines)
            self.changed.notify_all()

    def end(self, pod: str) -> None:
        """Let a pod end."""
        with self.changed:
            self.ended.add(pod)
            self.changed.notify_all()


class Handler(BaseHTTPRequestHandler):
    """Answers one request of the API server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        pod = url.path.split("/")[3]
        kubelet = self.server.kubelet
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with kubelet.changed:
            log = list(kubelet.written.get(pod, ()))
        at = len(log)  # what is written from now on is followed
        log = log[-int(query["tailLines"]) :] if "tailLines" in query else log
        since = query.get("sinceTime", "")[:19]
        sent = 0
        for stamp, line in log:
            if stamp[:19] >= since:
                self.line(query, stamp, line)
                sent += 1
                if kubelet.breaks.get(pod) == sent:
                    del kubelet.breaks[pod]
                    self.close_connection = True
                    return
        if query.get("follow") == "true":
            self.follow(pod, query, at)
        self.wfile.write(b"0\r\n\r\n")

    def follow(self, pod: str, query: dict[str, str], at: int) -> None:
        kubelet = self.server.kubelet
        while True:
            with kubelet.changed:
                while not (kubelet.closing or pod in kubelet.ended or len(kubelet.written.get(pod, ())) > at):
                    kubelet.changed.wait()
                news = kubelet.written.get(pod, [])[at:]
                over = kubelet.closing or (pod in kubelet.ended and not news)
            at += len(news)
            for stamp, line in news:
                self.line(query, stamp, line)
            if over:
                return

    def line(self, query: dict[str, str], stamp: str, line: str) -> None:
        text = f"{stamp} {line}\n" if query.get("timestamps") == "true" else f"{line}\n"
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """The socket."""

    daemon_threads = True

    def __init__(self, kubelet: Kubelet, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.kubelet = kubelet

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


@contextmanager
def serving(plane: ControlPlane) -> Iterator[Kubelet]:
    """Be the kubelet of a node that the API server knows."""
    kubelet = Kubelet(name=f"node-{time.monotonic_ns()}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued: trustme.LeafCert = plane.authority.ca.issue_cert("127.0.0.1")
    issued.configure_cert(context)
    server = Server(kubelet, context)
    with served(server):
        register(plane, kubelet.name, server)
        try:
            yield kubelet
        finally:
            with kubelet.changed:
                kubelet.closing = True
                kubelet.changed.notify_all()


def register(plane: ControlPlane, name: str, kubelet: HTTPServer) -> None:
    """Make a node, and tell the API server where its kubelet answers."""
    plane.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.server_port}},
    }
    plane.change(f"/api/v1/nodes/{name}/status", {"status": status})


def bind(plane: ControlPlane, namespace: str, pod: str, kubelet: Kubelet) -> None:
    """Put a pod on the kubelet's node, as the scheduler would."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"apiVersion": "v1", "kind": "Node", "name": kubelet.name},
    }
    plane.ask("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", binding)
