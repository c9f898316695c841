"""A simulated world for gangs: one clock, a network of long polls, pods that come and go, and what must always hold."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from launcher.pod.gang.leading import TRANSITIONS
from launcher.pod.gang.member import Member
from launcher.pod.gang.words import Generation, Limits, Rules, Stage, Status, Verdict, Who
from launcher.pod.settings import Role
from tests.unit.gang_launcher import PASSES, Launcher, Poll
from tests.unit.gang_volume import Records, Volume

START = 1000.0  # clocks do not begin at 0
Act = Callable[[], object]


class Broken(AssertionError):
    """Something happened that must never happen."""


@dataclass(eq=False)
class Pod:
    """A pod: an address, and at most one launcher process in it."""

    slot: int
    uid: str
    address: str
    role: Role
    lone: bool
    launcher: Launcher | None = None
    boots: int = 0
    frozen: bool = False
    silent: bool = False  # nobody answers at its address any more, not even with a refusal
    deferred: list[Act] = field(default_factory=list)


def _boots(generation: Generation) -> set[str]:
    return {who.boot for who in generation.members}


@dataclass(eq=False)
class Checks:
    """What holds always, by knowledge that no launcher has."""

    world: World
    stages: set[tuple[Stage, Stage]] = field(default_factory=set)
    before: dict[str, Stage] = field(default_factory=dict)
    ended: dict[int, set[str]] = field(default_factory=dict)
    serving: dict[int, set[str]] = field(default_factory=dict)
    complete: bool = False  # every trainer of one generation ended with 0
    verdicts: list[Verdict] = field(default_factory=list)
    first: float = math.inf  # when the first verdict was said
    generations: dict[int, Generation] = field(default_factory=dict)

    def hold(self, is_so: bool, what: str) -> None:
        if not is_so:
            raise Broken(f"at {self.world.now - START:.3f} s: {what}")

    def running(self) -> list[Generation]:
        pods = [pod for pod in self.world.pods if pod.launcher and not pod.frozen]
        each = [pod.launcher.children for pod in pods if pod.launcher]
        return [here.generation for here in each if here and (here.pserver or here.trainer)]

    def alone(self) -> None:
        running = self.running()
        for one, other in itertools.pairwise(running):
            self.hold(one == other or not self.promised(one, other), f"two generations run: {one} and {other}")

    def promised(self, one: Generation, other: Generation) -> bool:
        """Without a record nobody can know of a gang that was replaced as a whole."""
        return self.world.recorded or bool(_boots(one) & _boots(other))

    def started(self, launcher: Launcher) -> None:
        self.world.note(launcher, "starts a child of", launcher.member.status.ready)
        self.alone()
        here = launcher.children
        resume = here and here.generation.resume
        self.hold(resume is None or resume in (launcher.member.status.passes or ()), f"pass {resume} is not seen")
        if here and here.trainer:
            boots = {who.boot for who in here.generation.members if who.role is not Role.TRAINER}
            self.hold(boots <= self.serving.get(here.generation.number, set()), "a pserver does not serve yet")

    def trained(self, launcher: Launcher) -> None:
        children = launcher.children
        if children is None:
            return
        number, members = children.generation.number, children.generation.members
        ended = self.ended.setdefault(number, set())
        ended.add(launcher.boot)
        self.complete |= ended >= {who.boot for who in members if who.role is not Role.PSERVER}

    def decided(self, launcher: Launcher, verdict: Verdict) -> None:
        self.world.note(launcher, "has the verdict", verdict.code, verdict.reason)
        self.hold(bool(verdict.code) or self.complete, "done before every trainer was")
        self.verdicts.append(verdict)
        codes = {bool(each.code) for each in self.verdicts}
        self.first = min(self.first, self.world.now)
        if self.world.recorded or self.first > self.world.quiet:
            self.hold(len(codes) == 1, f"success and failure were both said: {self.verdicts}")
            self.hold(verdict == self.verdicts[0], f"two verdicts: {self.verdicts}")
            self.hold("nothing changed" not in verdict.reason, f"stuck: {verdict.reason}")

    def looked(self, launcher: Launcher) -> None:
        word = launcher.member.status.word
        if word is None:
            return
        before, self.before[launcher.boot] = self.before.get(launcher.boot, Stage.GATHERING), word.stage
        if before != word.stage:
            self.stages.add((before, word.stage))
            self.world.note(launcher, "goes on to", word.stage, word.number, word.cause and word.cause.reason)
            self.hold((before, word.stage) in TRANSITIONS, f"from {before} to {word.stage}")
        if word.generation and word.stage is Stage.READYING and before is Stage.GATHERING:
            self.made(word.generation)

    def made(self, generation: Generation) -> None:
        world = self.world
        self.hold(generation.restarts <= world.rules.restarts, f"too many restarts: {generation.restarts}")
        if generation.resume is not None:
            self.hold(generation.resume in world.volume.passes, f"pass {generation.resume} is not complete")
        if world.key:
            self.hold(generation.number not in self.generations, f"generation {generation.number} was made twice")
            self.hold(generation.number > max(self.generations, default=0), "generation numbers went back")
        self.generations[generation.number] = generation


@dataclass(eq=False)
class World:
    """All of it; whatever is random comes from one seed."""

    size: int
    seed: int = 0
    restarts: int = 3
    recorded: bool = True
    separated: bool = False
    stubborn: bool = False  # children may need all of their grace
    eager: bool = False  # the API tells at once, else when it likes
    grace: float = 2.5  # which is kept shorter than what `lost` is longer than `lease`
    now: float = START
    quiet: float = START  # from then on nothing goes wrong any more
    events: list[tuple[float, int, Act]] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    present: list[Pod] = field(default_factory=list)  # by the API, not being deleted
    cuts: list[tuple[Pod, Pod]] = field(default_factory=list)  # asker, asked
    blind: set[Pod] = field(default_factory=set)  # cut from the API
    volume: Volume = field(default_factory=Volume)
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311  # nothing is secret here
        limits = Limits(lost=15.0, lease=10.0, wait=3.0, gather=200.0, regather=200.0)
        self.rules = Rules(limits=limits, restarts=self.restarts, grace=self.grace)
        self.checks = Checks(world=self)
        self.key = "job" if self.recorded else ""
        self.count = 0
        for slot in range(self.size):
            self.add(slot, f"10.0.0.{5 + slot}", delay=self.some(0.0, 0.5))

    # Time and chance.

    def after(self, delay: float, launcher: Launcher | None, act: Act) -> None:
        self.count += 1
        heapq.heappush(self.events, (self.now + delay, self.count, act if launcher is None else _of(launcher, act)))

    def run(self, until: float) -> None:
        while self.events and self.events[0][0] <= until:
            self.now, _, act = heapq.heappop(self.events)
            act()
        self.now = max(self.now, until)

    def some(self, least: float, most: float) -> float:
        return self.random.uniform(least, most)

    def short(self) -> float:
        return 0.002 if self.random.random() < 0.95 else self.some(0.0, 0.5)

    def ending_time(self) -> float:
        return self.grace if self.stubborn and self.random.random() < 0.5 else 0.05

    def passes_seen(self) -> tuple[int, ...]:
        seen = sorted(self.volume.passes)
        return tuple(seen[:-1] if seen and self.random.random() < 0.2 else seen)

    def note(self, launcher: Launcher | None, *words: object) -> None:
        who = f"{launcher.pod.slot}/{launcher.boot}" if launcher else "-"
        self.story.append(f"{self.now - START:8.3f} {who:10} {' '.join(map(str, words))}")

    # Pods.

    def add(self, slot: int, address: str, delay: float) -> Pod:
        """Make a pod in a slot of the Job, in the place of the one that was there."""
        role = Role.NODE if not self.separated else Role.TRAINER if slot else Role.PSERVER
        pod = Pod(slot=slot, uid=f"uid{len(self.pods)}", address=address, role=role, lone=slot != 1)
        self.pods.append(pod)
        self.after(delay, None, lambda: self._join(pod))
        return pod

    def _join(self, pod: Pod) -> None:
        for other in self.pods:
            if other is not pod and other.address == pod.address:
                other.silent = True
        self.present.append(pod)
        self.boot(pod)
        self.changed()

    def boot(self, pod: Pod) -> None:
        """Start a launcher in a pod."""
        pod.boots += 1
        boot = f"{pod.uid}.{pod.boots}"
        status = Status(who=Who(role=pod.role, address=pod.address, uid=pod.uid, boot=boot), key=self.key, lone=pod.lone)
        records = Records(volume=self.volume if self.recorded else None)
        member = Member(status=status, rules=self.rules)
        pod.launcher = Launcher(world=self, pod=pod, boot=boot, records=records, member=member)
        self.note(pod.launcher, "starts at", pod.address)
        pod.launcher.begin()
        self.tell(pod.launcher)

    def changed(self) -> None:
        """Let every launcher know which pods there are; news may overtake each other, the last truth comes last."""
        for pod in self.present:
            if pod.launcher:
                self.tell(pod.launcher)

    def tell(self, launcher: Launcher) -> None:
        now = tuple(self.present)
        slow = 0.05 if self.eager else 1.0
        for delay in (self.some(0.01, 2.0), self.some(2.0, 4.0)):
            self.after(delay * slow, launcher, lambda: self._told(launcher, now))
        self.after(6.0 * slow, launcher, lambda: self._told(launcher, tuple(self.present)))

    def _told(self, launcher: Launcher, pods: tuple[Pod, ...]) -> None:
        if launcher.pod not in self.blind:
            launcher.discover(pods)

    def drop(self, pod: Pod) -> None:
        """Take a pod off the API's list."""
        if pod in self.present:
            self.present.remove(pod)
            self.changed()

    def gone(self, launcher: Launcher, code: int | None) -> None:
        """End a launcher's process, with its children: the kernel sees to that."""
        self.note(launcher, "exits with", code)
        pod = launcher.pod
        launcher.alive, launcher.children, pod.launcher = False, None, None
        for asker, poll in launcher.asking:
            if self.linked(asker.pod, pod) and not pod.silent:
                self.after(self.short(), asker, lambda asker=asker, poll=poll: asker.reset(pod.address, poll))

    # The network.

    def linked(self, asker: Pod, asked: Pod) -> bool:
        return (asker, asked) not in self.cuts

    def at(self, address: str) -> Pod | None:
        return next((pod for pod in reversed(self.pods) if pod.address == address and pod.boots), None)

    def request(self, asker: Launcher, address: str, poll: Poll, after: Status | None) -> None:
        self.after(self.short(), None, lambda: self._arrive(asker, address, poll, after))

    def _arrive(self, asker: Launcher, address: str, poll: Poll, after: Status | None) -> None:
        pod = self.at(address)
        if pod is None or pod.silent or not self.linked(asker.pod, pod):
            return
        if pod.launcher:
            launcher = pod.launcher
            self.after(0.0, launcher, lambda: launcher.asked(asker, poll, after))
        else:
            self.after(self.short(), asker, lambda: asker.told_by(address, poll, None))

    def reply(self, launcher: Launcher, asker: Launcher, poll: Poll, status: Status) -> None:
        if self.linked(asker.pod, launcher.pod):
            late = self.some(0.5, 4.0) if self.random.random() < 0.01 else self.short()
            self.after(late, asker, lambda: asker.told_by(launcher.address, poll, status))

    def volume_answers(self, launcher: Launcher, act: Act) -> None:
        hang = max(0.0, self.volume.hangs_until - self.now)
        self.after(hang + self.short(), launcher, act)


def _of(launcher: Launcher, act: Act) -> Act:
    """Return an act of a launcher: it waits while its pod is frozen, and does not happen once the process is gone."""

    def perform() -> None:
        if not launcher.alive:
            return
        if launcher.pod.frozen:
            launcher.pod.deferred.append(perform)
        else:
            act()

    return perform
