"""A simulated world for gangs: one clock, a network of long polls, pods that come and go."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from launcher.pod.gang.protocol.messages import Generation, Status
from launcher.pod.gang.protocol.state import Limits, Rules
from launcher.pod.settings.nouns import Resize, Role, Width
from tests.support.gang_world.launcher import Launcher
from tests.support.gang_world.peers import Poll
from tests.support.gang_world.pods import Job, Pod
from tests.support.gang_world.programs import Doom
from tests.support.gang_world.volume import Volume

START = 1000.0  # clocks do not begin at 0
Act = Callable[[], object]


@dataclass(eq=False)
class World:
    """All of it; whatever is random comes from one seed."""

    size: int
    least: int = 0  # so many trainers are enough, where not all are needed
    resize: Resize = Resize.PASS
    spares: int = 0  # of the size
    unit: int = 1
    asks: bool = False  # trainers ask whether all end soon, and save a pass then
    noticed: bool = False
    named: bool = False  # nobody is told the UIDs of pods: these are known by their names in DNS
    seed: int = 0
    restarts: int = 3
    recorded: bool = True
    separated: bool = False
    stubborn: bool = False  # children may need all of their grace
    eager: bool = False  # the API tells at once, else when it likes
    talks: bool = False  # trainers meet after each pass
    grace: float = 2.5  # which is kept shorter than what `lost` is longer than `lease`
    stop_grace: float = 28.0  # of a pod that was told to stop; the end of the lease stands above it
    now: float = START
    quiet: float = START  # from then on nothing goes wrong any more
    events: list[tuple[float, int, Act]] = field(default_factory=list)
    applied: int = 0  # how often the Job was applied again
    pods: list[Pod] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)  # one a run of the name, the newest last
    cuts: list[tuple[Pod, Pod]] = field(default_factory=list)  # asker, asked
    blind: set[Pod] = field(default_factory=set)  # cut from the API
    dooms: dict[int, Doom] = field(default_factory=dict)  # by slot
    strangers: dict[str, Status] = field(default_factory=dict)  # what others say at addresses that pods have left
    volume: Volume = field(init=False)
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311  # nothing is secret here
        limits = Limits(lost=15.0, lease=10.0, wait=3.0, gather=200.0, regather=200.0)
        self.width = Width(
            least=self.least,
            most=self.size - self.separated - self.spares,
            settle=6.0,
            shrink_after=9.0,
            resize=self.resize,
            spares=self.spares,
            unit=self.unit,
        )
        self.rules = Rules(
            limits=limits,
            restarts=self.restarts,
            grace=self.grace,
            width=self.width if self.elastic else None,
            window=self.stop_grace / 2,
            noticed=self.noticed,
        )
        self.volume = Volume(peer_timeout=limits.lost)
        self.count = 0
        self.apply([f"10.0.0.{5 + slot}" for slot in range(self.size)])

    @property
    def elastic(self) -> bool:
        return bool(self.least)

    def servers(self, generation: Generation) -> set[str]:
        """Return the boots of those who run a pserver: apart, or in the first pods, as many as there always are."""
        with_one = [who.boot for who in generation.members if who.role is not Role.TRAINER]
        return set(with_one[: self.least] if self.elastic and not self.separated else with_one)

    def are_enough(self, pods: Sequence[Pod]) -> bool:
        """Return whether these are a gang by their number, as the peers' watch finds it."""
        if not self.elastic:
            return len(pods) == self.size
        here = sum(pod.role is not Role.PSERVER for pod in pods)
        return self.least <= here <= self.size - self.separated and len(pods) - here == self.separated

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

    def passes_seen(self) -> tuple[int, ...]:
        seen = sorted(self.volume.passes)
        return tuple(seen[:-1] if seen and self.random.random() < 0.2 else seen)

    def note(self, launcher: Launcher | None, *words: object) -> None:
        who = f"{launcher.pod.slot}/{launcher.boot}" if launcher else "-"
        self.story.append(f"{self.age:8.3f} {who:10} {' '.join(map(str, words))}")

    # Jobs and pods.

    def running(self) -> Iterator[tuple[Pod, Generation]]:
        """Return where programs live, and of which generations they are."""
        for pod in self.pods:
            for children in pod.launcher.begun if pod.launcher else ():
                if children.running:
                    yield pod, children.generation

    def succeeded(self, key: str) -> bool:
        """Return whether a run has a verdict of success, before which all its trainers were done."""
        verdict = self.volume.of(key).verdict
        return verdict is not None and not verdict.code

    @property
    def job(self) -> Job:
        return self.jobs[-1]

    def apply(self, addresses: Sequence[str]) -> None:
        """Begin a run of the name, with a pod at each address."""
        self.jobs.append(Job(world=self, key=f"job{len(self.jobs)}" if self.recorded else ""))
        for slot, address in enumerate(addresses):
            self.add(self.job, slot, address, delay=self.some(0.0, 0.5))

    def add(self, job: Job, slot: int, address: str, delay: float) -> Pod:
        """Make a pod in a slot of a Job, in the place of the one that was there."""
        role = Role.NODE if not self.separated else Role.TRAINER if slot else Role.PSERVER
        pod = Pod(job=job, slot=slot, uid=f"uid{len(self.pods)}", address=address, role=role, lone=slot != 1)
        self.pods.append(pod)
        self.after(delay, None, lambda: self._join(pod))
        return pod

    def _join(self, pod: Pod) -> None:
        if pod.job.deleted or (self.elastic and any(each.slot == pod.slot for each in pod.job.present)):
            return
        for other in self.pods:
            if other is not pod and other.address == pod.address:
                other.silent = True
        self.strangers.pop(pod.address, None)
        pod.job.present.append(pod)
        self.boot(pod)
        self.changed(pod.job)

    def boot(self, pod: Pod) -> None:
        """Start a launcher in a pod."""
        pod.boots += 1
        pod.launcher = Launcher(world=self, pod=pod, boot=f"{pod.uid}.{pod.boots}")
        self.note(pod.launcher, "starts at", pod.address)
        pod.launcher.begin()
        self.tell(pod.launcher)

    def changed(self, job: Job) -> None:
        """Let every launcher know which pods there are; news may overtake each other, the last truth comes last."""
        for pod in job.present:
            if pod.launcher:
                self.tell(pod.launcher)

    def tell(self, launcher: Launcher) -> None:
        present = launcher.pod.job.present
        now = tuple(present)
        slow = 0.05 if self.eager else 1.0
        for delay in (self.some(0.01, 2.0), self.some(2.0, 4.0)):
            self.after(delay * slow, launcher, lambda: self._told(launcher, now))
        self.after(6.0 * slow, launcher, lambda: self._told(launcher, tuple(present)))

    def _told(self, launcher: Launcher, pods: tuple[Pod, ...]) -> None:
        if launcher.pod not in self.blind:
            launcher.discover(pods)

    def drop(self, pod: Pod) -> None:
        """Take a pod off the API's list."""
        if pod in pod.job.present:
            pod.job.present.remove(pod)
            self.changed(pod.job)

    def kill(self, pod: Pod) -> None:
        """Kill what is in a pod, frozen or not."""
        if pod.launcher:
            self.gone(pod.launcher)

    def gone_if_there(self, launcher: Launcher) -> None:
        if launcher.alive:
            self.gone(launcher)

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
