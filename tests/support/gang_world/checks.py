"""What must hold at every moment of a simulated gang, by knowledge that no launcher has."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launcher.pod.gang.protocol.budget import ENOUGH
from launcher.pod.gang.protocol.leader import TRANSITIONS
from launcher.pod.gang.protocol.messages import Generation, Stage
from launcher.pod.gang.store.succession import overtaken
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role

if TYPE_CHECKING:
    from tests.support.gang_world.children import Children
    from tests.support.gang_world.launcher import Launcher
    from tests.support.gang_world.programs import Program
    from tests.support.gang_world.world import World


WAIT = re.compile(r"trainer \d+ waits ")


class Broken(AssertionError):
    """Something happened that must never happen."""


@dataclass(eq=False)
class Checks:
    """What was seen so far of a world."""

    world: World
    key: str
    stages: set[tuple[Stage, Stage]] = field(default_factory=set)
    before: dict[str, Stage] = field(default_factory=dict)
    serving: dict[int, set[str]] = field(default_factory=dict)
    ended: dict[int, set[str]] = field(default_factory=dict)
    stopped: set[int] = field(default_factory=set)  # generations that a launcher's stop ended, or another width
    well: dict[int, set[str]] = field(default_factory=dict)  # whose pserver was well after every trainer was done
    met: dict[tuple[int, str], set[str]] = field(default_factory=dict)  # who came to a barrier
    calls: dict[int, set[int]] = field(default_factory=dict)  # of `here.leaving` at which trainers were told
    mistaken: set[int] = field(default_factory=set)  # generations in which a trainer waits for what never comes
    complete: bool = False  # of one generation every trainer ended with 0, and every pserver was well after that
    failures: dict[str, dict[int, int]] = field(default_factory=dict)  # by proof and generation: passes
    verdicts: list[Outcome] = field(default_factory=list)
    first: float = math.inf  # when the first verdict was said
    generations: dict[int, Generation] = field(default_factory=dict)

    def hold(self, is_so: bool, what: object) -> None:
        if not is_so:
            raise Broken(f"at {self.world.age:.3f} s: {what}")

    def alone(self) -> None:
        """No two generations run, where that is promised: a frozen pod does not count, it does nothing."""
        running = [(pod.job.key, generation) for pod, generation in self.world.running() if not pod.frozen]
        newest = self.world.job.key  # what is left of a run that succeeded are pservers that were told to end
        running = [(key, each) for key, each in running if key == newest or not self.world.succeeded(key)]
        for one, other in itertools.pairwise(running):
            # Without a record nobody can know of a gang that was replaced as a whole.
            promised = self.world.recorded or _boots(one[1]) & _boots(other[1])
            self.hold(one == other or not promised, f"two generations run: {one} and {other}")

    def started(self, children: Children, program: Program) -> None:
        launcher, generation = children.launcher, children.generation
        self.world.note(launcher, "starts a", program.role, "of", generation.number)
        self.alone()
        seen = launcher.member.status.passes or ()
        self.hold(generation.resume is None or generation.resume in seen, f"pass {generation.resume} is not seen")
        if program.role is Role.TRAINER:
            serving = self.serving.get(generation.number, set())
            self.hold(self.world.servers(generation) <= serving, "a pserver does not serve yet")

    def serves(self, children: Children) -> None:
        self.serving.setdefault(children.generation.number, set()).add(children.launcher.boot)

    def trained(self, children: Children) -> None:
        ended = self.ended.setdefault(children.generation.number, set())
        ended.add(children.launcher.boot)
        self._complete(children.generation)

    def came(self, children: Children, name: str) -> None:
        self.met.setdefault((children.generation.number, name), set()).add(children.launcher.boot)

    def passed(self, children: Children, name: str) -> None:
        """A barrier is passed by all, or by nobody."""
        missing = _boots(children.generation, without=Role.PSERVER) - self.met[children.generation.number, name]
        self.hold(not missing, f"barrier {name} is passed without {missing}")

    def leaves(self, children: Children, call: int) -> None:
        """All trainers of a generation are told at the same call that it ends soon."""
        calls = self.calls.setdefault(children.generation.number, set())
        calls.add(call)
        self.hold(len(calls) == 1, f"trainers of generation {children.generation.number} leave at calls {calls}")

    def failed(self, children: Children, proof: str) -> None:
        self.failures.setdefault(proof, {})[children.generation.number] = self._passes

    @property
    def _passes(self) -> int:
        """How many are complete, whoever sees that."""
        return max(self.world.volume.passes, default=-1) + 1

    def found_well(self, children: Children) -> None:
        self.well.setdefault(children.generation.number, set()).add(children.launcher.boot)
        self._complete(children.generation)

    def _complete(self, generation: Generation) -> None:
        trained, well = (each.get(generation.number, set()) for each in (self.ended, self.well))
        all_trained = trained >= _boots(generation, without=Role.PSERVER)
        self.complete |= all_trained and well >= self.world.servers(generation)

    def decided(self, launcher: Launcher, verdict: Outcome) -> None:
        self.world.note(launcher, "has the verdict", verdict.code, verdict.reason)
        self.hold(bool(verdict.code) or self.complete, "done before every trainer was, or a pserver was looked at")
        self.hold("would not help" not in verdict.reason or self._repeated(), f"no such failures: {verdict.reason}")
        self.hold("stranger" not in verdict.reason, f"a stranger's word: {verdict}")
        self.verdicts.append(verdict)
        self.first = min(self.first, self.world.now)
        if self.promised:
            first = self.verdicts[0]
            newer = self.world.recorded and self.world.volume.newer(self.key)
            gives_way = bool(newer and overtaken(newer) in (first, verdict))
            self.hold(verdict == first or gives_way, f"two verdicts: {self.verdicts}")
            self.hold("nothing changed" not in verdict.reason, f"stuck: {verdict.reason}")

    def _repeated(self) -> bool:
        """Return whether a program failed three times alike between two passes, which may be seen a moment late."""
        of_one = [sorted(passes.values()) for proof, passes in self.failures.items() if proof]
        return any(high <= low + 1 for passes in of_one for low, high in zip(passes, passes[2:], strict=False))

    @property
    def promised(self) -> bool:
        """Without a record a verdict reaches only those whom its leader reaches: nothing may go wrong just then."""
        return self.world.recorded or self.first > self.world.quiet

    def looked(self, launcher: Launcher) -> None:
        word = launcher.member.status.word
        if word is None:
            return
        if word.cause and word.cause.told:
            self.stopped.add(word.number)
        before, self.before[launcher.boot] = self.before.get(launcher.boot, Stage.GATHERING), word.stage
        if before is not word.stage:
            self.stages.add((before, word.stage))
            self.world.note(launcher, "goes on to", word.stage, word.number, word.cause and word.cause.reason)
            self.hold((before, word.stage) in TRANSITIONS, f"from {before} to {word.stage}")
            cannot_end = word.cause is not None and WAIT.match(word.cause.reason)
            self.hold(not cannot_end or word.number in self.mistaken, f"a sound wait: {word.cause}")
            only_told = word.cause is not None and "ALARM 0" in word.cause.reason
            self.hold(not only_told, f"what was only to be told ends a generation: {word.cause}")
            newer = self.world.recorded and self.world.volume.newer(self.key)
            own = word.verdict is not None and not (newer and overtaken(newer) == word.verdict)
            over = word.stage is Stage.OVER and own and word.verdict is not None and word.verdict.code != 0
            self.hold(
                not over or not self._runs_without(launcher), f"a newcomer ends a gang that runs: {word.verdict}"
            )
        if word.generation and word.stage is Stage.READYING and before is Stage.GATHERING:
            self._made(launcher, word.generation)

    def _made(self, launcher: Launcher, generation: Generation) -> None:
        world = self.world
        self._cost(generation)
        if world.elastic:
            trainers = sum(who.role is not Role.PSERVER for who in generation.members)
            most = world.width.most
            self.hold(world.least <= trainers <= most, f"{trainers} of {world.least} to {most}")
            self.hold(trainers % world.unit == 0, f"{trainers} in units of {world.unit}")
            first = min(world.volume.of(self.key).generations, default=generation.number) == generation.number
            there = sum(pod.role is not Role.PSERVER for pod in launcher.listed)
            self.hold(not first or 2 * there > world.width.most_pods, f"a run begins with {there}: {generation}")
        resume = generation.resume
        self.hold(resume is None or resume in world.volume.passes, f"pass {resume} is not complete")
        if world.recorded:
            newest = max(self.generations, default=0)
            self.hold(generation.number > newest, f"generation {generation.number} after {newest}")
            free = len(self.stopped & self.generations.keys())
            self.hold(generation.restarts >= len(self.generations) - free, "a restart was forgotten")
            if newest:
                self._follows(self.generations[newest], generation)
        self.generations[generation.number] = generation

    def _runs_without(self, launcher: Launcher) -> bool:
        """Return whether a generation trains that has nothing to do with a launcher."""
        newest = max(self.generations, default=0)
        if not self.world.elastic or launcher.member.status.known >= newest:
            return False
        others = [
            pod.launcher for pod in self.world.pods if pod.launcher and pod.job.key == self.key and not pod.frozen
        ]
        words = [other.member.status.word for other in others]
        going = (Stage.SERVING, Stage.TRAINING, Stage.CHECKING)
        return any(word is not None and word.number == newest and word.stage in going for word in words)

    def _cost(self, generation: Generation) -> None:
        """No more restarts than there may be, and none that would not help."""
        self.hold(generation.spent <= self.world.rules.restarts, f"too many restarts: {generation}")
        self.hold(generation.failed < ENOUGH, f"a start that would not help: {generation}")
        self.hold(generation.left < 3, f"moved on for ever: {generation}")
        passes = self._passes
        gone_on_from = 0 if generation.resume is None else generation.resume + 1
        self.hold(gone_on_from <= generation.reached <= passes, f"of {passes} passes {generation.reached} are known")

    def _follows(self, before: Generation, generation: Generation) -> None:
        """Each new pass gives one restart back, and nothing else does; a stop spends none."""
        kept = max(0, before.spent - (generation.reached - before.reached))
        least = kept if before.number in self.stopped else kept + 1
        self.hold(least <= generation.spent <= kept + 1, f"{generation.spent} restarts are spent, after {before}")


def _boots(generation: Generation, without: Role | None = None) -> set[str]:
    return {who.boot for who in generation.members if who.role is not without}
