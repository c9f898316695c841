"""What a leader keeps from one look to the next, what it reads in a view, and how it comes to the verdict.

No I/O here. A verdict, of success, a failure or a wait that was too long, is sealed in the record before it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from launcher.contract import Code
from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.looks import Looks
from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Stage, Status
from launcher.pod.gang.protocol.planned.leaving import PlannedEnd
from launcher.pod.gang.protocol.planned.width import Growth, goes_on_without
from launcher.pod.gang.protocol.reasons import of_one_node, told_by
from launcher.pod.gang.protocol.state import Heard, NodeFailure, Rules, View
from launcher.pod.gang.protocol.trust import unnamed
from launcher.pod.outcome import Outcome

# A volume that does not answer holds the verdict no longer than this.
SEALING = 5.0
# Nor does a member that has not asked yet: it may be about to, and hears a verdict from nobody else.
FIRST_QUESTION = 5.0
_REASON = 200  # characters of a reason in the nodes' record


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What a leader keeps: its word, what it asked of the record, and the times that its limits count from."""

    word: LeaderMessage = field(default_factory=LeaderMessage)
    asked: Generation | None = None
    tried: int = 0  # the highest number that was asked for: one that was given up may yet be made
    staged: bool = False  # all are there with their data: a run that could not stage ends no earlier one of the name
    sealing: Outcome | None = None  # the verdict, until it stands in the record
    seen: tuple[object, ...] = ()  # of the members, when something changed last
    since: float = 0.0  # that moment
    rival: float = 0.0  # when the leader of a later gang, that has replaced this one, was last known to answer
    hold: float = 0.0  # until when an unknown launcher may still run programs; 0 where none can
    begun: float | None = None  # when the trainers of this generation started
    quick: int = 0  # failures in a row that came soon
    not_before: float = 0.0
    looks: Looks = field(default_factory=Looks)
    ended: NodeFailure | None = None  # what ended the last generation, for the record of the nodes
    doubt: float | None = None  # since when it is open whether a restart was given back: the passes are looked at
    growth: Growth = field(default_factory=Growth)
    leave: PlannedEnd | None = None  # while its generation ends as planned
    failed: float | None = None  # since when somebody has failed before any generation here

    @property
    def looks_at_passes(self) -> float | None:
        """The last look at the passes that it asks for."""
        if self.doubt is not None:
            return self.doubt
        return self.leave.passes.asked if self.leave else self.growth.passes.asked

    @property
    def looks_again(self) -> float | None:
        """When the passes are to be looked at again."""
        return self.leave.passes.due if self.leave else self.growth.passes.due


def statuses_of(view: View) -> list[Status]:
    """Return the members' last statuses, in rank order."""
    return [status for address in view.order if (status := view.of(address).status)]


def failure_of(view: View, generation: Generation | None) -> Failure | None:
    """Return a failure of a generation that a member of it told of, or of anyone here before the first."""
    boots = {who.boot for who in generation.members} if generation else None
    told = (each.failure for each in statuses_of(view) if boots is None or each.who.boot in boots)
    return next((each for each in told if each and each.generation == number_of(generation)), None)


def awaits_askers(before: Lead, view: View, rules: Rules) -> bool:
    """Return whether a member may be about to ask for the first time: after a verdict the leader leaves soon."""
    asked = all(not lease.unasking(view.of(address), view.now, rules.limits) for address in view.order)
    return not asked and (not before.seen or view.now < before.since + FIRST_QUESTION)


def resume_for(passes_by_member: Sequence[tuple[int, ...] | None]) -> int | None:
    """Return the newest pass that every member with a volume sees as complete."""
    seen = [set(passes) for passes in passes_by_member if passes is not None]
    return max(set.intersection(*seen), default=None) if seen else None


def replaced(view: View) -> bool:
    """Return whether a later gang is complete without any of this one: its pods were deleted, though it is not told.

    It makes no generation any more, or the two would overtake each other until no restart is left; and it gives no
    verdict but theirs.
    """
    latest, ours = view.record.latest, statuses_of(view)
    if latest is None or not latest.number > max(status.known for status in ours) > 0:
        return False
    boots = {status.who.boot for status in ours}
    return all(who.boot not in boots for who in latest.members)


def outlived(before: Lead, view: View, rules: Rules) -> Lead:
    """Return the state of a leader whose gang was replaced: how long the later gang's leader has not been heard.

    One that never answers, or is gone, may have ended before it began anything; then nobody would give a verdict.
    """
    latest = view.record.latest
    heard = view.of(latest.members[0].address) if latest else Heard()
    there = latest is not None and heard.is_of(latest.members[0].boot)
    answers = there and lease.answers(heard, view.now, rules.limits)
    if answers and rules.width and not goes_on_without(view):
        return replace(before, rival=0.0)  # it says that it is over
    rival = view.now if answers or not before.rival else before.rival
    waits = view.now < lease.strangers_until(rival, rules.limits)
    return replace(before, rival=rival, since=view.now if waits else before.since)


