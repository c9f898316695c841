"""Addresses: those of host names, looked up one after the other, and those of this machine."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from launcher.pod.outcome import SettingsError

Resolve = Callable[..., list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a name led to: addresses, or the reason why to none."""

    addresses: tuple[str, ...] = ()
    why: str = ""


def lookups(names: tuple[str, ...], resolve: Resolve, over: threading.Event) -> Iterator[tuple[str, Resolved]]:
    """Yield what each name leads to, until it is over."""
    for name in names:
        if not over.is_set():
            yield name, _lookup(name, resolve)


def _lookup(name: str, resolve: Resolve) -> Resolved:
    """Return a name's addresses of one family: IPv4 where there is any, so that every pod takes the same."""
    try:
        answers = resolve(name, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise SettingsError([f"{name!r}: expected a host name, of parts of 1 to 63 characters"]) from error
    except OSError as error:
        return Resolved(why=f"{name} does not resolve ({error.strerror or error})")
    families = {answer[0] for answer in answers}
    family = socket.AF_INET if socket.AF_INET in families else socket.AF_INET6
    found = {plain_address(answer[4][0]) for answer in answers if answer[0] == family}
    return Resolved(addresses=tuple(sorted(filter(None, found))), why=f"{name} has no address")


def local() -> frozenset[str]:
    """Return every address of every network interface here."""
    import psutil  # 25 ms, which a pod that was told its POD_IP does not need

    found = (each.address for interface in psutil.net_if_addrs().values() for each in interface)
    return frozenset(filter(None, map(plain_address, found)))


def plain_address(address: str) -> str:
    """Return an IP address in its shortest form without a scope; nothing where it is no IP address."""
    try:
        return str(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return ""
