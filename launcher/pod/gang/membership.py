"""This pod's part in its gang, for the main thread: meet, stage, assemble, ask while children run, settle.

Each waits in the inbox, and looks whenever it is nudged or a limit runs out. A verdict ends any of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Protocol, Self, TypeVar

from launcher.contract import Spent
from launcher.pod import outcome
from launcher.pod.gang.candidates import Candidates
from launcher.pod.gang.here.service import HereService
from launcher.pod.gang.node import GangNode
from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.follower import Orders, instructed
from launcher.pod.gang.protocol.messages import Generation
from launcher.pod.gang.protocol.state import ChildrenState
from launcher.pod.gang.seconds import Seconds
from launcher.pod.gang.status.metrics import Facts
from launcher.pod.inbox import Inbox
from launcher.pod.ledger import doing_with
from launcher.pod.log import Tell
from launcher.pod.outcome import Decided, GangError, JoinError, LauncherError, Outcome, Stopped, VolumeError
from launcher.pod.peers.discovery import PeerWatch
from launcher.pod.peers.roster import Roster, Waiting
from launcher.pod.programs.abandoned import abandoned
from launcher.pod.programs.plan import Resume
from launcher.pod.programs.policy import KILL_PATIENCE, Cause, Instructions, soonest
from launcher.pod.programs.processes import Process, told_of
from launcher.pod.programs.stacks.asking import ProgramStacks
from launcher.pod.programs.stacks.care import ALL_SIGNAL, MAIN_SIGNAL
from launcher.pod.programs.stacks.files import StackFiles
from launcher.pod.programs.supervise import sweep
from launcher.pod.settings.nouns import Settings

_Result = TypeVar("_Result")

# The last words: as long as it takes the others to have read them, at most.
LINGER = 0.5
LEADER_LINGERS = 10.0
# What a pod that cannot go on waits for the gang's verdict, so that all end with the same.
GIVING_UP = 15.0


class StagingWork(Protocol):
    """What stages the job's files, where they are not there yet, and this rank's data, if it has any."""

    def __call__(self, tell: Tell, *, files: bool) -> object:
        """Stage them."""


class Membership:
    """One launcher's part, from its first look to its last word."""

    def __init__(self, settings: Settings, inbox: Inbox, tell: Tell, facts: Callable[[], Facts]) -> None:
        self._settings = settings
        self._inbox = inbox
        self._tell = tell
        self._node = GangNode(settings, inbox, tell, facts)
        self._member = self._node.member
        self._met = False
        self._waiting = ""
        self._slots: tuple[int, ...] = ()  # of the trainers: shards of a width that may change follow them
        self._has_files = False  # the job's
        self._staged_for: tuple[object, ...] | None = None  # the rank, of how many, and their slots
        self._candidates = Candidates(settings.width, settings.pservers)
        self._without_data: Outcome | None = None
        self._grace_ends = 0.0  # of a launcher that was told to stop
        self.stack_files = StackFiles() if settings.stacks else None
        if settings.stacks:
            inbox.ignore(MAIN_SIGNAL, ALL_SIGNAL)
        self.instructions = Instructions(run=frozenset(), grace=self._member.rules.grace)

    def __enter__(self) -> Self:
        """End what a launcher before this one left here, show the first status, and begin to look for the others."""
        sweep(abandoned, self._tell)
        self._node.start()
        self._peer_watch = PeerWatch(self._settings, self._inbox.nudge, self._tell)
        self._node.tell_of_strangers(self._peer_watch.asked_by)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Say the last words; a leader stays until every member has ended, or is gone, for a grace at most.

        Those whom it led have their grace on its answers alone where it was told to stop. And it moves the run's
        counter meanwhile, so that no later run begins beside them.
        """
        until = self._grace_ends
        self._node.leave(LINGER)
        if self._node.verdict:
            until = time.monotonic() + max(LEADER_LINGERS, self._settings.timing.grace + LINGER)
        orders = self._node.look()  # only now is it known whether those whom it led still run something
        while self._node.still_needed() and time.monotonic() < until:
            self._inbox.next(soonest(until, orders.until))
            orders = self._node.look()
        self._node.close(LINGER)

    def meet(self, work: StagingWork) -> Roster:
        """Return the complete roster: within the join time-out, after a generation within the rejoin time-out.

        The first one is waited for, and told of, by the peer watch. A spare has the job's files staged meanwhile.
        """
        deadline = time.monotonic() + self._patience if self._met else None
        self._peer_watch.seeking.set()
        while True:
            self._look_around()
            found = self._candidates.found
            settled = self._candidates.settled(self._member.status) if isinstance(found, Roster) else 0.0
            if isinstance(found, Roster) and time.monotonic() >= min(settled, deadline or settled):
                self._node.take(found)
                self._slots = found.slots
                self._met, self._waiting = True, ""
                return found
            if isinstance(found, Roster):
                found = found.awaiting_more(len(found.trainers), self._settings.width)
            if found:
                self._wait_for(found)
            if found and found.spare and deadline:  # it waits for as long as the others train
                deadline = time.monotonic() + self._patience
            if self._peer_watch.broken:
                raise self._peer_watch.broken
            if deadline and time.monotonic() >= deadline:
                raise self._too_late(found.reason if found else "no pod was seen")
            if found and found.spare and not self._has_files:
                self._stage_files(work)
            else:
                self._pause("waiting for its peers", soonest(deadline, settled or None))

    def stage(self, work: StagingWork) -> None:
        """Have this rank's data staged, unless it is; look at the passes once none is being written."""
        share = (self._member.status.rank, len(self._member.order.addresses), self._slots)
        if share != self._staged_for:
            self._stage_for(share, work)
        self._member.furnished()
        begun = time.monotonic()
        while not self._node.calm and not self._moved:
            self._refuse_to_wait_without_end(begun)
            self._pause("waiting until no pod runs anything", None)
        survey = partial(self._node.store.survey, leads=self._member.leads)
        self._member.staged(self._errand("looking at the complete passes", survey))

    def assemble(self) -> Generation | None:
        """Return the generation that this pod takes part in; None where all is to be looked at anew."""
        begun = time.monotonic()
        while True:
            orders = self._idle()
            if orders.ready and self._without_data:
                self._node.decline(self._without_data)
                return None
            if orders.ready:
                return self._begin(orders)
            if self._moved:
                return None
            self._refuse_to_wait_without_end(begun)
            self._pause("waiting for the gang", orders.until)

    def resume(self, generation: Generation) -> Resume | None:
        """Return where a generation goes on, None where it starts afresh."""
        return self._node.store.resume(generation.resume)

    def ask(self, state: ChildrenState) -> Instructions:
        """Return what the gang wants of the children, after telling it how they are."""
        if state.failure:
            self._node.fail(state.failure, proof=state.proof)
        if state.told and not self._node.verdict:
            self._stop(first=self.instructions.cause is None and state.failure is None)
        self._node.report(state)
        self._look_around()
        orders = self._node.look()
        self.instructions = instructed(self.instructions, orders, time.monotonic())
        self.seconds.are(doing_with(state, self.instructions))
        return self.instructions

    def outlast(self, left: Callable[[], Sequence[Process]]) -> None:
        """Wait for the end of what cannot be killed, or for the verdict: no other generation may begin beside it."""
        told = ""
        while not self._node.verdict and (running := left()):
            names = ", ".join(f"pid {each.pid} ({each.name})" for each in running[:3])
            if names != told:
                self._tell("still_running", **told_of(running))
                told = names
            self._pause(f"waiting for the end of {names}, which it cannot kill", time.monotonic() + KILL_PATIENCE)

    def settle(self, cause: Cause) -> Outcome | None:
        """Return how it ended for this pod, once nothing of its children is left; None if another start follows."""
        self._node.end(cause.outcome.reason)
        verdict = self._node.verdict
        if verdict and not (cause.told and cause.at < self._node.decided):
            return verdict
        if cause.told:
            return cause.outcome
        self._tell("generation_ended", generation=self._member.status.known, reason=cause.outcome.reason)
        return None

    def give_up(self, own: Outcome) -> Outcome:
        """Tell the gang why this pod cannot go on; return the verdict that follows, else this pod's own outcome."""
        self._node.fail(own)
        self.seconds.are(Spent.LEAVING)
        until = time.monotonic() + GIVING_UP
        while self._member.order.addresses and not self._node.look().verdict and time.monotonic() < until:
            self._inbox.next(until)
        return self._node.verdict or own

    def waits(self, reason: str) -> None:
        """Tell what this pod's programs wait for, also who asks whether it is ready; nothing ends it."""
        self._node.waits(reason)
        if reason and reason != self._waiting:
            self._tell("waiting_for_program", reason=reason)
        self._waiting = reason

    @property
    def heres(self) -> Sequence[HereService]:
        """What each trainer here asks of its launcher, by their numbers in the pod."""
        return self._node.heres

    @property
    def seconds(self) -> Seconds:
        """What this launcher's seconds are."""
        return self._node.seconds

    @property
    def keep_stacks(self) -> Callable[[int, int, Sequence[ProgramStacks]], None]:
        """What is given the stacks of each look, with the numbers of its generation and its own."""
        return self._node.looks.keep

    @property
    def patience_with_waits(self) -> float:
        """For how long a trainer may do nothing but wait before the leader is told."""
        return lease.patience_with_waits(self._member.rules.limits)

    @property
    def generation(self) -> int:
        """The number of the generation that this pod takes part in."""
        return self._member.status.ready

    @property
    def address(self) -> str:
        """This pod's own address."""
        return self._member.status.who.address

    def _idle(self) -> Orders:
        """Look while no children run; a verdict ends this life."""
        self._look_around()
        orders = self._node.look()
        if self._member.status.left_out != self._candidates.left_out:
            self._inbox.nudge()  # others take part now
        if self._node.verdict:
            raise Decided(self._node.verdict)
        return orders

    @property
    def _moved(self) -> bool:
        """Whether the gang has changed since the data was staged."""
        self._look_around()
        found = self._candidates.found
        return not isinstance(found, Roster) or found.digest != self._member.order.digest

    def _errand(self, doing: str, work: Callable[[], _Result]) -> _Result:
        return self._telling_a_stop(lambda: self._inbox.errand(doing, work, look=lambda: self._idle().until))

    def _pause(self, doing: str, until: float | None) -> None:
        until = soonest(until, self._idle().until)
        self._telling_a_stop(lambda: self._inbox.wait(doing, until))

    def _telling_a_stop(self, waiting: Callable[[], _Result]) -> _Result:
        try:
            return waiting()
        except Stopped:
            self._stop(first=True)
            self._node.look()
            raise

    def _stop(self, *, first: bool) -> None:
        """Note that this launcher was told to stop, and whether nothing had ended its generation before.

        Those whom it led count on it for as long as its grace lasts, and end a moment later if they use it all.
        """
        self._grace_ends = self._grace_ends or time.monotonic() + self._settings.timing.grace + LINGER
        self._node.stop(first=first)

    def _stage_for(self, share: tuple[object, ...], work: StagingWork) -> None:
        self._staged_for = self._without_data = None
        try:
            self._staging("staging its data", work)
            self._staged_for = share
        except VolumeError as error:
            self._without_data = outcome.of(error)

    def _stage_files(self, work: StagingWork) -> None:
        with suppress(VolumeError):  # it is tried again
            self._staging("staging the job's files", work)

    def _staging(self, doing: str, work: StagingWork) -> None:
        """Have something staged; the job's files once in this life: what a program makes of them is its own."""
        files = not self._has_files
        with self._node.seconds.staging():
            self._errand(doing, lambda: work(self._node.tell_staging, files=files))
        self._has_files = True

    def _look_around(self) -> None:
        """Keep who would take part now; where the width may change, for the gang as well."""
        candidates = self._candidates
        changed = candidates.look(self._peer_watch.latest, self._member.status.left_out, time.monotonic())
        if changed and self._settings.width.elastic:
            found = candidates.found
            self._node.found(candidates.listed, found if isinstance(found, Roster) else None)

    def _wait_for(self, found: Waiting) -> None:
        if found.key:
            self._node.store.open(found.key)
        if found.succeeded:
            raise Decided(Outcome(code=0, reason="another pod of this job has succeeded: every trainer is done"))
        self._member.disband()
        if self._met or found.spare:  # before that the peer watch tells what it waits for
            self._tell_waiting(found.reason)

    def _tell_waiting(self, reason: str) -> None:
        if reason != self._waiting:
            self._waiting = reason
            self._tell("waiting_for_peers", reason=reason)

    def _begin(self, orders: Orders) -> Generation:
        generation = self._member.taking_part
        self._peer_watch.seeking.clear()
        afresh = Instructions(run=frozenset(), grace=self.instructions.grace, look=self.instructions.look)
        self.instructions = replace(afresh, until=orders.until)
        self._node.begin(generation)
        facts = {"generation": generation.number, "resume": generation.resume, "cause": generation.cause}
        self._tell("generation_begins", **facts)
        return generation

    def _refuse_to_wait_without_end(self, begun: float) -> None:
        """Give up a leader that cannot be reached; one that can has its own limits, and a verdict at their end."""
        if self._member.leads:
            return
        order = self._member.order
        leader = f"the leader, {order.names[order.addresses[0]]},"
        now, since = time.monotonic(), max(begun, self._node.leader_answered())
        if now > since + self._patience:
            raise self._too_late(f"{leader} did not answer for {self._patience:g} s")
        if now > lease.alive_until(since, self._member.rules.limits):
            self._tell_waiting(f"{leader} does not answer")

    @property
    def _patience(self) -> float:
        """How long the others may be missing."""
        timing = self._settings.timing
        return timing.rejoin if self._member.last else timing.join

    def _too_late(self, why: str) -> LauncherError:
        if self._member.last:
            return GangError(f"the gang did not come together again (LAUNCHER_REJOIN_TIMEOUT): {why}")
        return JoinError(f"the gang did not come together (LAUNCHER_JOIN_TIMEOUT): {why}")
