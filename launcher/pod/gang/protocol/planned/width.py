"""How wide a gang is: whether those who are there are enough, how long they wait for more, when more take part.

No I/O here. Who is there is what the peers' watch shows; a generation has one width, and another one follows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Stage, Status, Who
from launcher.pod.gang.protocol.planned.new_pass import PassLook, looked
from launcher.pod.gang.protocol.state import Rules, View
from launcher.pod.settings.nouns import Resize, Role, Width


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a leader keeps of pods that are ready to take part beside those of its generation."""

    digest: str = ""  # of the order that would follow
    waiting: str = ""
    passes: PassLook = field(default_factory=PassLook)  # since all of its newcomers were ready


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """The addresses of pods that are listed and not waited for, and when there may be more of them."""

    addresses: tuple[str, ...] = ()
    due: float | None = None


def pods_left_out(since: Mapping[str, float], view: View, rules: Rules) -> LeftOut:
    """Return which of the listed trainers' pods the gang goes on without; `since` is when each was listed first.

    The first of those that are there says it, from what it hears of all; who is not the first judges those before
    itself, and believes the next one. Who was told to stop is not waited for. Who is silent is, for a while, unless
    there are enough without it; and always where those that are left are not most of the last start: of two halves
    that do not hear each other one goes on.
    """
    if rules.width is None:
        return LeftOut()
    stopping, silent, said = _unfit(since, view, rules)
    found = [address for address in view.listed if address not in stopping]
    enough = len(found) - len(silent) >= rules.width.most
    gone = {address: at if enough else at + rules.width.shrink_after for address, at in silent.items()}
    over = {address for address, at in gone.items() if view.now >= at}
    over = over if _go_on([each for each in found if each not in over], view) else set()
    due = min((at for at in gone.values() if at > view.now), default=None)
    return LeftOut(addresses=tuple(each for each in view.listed if each in {*stopping, *over, *said}), due=due)


def _unfit(
    since: Mapping[str, float], view: View, rules: Rules
) -> tuple[set[str], dict[str, float], tuple[str, ...]]:
    """Return who was told to stop, since when who is silent, and whom the first of the others leaves out."""
    stopping, silent, judges = set[str](), dict[str, float](), False
    for address in view.listed:
        heard = view.of(address)
        if address == view.mine.who.address:
            judges = True
        elif heard.status and heard.status.stopping:
            stopping.add(address)
        elif _is_out(address, view, rules):
            last = max(heard.sent, since[address])
            silent[address] = last if heard.refused else lease.lost_at(last, rules.limits)
        elif not judges:
            return stopping, silent, heard.status.left_out if heard.status else ()
    return stopping, silent, ()


def _is_out(address: str, view: View, rules: Rules) -> bool:
    """Return whether a pod is not heard."""
    heard = view.of(address)
    return bool(heard.stranger) or not lease.answers(heard, view.now, rules.limits)


def _go_on(there: Sequence[str], view: View) -> bool:
    """Return whether those who are there are most of the last start's trainers, or half of them with its leader."""
    latest = view.record.latest
    members = [who.address for who in latest.members if who.role is not Role.PSERVER] if latest else []
    left = [address for address in members if address in there]
    return 2 * len(left) > len(members) or (2 * len(left) == len(members) and left[:1] == members[:1])


def wait_for_more(trainers: int, width: Width, mine: Status) -> float:
    """Return for how long so many wait for more, as long as nobody comes or goes.

    Who took part in nothing yet settles; nobody is waited for where a stop or a change of width ended the last start.
    """
    planned = 0 < mine.known == mine.stopped
    if trainers >= width.most or planned:
        return 0.0
    return width.shrink_after if mine.known else width.settle


