"""Notes how far each trainer is, the more seldom the older the event file is: so it stays small, and is never cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from launcher.pod.gang.protocol.messages import Status
from launcher.pod.settings.nouns import Role

_Put = Callable[..., None]
_Facts = Mapping[str, float | str]
CLOSEST = 5.0  # seconds between two lines of a trainer, which may report at every step
LINES_OF_ALL = 20_000  # of all trainers together, while a file becomes 2.7 times as old
SOONER = 10  # times: so much sooner a trainer has a line of a new pass, though only one before its next of its turn


def interval(trainers: int, age: float) -> float:
    """Return the seconds between two lines of a trainer in a file of an age."""
    return max(CLOSEST, age * trainers / LINES_OF_ALL)


class ProgressEvents:
    """What was noted last of each trainer, and of all together the newest pass."""

    def __init__(self, put: _Put, age: Callable[[], float]) -> None:
        """`age` returns the seconds since the file's first event."""
        self._put = put
        self._age = age
        self._noted: dict[tuple[str, int], tuple[float, bool, _Facts]] = {}  # when, whether sooner, and what
        self._newest: tuple[int, float] = (0, 0.0)  # generation and pass
        self._newest_from = 0.0  # when a newer one may be noted for itself

    def look(self, statuses: Sequence[Status], now: float, *, training: bool) -> None:
        """Note what is due, and all that is new once nobody trains."""
        told = [
            (status, local, its.marks.progress)
            for status in statuses
            for local, its in enumerate(status.trainers)
            if its.marks.progress
        ]
        age = self._age()
        every = interval(len(told), age) if training else 0.0
        for place, (status, local, progress) in enumerate(told):
            key, newest = (status.who.boot, local), _pass_of(status, progress)
            at, sooner, before = self._noted.get(key, (0.0, False, {}))
            if progress == before:
                continue
            in_turn = not before or now >= at + every
            first = newest > self._newest and now >= self._newest_from
            early = first or (not sooner and now >= at + every / SOONER)
            if in_turn or (early and progress.get("pass") != before.get("pass")):
                # From their second lines on they take turns, so that there is always one that tells of late.
                turn = 0.0 if before else every * place / len(told)
                self._noted[key] = now - turn, not in_turn, progress
                self._note(status, local, progress)
                if newest > self._newest:
                    self._newest, self._newest_from = newest, now + age / LINES_OF_ALL

    def _note(self, status: Status, local: int, progress: _Facts) -> None:
        facts = dict(progress)
        at = {"pass": facts.pop("pass", None), "step": facts.pop("step", None)}
        self._put("progress", **_trainer(status, local), **at, metrics=facts)


def _pass_of(status: Status, progress: _Facts) -> tuple[int, float]:
    number = progress.get("pass")
    return status.ready or status.known, float(number) if isinstance(number, int | float) else -1.0


def _trainer(status: Status, local: int) -> dict[str, object]:
    """Return which trainer it is, and where there are several in a pod that pod's number."""
    if not status.several or status.rank is None:
        return seat_of(status, Role.TRAINER, status.rank)
    return {**seat_of(status, Role.TRAINER, status.rank * len(status.several) + local), "node_rank": status.rank}


def seat_of(status: Status, role: Role, rank: int | None) -> dict[str, object]:
    """Return who an event is about, and in which generation."""
    who = {"role": str(role), "rank": rank, "address": status.who.address}
    return {"generation": status.ready or status.known, **who}
