"""What a leader does about alarms: all take the stacks of their programs first, then it names who is the cause.

No I/O here. An alarm with a code ends the generation once the look is complete; any other is only told. A number that
is none needs no look. The desk may ask for a look without an alarm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from launcher.pod.gang.protocol.blame import Blame, Stood, blamed
from launcher.pod.gang.protocol.messages import Alarm, AlarmTold, Failure, LeaderMessage, Status, Trouble
from launcher.pod.gang.protocol.skew import SkewState, skewed
from launcher.pod.gang.protocol.state import View
from launcher.pod.settings.nouns import Role

LOOKING = 5.0  # seconds: whose stacks have not come by then is left out
FRESH = 30.0  # seconds for which a look explains the failure of a program
OF_LATE = 2.0  # seconds for which it explains another wait in vain
_REMEMBERED = 8  # told, in the leader's word
_NOBODY = Blame()


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What a leader keeps of one generation: the look under way and what it is for, and what the last one found."""

    generation: int = 0
    wanted: int = 0  # by the desk: so many were begun
    since: float | None = None  # when the look that is under way was asked for
    heard: frozenset[tuple[str, int]] = frozenset()  # alarms, by boot and number
    alarms: tuple[tuple[Status, Alarm], ...] = ()  # that the look is for
    blame: Blame = _NOBODY
    at: float = 0.0  # when that was found
    skew: SkewState = field(default_factory=SkewState)

    @property
    def due(self) -> float | None:
        """When to go on without those whose stacks have not come, or to compare the trainers' steps again."""
        times = [self.since + LOOKING] if self.since is not None else []
        times += [self.skew.due] if self.skew.laps else []
        return min(times, default=None)


def looked_around(before: Looks, word: LeaderMessage, view: View) -> tuple[Looks, LeaderMessage, Failure | None]:
    """Return the state and the word after the alarms of now, and the failure that ends the generation, if any."""
    if before.generation != word.number:
        before = Looks(generation=word.number, wanted=before.wanted)
    members = _members(word, view)
    before, word = _compared(before, word, view, members)
    alarms = [(each, _located(each, alarm, view)) for each in members for alarm in each.alarms]
    fresh = [(each, alarm) for each, alarm in alarms if (each.who.boot, alarm.number) not in before.heard]
    if not fresh and before.since is None and view.wanted <= before.wanted:
        return before, word, None
    looks = replace(before, heard=before.heard | {(each.who.boot, alarm.number) for each, alarm in fresh})
    told = [(each, alarm) for each, alarm in fresh if alarm.kind is Trouble.NOT_A_NUMBER]
    word = _telling(word, [_told(each, alarm) for each, alarm in told])
    if ending := next((_ending(word, each, alarm, _NOBODY) for each, alarm in told if alarm.code), None):
        return looks, word, ending
    # Of a barrier in vain several tell, one after the other: by the next look the first may have ended.
    same = [(each, alarm) for each, alarm in fresh if alarm.kind is Trouble.TIMED_OUT and _is_of_late(before, view)]
    word = _telling(word, [_blaming(each, alarm, before.blame) for each, alarm in same])
    looks = replace(looks, alarms=(*looks.alarms, *(pair for pair in fresh if pair not in (*told, *same))))
    if looks.since is None and (looks.alarms or view.wanted > looks.wanted):
        return replace(looks, since=view.now, wanted=view.wanted), replace(word, look=word.look + 1), None
    complete = all(_has_looked(each, word) for each in members)
    if looks.since is not None and (complete or view.now >= looks.since + LOOKING):
        return _concluded(looks, word, view, members)
    return looks, word, None


def explained(looks: Looks, cause: Failure, now: float) -> Failure:
    """Return why a generation ends, with what the last look found, if that was just before."""
    blame = looks.blame
    if not blame.words or looks.generation != cause.generation or now > looks.at + FRESH:
        return cause
    tail = "\n".join(filter(None, (blame.tail, cause.tail)))
    return replace(cause, reason=f"{cause.reason}; {blame.words}", tail=tail)


def _is_of_late(looks: Looks, view: View) -> bool:
    return bool(looks.blame.words) and looks.since is None and view.now < looks.at + OF_LATE


