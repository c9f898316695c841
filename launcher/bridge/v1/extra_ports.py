"""The ports of a v1 pserver that Paddle 2.6.2 has no use for: it serves all by one, but v1's launchers wait for all.

A process of its own, since a pserver of 2.6.2 lets no other Python thread run:
`python extra_ports.py HOST PORT OTHERS...`.
The ports are opened once the pserver serves, and closed when it ends, which its pipe to here tells.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from collections.abc import Sequence

LOOK_AGAIN = 0.05
WAITING = 128


def beside(endpoint: str, others: Sequence[int]) -> subprocess.Popen[bytes] | None:
    """Start it for a pserver that is about to serve; what comes back has to be held until the end."""
    if not others:
        return None
    host, _, port = endpoint.rpartition(":")
    words = (sys.executable, "-I", "-S", __file__, host, port, *map(str, others))
    return subprocess.Popen(words, stdin=subprocess.PIPE)


def main(host: str, port: int, others: Sequence[int]) -> None:
    """Wait until the port serves, then accept whoever comes to the others, and let them go."""
    while not _serves(host, port):
        if _ended(LOOK_AGAIN):
            return
    doors = [socket.create_server((host, other), backlog=WAITING) for other in others]
    while True:
        ready, _, _ = select.select([sys.stdin, *doors], [], [])
        if sys.stdin in ready:
            return
        for door in doors:
            if door in ready:
                door.accept()[0].close()


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
