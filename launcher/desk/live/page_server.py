"""Serves the pages of a gang's leader on this machine, wherever it is: nothing can be changed by them.

Only this machine is served, and only where the browser was told its address: a page of elsewhere that has a name
lead here (DNS rebinding) is refused by the name that it asks for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from launcher.desk.errors import Problem, Refused
from launcher.desk.jobs import lookup
from launcher.desk.live.asking import firsts
from launcher.desk.live.ways import LARGEST_ANSWER, PodPages
from launcher.report.markup import tag
from launcher.report.page import HTML, SAFE, document
from launcher.text import one_line

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api
    from launcher.desk.jobs.job_state import KubePod

_HOST = "127.0.0.1"
_PAGES = {
    "/": HTML,
    "/gang": "application/json",
    "/metrics": "text/plain; version=0.0.4; charset=utf-8",
    "/readyz": "text/plain; charset=utf-8",
}
_PLAIN = _PAGES["/readyz"]
_SILENCE = 10.0  # seconds: the first page of a large gang takes its leader a moment
_AGAIN = 5  # seconds until a browser asks again where there is no leader
_KNOWN = 5.0  # seconds for which the leader's pod is not looked for again
_WAITING = 10.0  # seconds for the question of a connection


class _NoPage(Exception):
    """Why there is nothing to show, with the status of the answer."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


class LeaderPages:
    """What the leader serves, wherever it is: a pod that took its place is found by itself."""

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self._name = name
        self._pages = PodPages(api)
        self._lock = threading.Lock()
        self._found: tuple[float, tuple[KubePod, ...]] = (0.0, ())

    def page(self, path: str) -> bytes:
        """Return one of its pages."""
        why = f"job {self._name} has no pod that leads it yet"
        for pod in self._pods():
            try:
                found = self._pages.page(pod, path[1:], seconds=_SILENCE, limit=LARGEST_ANSWER)
                self._keep(pod)
                return found
            except Refused as refused:
                why = refused.message or str(refused)
                if path == "/readyz" and refused.status == 503:
                    raise _NoPage(503, why) from None
            except Problem as problem:
                why = str(problem)
            self._keep()
        raise _NoPage(502, why)

    def _pods(self) -> tuple[KubePod, ...]:
        """Return the pod that has answered of late, or all that may lead."""
        with self._lock:
            since, pods = self._found
        if pods and time.monotonic() < since + _KNOWN:
            return pods
        try:
            return tuple(firsts(lookup.gang_pods(self._api, self._name)))
        except Problem as problem:
            raise _NoPage(502, str(problem)) from None

    def _keep(self, *pods: KubePod) -> None:
        with self._lock:
            if pods != self._found[1]:
                self._found = (time.monotonic(), pods)


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: PageServer
    server_version = "paddlectl"
    sys_version = ""
    timeout = _WAITING

    def do_GET(self) -> None:
        """Answer a question for one of the pages."""
        path = self.path.partition("?")[0]
        if self.headers.get("Host") not in self.server.names:
            self._answer(403, _PLAIN, f"expected {self.server.address}\n".encode())
        elif path not in _PAGES:
            self._answer(404, _PLAIN, f"expected one of {' '.join(_PAGES)}\n".encode())
        else:
            self._show(path)

    def _show(self, path: str) -> None:
        try:
            self._answer(200, _PAGES[path], self.server.pages.page(path))
        except _NoPage as error:
            why = one_line(error, 1000)
            if path == "/":
                body = document("no page yet", tag("h1", "No page yet"), tag("p", why), renewed=_AGAIN)
                self._answer(error.code, HTML, body.encode(errors="replace"))
            else:
                self._answer(error.code, _PLAIN, f"{why}\n".encode(errors="replace"))

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        told: Mapping[str, str] = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
        }
        for name, value in (*told.items(), *SAFE):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each question."""


class PageServer(ThreadingHTTPServer):
    """The socket on this machine; port 0 is any that is free."""

    daemon_threads = True

    def __init__(self, pages: LeaderPages, port: int) -> None:
        super().__init__((_HOST, port), _Handler)
        self.pages = pages
        self.names = {f"{host}:{self.server_port}" for host in (_HOST, "localhost")}

    @property
    def address(self) -> str:
        """What to type in a browser."""
        return f"http://{_HOST}:{self.server_port}/"

    def handle_error(self, *_: object) -> None:
        """Say nothing of browsers that hang up."""
