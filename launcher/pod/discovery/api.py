"""The Kubernetes API as pods use it: GET alone, by the account's credentials, raw JSON, TLS always verified.

Only the credentials and the transport of the `kubernetes` package serve here: its object models cost 188 MB
for 1,000 pods, and its Watch knows no back-off and no time-out.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import tenacity
import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from launcher.pod.discovery import podjson, rights
from launcher.pod.outcome import ApiError, SettingsError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
LIST_LIMIT = 512 << 20  # 60,000 pods
STATUS_LIMIT = 64 << 10
UNAUTHORIZED_TRIES = 6
# Nothing in the request can get better by itself.
HOPELESS = frozenset({400, 405, 406, 415, 422})

# Half of each wait is fixed and half is luck: 0.1 to 0.2 s at first, 5 to 10 s at last. So many pods that lose
# the API together come back apart, and a server that fails at once is asked ten times in 20 s, not 40,000.
BACK_OFF = tenacity.wait_exponential(multiplier=0.1, max=5) + tenacity.wait_random_exponential(multiplier=0.1, max=5)


class Trouble(Exception):
    """The API cannot serve at the moment; `after` is the number of seconds that it asks for."""

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after


class Unauthorized(Trouble):
    """The token is not accepted: it may have been rotated."""


class Gone(Trouble):
    """The version to go on from is forgotten: list again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds: to connect, of silence on a connection, and after which the server is to end a watch by itself.

    The silence that is borne is longer than a healthy watch lasts, so that a dead connection is noticed in a
    minute even where something on the way answers the kernel's keep-alive probes.
    """

    connect: float = 5.0
    silence: float = 55.0
    watch: int = 45


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API server, and who asks it."""

    rest: RESTClientObject
    loader: InClusterConfigLoader
    namespace: str
    limits: Limits
    streams: set[urllib3.BaseHTTPResponse] = field(default_factory=set)

    def document(self, path: str, query: Mapping[str, str], stop: threading.Event) -> bytes:
        """Return the whole answer."""
        with self._opened(path, query, stop, {"Accept-Encoding": "gzip"}) as response:
            text = _reading(lambda: response.read(LIST_LIMIT + 1))
            if len(text) > LIST_LIMIT:
                raise ApiError(f"the Kubernetes API's answer to {path} is over {LIST_LIMIT} bytes")
            return text

    @contextmanager
    def stream(self, path: str, query: Mapping[str, str], stop: threading.Event) -> Iterator[Callable[[], bytes]]:
        """Give a function that returns what has come since, waiting for it, and nothing at the end."""
        with self._opened(path, query, stop, {}) as response:
            yield lambda: _reading(response.read1)

    def hang_up(self) -> None:
        """End what is being read, from another thread, and let go of every connection."""
        for response in tuple(self.streams):
            try:
                response.shutdown()
            except (OSError, ValueError, RuntimeError):  # it has just ended by itself
                continue
        self.rest.close()

    @contextmanager
    def _opened(
        self, path: str, query: Mapping[str, str], stop: threading.Event, headers: Mapping[str, str]
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """Open an answer that is a success; a token that is refused is read again, a few times."""
        again = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Unauthorized),
            stop=tenacity.stop_after_attempt(UNAUTHORIZED_TRIES) | tenacity.stop_when_event_set(stop),
            wait=BACK_OFF,
            sleep=tenacity.sleep_using_event(stop),
            before_sleep=lambda _: self._reload(),
            reraise=True,
        )
        try:
            response = again(self._ask, path, query, headers)
        except Unauthorized as error:
            raise ApiError(f"{error}: expected a valid service account token in the pod") from error
        self.streams.add(response)
        try:
            yield response
        finally:
            self.streams.discard(response)
            response.close()

    def _ask(self, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        host = self.rest.configuration.host
        url = f"{host}{path}?{urlencode(query)}"
        asked = {"Accept": "application/json", "User-Agent": "paddle-launcher", **headers, **self._credentials()}
        waits = (self.limits.connect, self.limits.silence)
        try:
            response = self.rest.request("GET", url, headers=asked, _request_timeout=waits).response
        except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
            raise Trouble(f"the Kubernetes API at {host} cannot be reached: {_said(error)}") from error
        if response.status != 200:
            try:
                _refuse(response, self.namespace)
            finally:
                response.close()
        return response

    def _credentials(self) -> dict[str, str]:
        try:
            token = self.rest.configuration.get_api_key_with_prefix("BearerToken") or ""
        except (ConfigException, OSError, ValueError) as error:
            raise Trouble(f"the service account's token cannot be read: {_said(error)}") from error
        # A line's end or another stray character would be refused with the token in the error's text.
        return {"Authorization": " ".join(token.split()).encode("ascii", "replace").decode()}

    def _reload(self) -> None:
        try:
            self.loader.load_and_set(self.rest.configuration)
        except (ConfigException, OSError, ValueError) as error:
            raise Trouble(f"the service account's token cannot be read: {_said(error)}") from error


def connect(
    namespace: str, *, account: Path = ACCOUNT, environ: Mapping[str, str] = os.environ, limits: Limits | None = None
) -> Api:
    """Return the API that the pod's own service account leads to; nothing is sent yet."""
    loader = InClusterConfigLoader(
        token_filename=str(account / "token"), cert_filename=str(account / "ca.crt"), environ=environ
    )
    configuration = Configuration()
    configuration.retries = False  # the retries are tenacity's
    configuration.socket_options = tcp_keepalive_socket_options(idle=5, interval=2, count=3)
    try:
        loader.load_and_set(configuration)
    except (ConfigException, OSError, ValueError) as error:
        raise ApiError(
            f"the Kubernetes API cannot be asked: {_said(error)} Expected a service account in {account} "
            "(automountServiceAccountToken: true), or LAUNCHER_PEERS=dns:NAME, which needs none"
        ) from error
    return Api(
        rest=RESTClientObject(configuration),
        loader=loader,
        namespace=namespace or _own_namespace(account),
        limits=limits or Limits(),
    )


def _own_namespace(account: Path) -> str:
    try:
        return (account / "namespace").read_text().strip()
    except (OSError, ValueError) as error:
        raise SettingsError(
            [f"JOB_NAMESPACE is not set: expected it, since {account / 'namespace'} cannot be read"]
        ) from error


def _refuse(response: urllib3.BaseHTTPResponse, namespace: str) -> None:
    said = podjson.message(_reading(lambda: response.read(STATUS_LIMIT)))
    text = f"the Kubernetes API answers {response.status}: {said}"
    if response.status == 403:
        raise ApiError(rights.missing(said, namespace))
    if response.status in HOPELESS:
        raise ApiError(text)
    kind = {401: Unauthorized, 410: Gone}.get(response.status, Trouble)
    after = response.headers.get("Retry-After", "")
    raise kind(text, float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 0.0)


def _reading(read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise Trouble(f"the Kubernetes API breaks off: {_said(error)}") from error


def _said(error: Any) -> str:
    """Return an error's own words, without what differs from one time to the next."""
    text = error.reason if isinstance(error, ApiException) else str(error)
    return podjson.sentence(re.sub(r" object at 0x[0-9a-f]+", "", str(text))) or type(error).__name__
