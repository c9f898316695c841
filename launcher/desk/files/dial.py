"""How a process in a pod is reached: a WebSocket of the API server, with the credentials of its other requests."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import websocket

from launcher.desk.errors import Unreachable
from launcher.desk.files.exec_socket import Wire
from launcher.desk.files.frames import PROTOCOL
from launcher.kube import kinds, refusals

if TYPE_CHECKING:
    import socket

    from launcher.desk.jobs.api_calls import Api

CONNECT = 10.0  # seconds


@contextmanager
def opened(api: Api, pod: str, container: str, command: Sequence[str]) -> Iterator[Wire]:
    """Start a process in a pod, and be its standard input and output."""
    asked = [("container", container), *(("command", word) for word in command)]
    asked += [(name, "true") for name in ("stdin", "stdout", "stderr")]
    path = f"{kinds.path('Pod', api.namespace, pod)}/exec?{urlencode(asked)}"
    api.tell(f"GET {api.host}{path}")
    wire = Wire(_connected(api, path))
    try:
        yield wire
    finally:
        wire.close()


def _connected(api: Api, path: str) -> socket.socket:
    """Shake hands, and return the connection."""
    configuration = api.configuration
    token = configuration.get_api_key_with_prefix("BearerToken") or ""
    proxy = urlsplit(configuration.proxy) if configuration.proxy else None
    try:
        made = websocket.create_connection(
            f"ws{api.host.removeprefix('http')}{path}",
            timeout=CONNECT,
            header=[f"Authorization: {' '.join(token.split())}"] if token else [],
            subprotocols=[PROTOCOL],
            suppress_origin=True,
            redirect_limit=0,
            sslopt={"context": _tls(api), "server_hostname": configuration.tls_server_name},
            http_proxy_host=proxy and proxy.hostname,
            http_proxy_port=proxy and proxy.port,
            http_no_proxy=None if proxy else ["*"],
        )
    except websocket.WebSocketBadStatusException as refused:
        raise refusals.refusal(refused.status_code, refused.resp_body or b"", host=api.host, who=api.who) from None
    except (websocket.WebSocketException, OSError) as error:
        why = getattr(error, "strerror", None) or " ".join(str(error).split())[:300]
        raise Unreachable(f"{api.host} cannot connect to the pod: {why}") from None
    if made.sock is None:
        raise Unreachable(f"{api.host} cannot connect to the pod")
    return made.sock


def _tls(api: Api) -> ssl.SSLContext:
    """Return what the API's other requests have, too."""
    configuration = api.configuration
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if getattr(configuration, "disable_strict_ssl_verification", False):
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if configuration.assert_hostname is False or not configuration.verify_ssl:
        context.check_hostname = False
    if not configuration.verify_ssl:
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context
