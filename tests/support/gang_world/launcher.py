"""One simulated launcher: the small glue between a `Member` and its children, its peers and the volume."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launcher.pod.gang.protocol.follower import Orders
from launcher.pod.gang.protocol.lease import reading_pace
from launcher.pod.gang.protocol.member import NOBODY, Member, Order
from launcher.pod.gang.protocol.messages import Failure, Status, Who
from launcher.pod.gang.protocol.state import Recorded
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role
from tests.support.gang_world.children import Children
from tests.support.gang_world.peers import Peers
from tests.support.gang_world.volume import Records

if TYPE_CHECKING:
    from tests.support.gang_world.world import Pod, World

LINGER = 10.0  # for which a leader stays after the verdict, so that all have read it


@dataclass(eq=False)
class Launcher:
    """One process of a pod, from its start to its end."""

    world: World
    pod: Pod
    boot: str
    alive: bool = True
    seen: Order = NOBODY
    rank: int | None = None
    staging: object = None
    children: Children | None = None
    reading: bool = False
    verdict: Outcome | None = None
    told: bool = False
    grace_ends: float = 0.0
    woken: float = math.inf
    peers: Peers = field(init=False)
    member: Member = field(init=False)
    records: Records = field(init=False)

    def __post_init__(self) -> None:
        world, pod = self.world, self.pod
        self.who = Who(role=pod.role, address=pod.address, uid=pod.uid, boot=self.boot)
        status = Status(who=self.who, key=world.key, lone=pod.lone)
        self.member = Member(status=status, rules=world.rules)
        self.records = Records(volume=world.volume if world.recorded else None)
        self.peers = Peers(launcher=self)

    def begin(self) -> None:
        """Read the record first: nothing is decided before that."""
        self.read()
        self._tick()

    def _tick(self) -> None:
        self.after(reading_pace(self.world.rules.limits), self._tick)
        if not self.member.engaged or self.member.status.word:
            self.read()

    def after(self, delay: float, act: Callable[[], object]) -> None:
        self.world.after(delay, self, act)

    def read(self) -> None:
        """Have the record read, and what is wished of it done."""
        if not self.reading:
            self.reading = True
            self.records.begin()
            self.after(self.world.volume_time(), self._read)

    def _read(self) -> None:
        facts = self.records.perform(self.world.now)
        self.after(self.world.short(), lambda: self._learn(facts))

    def _learn(self, facts: Recorded) -> None:
        self.reading = False
        if self.records.learn(facts):
            self.read()
        self.look()

    def discover(self, pods: tuple[Pod, ...]) -> None:
        """Take which pods there are."""
        self.seen, self.rank = NOBODY, None
        if len(pods) == self.world.size and self.pod in pods:
            ordered = sorted(pods, key=lambda pod: (pod.role is not Role.PSERVER, pod.address))
            digest = " ".join(f"{pod.address}={pod.uid}" for pod in ordered)
            self.seen = Order(addresses=tuple(pod.address for pod in ordered), digest=digest)
            self.rank = ordered.index(self.pod)
        self.look()

    def look(self) -> None:
        """Have the member look, and act on its orders."""
        if not self.alive or not self.records.known or self.verdict:
            return
        if not self.told:
            self._meet()
        orders = self.member.look(self.world.now, self.peers.heard, self.records.facts)
        self.world.checks.looked(self)
        if self.records.wish(self.member.lead.asked, self.member.lead.sealing):
            self.read()
        self._act(orders)
        self._publish()
        self.peers.watch(self.member.watched)
        if orders.until is not None and orders.until != self.woken:
            self.woken = orders.until
            self.after(max(0.0, orders.until - self.world.now) + 0.001, self._wake)

    def _wake(self) -> None:
        self.woken = math.inf
        self.look()

    def _publish(self) -> None:
        if self.peers.publish(self.member.status) and self.member.status.word:
            self.after(0.0, self.look)  # a leader's own news may be what it waits for

    def _meet(self) -> None:
        if self.member.engaged:
            return
        if self.seen != self.member.order:
            self.member.meet(self.seen, self.who, rank=self.rank, key=self.world.key)
            self.staging = None
        if self.seen.digest and not self.member.status.staged and self.staging is None:
            self.staging = token = object()
            self.after(self.world.some(0.2, 1.0), lambda: self._staged(token))

    def _staged(self, token: object) -> None:
        if self.staging is token:
            self.staging = None
            self.member.staged(self.world.passes_seen())
            self.look()

    def _act(self, orders: Orders) -> None:
        if orders.verdict:
            self.verdict = orders.verdict
            self.world.checks.decided(self, orders.verdict)
            self.end()
        elif orders.end:
            self.end(kill=orders.kill)
        elif orders.ready and orders.run and not self.told:
            if self.children is None:
                self.children = Children(launcher=self, generation=self.member.taking_part)
            if not self.children.ending:
                self.children.run(orders.run)
            if orders.check and not self.children.ending:
                self.children.check()

    def end(self, *, kill: bool = False) -> None:
        """End the children, at once or with what they need of their grace."""
        children = self.children
        if kill or children is None or not children.left:
            self._ended(children)
        elif not children.ending:
            children.ending = True
            self.after(self.world.ending_time(told=self.told), lambda: self._ended(children))

    def _ended(self, children: Children | None) -> None:
        if self.children is not children:
            return
        self.children, self.staging = None, None
        self.member.rest()
        if self.verdict:
            self._publish()
            last = LINGER if self.member.status.word else self.world.short()
            self.after(last, lambda: self.world.gone(self))
        elif self.told:
            self._leave()
        else:
            self.after(0.0, self.look)

    def _leave(self) -> None:
        """Go, once nobody whom this launcher led hangs on its answers any more."""
        self.look()
        if self.member.answers_for(self.records.facts) and self.world.now < self.grace_ends:
            self.after(0.1, self._leave)
        else:
            self.world.gone(self)

    def fail(self, code: int) -> None:
        """Have a child fail, or the staging."""
        if self.verdict or self.told:
            return
        if self.children and not self.children.ending:
            number = self.member.status.ready
            self.member.fail(Failure(generation=number, code=code, reason=f"a child ended with {code}"))
            self.look()
            self.end(kill=True)
        elif self.staging:
            self.member.fail(Failure(generation=0, code=code, reason="its data is bad"))
            self.look()

    def stop(self) -> None:
        """Be told to stop."""
        if not (self.verdict or self.told):
            self.told = True
            self.grace_ends = self.world.now + self.world.stop_grace
            self.world.checks.stopped.add(max(self.world.checks.generations, default=0))
            if number := self.member.status.ready:
                self.after(self.world.volume_time(), lambda: self.world.volume.stopped.add(number))
            self.member.stop()
            self.look()
            self.end()
