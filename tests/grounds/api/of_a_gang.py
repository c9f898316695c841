"""A Kubernetes API server around real launchers of this machine: their Job, their pods, and the way to their ports.

A real one proxies to no loopback address, where the launchers of tests are.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import trustme

from launcher.contract import INDEX_ANNOTATION, JOB_LABEL, SPEC_ANNOTATION, TRAINERS_LABEL
from tests.grounds.api import nodes
from tests.support.desks import User
from tests.support.serving import served

Json = dict[str, Any]

NAME, NAMESPACE = "job", "team"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A pod: where its launcher is, what its log has, and how it stands."""

    rank: int
    name: str
    address: str
    log: Callable[[], bytes] = lambda: b""
    node: str = "node-a"
    created: str = "2026-11-18T10:00:00Z"
    phase: str = "Running"


@dataclass(slots=True)
class GangApi:
    """What there is; `away` is a status that comes instead of every answer, `hidden` keeps the ports of pods away."""

    pods: list[Place] = field(default_factory=list)
    ended: str = ""  # Complete, Failed
    gone: bool = False
    away: int = 0
    hidden: bool = False
    pythons: tuple[str, ...] = ()  # what `exec` may start

    def begin_anew(self) -> None:
        """Be as at first, whatever a test before did: all is there, and every pod runs."""
        self.away, self.gone, self.hidden, self.ended, self.pythons = 0, False, False, "", ()
        self.pods = [replace(each, phase="Running") for each in self.pods]

    run: list[list[str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def job(self) -> Json:
        """Return its Job."""
        conditions = [{"type": self.ended, "status": "True"}] if self.ended else []
        running = len(self.pods)
        return {
            "metadata": {
                "name": NAME, "namespace": NAMESPACE, "labels": {JOB_LABEL: NAME},
                "annotations": {SPEC_ANNOTATION: json.dumps({"entry": "python train.py", "together": True})},
            },
            "spec": {"parallelism": running},
            "status": {"active": running, "ready": running, "conditions": conditions},
        }  # fmt: skip

    def pod(self, place: Place) -> Json:
        """Return a pod."""
        labels = {JOB_LABEL: NAME, TRAINERS_LABEL: NAME}
        metadata = {"name": place.name, "labels": labels, "annotations": {INDEX_ANNOTATION: str(place.rank)}}
        state = {"running": {"startedAt": place.created}} if place.phase == "Running" else {}
        running = {"state": state, "name": "trainer"}
        return {
            "metadata": {**metadata, "creationTimestamp": place.created},
            "spec": {"nodeName": place.node, "containers": [{"name": "trainer"}]},
            "status": {"phase": place.phase, "podIP": place.address, "containerStatuses": [running]},
        }


class Handler(nodes.Handler):
    """Answers one connection."""

    disable_nagle_algorithm = True
    server: Server  # type: ignore[assignment]  # its own

    def do_GET(self) -> None:  # noqa: N802  # as it is called
        api, url = self.server.api, urlsplit(self.path)
        with api.lock:
            api.asked.append(self.path)
        words = unquote(url.path).strip("/").split("/")
        if api.away:
            self.refuse(api.away, "scripted")
        elif words[-1] == "jobs":
            self.send(200, {"items": [] if api.gone else [api.job()]})
        elif words[-1] == "pods":
            self.send(200, {"items": [api.pod(each) for each in api.pods]})
        elif words[-1] == "events":
            self.send(200, {"items": []})
        elif words[-1] == "log":
            self.log(words[-2], {key: values[0] for key, values in parse_qs(url.query).items()})
        elif words[-1] == "exec":
            self.run(parse_qs(url.query)["command"])
        elif "proxy" in words:
            at = words.index("proxy")
            self.proxy(words[at - 1], "/".join(words[at + 1 :]))
        else:
            self.refuse(404, f"no {url.path}")

    def place(self, name: str) -> Place | None:
        return next((each for each in self.server.api.pods if each.name == name), None)

    def log(self, name: str, query: dict[str, str]) -> None:
        place = self.place(name)
        if place is None:
            return self.refuse(404, f'pods "{name}" not found')
        lines = place.log().splitlines(keepends=True)[-int(query["tailLines"]) :]
        return self.write(200, b"".join(lines)[: int(query["limitBytes"])], "text/plain")

    def proxy(self, whom: str, path: str) -> None:
        """Pass on what a launcher says; as the real one does, a launcher's refusal is a Status with its text."""
        name, _, port = whom.partition(":")
        place = self.place(name)
        if place is None or self.server.api.hidden:
            return self.refuse(503, "error trying to reach service: dial tcp: i/o timeout")
        wire = HTTPConnection(place.address, int(port), timeout=5)
        try:
            wire.request("GET", f"/{path}")
            answer = wire.getresponse()
            body, kind = answer.read(), answer.getheader("Content-Type", "")
        except (OSError, HTTPException) as error:
            return self.refuse(503, f"error trying to reach service: {error}")
        finally:
            wire.close()
        return self.write(answer.status, body, kind)

    def run(self, command: list[str]) -> None:
        """Run what a pod is asked to run, by this Python in the place of the launcher's own."""
        if command[0] not in self.server.api.pythons:
            return self.refuse(403, "no exec")
        with self.server.api.lock:
            self.server.api.run.append(command)
        self.shake_hands()
        with subprocess.Popen(
            (sys.executable, *command[1:]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            out = threading.Thread(target=self.pass_out, args=(process,))
            out.start()
            try:
                assert process.stdin
                self.pass_in(process.stdin, 1 << 60)
            finally:
                with suppress(OSError):
                    process.stdin and process.stdin.close()
                out.join()

    def refuse(self, code: int, message: str) -> None:
        self.send(code, {"kind": "Status", "status": "Failure", "message": message, "code": code})

    def send(self, code: int, body: Json) -> None:
        self.write(code, json.dumps(body).encode(), "application/json")

    def write(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: what was asked is kept."""


class Server(ThreadingHTTPServer):
    """The sockets."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, api: GangApi, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.api = api

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


@contextmanager
def api_of(home: Path, *pods: Place) -> Iterator[tuple[GangApi, User]]:
    """Serve one, and give it away with a user who has a configuration for it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    home.mkdir(parents=True, exist_ok=True)
    authority.cert_pem.write_to_path(home / "ca.crt")
    api = GangApi(pods=list(pods))
    server = Server(api, context)
    user = User(home=home, namespace=NAMESPACE)
    user.configure(**{
        "username": "me", "password": "token", "endpoint": f"https://127.0.0.1:{server.server_address[1]}",
        "certificate-authority": str(home / "ca.crt"), "namespace": NAMESPACE,
    })  # fmt: skip
    with served(server):
        yield api, user
