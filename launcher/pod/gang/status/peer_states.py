"""What is known of the peers, by address: kept by the thread that polls and serves, read by any.

Nothing here reads or waits but for a clock and a lock that is held for moments.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from launcher.pod.gang.protocol.messages import Pace, Status
from launcher.pod.gang.protocol.state import Heard

HowFar = tuple[Mapping[str, float | str], Pace | None]  # a trainer's report, and how fast it goes

UNKNOWN_BOOTS = 4096  # boots that are not known yet: anybody may name any


class PeerStates:
    """The peers that are watched, and what is known of each."""

    def __init__(self, nudge: Callable[[], None]) -> None:
        self._nudge = nudge
        self._lock = threading.Lock()
        self._heard: dict[str, Heard] = {}
        self._names: dict[str, str] = {}
        self._boots: dict[str, str] = {}  # whose boot is at which address
        self._unknown: dict[str, float] = {}  # when a boot was last answered of which nobody is known yet

    def keep(self, addresses: Iterable[str]) -> None:
        """Watch exactly these from now on, and forget all others."""
        with self._lock:
            self._heard = {each: self._heard.get(each, Heard()) for each in addresses}
            self._names = {normal(each): each for each in self._heard}
            self._boots = {its.status.who.boot: each for each, its in self._heard.items() if its.status}

    def snapshot(self) -> dict[str, Heard]:
        """Return what is known at this moment."""
        with self._lock:
            return dict(self._heard)

    def member(self, remote: str, boot: str) -> str:
        """Return whose a connection is that has shown a boot: a known one from anywhere, any from a peer's address.

        Where a sidecar or the network gives connections another source address, the boot alone says whose they are.
        """
        with self._lock:
            known = boot if boot in self._boots else remote if remote in self._names else ""
            return known if boot else ""

    def answered(self, address: str, status: Status, sent: float) -> None:
        """Take a peer's answer to the poll that was sent at a time."""
        with self._lock:
            former = self._heard.get(address)
            if former is None:
                return
            boot, before = status.who.boot, former.status
            wrote = former.wrote if before and before.who.boot == boot else self._unknown.pop(boot, 0.0)
            self._heard[address] = Heard(status=status, sent=sent, came=time.monotonic(), wrote=wrote)
            if before and self._boots.get(before.who.boot) == address:
                del self._boots[before.who.boot]
            self._boots[boot] = address
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

    def wrote(self, boot: str, at: float) -> None:
        """Note that an answer was written whole to who asked as a boot; kept until it is known whose that is."""
        if not boot:
            return
        with self._lock:
            if address := self._boots.get(boot):
                self._heard[address] = replace(self._heard[address], wrote=at)
                return
            self._unknown.pop(boot, None)
            self._unknown[boot] = at
            while len(self._unknown) > UNKNOWN_BOOTS:
                del self._unknown[next(iter(self._unknown))]

    def of(self, boot: str) -> tuple[str, Heard]:
        """Return the address at which a boot was heard, and what is known there; nothing of one that was not."""
        with self._lock:
            address = self._boots.get(boot, "")
            return address, self._heard.get(address, Heard())

    def gone(self, boot: str) -> bool:
        """Return whether no launcher listens any more where a boot was."""
        return self.of(boot)[1].refused


def news(status: Status) -> Status:
    """Return a status without what changes all the time and wakes no reader.

    What a leader waits for is such: in a gang of a thousand it names another pod a thousand times.
    """
    word = status.word and replace(status.word, waiting="")
    return with_progress(
        status, [({}, None)] * len(status.trainers), staged_bytes=0, looked_at=0, seconds={}, word=word
    )


def with_progress(status: Status, each: Sequence[HowFar], **facts: object) -> Status:
    """Return a status with these reports of its trainers, and other facts: at once, for a copy is not cheap."""
    if not status.several:
        progress, pace = each[0]
        return replace(status, marks=replace(status.marks, progress=progress, pace=pace), **facts)  # type: ignore[arg-type]
    several = (
        replace(trainer, marks=replace(trainer.marks, progress=progress, pace=pace))
        for trainer, (progress, pace) in zip(status.several, each, strict=True)
    )
    return replace(status, several=tuple(several), **facts)  # type: ignore[arg-type]


def normal(address: str) -> str:
    """Return an address as every socket writes it."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)
