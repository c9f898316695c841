"""One way to ask a Kubernetes API server, for pods and for the desk: raw JSON, TLS as the credentials say.

Nothing of the `kubernetes` package serves here but its credentials and its way through proxies: its object models
cost 188 MB for 1,000 pods, and its Watch knows no back-off and no time-out.
"""

from __future__ import annotations

import io
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlencode

import urllib3

from launcher.kube import objects, refusals
from launcher.kube.refusals import ApiUnreachable, Fault, KubeError
from launcher.kube.server import ApiServer

ANSWER_LIMIT = 512 << 20  # 60,000 pods
STATUS_LIMIT = 64 << 10
_NOTHING: Mapping[str, str] = {}
_FAULTS: tuple[tuple[type[BaseException], Fault], ...] = (
    (socket.gaierror, "unknown"),
    (ConnectionRefusedError, "refused"),
    (urllib3.exceptions.ReadTimeoutError, "silent"),
)


class _Spent(urllib3.HTTPResponse):
    """An answer that is done with.

    Python asks a file that it drops whether it is `closed`, and throws away what is raised meanwhile: of urllib3's
    own method that was Ctrl-C, if it came in that moment.
    """

    closed = io.IOBase.closed  # which runs no Python


class Transport:
    """One API server, its credentials, and two limits in seconds: to connect, and of silence on a connection."""

    def __init__(
        self, server: ApiServer, *, agent: str, connect: float, silence: float, who: str = "",
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        """Nothing is sent yet; `tell` is told of every request."""
        self.server = server
        self.agent = agent
        self.who = who
        self.connect = connect
        self.silence = silence
        self.tell = tell
        self._streams: set[urllib3.BaseHTTPResponse] = set()
        self._hung_up = threading.Event()
        self._served: set[str] = set()  # what was allowed once

    @property
    def host(self) -> str:
        """The server's address."""
        return self.server.host

    def document(
        self, method: str, path: str, query: Mapping[str, str] = _NOTHING, *, body: object = None,
        headers: Mapping[str, str] = _NOTHING, silence: float = 0.0, limit: int = ANSWER_LIMIT,
    ) -> bytes:  # fmt: skip
        """Return the whole answer."""
        opened = self.opened(method, path, query, body=body, headers=headers, silence=silence or self.silence)
        with opened as response:
            text = self._reading(lambda: response.read(limit + 1))
            if len(text) > limit:
                raise KubeError(f"{refusals.server_named(self.host)} sends more than {limit} bytes for {path}")
            response.release_conn()
            return text

    @contextmanager
    def stream(self, path: str, query: Mapping[str, str], *, silence: float | None) -> Iterator[Callable[[], bytes]]:
        """Give a function that returns what has come since, waiting for it, and nothing at the end."""
        with self.opened("GET", path, query, silence=silence) as response:
            yield lambda: self._reading(response.read1)

    def hang_up(self) -> None:
        """End what is being read, from another thread, and let go of every connection."""
        self._hung_up.set()
        for response in tuple(self._streams):
            try:
                response.shutdown()
            except (OSError, ValueError, RuntimeError):  # it has just ended by itself
                continue
        self.server.pool.clear()

    @contextmanager
    def opened(
        self, method: str, path: str, query: Mapping[str, str], *, silence: float | None, body: object = None,
        headers: Mapping[str, str] = _NOTHING,
    ) -> Iterator[urllib3.BaseHTTPResponse]:  # fmt: skip
        """Open the answer; a refusal is raised."""
        response = self._ask(method, path, query, body, headers, silence)
        self._streams.add(response)
        try:
            if self._hung_up.is_set():  # while it was asked for
                raise ApiUnreachable("the connection to the Kubernetes API was closed from this side")
            verb = "watch" if "watch" in query else method
            if response.status >= 300:
                text = self._reading(lambda: response.read(STATUS_LIMIT))
                after = response.headers.get("Retry-After", "")
                raise refusals.refusal(
                    response.status, text, host=self.host, who=self.who, after=after, before=verb in self._served
                )
            self._served.add(verb)
            yield response
        finally:
            self._streams.discard(response)
            response.close()  # a stream may have more to come
            io.IOBase.close(response)
            response.__class__ = _Spent

    def _ask(
        self, method: str, path: str, query: Mapping[str, str], body: object, headers: Mapping[str, str],
        silence: float | None,
    ) -> urllib3.BaseHTTPResponse:  # fmt: skip
        asked = urlencode({name: value for name, value in query.items() if value})
        url = f"{self.host}{path}" + (f"?{asked}" if asked else "")
        self.tell(f"{method} {url}")
        content = {} if body is None else {"Content-Type": "application/json"}
        who = {"User-Agent": self.agent, **self.server.bearer()}
        waits = urllib3.Timeout(connect=self.connect, read=silence)
        try:
            answer: urllib3.BaseHTTPResponse = self.server.pool.request(
                method, url, body=None if body is None else json.dumps(body), timeout=waits,
                headers={"Accept": "application/json", **content, **headers, **who},
                preload_content=False, redirect=False,
            )  # fmt: skip
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            tls = _tls_error(error)
            told = refusals.unreachable(
                self.host, _why(error), who=self.who, fault=_fault(error), tls=tls is not None,
                certificate=getattr(tls, "verify_code", 0), detail=getattr(tls, "verify_message", ""),
            )  # fmt: skip
            raise ApiUnreachable(*told) from None
        return answer

    def _reading(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise ApiUnreachable(
                f"the connection to {refusals.server_named(self.host)} was lost: {_why(error)}",
                "run the command again" if self.who else "",
            ) from None


def _why(error: Exception) -> str:
    """Return the innermost reason, without what differs from one time to the next."""
    reason = getattr(error, "reason", None) or error
    inner = getattr(reason, "__cause__", None) or getattr(reason, "__context__", None) or reason
    text = re.sub(
        r" object at 0x[0-9a-f]+| \(_ssl\.c:\d+\)|_ssl\.c:\d+: ", "", str(getattr(inner, "strerror", None) or inner)
    )
    return objects.one_sentence(text.rpartition(">: ")[2]) or type(error).__name__


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """Return the error of TLS that an error is about, if it is."""
    return next((each for each in _chain(error) if isinstance(each, ssl.SSLError)), None)


def _fault(error: BaseException) -> Fault:
    """Return which kind of trouble on the way an error is about."""
    kinds = {type(each) for each in _chain(error)}
    for kind, fault in _FAULTS:
        if any(issubclass(each, kind) for each in kinds):
            return fault
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what it is about, and so on."""
    while error is not None:
        yield error
        reason = getattr(error, "reason", None)
        error = reason if isinstance(reason, BaseException) else error.__cause__ or error.__context__
