"""What to do next with the children of a pod: a pure function of what happened to them, and of the time.

No I/O here. The first cause wins: a stop that was told, a child that failed, the gang's word, or the last trainer's
good end. Then everything that is left is told to end, has its grace, and is killed: each once. In a gang a stop holds
for its pod even where the children were ending already for another cause, with the grace of a stop; the end of the
lease stands above every grace.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

from launcher.contract import Code
from launcher.pod.outcome import Outcome, signal_name
from launcher.pod.settings.nouns import Role

# A fleet program's first trainer stops the pservers when all have finished, so a pserver may end with 0 a moment
# before the trainers do. One that ends with 0 while they go on could not bind its port.
FAREWELL = 5.0
# A killed process that does not go (its file system hangs) holds the pod's end no longer than this.
KILL_PATIENCE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One child and all that happened to it; `left` says whether anything of its process group remains.

    `why` is the reason of its end where more is known than its code says, `tail` the last lines of its output, and
    `proof` what this failure is known by again.
    """

    name: str
    role: Role
    pid: int = 0
    left: bool = True
    code: int | None = None
    ended: float = 0.0
    told: float | None = None
    killed: float | None = None
    why: str = ""
    tail: str = ""
    proof: str = ""

    @property
    def running(self) -> bool:
        """Whether the child itself has not ended."""
        return self.code is None

    @property
    def unstarted(self) -> bool:
        """Whether the child could not even be started."""
        return self.code is not None and not self.pid


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """When and how the children end; `told` by a signal; `grace` is theirs where it differs from the usual one.

    `culprit` is the child that did it, and `proof` what its failure is known by again.
    """

    at: float
    outcome: Outcome
    culprit: str = ""
    proof: str = ""
    unstarted: bool = False
    told: bool = False
    grace: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What the gang wants of a pod's children: who may run, why they end, when to ask again, and their grace then.

    `check`: every trainer is done, and the pserver is to be looked at. `look` counts the looks at their stacks.
    `window` is how long they go on after a stop was told; `leaving` since when all of them end soon, as planned: that
    one of them ends then is obedience.
    Alone, without a gang, children run at once, and end with the last trainer.
    """

    run: frozenset[Role] = frozenset(Role)
    cause: Cause | None = None
    until: float | None = None
    grace: float | None = None
    check: bool = False
    look: int = 0
    window: float = 0.0
    leaving: float | None = None
    alone: bool = False


ALONE = Instructions(alone=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What to do now: signals to children's groups by pid; when to ask again; the end, once all are gone.

    `cause` is why the children end, now or soon: from then on no further one starts. `failure` is what a child did.
    """

    signals: tuple[tuple[int, int], ...] = ()
    until: float | None = None
    cause: Cause | None = None
    failure: Cause | None = None
    end: Cause | None = None


def decide(
    children: Sequence[Child], stop: Cause | None, now: float, grace: float, instructions: Instructions = ALONE
) -> Step:
    """Return the next step."""
    cause = first_cause(children, stop, instructions)
    if cause is None or cause.at > now:
        return Step(cause=cause, until=cause.at if cause else None)
    failure = cause if cause.culprit else None
    left = [child for child in children if child.left and not _given_up(child, now)]
    if not left:
        return Step(cause=cause, failure=failure, end=cause if instructions.alone else stop or cause)
    own = stop.grace if stop else cause.grace
    grace = 0.0 if _killing(instructions) else grace if own is None else own
    signals = tuple((child.pid, signum) for child in left if (signum := _signal(child, now, grace)))
    until = min(_due(child, now, grace) for child in left)
    return Step(cause=cause, failure=failure, signals=signals, until=until)


def signalled(children: Sequence[Child], step: Step, now: float) -> tuple[Child, ...]:
    """Return the children once the signals of a step were given."""
    given = dict(step.signals)
    return tuple(
        replace(child, told=now)
        if given.get(child.pid) == signal.SIGTERM
        else replace(child, killed=now)
        if child.pid in given
        else child
        for child in children
    )


