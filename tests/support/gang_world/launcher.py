"""One simulated launcher: the small glue between a `Member` and its children, its peers and the volume."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from launcher.contract import Code
from launcher.pod.gang.here.session import HereSession
from launcher.pod.gang.protocol.follower import Orders
from launcher.pod.gang.protocol.lease import reading_pace
from launcher.pod.gang.protocol.member import NOBODY, Member, Order
from launcher.pod.gang.protocol.messages import Failure, Status, Who
from launcher.pod.gang.protocol.planned.width import wait_for_more
from launcher.pod.outcome import Outcome
from launcher.pod.programs.policy import Cause
from launcher.pod.settings.nouns import Role
from tests.support.gang_world.checks import Checks
from tests.support.gang_world.children import Children
from tests.support.gang_world.peers import Peers
from tests.support.gang_world.programs import Program
from tests.support.gang_world.volume import Records

if TYPE_CHECKING:
    from tests.support.gang_world.pods import Pod
    from tests.support.gang_world.world import World

LEADER_LINGERS = 10.0  # so that all have read the verdict
LINGER = 0.5
GIVING_UP = 15.0


@dataclass(eq=False)
class Launcher:
    """One process of a pod, from its start to its end."""

    world: World
    pod: Pod
    boot: str
    alive: bool = True
    listed: tuple[Pod, ...] = ()
    listed_since: float = 0.0
    left_out: tuple[str, ...] = ()
    seen: Order = NOBODY
    rank: int | None = None
    staging: object = None
    children: Children | None = None
    begun: list[Children] = field(default_factory=list)  # those of today, and those that are over
    session: HereSession[int] = field(default_factory=HereSession)
    reading: bool = False
    asked: bool = False  # to read again, while reading
    verdict: Outcome | None = None
    told: bool = False
    grace_ends: float = 0.0
    leaves: float = 0.0  # at the latest, once it is over for this one
    closing: bool = False
    woken: float | None = None
    nudged: bool = False
    peers: Peers = field(init=False)
    member: Member = field(init=False)
    records: Records = field(init=False)

    def __post_init__(self) -> None:
        world, pod = self.world, self.pod
        self.who = Who(role=pod.role, address=pod.address, uid="" if world.named else pod.uid, boot=self.boot)
        status = Status(who=self.who, key=pod.job.key, lone=pod.lone)
        self.member = Member(status=status, rules=world.rules)
        volume = world.volume if world.recorded else None
        self.records = Records(key=pod.job.key, volume=volume, clock=lambda: world.now, seen=world.passes_seen)
        self.peers = Peers(launcher=self)

    @property
    def checks(self) -> Checks:
        return self.pod.job.checks

    def begin(self) -> None:
        """Read the record, and go on doing so."""
        self.read()
        self._tick()

    def _tick(self) -> None:
        self.after(reading_pace(self.world.rules.limits), self._tick)
        member = self.member
        if member.counter is not None or not (self.verdict or (member.engaged and not member.leads)):
            self.read()
            self.nudge()

    def after(self, delay: float, act: Callable[[], object]) -> None:
        self.world.after(delay, self, act)

    def nudge(self) -> None:
        """Look soon; many nudges are one look."""
        if not self.nudged:
            self.nudged = True
            self.after(0.0, self._nudged)

    def _nudged(self) -> None:
        self.nudged = False
        self.look()

    def wake_at(self, until: float | None) -> None:
        """Look again at a time, if not before."""
        if until is not None and until != self.woken:
            self.after(max(0.0, until - self.world.now) + 0.001, partial(self._wake, until))
        self.woken = until

    def _wake(self, until: float) -> None:
        if self.woken == until:  # else another time was said since
            self.woken = None
            self.look()

    def read(self) -> None:
        """Have the record read, and what is wished of it done."""
        self.asked = True
        if not self.reading and self.records.volume:
            self.asked, self.reading = False, True
            self.after(self.world.volume_time(), partial(self._read, self.records.round()))

    def _read(self, steps: Iterator[None]) -> None:
        before, going_on = self.records.facts, next(steps, steps) is None
        if going_on:
            self.after(self.world.volume_time(), partial(self._read, steps))
        else:
            self.reading = False
            if self.asked:
                self.read()
        if self.records.facts != before:
            self.nudge()

    def discover(self, pods: tuple[Pod, ...]) -> None:
        """Take which pods there are."""
        complete = self.world.are_enough(pods) and self.pod in pods
        before, self.listed = self.listed, self._ordered(pods) if complete else ()
        if self.listed != before:
            self.listed_since = self.world.now
        self._narrow()
        self.look()

    @staticmethod
    def _ordered(pods: Iterable[Pod]) -> tuple[Pod, ...]:
        return tuple(sorted(pods, key=lambda pod: (pod.role is not Role.PSERVER, pod.address)))

    def _narrow(self) -> None:
        """Take who takes part of those who are listed, as `Roster.narrowed` does."""
        self.seen, self.rank, self.left_out = NOBODY, None, self.member.status.left_out
        pservers = [pod for pod in self.listed if pod.role is Role.PSERVER]
        trainers = [pod for pod in self.listed if pod.role is not Role.PSERVER]
        part, enough = trainers, bool(self.listed)
        if self.world.elastic:
            there = [pod for pod in trainers if pod.address not in self.left_out]
            part = there[: self.world.width.of(len(there))]
            enough = bool(self.listed) and len(part) >= self.world.least
            self.member.lists([pod.address for pod in trainers], self.world.now)
        order = [*pservers, *part]
        if enough and self.pod in order:
            digest = " ".join(f"{pod.address}={pod.uid}" for pod in order)
            self.seen = Order(addresses=tuple(pod.address for pod in order), digest=digest)
            self.rank = order.index(self.pod)
        self.member.newest = self.seen

    def look(self) -> None:
        """Look, while children run and otherwise."""
        if not self.alive or self.closing:
            return
        if self.children:
            self.children.turn()
        elif self.told or self.verdict:
            self._leave()
        else:
            self._look_idle()

    def _look_idle(self) -> None:
        self._meet()
        orders = self.decide()
        if self.member.status.left_out != self.left_out:
            self._narrow()
            self.nudge()
        if self.verdict:
            self._leave()
            return
        if orders.ready:
            self._begin()
        else:
            self._survey()
        self.wake_at(orders.until)

    def decide(self) -> Orders:
        """Have the member look, tell what follows, and return its orders, as `GangNode` does."""
        member, records = self.member, self.records
        member.mark((self.session.marks,), 0, 0)
        orders = member.look(self.world.now, self.peers.heard, records.facts)
        self.checks.looked(self)
        before = records.facts
        wished = member.leads and records.wish(member.lead.asked, member.lead.sealing, member.lead.looks_at_passes)
        if records.keep(member.counter, member.rested) or wished or member.awaits_record:
            self.read()
        if records.facts != before:
            self.nudge()
        self._hear()
        if orders.verdict and not self.verdict:
            self.verdict = orders.verdict
            self.checks.decided(self, orders.verdict)
        if self.peers.publish(member.status) and member.status.word:
            self.nudge()  # a leader's own news may be what it waits for
        self.peers.watch(member.watched)
        return orders

    def _hear(self) -> None:
        word = self.member.word
        answers = self.session.hear(word) if word else {}
        if answers and self.children:
            self.children.answer(answers)
            self.nudge()

    def _meet(self) -> None:
        if self.member.engaged:
            return
        met = self._settled()
        if met != self.member.order:
            self.member.meet(met, self.who, rank=self.rank, key=self.pod.job.key)
            self.staging = None
        if met.digest and not self.member.status.staged and self.staging is None:
            self.staging = token = object()
            self.after(self.world.some(0.2, 1.0), lambda: self._staged(token))

    def _settled(self) -> Order:
        """Return the order to take: a narrow one after a while in which nobody came or went."""
        if not (self.seen.digest and self.world.rules.width):
            return self.seen
        trainers = len(self.listed) - self.world.separated
        wait = wait_for_more(trainers, self.world.rules.width, self.member.status)
        if self.world.now >= self.listed_since + wait:
            return self.seen
        self.wake_at(self.listed_since + wait)
        return NOBODY

    def _staged(self, token: object) -> None:
        if self.staging is token and self.pod.unfit:
            self.member.fail(
                Failure(generation=0, code=Code.DATA, reason="its data is bad", address=self.pod.address)
            )
            self.look()
            self.after(GIVING_UP, partial(self.world.gone, self))
        elif self.staging is token:
            self.staging = None
            self.member.furnished()
            self.look()

    def _survey(self) -> None:
        """Look at the complete passes, once nobody writes any."""
        status = self.member.status
        if status.staged and not status.surveyed and self.staging is None and self.member.calm:
            self.staging = token = object()
            self.after(self.world.volume_time(), lambda: self._surveyed(token))

    def _surveyed(self, token: object) -> None:
        if self.staging is token:
            self.staging = None
            if self.member.leads and self.records.volume:
                self.world.volume.make_way(self.pod.job.key)
            self.member.staged(self.world.passes_seen())
            self.look()

    def _begin(self) -> None:
        self.staging = None
        self.children = Children(launcher=self, generation=self.member.taking_part)
        self.begun.append(self.children)
        if self.pod.role is not Role.PSERVER:
            generation = self.member.taking_part
            trainers = sum(who.role is not Role.PSERVER for who in generation.members)
            rank = self.children.rank
            self.session = HereSession(number=generation.number, rank=rank, trainers=trainers, over="")
        self.after(self.world.short(), self.look)

    def settle(self, cause: Cause) -> None:
        """Go on once nothing of the children is left."""
        self.children = None
        self.member.rest()
        self.session.end(cause.outcome.reason)
        self.nudge()

    def _leave(self) -> None:
        """Go, once nobody whom this launcher led hangs on its answers any more."""
        now = self.world.now
        lingers = max(LEADER_LINGERS, self.world.stop_grace)
        self.leaves = self.leaves or (now + lingers if self.verdict else self.grace_ends)
        self.decide()
        member = self.member
        needed = member.leads and member.waited_for(now) if self.verdict else member.answers_for(self.records.facts)
        if needed and now < self.leaves:
            self.wake_at(self.leaves)
        else:
            self.closing = True
            self.after(LINGER, partial(self.world.gone, self))

    def fail(self, code: int, choice: int) -> None:
        """Have a child fail, or the staging."""
        if self.verdict or self.told:
            return
        living = [each for each in self.children.programs.values() if each.alive] if self.children else []
        if self.children and living:
            victim: Program = living[choice % len(living)]
            self.children.fails(victim, code, f"at {self.world.now}: it failed")
        elif self.staging:
            self.member.fail(Failure(generation=0, code=code, reason="its data is bad", address=self.pod.address))
            self.look()

    def stop(self) -> None:
        """Be told to stop."""
        if self.closing or self.verdict:
            return
        if self.children:
            self.children.told()
        else:
            self.note_stop(first=True)
            self.look()

    def note_stop(self, *, first: bool) -> None:
        """Say that this launcher was told to stop; those whom it led count on it for as long as its grace lasts."""
        if not self.told:
            self.told, self.grace_ends = True, self.world.now + self.world.stop_grace
            self.checks.stopped.add(max(self.checks.generations, default=0))
        again = self.member.status.stopping
        self.member.stop(first=first)
        number = self.member.status.stopped
        if number and not again:
            stopped = self.world.volume.of(self.pod.job.key).stopped
            self.after(self.world.volume_time(), lambda: stopped.add(number))