def patience(word: LeaderMessage, rules: Rules) -> float:
    """Return for how long nothing may change."""
    restarting = word.stage is Stage.GATHERING and word.generation is not None
    return rules.limits.regather if restarting else rules.limits.gather


def number_of(generation: Generation | None) -> int:
    """Return a generation's number, 0 where there is none."""
    return generation.number if generation else 0


def spent_of(generation: Generation | None) -> int:
    """Return how many restarts count against the most that there may be, up to a generation."""
    return generation.spent if generation else 0


def failure_noted(cause: Failure, view: View) -> NodeFailure | None:
    """Return what the nodes' record is to have of the end of a generation; a stop is nobody's failure."""
    if cause.told or not (cause.address and cause.generation):
        return None
    status = view.of(cause.address).status
    return NodeFailure(
        run=view.mine.key,
        generation=cause.generation,
        node=cause.node,
        role=str(status.who.role) if status else "",
        rank=status.rank if status else None,
        code=cause.code,
        lost=cause.code == Code.GANG and not (status and told_by(status, cause)),
        reason=cause.reason[:_REASON],
    )


def on_its_node(cause: Failure, view: View) -> Failure:
    """Return a failure with the node of the pod that it happened to."""
    status = view.of(cause.address).status if cause.address else None
    return replace(cause, node=status.node) if status else cause


def _of_its_node(before: Lead, cause: Failure, view: View) -> str:
    """Return what is said of the node that has most of the last failures, unless all that is known of is on one."""
    ended = before.ended
    if ended is None or ended.generation != cause.generation:
        return ""
    known = [each for each in view.record.failures if (each.run, each.generation) != (ended.run, ended.generation)]
    nodes = [*(each.node for each in known), ended.node]
    several = len({*nodes, *(status.node for status in statuses_of(view))} - {""}) > 1
    return of_one_node(nodes) if several else ""


def seal(before: Lead, cause: Failure, view: View, spent: int = 0) -> Lead:
    """Ask for the verdict of failure to be recorded, and end all children meanwhile."""
    spoken = (cause.reason, f"no restart of {spent} is left" if spent else "", _of_its_node(before, cause, view))
    reason = "; ".join(filter(None, spoken))
    verdict = Outcome(code=cause.code, reason=reason, tail=cause.tail)
    word = LeaderMessage(generation=before.word.generation, cause=cause, found=before.word.found)
    return sealing(replace(before, word=word), verdict, view)


def sealing(before: Lead, verdict: Outcome, view: View) -> Lead:
    """Ask for a verdict to be recorded; it is for those who are heard now."""
    word = replace(before.word, boots=unnamed(statuses_of(view), view.mine))
    return replace(before, word=word, asked=None, sealing=verdict, since=view.now)


def sealed(before: Lead, view: View) -> Lead:
    """Give the verdict once it stands in the record: of two leaders' verdicts the first one stands."""
    late = before.sealing if view.now >= before.since + SEALING else None
    if late and not late.code and view.record.unsealed:
        late = replace(late, reason=f"{late.reason}; {view.record.unsealed}")
    verdict = view.record.sealed or late
    if verdict is None:
        return before
    return replace(before, word=replace(before.word, stage=Stage.OVER, verdict=verdict, waiting=""))


def end_if_overdue(before: Lead, after: Lead, view: View, rules: Rules) -> Lead:
    """End what has not changed for too long; a training may take its time."""
    if after.sealing or after.word.verdict:
        return after
    # A volume that refuses with ever another reason has not changed.
    waiting = after.word.waiting.removesuffix(f": {view.record.trouble}")
    seen = (after.word.stage, waiting, *map(_visible, statuses_of(view)))
    if seen != before.seen:
        return replace(after, seen=seen, since=view.now)
    most = patience(after.word, rules)
    if after.word.stage is Stage.TRAINING or view.now < after.since + most:
        return after
    code = Code.GANG if after.word.generation else Code.JOIN
    reason = f"nothing changed for {most:g} s: {after.word.waiting or 'waiting'}"
    cause = after.word.cause
    before_it = f"; before that {cause.reason}" if cause else ""
    tail = cause.tail if cause else ""
    return seal(after, Failure(generation=after.word.number, code=code, reason=reason + before_it, tail=tail), view)


def _visible(status: Status) -> tuple[object, ...]:
    staging = (status.looked_at, status.staged_bytes)
    return (status.who.boot, status.phase, *staging, status.ready, status.serving, status.children)
