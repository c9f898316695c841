"""One launcher of a gang: statuses, store, the programs' socket and run events around one `Member`.

`look` is the whole of it: read the peers' statuses, decide, publish, start what follows. Nothing here waits.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from launcher.contract import Spent
from launcher.pod.gang.desk_looks import DeskLooks
from launcher.pod.gang.here.service import HereService
from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.follower import Orders
from launcher.pod.gang.protocol.member import NOBODY, Member, Order
from launcher.pod.gang.protocol.messages import Failure, Generation, Stage, Status, Trainer, Who
from launcher.pod.gang.protocol.skew import ratios
from launcher.pod.gang.protocol.state import ChildrenState, Heard, Rules
from launcher.pod.gang.seconds import Seconds
from launcher.pod.gang.status.loop import Statuses
from launcher.pod.gang.status.metrics import Facts
from launcher.pod.gang.status.peer_states import with_progress
from launcher.pod.gang.store.recent_events import RecentEvents
from launcher.pod.gang.store.run_events import RunEvents, job_told
from launcher.pod.gang.store.store import Store
from launcher.pod.inbox import Inbox
from launcher.pod.log import Tell, WaitTold
from launcher.pod.outcome import Outcome, SettingsError
from launcher.pod.peers.roster import Roster
from launcher.pod.programs.policy import soonest
from launcher.pod.settings.nouns import Peers, PeersFrom, Role, Settings

READ_BACK = 0.1  # seconds from one look for a generation in the record to the next, while it is about to begin
_STRANGERS = 100  # so many are told: who answers with ever new names does not fill the log


class GangNode:
    """The parts of one launcher, and the verdict once there is one."""

    def __init__(self, settings: Settings, inbox: Inbox, tell: Tell, facts: Callable[[], Facts]) -> None:
        self.member = _newcomer(settings)
        self.heres = tuple(HereService(inbox.nudge) for _ in range(settings.processes))  # one for each trainer here
        self.seconds = Seconds(self.heres)
        self.store = Store(settings, inbox.nudge, tell)
        self.looks = DeskLooks(settings, self.store, inbox.nudge, tell)
        self.verdict: Outcome | None = None
        self.decided = 0.0
        self._staged_bytes = self._looked_at = 0  # so far; another thread counts
        recent_events = RecentEvents(self.store.put)
        self._statuses = Statuses(
            self.member.status.who,
            bind=settings.address,
            port=settings.status_port,
            members=settings.members,
            limits=self.member.rules.limits,
            nudge=inbox.nudge,
            away=inbox.away,
            tell=tell,
            facts=lambda: self._with_findings(facts()),
            events=recent_events,
            fresh=self._with_progress,
        )
        self._run_events = RunEvents(
            recent_events.put,
            job=settings.job,
            facts=job_told(settings),
            seconds=lambda: self.seconds.exact,
            age=lambda: self.store.events_age,
        )
        self._tell = tell
        self._strangers: set[tuple[str, str]] = set()
        self._waits = WaitTold(tell)
        self._alone = settings.peers.source is PeersFrom.SELF  # no peer reads its status
        self._keyed = bool(settings.job_uid)
        self._read = 0.0

    def start(self) -> None:
        """Show the first status."""
        try:
            self._statuses.start()
        except SettingsError as error:
            if not self._alone:
                raise
            self._tell("status_not_served", why=str(error))
        self._statuses.publish(self.member.status)
        for here in self.heres:
            here.start()
        self.looks.start()
        self.seconds.are(Spent.WAITING)

    def tell_of_strangers(self, asked_by: Callable[[str], None]) -> None:
        """Say from now on from where a launcher asks that is no member."""
        self._statuses.stranger = asked_by

    def look(self) -> Orders:
        """Read what the peers said, decide, publish, and start what follows."""
        now, member = time.monotonic(), self.member
        member.mark([here.marks for here in self.heres], self._staged_bytes, self._looked_at)
        self.seconds.came_to(
            min((at for each in member.status.trainers if (at := each.at_pass) is not None), default=None)
        )
        member.wanted = self.looks.wanted
        orders = self._settled(now, self._statuses.heard())
        self.looks.answer(member, self._statuses.leader)
        self._tell_strangers()
        self._run_events.hear(member.heard)
        self._statuses.watch(member.watched)
        self._statuses.publish(member.status)
        if member.leads:
            lead = member.lead
            self.store.wish(
                lead.asked, lead.sealing, begins=lead.staged, doubt=lead.looks_at_passes, ended=lead.ended
            )
            self._run_events.look(now, member, member.heard)
        self.store.keep(member.counter, member.rested)
        if member.word:
            for here in self.heres:
                here.hear(member.word)
        if orders.verdict and not self.verdict:
            self.verdict, self.decided = self._explained(orders.verdict), now
            if not self.verdict.code:
                self.seconds.judged(well=True, saved={})
            self._tell("verdict", code=self.verdict.code, reason=self.verdict.reason)
        waits = self._waits.look(self._awaited(now), now)
        return replace(orders, until=soonest(orders.until, self._next_reading(now), waits))

    def _awaited(self, now: float) -> str:
        """Return what the leader waits for while no trainer runs; nothing where it does not answer itself."""
        member, word = self.member, self.member.word
        if word is None or word.stage in (Stage.TRAINING, Stage.OVER):
            return ""
        leader = member.heard.get(member.order.addresses[0], Heard())
        answers = member.leads or not lease.silent(leader, now, member.rules.limits)
        return word.waiting if answers else ""

    def _explained(self, verdict: Outcome) -> Outcome:
        """Return a verdict; of a success without any part in it, say whose it is: no program was started here."""
        status = self.member.status
        if verdict.code or status.known or not status.key:
            return verdict
        remedy = "; a new run needs a LAUNCHER_JOB_UID of its own" if self._keyed else ""
        return replace(verdict, reason=f"{verdict.reason}, by the record of {status.key}{remedy}")

    def _settled(self, now: float, heard: Mapping[str, Heard]) -> Orders:
        """Decide until nothing follows any more: what a leader says of itself may change its own word."""
        for _ in Stage:
            before = self.member.status
            orders = self.member.look(now, heard, self.store.facts)
            if self.member.status == before:
                break
        return orders

    def take(self, roster: Roster) -> None:
        """Take a complete roster."""
        order = _order(roster)
        status = self.member.status
        who = replace(status.who, address=roster.me.address, uid=roster.me.uid)
        self.member.status = replace(status, node=status.node or roster.me.node)
        self.store.open(roster.key, met=True)
        self._statuses.leader = order.addresses[0]
        self.member.meet(order, who, rank=roster.rank, key=roster.key)

    def found(self, listed: Roster | None, taking_part: Roster | None) -> None:
        """Keep which pods are listed, and the order that there would be now, for a gang whose width may change."""
        self.member.newest = _order(taking_part) if taking_part else NOBODY
        self.member.lists([peer.address for peer in listed.trainers] if listed else [], time.monotonic())

    def begin(self, generation: Generation) -> None:
        """Begin a generation, before any of its programs is started."""
        member = self.member
        self.seconds.go_on(generation.resume, self.store.saved)
        self._run_events.begin(generation, member.status.who.boot, time.monotonic())
        if member.status.who.role is not Role.PSERVER:
            pods = sum(who.role is not Role.PSERVER for who in generation.members)
            first = (member.status.rank or 0) * len(self.heres)
            for rank, here in enumerate(self.heres, first):
                here.begin(generation.number, rank, pods * len(self.heres))

    def report(self, state: ChildrenState) -> None:
        """Say how the children of this generation are."""
        self.member.report(
            children=state.left,
            serving=state.serving,
            trained=state.trained,
            checked=state.checked,
            trainers=state.trainers,
            alarms=state.alarms,
            looked=state.looked,
            standing=state.standing,
        )

    def end(self, reason: str) -> None:
        """End a generation, once nothing of it runs here any more."""
        self.member.rest()
        for here in self.heres:
            here.end(reason)
        if not self.verdict:
            self.seconds.are(Spent.WAITING)

    def fail(self, own: Outcome, *, proof: str = "") -> None:
        """Say what went wrong here, with the name of the pod that it happened in.

        `proof` is what the failure of a program is known by again.
        """
        member = self.member
        who = member.status.who
        name = member.order.names.get(who.address)
        alone = len(member.order.addresses) < 2
        reason = own.reason if alone or not name else f"{own.reason}, on {name}"
        generation = member.status.ready
        what = Failure(generation=generation, code=own.code, reason=reason, address=who.address, tail=own.tail)
        member.fail(replace(what, proof=proof))

    def decline(self, own: Outcome) -> None:
        """Fail in a generation before it starts anything here: it costs a restart, and all try again."""
        self.fail(own)
        self._tell("generation_ended", generation=self.member.status.known, reason=own.reason)
        self.member.rest()
        self.look()

    def tell_staging(self, event: str, **facts: object) -> None:
        """Tell how staging goes, and keep how far it is for the status."""
        if isinstance(files := facts.get("looked_at"), int):
            self._looked_at = files
        if isinstance(size := facts.get("bytes"), int):
            self._staged_bytes = size
        self._tell(event, **facts)

    def stop(self, *, first: bool) -> None:
        """Say that this launcher was told to stop, in the record too: a stop that ends a start spends no restart.

        Whoever is told notes it, whose stop came first or not: of all that end together one note is enough.
        """
        again = self.member.status.stopping
        self.seconds.are(Spent.LEAVING)
        self.member.stop(first=first)
        if not again and self.member.status.stopped:
            self.store.stopped(self.member.status.stopped)

    def leader_answered(self) -> float:
        """Return when the leader answered last, 0 if it never did; a stranger in its place is none."""
        self.member.hear(self._statuses.heard())
        heard = self.member.heard.get(self.member.order.addresses[0], Heard())
        return 0.0 if heard.stranger else heard.sent

    @property
    def calm(self) -> bool:
        """Whether no program runs in the gang, by the leader's message."""
        self.member.hear(self._statuses.heard())  # who asks this waits next, and news since the last look woke it
        return self.member.calm

    def still_needed(self) -> bool:
        """Return whether a member of the generation that was led here may still have to hear the verdict, or end."""
        if self.verdict:
            return self.member.leads and self.member.waited_for(time.monotonic())
        return self.member.status.stopping and self.member.answers_for(self.store.facts)

    def waits(self, reason: str) -> None:
        """Show what the programs here wait for."""
        self._statuses.waiting = reason

    def leave(self, patience: float) -> None:
        """Begin to end; where all have failed, what was trained after the newest pass is lost."""
        self.seconds.are(Spent.LEAVING)
        if self.verdict and self.seconds.undecided and (saved := self.store.saved_within(patience)) is not None:
            self.seconds.judged(well=False, saved=saved)

    def close(self, linger: float) -> None:
        """Say the last words, and let the others read them."""
        self.look()
        self._run_events.close(time.monotonic(), self.member)
        self._statuses.linger(linger)
        self.store.close(time.monotonic() + linger)

    def _with_progress(self, status: Status) -> Status:
        """Return a status with the trainers' last reports, for which the main thread was not woken."""
        return with_progress(status, [(here.progress, here.pace) for here in self.heres], seconds=self.seconds.told)

    def _with_findings(self, facts: Facts) -> Facts:
        """Return the facts of this pod with what its leader, if that is it, has found of the gang; for any thread."""
        slow = ratios(self.member.lead.looks.skew) if self.member.leads else {}
        failures = self.store.facts.failures if self.member.leads else ()
        return replace(facts, alarms=self._run_events.alarms, ratios=slow, failures=failures)

    def _tell_strangers(self) -> None:
        """Tell who answers at a peer's address without being of this run, each once."""
        strangers = {(address, heard.stranger) for address, heard in self.member.heard.items() if heard.stranger}
        for address, why in sorted(strangers - self._strangers)[: _STRANGERS - len(self._strangers)]:
            self._strangers.add((address, why))
            self._tell("status_ignored", peer=address, why=why)

    def _next_reading(self, now: float) -> float | None:
        """Have the record read again in time: one may be overtaken or miss a verdict, and counters are to move."""
        member = self.member
        if member.counter is None and (self.verdict or (member.engaged and not member.leads)):
            return None
        every = READ_BACK if member.awaits_record else lease.reading_pace(member.rules.limits)
        if now >= self._read + every:
            self._read = now
            self.store.look()
        return self._read + every


