"""One simulated launcher: the small glue between a `Member` and its children, its peers, the volume."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from launcher.pod.gang.following import End, Orders, Run
from launcher.pod.gang.member import NOBODY, Member, Order
from launcher.pod.gang.words import Failure, Generation, Heard, Status, Verdict, Who
from launcher.pod.settings import Role
from tests.unit.gang_volume import Records

if TYPE_CHECKING:
    from tests.unit.gang_world import Pod, World

PASSES = 8
LINGER = 10.0  # for which a leader stays after the verdict, until all have read it


@dataclass(eq=False)
class Children:
    """What runs here of a generation."""

    generation: Generation
    pserver: bool = False
    trainer: bool = False
    serving: bool = False
    trained: bool = False


@dataclass(eq=False)
class Poll:
    """A question to a peer; one at a time, given up after a while."""

    sent: float


@dataclass(eq=False)
class Launcher:
    """One process of a pod, from its start to its end."""

    world: World
    pod: Pod
    boot: str
    records: Records
    member: Member
    alive: bool = True
    heard: dict[str, Heard] = field(default_factory=dict)
    polls: dict[str, Poll] = field(default_factory=dict)
    asking: list[tuple[Launcher, Poll]] = field(default_factory=list)
    version: int = 0
    published: Status | None = None
    seen: Order = NOBODY
    rank: int | None = None
    staging: object = None
    children: Children | None = None
    ending: bool = False
    reading: bool = False
    verdict: Verdict | None = None
    told: bool = False
    woken: float = math.inf

    @property
    def address(self) -> str:
        return self.pod.address

    def begin(self) -> None:
        """Read the record first: nothing is decided before that."""
        self.read()
        self._tick()

    def _tick(self) -> None:
        self._after(self.world.rules.limits.lease / 3, self._tick)
        if not self.member.engaged or self.member.status.word:
            self.read()

    def _after(self, delay: float, act: object) -> None:
        self.world.after(delay, self, act)

    # The record.

    def read(self) -> None:
        if self.reading:
            return
        self.reading = True
        self.world.volume_answers(self, self._read)

    def _read(self) -> None:
        facts = self.records.perform(self.world.now)
        self._after(self.world.short(), lambda: self._learn(facts))

    def _learn(self, facts: object) -> None:
        self.reading, self.records.known = False, True
        self.records.facts = facts  # type: ignore[assignment]
        if self.records.generation != self.records.answered and self.records.volume:
            self.read()
        self.look()

    # The peers.

    def ask(self, address: str) -> None:
        poll = self.polls[address] = Poll(sent=self.world.now)
        after = self.heard[address].status if address in self.heard else None
        self.world.request(self, address, poll, after)
        self._after(self.world.rules.limits.wait + 2, lambda: self._give_up(address, poll))

    def _give_up(self, address: str, poll: Poll) -> None:
        if self.polls.get(address) is poll:
            del self.polls[address]
            self.look()

    def asked(self, asker: Launcher, poll: Poll, after: Status | None) -> None:
        if self.published is None or after != self.published:
            self.answer(asker, poll)
        else:
            self.asking.append((asker, poll))
            self._after(self.world.rules.limits.wait, lambda: self._nothing_new(asker, poll))

    def _nothing_new(self, asker: Launcher, poll: Poll) -> None:
        if (asker, poll) in self.asking:
            self.asking.remove((asker, poll))
            self.answer(asker, poll)

    def answer(self, asker: Launcher, poll: Poll) -> None:
        if self.published is None:
            return
        self.heard[asker.address] = replace(self.heard.get(asker.address, Heard()), wrote=self.world.now)
        self.world.reply(self, asker, poll, self.published)

    def told_by(self, address: str, poll: Poll, status: Status | None) -> None:
        """Take an answer, or None for a refusal."""
        if self.polls.get(address) is not poll:
            return
        del self.polls[address]
        before = self.heard.get(address, Heard())
        if status is None:
            self.heard[address] = replace(before, refused=True)
            self.polls[address] = pause = Poll(sent=self.world.now)
            self._after(0.5, lambda: self._give_up(address, pause))
        else:
            self.heard[address] = replace(before, status=status, sent=poll.sent, refused=False)
        self.look()

    def reset(self, address: str, poll: Poll) -> None:
        """The connection broke: ask again."""
        self._give_up(address, poll)

    # The gang.

    def discover(self, pods: tuple[Pod, ...]) -> None:
        self.seen, self.rank = NOBODY, None
        if len(pods) == self.world.size and self.pod in pods:
            ordered = sorted(pods, key=lambda pod: (pod.role is not Role.PSERVER, pod.address))
            digest = " ".join(f"{pod.address}={pod.uid}" for pod in ordered)
            self.seen = Order(addresses=tuple(pod.address for pod in ordered), digest=digest)
            self.rank = ordered.index(self.pod)
        self.look()

    def look(self) -> None:
        if not self.alive or not self.records.known or self.verdict:
            return
        self._meet()
        orders = self.member.look(self.world.now, self.heard, self.records.facts)
        self.world.checks.looked(self)
        if self.records.wish(self.member.lead.asked, self.member.lead.sealing):
            self.read()
        self._act(orders)
        self._publish()
        for address in self.member.watched - self.polls.keys():
            self.ask(address)
        if orders.until is not None and orders.until != self.woken:
            self.woken = orders.until
            self._after(max(0.0, orders.until - self.world.now) + 0.001, self._wake)

    def _wake(self) -> None:
        self.woken = math.inf
        self.look()

    def _publish(self) -> None:
        if self.published != self.member.status:
            self.published = self.member.status
            asking, self.asking = self.asking, []
            for asker, poll in asking:
                self.answer(asker, poll)
            if self.member.status.word:  # a leader's own news may be what it waits for
                self._after(0.0, self.look)

    def _meet(self) -> None:
        if self.member.engaged:
            return
        if self.seen != self.member.order:
            who = Who(role=self.pod.role, address=self.address, uid=self.pod.uid, boot=self.boot)
            self.member.meet(self.seen, who, rank=self.rank, key=self.world.key)
            self.staging = None
        if self.seen.digest and not self.member.status.staged and self.staging is None:
            self.staging = token = object()
            self._after(self.world.some(0.2, 1.0), lambda: self._staged(token))

    def _staged(self, token: object) -> None:
        if self.staging is token:
            self.staging = None
            self.member.staged(self.world.passes_seen())
            self.look()

    def _act(self, orders: Orders) -> None:
        if orders.verdict:
            self._leave(orders.verdict)
        elif orders.end:
            self.end(orders.end)
        elif orders.ready and not self.ending and not self.told:
            self._run(orders.run)

    def _run(self, run: Run) -> None:
        generation = self.member.last
        assert generation is not None
        assert generation.number == self.member.status.ready
        if run is Run.NOTHING:
            return
        if self.children is None:
            self.children = Children(generation=generation)
            self._start_pserver(self.children)
        if run is Run.ALL and not (self.children.trainer or self.children.trained):
            self._start_trainer(self.children)

    def _start_pserver(self, children: Children) -> None:
        if self.pod.role is Role.TRAINER:
            return self._serves(children)
        children.pserver = True
        self.world.checks.started(self)
        self._report()
        return self._after(self.world.some(0.1, 0.4), lambda: self._serves(children))

    def _serves(self, children: Children) -> None:
        if self.children is children and not self.ending:
            children.serving = True
            self.world.checks.serving.setdefault(children.generation.number, set()).add(self.boot)
            self._report()
            self._after(0.0, self.look)

    def _start_trainer(self, children: Children) -> None:
        if self.pod.role is Role.PSERVER:
            children.trained = True
            self._report()
            self._after(0.0, self.look)
            return
        children.trainer = True
        self.world.checks.started(self)
        self._report()
        resume = children.generation.resume
        self._train(children, 0 if resume is None else resume + 1)

    def _train(self, children: Children, number: int) -> None:
        if self.children is not children or not children.trainer:
            return
        if number < PASSES:
            self._after(self.world.some(0.8, 1.2), lambda: self._passed(children, number))
            return
        children.trainer, children.trained = False, True
        self.world.checks.trained(self)
        self._report()
        self._after(0.0, self.look)

    def _passed(self, children: Children, number: int) -> None:
        if self.children is children and children.trainer:
            if self.boot == children.generation.members[-1].boot:
                self.world.volume.passes.add(number)
            self._train(children, number + 1)

    def _report(self) -> None:
        if here := self.children:
            self.member.report(
                children=here.pserver or here.trainer, serving=here.serving, trained=here.trained
            )

    # The ends.

    def end(self, end: End) -> None:
        running = self.children and (self.children.pserver or self.children.trainer)
        if end.kill or not running:
            self._ended()
        elif not self.ending:
            self.ending = True
            self._after(self.world.ending_time(), self._ended)

    def _ended(self) -> None:
        self.children, self.ending, self.staging = None, False, None
        self.member.rest()
        if self.told and not self.verdict:
            self.exit(143)
        elif self.verdict:
            self._last()
        else:
            self._after(0.0, self.look)

    def fail(self, code: int) -> None:
        if self.verdict or self.told:
            return
        if self.children and not self.ending:
            number = self.member.status.ready
            self.member.fail(Failure(generation=number, code=code, reason=f"a child ended with {code}"))
            self.children.trainer = self.children.serving = self.children.trained = False
            self.look()
            self.end(End(reason="its own failure", kill=True))
        elif self.staging:
            self.member.fail(Failure(generation=0, code=code, reason="its data is bad"))
            self.look()

    def stop(self) -> None:
        if self.verdict or self.told:
            return
        self.told = True
        self.member.stop()
        self.look()
        if not self.verdict:
            self.end(End(reason="told to stop"))

    def _leave(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.world.checks.decided(self, verdict)
        self.end(End(reason=verdict.reason))

    def _last(self) -> None:
        """Leave; as a leader when all have read the verdict."""
        self._publish()
        if self.member.status.word is None:
            self._after(self.world.short(), lambda: self.exit(self.verdict.code if self.verdict else 1))
        else:
            self._after(LINGER, lambda: self.exit(self.verdict.code if self.verdict else 1))

    def exit(self, code: int) -> None:
        if self.alive:
            self.world.gone(self, code)