def stopped(signum: int, at: float, *, window: float = 0.0, grace: float | None = None) -> Cause:
    """Return a signal to stop as a cause; the window in which children go on is taken off their grace."""
    outcome = Outcome(code=128 + signum, reason=f"told to stop by {signal_name(signum)}")
    left = max(0.0, grace - window) if window and grace is not None else None
    return Cause(at=at + window, outcome=outcome, told=True, grace=left)


def first_cause(children: Sequence[Child], stop: Cause | None, instructions: Instructions = ALONE) -> Cause | None:
    """Return the first cause: it may lie a farewell ahead, and a better end may still overtake it."""
    causes = [cause for child in children if (cause := _failure(child, children, instructions))]
    causes += [cause for cause in (stop, instructions.cause) if cause]
    if instructions.alone and (done := _success(children)):
        causes.append(done)
    return min(causes, key=lambda cause: cause.at, default=None)


def trained(children: Sequence[Child], leaving: float | None = None) -> bool:
    """Return whether every trainer here has ended well, and not because all end soon."""
    trainers = [child for child in children if child.role is not Role.PSERVER]
    return all(child.code == 0 and child.told is None and not _obeyed(child, leaving) for child in trainers)


def may_have_failed(child: Child) -> bool:
    """Return whether a child's end may be a failure; what it does after it was told to end is obedience."""
    return child.told is None and (bool(child.code) or (child.code == 0 and child.role is Role.PSERVER))


def reason_of(child: Child) -> str:
    """Return the reason of a child's failure by its code alone."""
    if child.code == 0:
        told = "could it not bind its port? A program that is no parameter server needs -runtime (LAUNCHER_RUNTIME)"
        return f"{child.name} ended with 0 before the trainers were done; {told}, such as torch or env"
    if child.code is not None and child.code < 0:
        return f"{child.name} was ended by {signal_name(-child.code)}"
    return f"{child.name} exited with {child.code}"


def _failure(child: Child, children: Sequence[Child], instructions: Instructions) -> Cause | None:
    if child.code is None or not may_have_failed(child) or _obeyed(child, instructions.leaving):
        return None
    at, code = child.ended, exit_code(child.code)
    if code == 0:
        if instructions.check or (instructions.alone and all(other.role is Role.PSERVER for other in children)):
            return None  # every trainer is done, whatever the verdict still waits for; or there is none
        at, code = at + (FAREWELL if Role.TRAINER in instructions.run else 0.0), Code.GANG
    outcome = Outcome(code=code, reason=child.why or reason_of(child), tail=child.tail)
    return Cause(
        at=at,
        outcome=outcome,
        culprit=child.name,
        proof=child.proof,
        unstarted=child.unstarted,
        grace=instructions.grace,
    )


def _obeyed(child: Child, leaving: float | None) -> bool:
    return leaving is not None and child.ended >= leaving


def _success(children: Sequence[Child]) -> Cause | None:
    awaited = [child for child in children if child.role is not Role.PSERVER] or list(children)
    if not awaited or any(child.code != 0 for child in awaited):
        return None
    outcome = Outcome(code=0, reason="every trainer of this pod is done")
    return Cause(at=max(child.ended for child in awaited), outcome=outcome)


def _killing(instructions: Instructions) -> bool:
    """Return whether the gang wants no grace: the lease is over, and others may go on. It ends one that runs, too."""
    return instructions.cause is not None and instructions.cause.grace == 0


def _given_up(child: Child, now: float) -> bool:
    return child.killed is not None and now >= child.killed + KILL_PATIENCE


def _signal(child: Child, now: float, grace: float) -> int:
    if child.killed is not None:
        return 0
    if not child.running and child.told is None:
        return signal.SIGKILL  # what a child leaves behind has no grace: no result of it is needed
    if child.told is None:
        return signal.SIGTERM
    return signal.SIGKILL if now >= child.told + grace else 0


def _due(child: Child, now: float, grace: float) -> float:
    if child.killed is not None:
        return child.killed + KILL_PATIENCE
    return (child.told if child.told is not None else now) + grace


def soonest(*times: float | None) -> float | None:
    """Return the first of some times, of which some may be never."""
    return min((time for time in times if time is not None), default=None)


def exit_code(code: int) -> int:
    """Return a child's own exit code, or 128+n where signal n ended it."""
    return 128 - code if code < 0 else code
