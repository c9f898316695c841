"""Serves a test's own HTTP server for as long as the test asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from threading import Thread

_OFTEN = 0.02  # seconds between two looks at whether it is over


@contextmanager
def served(server: HTTPServer) -> Iterator[str]:
    """Let a server answer in a thread, and close it; give the address to ask, without its scheme."""
    with server:
        thread = Thread(target=server.serve_forever, args=(_OFTEN,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
