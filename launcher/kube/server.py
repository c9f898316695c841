"""An API server as it is reached, whoever made the way: the `kubernetes` package, or without it what is usual."""

from __future__ import annotations

import queue
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies

import urllib3

CONNECTIONS = 1000  # a log is followed on a connection of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """Its address and connections, the header that proves who asks, and the same TLS for a WebSocket."""

    host: str
    pool: urllib3.PoolManager
    bearer: Callable[[], dict[str, str]]
    tls: Callable[[], ssl.SSLContext]
    proxy: str | None = None
    server_name: str | None = None

    def __post_init__(self) -> None:
        kinds = self.pool.pool_classes_by_scheme
        self.pool.pool_classes_by_scheme = {
            scheme: type(kind.__name__, (kind,), {"QueueCls": Stack}) for scheme, kind in kinds.items()
        }


class Stack:
    """Where urllib3 keeps connections that are not in use, without a lock.

    Ctrl-C may come at any step. In the middle of a take from a `queue` it left the lock taken, and giving the
    connection back, which is part of every end, waited for that lock for ever.
    """

    def __init__(self, _most: int) -> None:
        self._kept: list[object] = []

    def get(self, block: bool = True, timeout: float | None = None) -> object:  # noqa: ARG002  # as urllib3 calls it
        """Take the one that was used last."""
        try:
            return self._kept.pop()
        except IndexError:
            raise queue.Empty from None

    def put(self, each: object, block: bool = True) -> None:  # noqa: ARG002  # as urllib3 calls it
        """Keep one; urllib3 fills a queue with None, for those that it may still make."""
        if each is not None:
            self._kept.append(each)


def plain_server(host: str, tls: Callable[[], ssl.SSLContext], token: str = "") -> ApiServer | None:
    """Return a server that is reached directly and by TLS; None where that is not so, or the TLS cannot be had.

    To import the package costs as much as all the rest of a short command: it is for what is not usual, and it says
    what is wrong.
    """
    if not host.startswith("https://") or getproxies():
        return None
    try:
        context = tls()
    except (OSError, ValueError):
        return None
    pool: dict[str, Any] = {"ssl_context": context, "retries": False, "maxsize": CONNECTIONS}
    header = bearer_header(f"Bearer {token}" if token else "")
    return ApiServer(host=host, pool=urllib3.PoolManager(**pool), bearer=header.copy, tls=lambda: context)


def bearer_header(token: str) -> dict[str, str]:
    """Return the header of a token, if there is one.

    A line's end or another stray character would be refused with the token in the error's text.
    """
    plain = " ".join(token.split()).encode("ascii", "replace").decode()
    return {"Authorization": plain} if plain else {}