def too_few(view: View, rules: Rules) -> str:
    """Return why a run cannot begin with those who are there, or nothing: two halves could both be enough.

    Spares count: two halves of all pods are to be kept apart, not of those who take part.
    """
    if rules.width is None:
        return ""
    most = rules.width.most_pods
    here = sum(not _is_out(address, view, rules) for address in view.listed)
    if 2 * here > most:
        return ""
    return f"{here} of at most {most} pods are here: a run begins with more than half of them"


def has_no_part(view: View) -> bool:
    """Return whether the newest generation may run without this launcher: while it does, this one leads nothing.

    A member of it that is here and runs nothing says that it is over.
    """
    latest, mine = view.record.latest, view.mine
    if latest is None or latest.number <= mine.known or view.record.rested == latest.number:
        return False
    boots = {who.boot for who in latest.members}
    heard = [(address, view.of(address).status) for address in view.order]
    here = [status for address, status in heard if status and not view.of(address).refused]
    left = any(
        each.who.boot in boots and each.known >= latest.number and not (each.ready or each.children) for each in here
    )
    # All new: they wait for its end when they have made their own.
    known = any(each.known for each in here) or latest.members[0].address in view.order
    return mine.who.boot not in boots and not left and known


def goes_on_without(view: View) -> str:
    """Return which generation its leader says that it goes on with, or nothing where it does not answer."""
    latest = view.record.latest
    if latest is None:
        return ""
    leader = latest.members[0]
    heard = view.of(leader.address)
    word = heard.status.word if heard.status and heard.is_of(leader.boot) and not heard.refused else None
    name = view.name(leader.address)
    return f"{name} leads generation {latest.number}, which this pod has no part in" if _is_at(word, latest) else ""


def is_of_the_run(failure: Failure, failed: float, view: View, rules: Rules) -> bool:
    """Return whether a failure before a generation ends the run, and not only the pod that came for it.

    Where the width varies it does before the first generation, as the record has it since then; later that of a
    member of the last one does.
    """
    latest = view.record.latest
    if rules.width is None:
        return True
    if latest is None:
        return view.record.looked >= failed
    status = view.of(failure.address).status
    return status is not None and status.who.boot in {who.boot for who in latest.members}


def has_another_order(who: Who, word: LeaderMessage, view: View, rules: Rules) -> str:
    """Return why a member is not ready for a generation since pods came or went, or nothing: nobody failed."""
    status, generation = view.of(who.address).status, word.generation
    if rules.width is None or word.stage is not Stage.READYING or status is None or generation is None:
        return ""
    elsewhere = status.who.boot == who.boot and status.digest != generation.digest
    return f"{view.name(who.address)} sees other pods" if elsewhere else ""


def grown(
    before: Growth, word: LeaderMessage, view: View, rules: Rules, *, saved: bool = False
) -> tuple[Growth, str]:
    """Return what is kept of those who would take part as well, and why this generation makes way for a wider one.

    `saved` says that all trainers have just completed a pass, and do nothing before the leader's next word.
    """
    width, generation = rules.width, word.generation
    if width is None or generation is None or width.resize is Resize.NEVER or not _wider(generation, view, rules):
        return Growth(), ""
    said = f"{_pods(len(view.newest) - len(generation.members))} ready to take part"
    if width.resize is Resize.NOW or saved:
        return before, said
    since = before.passes if before.digest == view.newest_digest else PassLook()
    passes = looked(since, view)
    waiting = f"{said} after the next pass" if passes.first is not None else ""
    return Growth(digest=view.newest_digest, waiting=waiting, passes=passes), said if passes.came else ""


def _pods(pods: int) -> str:
    return "1 pod is" if pods == 1 else f"{pods} pods are"


def _is_at(word: LeaderMessage | None, latest: Generation) -> bool:
    return word is not None and word.number == latest.number and word.stage not in (Stage.GATHERING, Stage.OVER)


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
        and heard.status.width == view.mine.width
        and not heard.status.stopping
        and lease.answers(heard, view.now, rules.limits)
        for heard in newcomers
    )