def _compared(
    before: Looks, word: LeaderMessage, view: View, members: Sequence[Status]
) -> tuple[Looks, LeaderMessage]:
    """Tell who takes longer for a step than the others; while a member is missing no rank is sure."""
    if view.now < before.skew.due or word.generation is None or len(members) < len(word.generation.members):
        return before, word
    trainers = [(each, of) for each in members if each.who.role is not Role.PSERVER for of in each.trainers]
    told = ((rank, of.marks.pace) for rank, (_, of) in enumerate(trainers))
    paces = {rank: pace for rank, pace in told if pace and not pace.counted}
    skew, slow = skewed(before.skew, paces, view.now)
    named = [replace(each, node=trainers[each.rank or 0][0].node) for each in slow]
    return replace(before, skew=skew), _telling(word, named)


def _concluded(
    looks: Looks, word: LeaderMessage, view: View, members: Sequence[Status]
) -> tuple[Looks, LeaderMessage, Failure | None]:
    """Return the end of a look: what it found, told for each kind of alarm once, and whether it is the end of all."""
    places = [
        Stood(stack=stack, address=each.who.address, node=each.node)
        for each in members
        if _has_looked(each, word)
        for stack in each.standing
    ]
    blame = blamed(places)
    of_culprits = {(place.stack.rank, place.address) for place in blame.culprits}
    alarms = sorted(looks.alarms, key=lambda pair: (pair[1].rank, pair[0].who.address) not in of_culprits)
    first = {alarm.kind: (each, alarm) for each, alarm in reversed(alarms)}
    word = _telling(word, [_blaming(each, alarm, blame) for each, alarm in first.values()])
    ending = next((_ending(word, each, alarm, blame) for each, alarm in alarms if alarm.code), None)
    return replace(looks, since=None, alarms=(), blame=blame, at=view.now), word, ending


def _located(status: Status, alarm: Alarm, view: View) -> Alarm:
    """Return an alarm with the name of the pod that it is from."""
    if len(view.order) < 2:
        return alarm
    return replace(alarm, reason=f"{alarm.reason}, on {view.name(status.who.address)}")


def _members(word: LeaderMessage, view: View) -> list[Status]:
    """Return the statuses of those who are in the generation."""
    heard = ((who, view.of(who.address).status) for who in (word.generation.members if word.generation else ()))
    return [each for who, each in heard if each and each.who.boot == who.boot and each.ready == word.number]


def _has_looked(status: Status, word: LeaderMessage) -> bool:
    return status.looked >= word.look


def _telling(word: LeaderMessage, told: Sequence[AlarmTold]) -> LeaderMessage:
    return replace(word, found=(*word.found, *told)[-_REMEMBERED:]) if told else word


def _told(status: Status, alarm: Alarm) -> AlarmTold:
    return AlarmTold(kind=alarm.kind, rank=alarm.rank, node=status.node, reason=alarm.reason)


def _blaming(status: Status, alarm: Alarm, blame: Blame) -> AlarmTold:
    """Return what is told of an alarm: about who is to blame, if the stacks say so, else about who gave it."""
    told = _told(status, alarm)
    if len(blame.culprits) == 1:
        culprit = blame.culprits[0]
        rank = None if culprit.stack.role is Role.PSERVER else culprit.stack.rank  # a rank is a trainer's
        told = replace(told, rank=rank, node=culprit.node)
    return replace(told, reason=_reason(alarm, blame), tail=blame.tail)


def _ending(word: LeaderMessage, status: Status, alarm: Alarm, blame: Blame) -> Failure:
    address = blame.culprits[0].address if len(blame.culprits) == 1 else status.who.address
    return Failure(
        generation=word.number, code=alarm.code, reason=_reason(alarm, blame), address=address, tail=blame.tail
    )


def _reason(alarm: Alarm, blame: Blame) -> str:
    """Return the cause in a sentence: who is to blame first, unless the alarm is its own."""
    if not blame.words:
        return alarm.reason
    ranks = [each.stack.rank for each in blame.culprits if each.stack.role is not Role.PSERVER]
    own = not blame.culprits or alarm.rank in ranks
    return f"{alarm.reason}; {blame.words}" if own else f"{blame.words}; {alarm.reason}"
