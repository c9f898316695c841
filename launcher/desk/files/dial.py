"""How a process in a pod is reached: a WebSocket of the API server, with the credentials of its other requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import websocket

from launcher.desk.errors import Unreachable
from launcher.desk.files.exec_socket import Wire
from launcher.desk.files.frames import PROTOCOL
from launcher.desk.jobs.api_calls import as_problems
from launcher.kube import kinds, refusals

if TYPE_CHECKING:
    import socket

    from launcher.desk.jobs.api_calls import Api

_CONNECT = 10.0  # seconds


@contextmanager
def dialed(api: Api, pod: str, container: str, command: Sequence[str]) -> Iterator[Wire]:
    """Start a process in a pod, and be its standard input and output."""
    asked = [("container", container), *(("command", word) for word in command)]
    asked += [(name, "true") for name in ("stdin", "stdout", "stderr")]
    path = f"{kinds.path('Pod', api.namespace, pod)}/exec?{urlencode(asked)}"
    api.transport.tell(f"GET {api.host}{path}")
    wire = Wire(_connected(api, path))
    try:
        yield wire
    finally:
        wire.close()


def _connected(api: Api, path: str) -> socket.socket:
    """Shake hands, and return the connection."""
    transport = api.transport
    configuration = transport.configuration
    proxy = urlsplit(configuration.proxy) if configuration.proxy else None
    with as_problems():
        header = transport.bearer()
    try:
        made = websocket.create_connection(
            f"ws{api.host.removeprefix('http')}{path}",
            timeout=_CONNECT,
            header=header,
            subprotocols=[PROTOCOL],
            suppress_origin=True,
            redirect_limit=0,
            sslopt={"context": transport.tls(), "server_hostname": configuration.tls_server_name},
            http_proxy_host=proxy and proxy.hostname,
            http_proxy_port=proxy and proxy.port,
            http_no_proxy=None if proxy else ["*"],
        )
    except websocket.WebSocketBadStatusException as refused:
        with as_problems():
            body = refused.resp_body or b""
            raise refusals.refusal(refused.status_code, body, host=api.host, who=transport.who) from None
    except (websocket.WebSocketException, OSError) as error:
        why = getattr(error, "strerror", None) or " ".join(str(error).split())[:300]
        raise Unreachable(f"{api.host} cannot connect to the pod: {why}") from None
    if made.sock is None:
        raise Unreachable(f"{api.host} cannot connect to the pod")
    return made.sock