def _order(roster: Roster) -> Order:
    names = {peer.address: roster.name_of(role, peer) for role, peer in roster.members}
    return Order(addresses=tuple(names), digest=roster.digest, names=names)


def _newcomer(settings: Settings) -> Member:
    """Return the member that this launcher is, before it has met any other."""
    timing, processes = settings.timing, settings.processes
    limits = lease.limits_of(peer=timing.peer, join=timing.join, rejoin=timing.rejoin, lap=settings.lap)
    status = Status(
        who=Who(role=settings.role, address=settings.address, uid="", boot=secrets.token_hex(8)),
        gang=settings.gang,
        node=settings.node,
        peers=_digest_of(settings.peers),
        peer_timeout=timing.peer,
        lone=os.getpid() == 1,
        several=(Trainer(),) * processes if processes > 1 else (),
        width=str(settings.width) if settings.width.elastic else "",
    )
    grace = lease.grace(timing.grace, limits)
    width = settings.width if settings.width.elastic else None
    rules = Rules(
        limits=limits,
        restarts=settings.max_restarts,
        grace=grace,
        width=width,
        window=timing.grace / 2,
        noticed=settings.notice is not None,
    )
    return Member(status=status, rules=rules)


def _digest_of(peers: Peers) -> str:
    """Return where peers are looked for, alike on every launcher that was told the same."""
    words = (peers.source, *sorted(peers.pservers), ";", *sorted(peers.trainers))
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]
