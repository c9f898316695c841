"""The ports of a pserver: free before it starts, open once it serves."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence

from launcher.pod.outcome import StartError

_FIRST, _LONGEST = 0.005, 0.5
_CONNECT = 2.0


def check_free(address: str, ports: Sequence[int]) -> None:
    """Refuse a port that another process listens on: a pserver that cannot bind its port ends with 0, or hangs."""
    for port in ports:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what is only closing is free
            try:
                probe.bind((address, port))
            except OSError as error:
                raise StartError(
                    f"cannot start the pserver: port {port} at {address}: {error.strerror}; "
                    "expected it to be free (CONF_PADDLE_PORT)"
                ) from error


class Knocker:
    """Whether every port accepts connections; found out on a thread of its own, which ends then or when closed."""

    def __init__(self, address: str, ports: Sequence[int], nudge: Callable[[], None]) -> None:
        self.open = False
        self._closed = threading.Event()
        self._nudge = nudge
        threading.Thread(target=self._knock, args=(address, ports), name="knocker", daemon=True).start()

    def close(self) -> None:
        """Stop asking."""
        self._closed.set()

    def _knock(self, address: str, ports: Sequence[int]) -> None:
        pause = _FIRST
        left = list(ports)
        while left and not self._closed.is_set():
            if _accepts(address, left[0]):
                left.pop(0)
                continue
            self._closed.wait(pause)
            pause = min(pause * 1.3, _LONGEST)
        if not left and not self._closed.is_set():
            self.open = True
            self._nudge()


def _accepts(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=_CONNECT).close()
    except OSError:
        return False
    return True
