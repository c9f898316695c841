"""How wide a gang is at this moment, and who leaves it, by what its leader and the API say.

No I/O here. Anybody may have said it: what has the wrong type is read as absent, and each text is made visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from launcher.contract import LEAVING, PSERVER, STOPPED
from launcher.desk.jobs.job_state import KubePod
from launcher.job.elastic.width import JobWidth
from launcher.kube.objects import Object, mapping, rows, text_at
from launcher.text import one_line

_SENTENCE, _NAME = 300, 100  # characters
_LONG = 1e6  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class GangWidth:
    """How many pods with a trainer take part, of how many, and how many more are there."""

    pods: int
    least: int
    most: int
    spares: int  # asked for
    beside: int  # there, and without a part in this start

    def __str__(self) -> str:
        """Return it in words: who has no part is a spare where all take part, else it comes later."""
        told = JobWidth(self.least, self.most).told(self.pods)
        if not self.beside:
            return told
        spare = "spare" if self.pods == self.most else "more"
        return f"{told}, {self.beside} {spare}{'s' if spare == 'spare' and self.beside > 1 else ''}"


def gang_width(told: Object, width: JobWidth | None) -> GangWidth | None:
    """Return how wide a gang is by its leader; None where it says nothing, or has one number of pods."""
    taking_part = {
        text_at(each, "address")
        for each in rows(mapping(told, "word", "generation"), "members")
        if each.get("role") != PSERVER
    }
    if width is None or width.fixed or not taking_part:
        return None
    trainers = [each for each in rows(told, "members") if each.get("role") != PSERVER and not _stops(each)]
    beside = sum(text_at(each, "address") not in taking_part for each in trainers)
    return GangWidth(pods=len(taking_part), least=width.least, most=width.most, spares=width.spares, beside=beside)


def who_leaves(told: Object, pods: Sequence[KubePod]) -> tuple[str, ...]:
    """Return the pods that were told to stop, by their launchers' word or the API's."""
    names = {pod.address: pod.name for pod in pods if pod.address}
    by_themselves = (_named(each, names) for each in rows(told, "members") if _stops(each))
    by_the_api = (pod.name for pod in pods if pod.leaving and not pod.over)
    return tuple(dict.fromkeys((*by_themselves, *by_the_api)))


def why_it_ends(told: Object) -> str:
    """Return why a start ends soon, as planned, and when at the latest; nothing where none does."""
    leaving = mapping(told, "word", LEAVING)
    why = one_line(text_at(leaving, "why"), _SENTENCE)
    seconds = leaving.get("seconds")
    within = f", within {seconds:.0f} s" if isinstance(seconds, int | float) and 0 <= seconds < _LONG else ""
    return f"{why}{within}" if why else ""


def leaving_line(names: Iterable[str], why: str) -> str:
    """Return who leaves and why, in a line."""
    return "; ".join(filter(None, (", ".join(names), why)))


def _stops(member: Object) -> bool:
    return member.get("phase") == STOPPED or member.get("stopping") is True


def _named(member: Object, names: Mapping[str, str]) -> str:
    address = text_at(member, "address")
    rank = member.get("rank")
    unknown = f"{text_at(member, 'role')} {rank}" if isinstance(rank, int) else address
    return one_line(names.get(address) or unknown, _NAME)
