"""The gang's record on a simulated volume: exclusive creation, look-ups that may be stale, writes that may hang."""

from __future__ import annotations

from dataclasses import dataclass, field

from launcher.pod.gang.protocol.messages import Generation
from launcher.pod.gang.protocol.state import Recorded
from launcher.pod.outcome import Outcome

STALE = 3.0  # a file that was absent may be missed for that long, as on NFS


@dataclass
class Volume:
    """What all pods share. The two switches take the promises of exclusive creation away."""

    generations: dict[int, Generation] = field(default_factory=dict)
    verdict: Outcome | None = None
    passes: set[int] = field(default_factory=set)
    stopped: set[int] = field(default_factory=set)  # generations in which a launcher was told to stop
    hangs_until: float = 0.0
    one_maker: bool = True
    one_verdict: bool = True

    def make(self, generation: Generation) -> bool:
        if self.one_maker and generation.number <= max(self.generations, default=0):
            return False  # a gap is not filled either
        self.generations[generation.number] = generation
        return True

    def seal(self, verdict: Outcome) -> Outcome:
        if self.verdict is None or not self.one_verdict:
            self.verdict = verdict
        return self.verdict


@dataclass
class Records:
    """One launcher's wishes for the record and what it knows of it; without a volume each wish is a fact at once."""

    volume: Volume | None
    facts: Recorded = field(default_factory=Recorded)
    known: bool = False
    generation: Generation | None = None
    answered: Generation | None = None
    verdict: Outcome | None = None
    begun: tuple[Generation | None, Outcome | None] = (None, None)  # what the thread is at
    absent: float = -STALE  # when the verdict was looked up last and not there

    def wish(self, generation: Generation | None, verdict: Outcome | None) -> bool:
        """Take what the leader asks for; return whether that is news."""
        news = False
        if generation and generation != self.generation:
            self.generation, news = generation, True
        if verdict and not self.verdict:
            self.verdict, news = verdict, True
        return news

    def learn(self, facts: Recorded) -> bool:
        """Take what was found; return whether there is something wished meanwhile."""
        self.facts, self.known = facts, True
        return self.begun != (self.generation, self.verdict)

    def begin(self) -> None:
        """Have the thread take what is wished by now."""
        self.begun = self.generation, self.verdict

    def perform(self, now: float) -> Recorded:
        """Do what was begun, and return the facts that follow."""
        if self.volume is None:
            return self._alone()
        volume, made, sealed = self.volume, self.facts.made, self.facts.sealed
        generation, verdict = self.begun
        if verdict and not sealed:
            sealed = volume.seal(verdict)
        if generation and generation != self.answered:
            if volume.make(generation):
                made = max(made, generation.number)
            self.answered = generation
        if not sealed and now >= self.absent + STALE:
            sealed = volume.verdict
            self.absent = now if sealed is None else self.absent
        highest = max(volume.generations, default=0)
        latest, stopped = volume.generations.get(highest), max(volume.stopped, default=0)
        return Recorded(highest=highest, made=made, latest=latest, sealed=sealed, stopped=stopped)

    def _alone(self) -> Recorded:
        self.answered = self.generation
        made = self.generation.number if self.generation else 0
        return Recorded(highest=made, made=made, latest=self.generation, sealed=self.verdict)
