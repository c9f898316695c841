"""Host names looked up, one after the other."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from launcher.pod.outcome import SettingsError
from launcher.pod.peers import machine

Resolve = Callable[..., list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a name led to: addresses, or the reason why to none."""

    addresses: tuple[str, ...] = ()
    why: str = ""


def lookups(names: tuple[str, ...], resolve: Resolve, over: threading.Event) -> Iterator[tuple[str, Answer]]:
    """Yield what each name leads to, until it is over."""
    for name in names:
        if not over.is_set():
            yield name, _lookup(name, resolve)


def _lookup(name: str, resolve: Resolve) -> Answer:
    """Return a name's addresses of one family: IPv4 where there is any, so that every pod takes the same."""
    try:
        answers = resolve(name, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise SettingsError([f"{name!r}: expected a host name, of parts of 1 to 63 characters"]) from error
    except OSError as error:
        return Answer(why=f"{name} does not resolve ({error.strerror or error})")
    families = {answer[0] for answer in answers}
    family = socket.AF_INET if socket.AF_INET in families else socket.AF_INET6
    found = {machine.plain(answer[4][0]) for answer in answers if answer[0] == family}
    return Answer(addresses=tuple(sorted(filter(None, found))), why=f"{name} has no address")
