"""What is known of the peers, by address: kept by the thread that polls and serves, read by any.

Nothing here reads or waits but for a clock and a lock that is held for moments.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

from launcher.pod.gang.protocol.messages import Status
from launcher.pod.gang.protocol.state import Heard


class PeerStates:
    """The peers that are watched, and what is known of each."""

    def __init__(self, nudge: Callable[[], None]) -> None:
        self._nudge = nudge
        self._lock = threading.Lock()
        self._heard: dict[str, Heard] = {}
        self._names: dict[str, str] = {}
        self._wrote: dict[str, tuple[str, float]] = {}  # which boot was last answered there, and when

    def keep(self, addresses: Iterable[str]) -> None:
        """Watch exactly these from now on, and forget all others."""
        with self._lock:
            self._heard = {each: self._heard.get(each, Heard()) for each in addresses}
            self._names = {normal(each): each for each in self._heard}
            self._wrote = {each: self._wrote[each] for each in self._heard if each in self._wrote}

    def snapshot(self) -> dict[str, Heard]:
        """Return what is known at this moment."""
        with self._lock:
            return dict(self._heard)

    def member(self, remote: str, boot: str) -> str:
        """Return whose a connection is that has shown a boot from an address; nothing for a stranger's."""
        with self._lock:
            return remote if boot and remote in self._names else ""

    def answered(self, address: str, status: Status, sent: float) -> None:
        """Take a peer's answer to the poll that was sent at a time."""
        with self._lock:
            former = self._heard.get(address)
            if former is None:
                return
            boot, wrote = self._wrote.get(address, ("", 0.0))
            wrote = wrote if boot == status.who.boot else 0.0
            self._heard[address] = Heard(status=status, sent=sent, wrote=wrote)
        if former.refused or former.status is None or news(former.status) != news(status):
            self._nudge()

    def refused(self, address: str) -> None:
        """Note that no process listens at a peer's address."""
        with self._lock:
            former = self._heard.get(address)
            if former is None or former.refused:
                return
            self._heard[address] = replace(former, refused=True)
        self._nudge()

    def wrote(self, remote: str, boot: str, at: float) -> None:
        """Note that an answer was written whole to the peer that asked from an address as a boot."""
        with self._lock:
            address = self._names.get(remote)
            if address is None:
                return
            self._wrote[address] = (boot, at)
            heard = self._heard[address]
            if heard.status and heard.status.who.boot == boot:
                self._heard[address] = replace(heard, wrote=at)

    def gone(self, remote: str) -> bool:
        """Return whether no launcher listens any more at the address that a connection came from."""
        with self._lock:
            return self._heard.get(self._names.get(remote, ""), Heard()).refused


def news(status: Status) -> Status:
    """Return a status without what changes all the time and wakes no reader."""
    return replace(status, staged_bytes=0, marks=replace(status.marks, progress={}))


def normal(address: str) -> str:
    """Return an address as every socket writes it."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)
