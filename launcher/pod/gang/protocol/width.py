"""How wide a gang is: whether those who are there are enough, how long they wait for more, when more take part.

No I/O here. Who is there is what the peers' watch shows; a generation has one width, and another one follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Stage, Status, Who
from launcher.pod.gang.protocol.state import Rules, View
from launcher.pod.settings.nouns import Resize, Role, Width

_LOOK_AGAIN = 1.0  # seconds, at the passes while a new one is waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a leader keeps of pods that are ready to take part beside those of its generation.

    `asked` is the last look at the passes that was asked for.
    """

    digest: str = ""  # of the order that would follow
    waiting: str = ""
    asked: float | None = None
    first: int | None = None  # how many passes were complete when all of its newcomers were ready


def wait_for_more(trainers: int, width: Width, mine: Status) -> float:
    """Return for how long so many wait for more, as long as nobody comes or goes.

    Who took part in nothing yet settles; nobody is waited for where a stop or a change of width ended the last start.
    """
    planned = 0 < mine.known == mine.stopped
    if trainers >= width.most or planned:
        return 0.0
    return width.shrink_after if mine.known else width.settle


def too_few(view: View, rules: Rules) -> str:
    """Return why a run cannot begin with those who are there, or nothing: two halves could both be enough."""
    most, here = rules.width.most if rules.width else 0, _trainers(view)
    if 2 * here > most:
        return ""
    return f"{here} of at most {most} pods are here: a run begins with more than half of them"


def runs_without(view: View) -> str:
    """Return which generation runs without this launcher, or may: while that leads it, this one leads nothing."""
    latest = view.record.latest
    if latest is None or view.mine.known >= latest.number or latest.members[0].address not in view.order:
        return ""
    leader = latest.members[0]
    heard, name = view.of(leader.address), view.name(leader.address)
    if heard.stranger:
        return ""
    if heard.status is None or (heard.is_of(leader.boot) and not heard.refused and _is_at(heard.status.word, latest)):
        return f"{name} leads generation {latest.number}, which this pod has no part in"
    return ""


def has_another_order(who: Who, word: LeaderMessage, view: View, rules: Rules) -> str:
    """Return why a member is not ready for a generation since pods came or went, or nothing: nobody failed."""
    status, generation = view.of(who.address).status, word.generation
    if rules.width is None or word.stage is not Stage.READYING or status is None or generation is None:
        return ""
    elsewhere = status.who.boot == who.boot and status.digest != generation.digest
    return f"{view.name(who.address)} sees other pods" if elsewhere else ""


def grown(before: Growth, word: LeaderMessage, view: View, rules: Rules) -> tuple[Growth, str]:
    """Return what is kept of those who would take part as well, and why this generation makes way for a wider one."""
    width, generation = rules.width, word.generation
    if width is None or generation is None or width.resize is Resize.NEVER or not _wider(generation, view, rules):
        return Growth(), ""
    said = f"{_pods(len(view.newest) - len(generation.members))} ready to take part"
    if width.resize is Resize.NOW:
        return before, said
    if before.digest != view.newest_digest:
        before = Growth(digest=view.newest_digest)
    looked = before.asked is not None and view.record.read >= before.asked
    if before.asked is None or (looked and view.now >= before.asked + _LOOK_AGAIN):
        before = replace(before, asked=view.now)
    if not looked:
        return before, ""
    reached = 0 if view.record.newest is None else view.record.newest + 1
    if before.first is None:
        return replace(before, first=reached, waiting=f"{said} after the next pass"), ""
    return before, said if reached > before.first else ""


def due(growth: Growth) -> float | None:
    """Return when the passes are to be looked at again."""
    return None if growth.asked is None else growth.asked + _LOOK_AGAIN


def _pods(pods: int) -> str:
    return "1 pod is" if pods == 1 else f"{pods} pods are"


def _is_at(word: LeaderMessage | None, latest: Generation) -> bool:
    return word is not None and word.number == latest.number and word.stage not in (Stage.GATHERING, Stage.OVER)


def _trainers(view: View) -> int:
    statuses = (view.of(address).status for address in view.order)
    return sum(status is not None and status.who.role is not Role.PSERVER for status in statuses)


def _wider(generation: Generation, view: View, rules: Rules) -> bool:
    """Return whether more are there than take part, all of these among them, and every newcomer has its data."""
    taking_part = {who.address for who in generation.members}
    if len(view.newest) <= len(taking_part) or not taking_part <= set(view.newest):
        return False
    members = [view.of(who.address).status for who in generation.members if who.role is not Role.PSERVER]
    if any(status is not None and status.trained == generation.number for status in members):
        return False  # it comes to its end
    newcomers = [view.of(address) for address in view.newest if address not in taking_part]
    return all(
        heard.status is not None
        and heard.status.staged
        and heard.status.digest == view.newest_digest
        and not heard.status.stopping
        and not heard.refused
        and not lease.silent(heard, view.now, rules.limits)
        for heard in newcomers
    )
