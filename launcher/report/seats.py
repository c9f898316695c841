"""Who had which seat: an address told alone is found by the generation that it was in.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Iterable

from launcher.report.events import Event, Made, Seat


class Seating:
    """The seats that were dealt; ranks are dealt anew in each generation."""

    def __init__(self, events: Iterable[Event]) -> None:
        """Remember each generation's members."""
        self.all: set[Seat] = set()
        self._dealt: dict[tuple[int, str], Seat] = {}
        self._latest: dict[str, Seat] = {}
        for made in events:
            if isinstance(made, Made):
                for seat, address in made.members:
                    self.all.add(seat)
                    self._dealt[made.generation, address] = self._latest[address] = seat

    def at(self, address: str, generation: int) -> Seat | None:
        """Return who was there in that generation, else who was there last."""
        return (self._dealt.get((generation, address)) or self._latest.get(address)) if address else None
