"""The ports of a v1 pserver that Paddle 2.6.2 does not use: it needs only one, but v1's launchers wait for all.

A process of its own, python extra_ports.py HOST PORT OTHERS..., since a pserver of 2.6.2 blocks every other Python
thread.
The ports are opened once the pserver serves, and closed when it ends: then the pipe to this process closes.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from collections.abc import Sequence

_LOOK_AGAIN = 0.05
_WAITING = 128


def beside(endpoint: str, others: Sequence[int]) -> subprocess.Popen[bytes] | None:
    """Start the process for a pserver that is about to serve; keep the returned object until the end."""
    if not others:
        return None
    host, _, port = endpoint.rpartition(":")
    words = (sys.executable, "-I", "-S", __file__, host, port, *map(str, others))
    return subprocess.Popen(words, stdin=subprocess.PIPE)


def main(host: str, port: int, others: Sequence[int]) -> None:
    """Wait until the port serves, then accept and close every connection to the others."""
    while not _serves(host, port):
        if _ended(_LOOK_AGAIN):
            return
    servers = [socket.create_server((host, other), backlog=_WAITING) for other in others]
    while True:
        ready, _, _ = select.select([sys.stdin, *servers], [], [])
        if sys.stdin in ready:
            return
        for server in servers:
            if server in ready:
                server.accept()[0].close()


def _serves(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def _ended(seconds: float) -> bool:
    return bool(select.select([sys.stdin], [], [], seconds)[0])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(word) for word in sys.argv[3:]])
