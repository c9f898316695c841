"""The verbs of the Kubernetes API that the desk uses, each one request: raw JSON, no object models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launcher.desk.errors import Problem, Refused, Unreachable
from launcher.desk.jobs.watch import API_PATIENCE, asked_again, late
from launcher.kube import kinds, kubeconfig, objects, refusals
from launcher.kube.transport import Transport
from launcher.text import split_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from launcher.desk.config.datacenters import Datacenter

_Json = dict[str, Any]

PAGE = 250  # objects; a Job is about 8 KB, so that a page is 2 MB
_CONNECT, _SILENCE = 10.0, 60.0  # seconds
_LONGEST = 8 << 20  # bytes of a log's line; more than that comes in pieces
MERGE = {"Content-Type": "application/merge-patch+json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API server, who asks it, and the namespace that is meant."""

    namespace: str
    transport: Transport
    say: Callable[[str], None] = lambda _: None
    patience: float = API_PATIENCE

    @property
    def host(self) -> str:
        """The server's address."""
        return self.transport.host

    def get(self, kind: str, name: str) -> _Json:
        """Return one object."""
        return self._document("GET", self._path(kind, name))

    def listed(self, kind: str, selector: str = "", *, fields: str = "", accept: str = "") -> Iterator[_Json]:
        """Yield all objects, asked for page by page: never more than one page of them is held."""
        query = {"limit": str(PAGE), "labelSelector": selector, "fieldSelector": fields}
        headers = {"Accept": accept} if accept else {}
        while True:
            page = self._document("GET", self._path(kind), query, headers=headers)
            yield from page.get("items") or ()
            query["continue"] = page.get("metadata", {}).get("continue", "")
            if not query["continue"]:
                return

    def create(self, manifest: _Json, *, dry: bool = False) -> _Json:
        """Create an object, or have it checked only; what the server does not know in it is an error."""
        query = {"fieldValidation": "Strict", "dryRun": "All" if dry else ""}
        return self._document("POST", self._path(manifest["kind"]), query, body=manifest)

    def patch(self, kind: str, name: str, change: _Json) -> _Json:
        """Change an object by a merge patch."""
        return self._document("PATCH", self._path(kind, name), body=change, headers=MERGE)

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, and in the background what it owns."""
        self._document("DELETE", self._path(kind, name), {"propagationPolicy": "Background"})

    def queues(self) -> tuple[str, ...] | None:
        """Return the namespace's queues, None where there is no Kueue, or no right to look."""
        try:
            group = self._document("GET", kinds.KUEUE)
            version = group["preferredVersion"]["groupVersion"]
            found = self._document("GET", f"/apis/{version}/namespaces/{self.namespace}/localqueues").get("items")
        except Refused as refused:
            if refused.status not in (403, 404):
                raise
            return None
        return tuple(str(each["metadata"]["name"]) for each in found or ())

    def dns(self) -> Iterator[_Json]:
        """Yield where the cluster's DNS is served."""
        path = "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices"
        yield from (
            self._document("GET", path, {"labelSelector": "kubernetes.io/service-name=kube-dns"}).get("items") or ()
        )

    def log(self, pod: str, query: Mapping[str, str], *, silence: float | None = None) -> Iterator[bytes]:
        """Yield the lines of a pod's log, without their ends; it may be silent for so many seconds."""
        path = f"{self._path('Pod', pod)}/log"
        with as_problems(), self.transport.stream(path, query, silence=silence) as read:
            yield from _lines(read)

    def proxied(self, pod: str, port: int, path: str, *, seconds: float, limit: int = 1 << 20) -> bytes:
        """Return what a pod's own server says, asked through the API server."""
        path = f"{self._path('Pod', f'{pod}:{port}')}/proxy/{path}"
        with as_problems():
            return self.transport.document("GET", path, silence=seconds, limit=limit)

    def _document(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *, body: _Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> _Json:  # fmt: skip
        def ask() -> bytes:
            with as_problems():
                return self.transport.document(method, path, query or {}, body=body, headers=headers or {})

        with late(self._say_that_it_waits):
            text = asked_again(ask, method, self.patience)
        found = objects.parsed_json(text)
        if not isinstance(found, dict):
            raise Problem(f"{self.host} answers, but not as a Kubernetes API server does: check its address")
        return found

    def _say_that_it_waits(self) -> None:
        self.say(f"waiting for {refusals.server_named(self.host)}, for a minute at most")

    def _path(self, kind: str, name: str = "") -> str:
        return kinds.path(kind, self.namespace, name)


def opened_api(
    datacenter: Datacenter, namespace: str, environ: Mapping[str, str], tell: Callable[[str], None],
    say: Callable[[str], None] = lambda _: None,
) -> Api:  # fmt: skip
    """Return the API of a datacenter, or of the kubeconfig's context; nothing is sent yet."""
    with as_problems():
        if datacenter.endpoint:
            who = f"datacenter {datacenter.name!r}"
            host, token, authority = datacenter.endpoint, datacenter.password, datacenter.authority
            found = kubeconfig.by_token(host, token, authority, environ, who=who)
        else:
            found = kubeconfig.by_context(datacenter.context, environ)
        transport = Transport(
            found.server, agent="paddlectl", connect=_CONNECT, silence=_SILENCE, who=found.who, tell=tell
        )
    meant = namespace or datacenter.namespace or found.namespace or "default"
    return Api(namespace=meant, transport=transport, say=say)


@contextmanager
def as_problems() -> Iterator[None]:
    """Turn the API's errors into the desk's."""
    try:
        yield
    except refusals.ApiRefused as refused:
        after, message = refused.after, refused.message
        raise Refused(refused.brief, refused.remedy, status=refused.status, message=message, after=after) from None
    except refusals.ApiUnreachable as error:
        raise Unreachable(error.brief, error.remedy) from None
    except refusals.KubeError as error:
        raise Problem(str(error)) from None


def _lines(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield the lines of an answer as they come; what is too long for a line comes in pieces."""
    return split_lines(iter(read, b""), _LONGEST)
