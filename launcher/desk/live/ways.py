"""The ways to the ports of a gang's pods: through the API server, or from inside, where the network keeps that out.

A NetworkPolicy that lets in only the job's own pods lets in no API server, on most networks. Then a few lines of
Python run in one of these pods (`exec`), for as long as this command, and ask for it: they can do no more than ask.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

from launcher.contract import STATUS_PORT, own_python
from launcher.desk.errors import ApiProblem, Problem, Refused, Unreachable
from launcher.text import one_line
from launcher.transfer.problem import Broken

if TYPE_CHECKING:
    from launcher.desk.files.exec_socket import Wire
    from launcher.desk.jobs.api_calls import Api
    from launcher.desk.jobs.job_state import KubePod

LARGEST_ANSWER = 8 << 20  # bytes
_ASKS = f"""\
import http.client, sys
for line in sys.stdin:
    address, path = line.split()
    try:
        wire = http.client.HTTPConnection(address, {STATUS_PORT}, timeout=5)
        wire.request("GET", path)
        answer = wire.getresponse()
        code, body = answer.status, answer.read({LARGEST_ANSWER})
        wire.close()
    except (OSError, http.client.HTTPException) as error:
        code, body = 0, str(error).encode()
    sys.stdout.buffer.write(b"%d %d\\n" % (code, len(body)) + body)
    sys.stdout.buffer.flush()
"""
_KEPT_OUT = (403, 500, 502, 504)  # of the API server, where it may not or cannot ask
_HEAD = 100  # bytes
_PAUSE = 10.0  # seconds until it is tried again to run something in a pod


class PodPages:
    """What the launchers of one job serve; which way leads to them is found out once."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._inside: _Inside | None = None
        self._begins = 0.0  # when it may be tried to run something inside; never, where nobody may

    def page(self, pod: KubePod, path: str, *, seconds: float, limit: int = 1 << 20) -> bytes:
        """Return a page of a pod's launcher; what it refuses is raised as the API server tells it."""
        if self._inside:
            return self._from_inside(pod, path)
        try:
            return self._api.proxied(pod.name, STATUS_PORT, path, seconds=seconds, limit=limit)
        except ApiProblem as problem:
            if not _kept_out(problem):
                raise
            try:
                return self._from_inside(pod, path)
            except _NoWay:
                raise problem from None

    def _from_inside(self, pod: KubePod, path: str) -> bytes:
        with self._lock:
            for _ in range(2):  # the pod in which it ran may be gone
                inside, self._inside = self._inside or self._begun(pod), None
                try:
                    code, body = inside.ask(pod.address, f"/{path}")
                except Broken:
                    continue
                self._inside = inside
                return _answer(code, body)
        raise _NoWay(f"{pod.name} does not answer from inside")

    def _begun(self, pod: KubePod) -> _Inside:
        from launcher.desk.files.exec_socket import dialed  # only here: `--help` pays for no WebSocket

        if time.monotonic() < self._begins:
            raise _NoWay("nothing can be run in the job's pods")
        self._begins = time.monotonic() + _PAUSE
        for python in (own_python(), own_python(brought=True)):
            try:
                inside = _Inside(dialed(self._api, pod.name, pod.container, (python, "-I", "-S", "-u", "-c", _ASKS)))
                inside.ask(pod.address, "/healthz")
            except (Problem, Broken) as error:
                if isinstance(error, Refused) and error.status == 403:
                    self._begins = math.inf
                continue
            self._begins = 0.0
            return inside
        raise _NoWay("nothing can be run in the job's pods")


class _NoWay(Problem):
    """Neither way leads to a pod."""


class _Inside:
    """The lines that ask, in a pod."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._come = b""

    def ask(self, address: str, path: str) -> tuple[int, bytes]:
        """Return the code and the body of an answer; the code is 0 where there is none."""
        self._wire.send(f"{address} {path}\n".encode())
        while b"\n" not in self._come:
            self._receive(_HEAD)
        head, _, self._come = self._come.partition(b"\n")
        try:
            code, size = map(int, head.split())
        except ValueError:
            raise Broken("it answers with something else") from None
        if not 0 <= size <= LARGEST_ANSWER:
            raise Broken("its answer is too large")
        while len(self._come) < size:
            self._receive(size)
        body, self._come = self._come[:size], self._come[size:]
        return code, body

    def _receive(self, most: int) -> None:
        block = self._wire.receive()
        if not block or len(self._come) > most + (1 << 20):
            raise Broken(self._wire.words.decode(errors="replace") or "it has ended")
        self._come += block


def _answer(code: int, body: bytes) -> bytes:
    if code == 200:
        return body
    said = one_line(body[:1000].decode(errors="replace"), 300)
    if not code:
        raise Problem(f"a launcher does not answer: {said}")
    raise Refused(said, status=code, message=said)


def _kept_out(problem: ApiProblem) -> bool:
    """Return whether it is not the launcher that refuses, but the way that is closed."""
    if not isinstance(problem, Refused):
        return isinstance(problem, Unreachable)
    unheard = "trying to reach" in problem.message and "connection refused" not in problem.message  # nobody listens
    return problem.status in _KEPT_OUT or (problem.status == 503 and unheard)
