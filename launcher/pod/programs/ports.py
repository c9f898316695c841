"""The ports of a program: free before it starts, and a pserver's open once it serves."""

from __future__ import annotations

import shlex
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from launcher.pod.outcome import StartError
from launcher.pod.programs.plan import Program
from launcher.pod.settings.masking import masked
from launcher.pod.settings.nouns import Role

_FIRST, _LONGEST = 0.005, 0.5
_CONNECT = 2.0


def check_free(address: str, program: Program) -> None:
    """Refuse a port that another process has: a program that cannot bind it ends with 0, hangs, or meets that one."""
    for port in program.ports:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what is only closing is free
            try:
                probe.bind((address, port))
            except OSError as error:
                name = "CONF_PADDLE_PORT" if program.role is Role.PSERVER and not program.title else "LAUNCHER_PORTS"
                raise StartError(
                    f"cannot start {program.name}: port {port} at {address}: {error.strerror}{_holder(port)}; "
                    f"expected it to be free ({name})"
                ) from error


def _holder(port: int) -> str:
    """Return who listens on a port, as far as it is a process that can be seen from here."""
    import psutil  # 20 ms that only a fault pays for

    with suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr
            if listens and listens.port == port and connection.pid:
                words = shlex.join(masked(psutil.Process(connection.pid).cmdline()))
                return f", by process {connection.pid}: {words}"
    return ""


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
