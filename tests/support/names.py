"""Host names with scripted addresses, where a test cannot have a DNS server of its own."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Names:
    """Answers as getaddrinfo does: the addresses that a name has now; None for one that does not exist."""

    known: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def resolve(self, name: str, _port: object, **_hints: object) -> list[tuple[Any, ...]]:
        self.asked.append(name)
        addresses = self.known.get(name, ())
        if addresses is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if not addresses:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0))
            for each in reversed(addresses)
        ]
