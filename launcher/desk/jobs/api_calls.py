"""The Kubernetes API as the desk uses it: raw JSON, TLS as the kubeconfig says, no object models.

Only the transport of the `kubernetes` package serves here, and its credentials in `credentials.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject

from launcher.desk.config.datacenters import Datacenter
from launcher.desk.errors import Problem, Unreachable
from launcher.kube import kinds, refusals
from launcher.kube.kubeconfig import credentials
from launcher.text import split_lines

Json = dict[str, Any]

PAGE = 250  # objects; a Job is about 8 KB, so that a page is 2 MB
CONNECT, SILENCE = 10.0, 60.0  # seconds
REFUSAL = 64 << 10
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API server, who asks it, and the namespace that is meant."""

    namespace: str
    who: str
    configuration: Configuration = field(repr=False)
    rest: RESTClientObject = field(repr=False)
    tell: Callable[[str], None] = field(default=lambda _: None, repr=False)  # every request, for -v

    @property
    def host(self) -> str:
        """The server's address."""
        return str(self.configuration.host)

    def get(self, kind: str, name: str) -> Json:
        """Return one object."""
        return self._document("GET", self._path(kind, name))

    def listed(self, kind: str, selector: str = "", *, fields: str = "", accept: str = "") -> Iterator[Json]:
        """Yield all objects, asked for page by page: never more than one page of them is held."""
        query = {"limit": str(PAGE), "labelSelector": selector, "fieldSelector": fields}
        while True:
            page = self._document("GET", self._path(kind), query, accept=accept)
            yield from page.get("items") or ()
            query["continue"] = page.get("metadata", {}).get("continue", "")
            if not query["continue"]:
                return

    def create(self, manifest: Json, *, dry: bool = False) -> Json:
        """Create an object, or have it checked only; what the server does not know in it is an error."""
        query = {"fieldValidation": "Strict", "dryRun": "All" if dry else ""}
        return self._document("POST", self._path(manifest["kind"]), query, body=manifest)

    def patch(self, kind: str, name: str, change: Json) -> Json:
        """Change an object by a merge patch."""
        return self._document("PATCH", self._path(kind, name), body=change, content=MERGE)

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, and in the background what it owns."""
        self._document("DELETE", self._path(kind, name), {"propagationPolicy": "Background"})

    def watch(self, kind: str, selector: str, version: str, seconds: int) -> Iterator[Json]:
        """Yield what happens from a version on, until the server ends it after so many seconds."""
        query = {
            "labelSelector": selector,
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
            "watch": "true",
        }
        with self.opened("GET", self._path(kind), query) as answer:
            for line in lines(answer):
                if (event := _object(line)) is None:
                    raise Unreachable(f"{self.host} breaks off within an event")
                yield event

    def page(self, kind: str, selector: str) -> Json:
        """Return a list whole, with the version to watch from: for the few objects of one job."""
        return self._document("GET", self._path(kind), {"labelSelector": selector})

    def dns(self) -> Iterator[Json]:
        """Yield where the cluster's DNS is served."""
        path = "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices"
        yield from (
            self._document("GET", path, {"labelSelector": "kubernetes.io/service-name=kube-dns"}).get("items") or ()
        )

    def log(self, pod: str, query: Mapping[str, str]) -> Iterator[bytes]:
        """Yield the lines of a pod's log, without their ends."""
        with self.opened("GET", f"{self._path('Pod', pod)}/log", query, silence=None) as answer:
            yield from lines(answer)

    def proxied(self, pod: str, port: int, path: str, *, seconds: float) -> bytes:
        """Return what a pod's own server says, asked through the API server."""
        with self.opened("GET", f"{self._path('Pod', f'{pod}:{port}')}/proxy/{path}", {}, silence=seconds) as answer:
            return _reading(lambda: answer.read(1 << 20), self.host)

    @contextmanager
    def opened(
        self, method: str, path: str, query: Mapping[str, str], *, body: Json | None = None,
        content: str = "application/json", accept: str = "", silence: float | None = SILENCE,
    ) -> Iterator[urllib3.BaseHTTPResponse]:  # fmt: skip
        """Open an answer that is a success."""
        asked = urlencode({name: value for name, value in query.items() if value})
        url = f"{self.host}{path}" + (f"?{asked}" if asked else "")
        self.tell(f"{method} {url}")
        headers = {
            "Accept": accept or "application/json",
            "Content-Type": content,
            "User-Agent": "paddlectl",
            **self._token(),
        }
        waits = urllib3.Timeout(connect=CONNECT, read=silence)
        try:
            response = self.rest.pool_manager.request(
                method, url, body=None if body is None else json.dumps(body), headers=headers, timeout=waits,
                preload_content=False, redirect=False,
            )  # fmt: skip
        except (ApiException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise _unreachable(self.host, error) from None
        try:
            if response.status >= 300:
                text = _reading(lambda: response.read(REFUSAL), self.host)
                raise refusals.refusal(response.status, text, host=self.host, who=self.who)
            yield response
        finally:
            response.close()  # a stream may have more to come

    def _document(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *, body: Json | None = None,
        content: str = "application/json", accept: str = "",
    ) -> Json:  # fmt: skip
        with self.opened(method, path, query or {}, body=body, content=content, accept=accept) as answer:
            text = _reading(answer.read, self.host)
            answer.release_conn()
        if (found := _object(text)) is None:
            raise Problem(f"{self.host} answers, but not as a Kubernetes API server does: look at its address")
        return found

    def _path(self, kind: str, name: str = "") -> str:
        return kinds.path(kind, self.namespace, name)

    def _token(self) -> dict[str, str]:
        token = self.configuration.get_api_key_with_prefix("BearerToken") or ""
        return {"Authorization": " ".join(token.split())} if token else {}


LONGEST_LINE = 8 << 20


def opened(datacenter: Datacenter, namespace: str, environ: Mapping[str, str], tell: Callable[[str], None]) -> Api:
    """Return the API of a datacenter, or of the kubeconfig's context; nothing is sent yet."""
    found = credentials(datacenter, environ)
    try:
        rest = RESTClientObject(found.configuration)
    except (urllib3.exceptions.LocationValueError, ImportError):  # the latter for socks:// without its package
        raise Problem(_no_proxy(found.configuration.proxy, environ)) from None
    meant = namespace or found.namespace
    return Api(namespace=meant, who=found.who, configuration=found.configuration, rest=rest, tell=tell)


def lines(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the lines of an answer as they come; what is too long for a line comes in pieces."""
    return split_lines(iter(partial(_reading, answer.read1, "the API server"), b""), LONGEST_LINE)


def _object(text: bytes) -> Json | None:
    """Return the JSON object that a text is, or None."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _no_proxy(proxy: str | None, environ: Mapping[str, str]) -> str:
    """Return what is wrong with a proxy, without its value: a password may be in it."""
    names = [name for name in environ if name.lower().endswith("_proxy") and environ[name] == proxy]
    where = ", ".join(names) or "proxy-url of the kubeconfig"
    return f"{where}: expected a proxy's address with its scheme, such as http://proxy.example.com:3128"


def _reading(read: Callable[[], bytes], host: str) -> bytes:
    try:
        return read()
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise Unreachable(f"{host} breaks off: {_why(error)}") from None


def _unreachable(host: str, error: Exception) -> Unreachable:
    return Unreachable(f"{host} cannot be reached: {_why(error)}; look at the address, the network, the VPN")


def _why(error: Exception) -> str:
    """Return the innermost reason, without objects' addresses."""
    reason = getattr(error, "reason", None) or error
    inner = getattr(reason, "__cause__", None) or getattr(reason, "__context__", None) or reason
    text = " ".join(str(getattr(inner, "strerror", None) or inner).split())
    return text.rpartition(">: ")[2][:300] or type(error).__name__
