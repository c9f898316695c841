"""This pod's place in its gang: statuses, ledger, board and lookout around one `Member`, for the main thread.

The main thread looks whenever it is nudged or a limit runs out. Nothing here waits for the network or the volume.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

from launcher.pod.events import Tell
from launcher.pod.gang.board import Board
from launcher.pod.gang.following import Orders, Run, soonest
from launcher.pod.gang.ledger import Ledger
from launcher.pod.gang.lookout import Lookout
from launcher.pod.gang.member import Member, Order
from launcher.pod.gang.scribe import Scribe
from launcher.pod.gang.statuses import Statuses
from launcher.pod.gang.words import Brood, Failure, Generation, Limits, Marks, Rules, Status, Verdict, Who
from launcher.pod.inbox import Inbox
from launcher.pod.outcome import Code, Decided, GangError, LauncherError, Outcome, Stopped, of_error
from launcher.pod.plan import Resume
from launcher.pod.policy import Cause, Wish
from launcher.pod.roster import Roster, Waiting
from launcher.pod.settings import Role, Settings

Result = TypeVar("Result")

RUNS = {
    Run.NOTHING: frozenset[Role](),
    Run.PSERVERS: frozenset({Role.PSERVER}),
    Run.ALL: frozenset({Role.PSERVER, Role.TRAINER}),
}
# The last words: as long as it takes the others to have read them, at most.
LINGER = 0.5
LEADER_LINGERS = 10.0
# What a pod that cannot go on waits for the gang's verdict, so that all end with the same.
LAMENT = 5.0


class Membership:
    """The main thread's view of the gang, from its first look to its last word."""

    def __init__(self, settings: Settings, inbox: Inbox, tell: Tell) -> None:
        """Know oneself; nothing is started yet."""
        limits = Limits.of(settings.timing.peer, settings.timing.join, settings.timing.rejoin)
        grace = min(settings.timing.grace, (limits.lost - limits.lease) / 2)
        who = Who(role=settings.role, address=settings.address, uid="", boot=secrets.token_hex(8))
        self._settings = settings
        self._inbox = inbox
        self._tell = tell
        self._member = Member(
            status=Status(who=who, lone=os.getpid() == 1),
            rules=Rules(limits=limits, restarts=settings.max_restarts, grace=grace),
        )
        self._statuses = Statuses(
            who, bind=settings.address, port=settings.status_port, limits=limits, nudge=inbox.nudge, tell=tell
        )
        self._board = Board(inbox.nudge)
        self._ledger = Ledger(settings, inbox.nudge, tell)
        self._scribe = Scribe(self._ledger.put, job=settings.job)
        self.wish = Wish(run=frozenset(), grace=grace)
        self._verdict: Verdict | None = None
        self._decided = 0.0
        self._end: Cause | None = None
        self._read = 0.0
        self._waiting = ""

    def __enter__(self) -> Self:
        """Show the first status, and begin to look for the others."""
        self._statuses.start()
        self._statuses.publish(self._member.status)
        self._board.start()
        self._lookout = Lookout(self._settings, self._inbox.nudge, self._tell)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Say the last words, and let the others read them; the leader goes last."""
        until = time.monotonic() + LINGER
        if self._verdict and self._member.leads:
            self._await_the_others(time.monotonic() + LEADER_LINGERS)
        self._statuses.publish(self._member.status)
        self._statuses.linger(LINGER)
        self._ledger.close(until)

    def meet(self) -> Roster:
        """Return the complete roster: within the join time-out at first, later within the rejoin time-out."""
        again = self._member.last is not None
        deadline = time.monotonic() + self._settings.timing.rejoin if again else None
        self._lookout.seeking.set()
        while True:
            found = self._lookout.latest
            if isinstance(found, Roster):
                self._take(found)
                return found
            if found:
                self._wait_for(found, tell=again)
            if self._lookout.broken:
                raise self._lookout.broken
            if deadline and time.monotonic() >= deadline:
                reason = found.reason if found else "nothing was heard of it"
                raise GangError(f"the gang did not come together again (LAUNCHER_REJOIN_TIMEOUT): {reason}")
            self._pause("waiting for its peers", deadline)

    def stage(self, work: Callable[[], Result]) -> Result:
        """Return what staging returns; the complete passes are looked at after it."""
        leads = self._member.leads

        def all_of_it() -> tuple[Result, tuple[int, ...] | None]:
            return work(), self._ledger.survey(leads=leads)

        errand = self._inbox.errand
        result, passes = self._telling_a_stop(
            lambda: errand("staging its data", all_of_it, look=lambda: self._idle().until)
        )
        self._member.staged(passes)
        return result

    def assemble(self) -> Generation | None:
        """Return the generation that this pod takes part in; None where the roster changed meanwhile."""
        begun = time.monotonic()
        while True:
            orders = self._idle()
            if orders.ready:
                return self._begin(orders)
            found = self._lookout.latest
            if not isinstance(found, Roster) or found.digest != self._member.order.digest:
                return None
            self._refuse_to_wait_for_ever(begun)
            self._pause("waiting for the gang", orders.until)

    def resume(self, generation: Generation) -> Resume | None:
        """Return where a generation goes on, None where it starts afresh."""
        return self._ledger.resume(generation.resume)

    def ask(self, brood: Brood) -> Wish:
        """Return what the gang wants of the children, after telling it how they are."""
        if brood.failure:
            self._member.fail(self._signed(brood.failure))
        if brood.told:
            self._member.stop()
        self._member.report(children=brood.left, serving=brood.serving, trained=brood.trained)
        orders = self._look()
        self._end = self._end or self._ending(orders)
        self.wish = replace(self.wish, run=RUNS[orders.run], cause=self._end, until=orders.until)
        return self.wish

    def settle(self, cause: Cause) -> Outcome | None:
        """Return how it ended for this pod, once nothing of its children is left; None if another start follows."""
        self._member.rest()
        self._board.end(cause.reason)
        if self._verdict and not (cause.told and cause.at < self._decided):
            return _outcome(self._verdict)
        if cause.told:
            return Outcome(code=cause.code, reason=cause.reason)
        self._tell("generation_ended", generation=self._member.status.known, reason=cause.reason)
        return None

    def lament(self, error: LauncherError) -> Outcome:
        """Tell the gang why this pod cannot go on; return the verdict that follows, else the error's own outcome."""
        self._member.fail(self._signed(Failure(generation=0, code=int(error.code), reason=str(error))))
        until = time.monotonic() + LAMENT
        while not self._look().verdict and self._member.order.addresses and time.monotonic() < until:
            self._inbox.next(until)
        return _outcome(self._verdict) if self._verdict else of_error(error)

    @property
    def environment(self) -> dict[str, str]:
        """What a trainer needs to speak to its launcher."""
        return self._board.environment()

    @property
    def marks(self) -> Marks:
        """What the trainer here reported last, and where it waits."""
        return self._board.marks

    @property
    def address(self) -> str:
        """This pod's own address."""
        return self._member.status.who.address

    def _look(self) -> Orders:
        """Publish, hear, decide, and have done what follows from it."""
        now, member, heard = time.monotonic(), self._member, self._statuses.heard()
        member.mark(self._board.marks)
        orders = member.look(now, heard, self._ledger.facts)
        self._statuses.watch(member.watched)
        self._statuses.publish(member.status)
        if member.leads:
            self._ledger.wish(member.lead.asked, member.lead.sealing)
            self._scribe.look(member, heard)
        if word := member.word(heard):
            self._board.hear(word)
        if orders.verdict and not self._verdict:
            self._verdict, self._decided = orders.verdict, now
            self._tell("verdict", code=orders.verdict.code, reason=orders.verdict.reason)
        return replace(orders, until=soonest(orders.until, self._next_reading(now)))

    def _next_reading(self, now: float) -> float | None:
        """Have the record read now and then: a leader may have been overtaken, and a leader lost had a verdict."""
        if self._verdict or not (self._member.leads or (self._member.last and not self._member.engaged)):
            return None
        every = self._member.rules.limits.lease / 3
        if now >= self._read + every:
            self._read = now
            self._ledger.look()
        return self._read + every

    def _idle(self) -> Orders:
        """Look while no children run; a verdict ends this life."""
        orders = self._look()
        if self._verdict:
            raise Decided(_outcome(self._verdict))
        return orders

    def _pause(self, doing: str, until: float | None) -> None:
        until = soonest(until, self._idle().until)
        self._telling_a_stop(lambda: self._inbox.wait(doing, until))

    def _telling_a_stop(self, waiting: Callable[[], Result]) -> Result:
        try:
            return waiting()
        except Stopped:
            self._member.stop()
            self._look()
            raise

    def _take(self, roster: Roster) -> None:
        who = replace(self._member.status.who, address=roster.me.address, uid=roster.me.uid)
        names = {peer.address: roster.name_of(role, peer) for role, peer in roster.members}
        order = Order(addresses=tuple(names), digest=roster.digest, names=names)
        self._ledger.open(roster.key)
        self._member.meet(order, who, rank=roster.rank, key=roster.key)

    def _wait_for(self, found: Waiting, *, tell: bool) -> None:
        if found.key:
            self._ledger.open(found.key)
        if found.succeeded:
            raise Decided(Outcome(code=0, reason="another pod of this job has succeeded: every trainer is done"))
        self._member.disband()
        if tell and found.reason != self._waiting:
            self._waiting = found.reason
            self._tell("waiting_for_peers", reason=found.reason)

    def _begin(self, orders: Orders) -> Generation:
        generation = self._member.taking_part
        self._lookout.seeking.clear()
        self._end = None
        self.wish = replace(self.wish, run=frozenset(), cause=None, until=orders.until)
        if self._settings.role is not Role.PSERVER:
            self._board.begin(generation.number, self._member.status.rank or 0, self._settings.trainers)
        facts = {"generation": generation.number, "resume": generation.resume, "cause": generation.cause}
        self._tell("generation_begins", **facts)
        return generation

    def _ending(self, orders: Orders) -> Cause | None:
        now = time.monotonic()
        if verdict := orders.verdict:
            return Cause(at=now, code=verdict.code, reason=verdict.reason)
        if orders.end:
            grace = 0.0 if orders.end.kill else self.wish.grace
            return Cause(at=now, code=Code.GANG, reason=orders.end.reason, grace=grace)
        return None

    def _refuse_to_wait_for_ever(self, begun: float) -> None:
        """Give up a leader that cannot be reached; one that can has its own limits, and a verdict at their end."""
        timing = self._settings.timing
        patience = timing.rejoin if self._member.last else timing.join
        order = self._member.order
        if self._member.leads or not order.addresses:
            return
        heard = self._statuses.heard().get(order.addresses[0])
        if time.monotonic() > max(begun, heard.sent if heard else 0.0) + patience:
            raise GangError(f"the leader, {order.names.get(order.addresses[0])}, did not answer for {patience:g} s")

    def _signed(self, failure: Failure) -> Failure:
        """Return a failure with the name of the pod that it happened in."""
        who = self._member.status.who
        name = self._member.order.names.get(who.address) or who.address or "this pod"
        generation = failure.generation and self._member.status.ready
        return replace(failure, generation=generation, reason=f"{failure.reason} (in {name})", address=who.address)

    def _await_the_others(self, until: float) -> None:
        """Stay until every member has ended with the verdict, or is gone."""
        while self._member.waited_for(self._statuses.heard(), time.monotonic()) and time.monotonic() < until:
            self._look()
            self._inbox.next(until)


def _outcome(verdict: Verdict) -> Outcome:
    return Outcome(code=verdict.code, reason=verdict.reason, tail=verdict.tail.encode(errors="replace"))
