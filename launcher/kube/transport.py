"""The Kubernetes API as a pod uses it: GET alone, by its own account, raw JSON, TLS always verified.

Only the credentials and the transport of the `kubernetes` package serve here: its object models cost 188 MB
for 1,000 pods, and its Watch knows no back-off and no time-out.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

import tenacity
import urllib3
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject

from launcher.contract import NAME
from launcher.kube import pod_json, rbac
from launcher.kube.account import Account, Trouble, said
from launcher.pod.outcome import ApiError, Revoked

LIST_LIMIT = 512 << 20  # 60,000 pods
STATUS_LIMIT = 64 << 10
# Nothing in such a request can get better by itself.
HOPELESS = frozenset({400, 405, 406, 415, 422})

# Half of each wait is fixed and half is luck: 0.1 to 0.2 s at first, 5 to 10 s at last. So many pods that lose
# the API together come back apart, and a server that fails at once is asked 8 times in 20 s, not 50,000.
BACK_OFF = tenacity.wait_exponential(multiplier=0.1, max=5) + tenacity.wait_random_exponential(multiplier=0.1, max=5)


class Unauthorized(Trouble):
    """The token is not accepted: it may have been renewed, and the kubelet takes a minute to bring the new one."""


class Gone(Trouble):
    """The version to go on from is forgotten: list again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds: to connect, of silence on a connection, after which the server is to end a watch by itself, and
    after which a refusal is tried again while the gang runs.

    The silence that is borne is longer than a healthy watch lasts, so that a dead connection is noticed in a
    minute even where something on the way answers the kernel's keep-alive probes.
    """

    connect: float = 5.0
    silence: float = 55.0
    watch: int = 45
    again: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API server, and who asks it."""

    account: Account
    rest: RESTClientObject
    namespace: str
    limits: Limits
    streams: set[urllib3.BaseHTTPResponse] = field(default_factory=set)
    hung_up: threading.Event = field(default_factory=threading.Event)
    served: set[str] = field(default_factory=set)  # the verbs that were allowed once

    @classmethod
    def of(cls, account: Account, namespace: str, limits: Limits) -> Api:
        """Return the API that the account leads to; nothing is sent yet."""
        rest = RESTClientObject(account.configuration)
        return cls(account=account, rest=rest, namespace=namespace or account.namespace(), limits=limits)

    @property
    def pods_path(self) -> str:
        """The path of the pods in the job's namespace."""
        return f"/api/v1/namespaces/{quote(self.namespace, safe='')}/pods"

    def document(self, path: str, query: Mapping[str, str]) -> bytes:
        """Return the whole answer."""
        with self._opened(path, query, {"Accept-Encoding": "gzip"}) as response:
            text = _reading(lambda: response.read(LIST_LIMIT + 1))
            if len(text) > LIST_LIMIT:
                raise ApiError(f"the Kubernetes API's answer to {path} is over {LIST_LIMIT} bytes")
            return text

    @contextmanager
    def stream(self, path: str, query: Mapping[str, str]) -> Iterator[Callable[[], bytes]]:
        """Give a function that returns what has come since, waiting for it, and nothing at the end."""
        with self._opened(path, query, {}) as response:
            yield lambda: _reading(response.read1)

    def hang_up(self) -> None:
        """End what is being read, from another thread, and let go of every connection."""
        self.hung_up.set()
        for response in tuple(self.streams):
            try:
                response.shutdown()
            except (OSError, ValueError, RuntimeError):  # it has just ended by itself
                continue
        self.rest.close()

    @contextmanager
    def _opened(
        self, path: str, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """Open an answer that is a success."""
        response = self._ask(path, query, headers)
        self.streams.add(response)
        try:
            if self.hung_up.is_set():  # while it was asked for
                raise Trouble("nobody reads the Kubernetes API any more")
            yield response
        finally:
            self.streams.discard(response)
            response.close()

    def _ask(self, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        host = self.account.configuration.host
        url = f"{host}{path}?{urlencode(query)}"
        asked = {"Accept": "application/json", "User-Agent": NAME, **headers, **self.account.header()}
        waits = (self.limits.connect, self.limits.silence)
        try:
            answer = self.rest.request("GET", url, headers=asked, _request_timeout=waits)  # type: ignore[no-untyped-call]
        except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
            raise Trouble(f"the Kubernetes API at {host} cannot be reached: {said(error)}") from error
        response: urllib3.BaseHTTPResponse = answer.response
        verb = "watch" if "watch" in query else "read"
        if response.status != 200:
            try:
                _refuse(response, self.namespace, Revoked if verb in self.served else ApiError)
            finally:
                response.close()
        self.served.add(verb)
        return response


def _refuse(response: urllib3.BaseHTTPResponse, namespace: str, forbidden: type[ApiError]) -> None:
    why = pod_json.message(_reading(lambda: response.read(STATUS_LIMIT)))
    text = f"the Kubernetes API answers {response.status}: {why}"
    if response.status == 403:
        raise forbidden(rbac.missing(why, namespace))
    if response.status in HOPELESS:
        raise ApiError(text)
    kind = {401: Unauthorized, 410: Gone}.get(response.status, Trouble)
    after = response.headers.get("Retry-After", "")
    raise kind(text, float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 0.0)


def _reading(read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise Trouble(f"the Kubernetes API breaks off: {said(error)}") from error
