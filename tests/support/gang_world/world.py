"""A simulated world for gangs: one clock, a network of long polls, pods that come and go."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from launcher.pod.gang.protocol.messages import Status
from launcher.pod.gang.protocol.state import Limits, Rules
from launcher.pod.settings.nouns import Role
from tests.support.gang_world.checks import Checks
from tests.support.gang_world.launcher import Launcher
from tests.support.gang_world.peers import Poll
from tests.support.gang_world.volume import Volume

START = 1000.0  # clocks do not begin at 0
Act = Callable[[], object]


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
    stop_grace: float = 20.0  # of a pod that was told to stop; the end of the lease stands above it
    now: float = START
    quiet: float = START  # from then on nothing goes wrong any more
    events: list[tuple[float, int, Act]] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    present: list[Pod] = field(default_factory=list)  # by the API, not being deleted
    cuts: list[tuple[Pod, Pod]] = field(default_factory=list)  # asker, asked
    blind: set[Pod] = field(default_factory=set)  # cut from the API
    strangers: dict[str, Status] = field(default_factory=dict)  # what others say at addresses that pods have left
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

    @property
    def age(self) -> float:
        return self.now - START

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

    def ending_time(self, *, told: bool) -> float:
        longest = self.stop_grace if told else self.grace
        return longest if self.stubborn and self.random.random() < 0.5 else 0.05

    def passes_seen(self) -> tuple[int, ...]:
        seen = sorted(self.volume.passes)
        return tuple(seen[:-1] if seen and self.random.random() < 0.2 else seen)

    def note(self, launcher: Launcher | None, *words: object) -> None:
        who = f"{launcher.pod.slot}/{launcher.boot}" if launcher else "-"
        self.story.append(f"{self.age:8.3f} {who:10} {' '.join(map(str, words))}")

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
        self.strangers.pop(pod.address, None)
        self.present.append(pod)
        self.boot(pod)
        self.changed()

    def boot(self, pod: Pod) -> None:
        """Start a launcher in a pod."""
        pod.boots += 1
        pod.launcher = Launcher(world=self, pod=pod, boot=f"{pod.uid}.{pod.boots}")
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

    def kill(self, pod: Pod) -> None:
        """Kill what is in a pod, frozen or not."""
        if pod.launcher:
            self.gone(pod.launcher)

    def gone(self, launcher: Launcher) -> None:
        """End a launcher's process, with its children: the kernel sees to that."""
        self.note(launcher, "is gone")
        pod = launcher.pod
        launcher.alive, launcher.children, pod.launcher = False, None, None
        for poll in launcher.peers.waiting:
            asker = poll.asker.launcher
            if self.linked(asker.pod, pod) and not pod.silent:
                self.after(self.short(), asker, partial(poll.asker.give_up, poll))

    # The network, and the volume's.

    def linked(self, asker: Pod, asked: Pod) -> bool:
        return (asker, asked) not in self.cuts

    def request(self, poll: Poll) -> None:
        self.after(self.short(), None, lambda: self._arrive(poll))

    def _arrive(self, poll: Poll) -> None:
        asker = poll.asker.launcher
        if poll.address in self.strangers:
            self.after(self.short(), asker, lambda: poll.asker.hear(poll, self.strangers[poll.address]))
            return
        there = [pod for pod in self.pods if pod.address == poll.address and pod.boots]
        if not there or there[-1].silent or not self.linked(asker.pod, there[-1]):
            return
        if launcher := there[-1].launcher:
            self.after(0.0, launcher, lambda: launcher.peers.asked(poll))
        else:
            self.after(self.short(), asker, lambda: poll.asker.refused(poll))

    def reply(self, pod: Pod, poll: Poll, status: Status) -> None:
        asker = poll.asker.launcher
        if self.linked(asker.pod, pod):
            late = self.some(0.5, 4.0) if self.random.random() < 0.01 else self.short()
            self.after(late, asker, lambda: poll.asker.hear(poll, status))

    def volume_time(self) -> float:
        return max(0.0, self.volume.hangs_until - self.now) + self.short()


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
