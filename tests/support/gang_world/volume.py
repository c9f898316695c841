"""The gangs' records on a simulated volume: exclusive creation, look-ups that may be stale, writes that may hang."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from launcher.pod.gang.protocol.messages import Generation, NumberedRun
from launcher.pod.gang.protocol.state import Recorded
from launcher.pod.gang.store import succession
from launcher.pod.gang.store.succession import Predecessor, Stillness
from launcher.pod.outcome import Outcome

STALE = 3.0  # a file that was absent may be missed for that long, as on NFS
UNREAD = "the gang's record on the volume is not read yet"


@dataclass(eq=False)
class RunFiles:
    """What the volume has of one run."""

    generations: dict[int, Generation] = field(default_factory=dict)
    verdict: Outcome | None = None
    stopped: set[int] = field(default_factory=set)  # generations in which a launcher was told to stop
    counters: list[int] = field(default_factory=lambda: [0, 0])
    rest: int = 0

    @property
    def highest(self) -> int:
        return max(self.generations, default=0)


@dataclass(eq=False)
class Volume:
    """What all pods share."""

    peer_timeout: float
    runs: dict[str, RunFiles] = field(default_factory=dict)
    numbers: dict[int, str] = field(default_factory=dict)  # of the runs that entered, by number
    passes: set[int] = field(default_factory=set)
    finished: str = ""  # the run that they are all of
    hangs_until: float = 0.0

    def of(self, key: str) -> RunFiles:
        return self.runs.setdefault(key, RunFiles())

    def make(self, key: str, generation: Generation) -> bool:
        files = self.of(key)
        if generation.number <= files.highest:
            return False  # a gap is not filled either
        files.generations[generation.number] = generation
        return True

    def seal(self, key: str, verdict: Outcome) -> Outcome:
        files = self.of(key)
        if files.verdict is None:
            files.verdict = verdict
            self.finished = self.finished if verdict.code else key
        return files.verdict

    def make_way(self, key: str) -> None:
        """Move what a finished run left aside, for a run that has not begun."""
        if self.finished not in ("", key) and not self.of(key).generations:
            self.passes, self.finished = set(), ""

    def enter(self, key: str) -> int:
        """Return the number of a run; give it the next one where it has none."""
        number = next((number for number, each in self.numbers.items() if each == key), 0)
        if not number:
            number = max(self.numbers, default=0) + 1
            self.numbers[number] = key
        return number

    def newer(self, key: str) -> NumberedRun | None:
        """Return the run that has overtaken a key's."""
        highest = max(self.numbers, default=0)
        overtaken = highest and key in self.numbers.values() and self.numbers[highest] != key
        return self._run(highest) if overtaken else None

    def predecessor(self, number: int) -> Predecessor | None:
        """Return the newest run before a number that began."""
        for earlier in range(number - 1, 0, -1):
            files = self.of(self.numbers[earlier])
            if files.generations:
                over = succession.is_over(files.highest, files.rest, files.verdict)
                counters = tuple(b"%d" % each for each in (files.highest, *files.counters))
                return Predecessor(run=self._run(earlier), over=over, counters=counters)
        return None

    def _run(self, number: int) -> NumberedRun:
        return NumberedRun(number=number, key=self.numbers[number], namespace="", peer_timeout=self.peer_timeout)


@dataclass(eq=False)
class Records:
    """One launcher's wishes for the record and what it knows of it, as `Recorder` has them.

    Without a volume each wish is a fact at once.
    """

    key: str
    volume: Volume | None
    clock: Callable[[], float]
    seen: Callable[[], tuple[int, ...]]  # the complete passes
    facts: Recorded = field(init=False)
    generation: Generation | None = None
    answered: Generation | None = None
    verdict: Outcome | None = None
    leads: bool = False
    kept: tuple[int | None, int] = (None, 0)  # the counter to move, and the generation of which none runs
    rested: int = 0
    number: int = 0
    stillness: Stillness = field(default_factory=Stillness)
    absent: float = -STALE  # when the verdict was looked up last and not there
    doubt: float = 0.0

    def __post_init__(self) -> None:
        self.facts = Recorded(known=False, held=UNREAD, read=0.0, looked=0.0) if self.volume else Recorded()

    def wish(self, generation: Generation | None, verdict: Outcome | None, doubt: float | None) -> bool:
        """Take what the leader asks for; return whether that is news."""
        news, self.leads = not self.leads, True
        if doubt and doubt > self.doubt:
            self.doubt, news = doubt, True
        if generation and generation != self.generation:
            self.generation, news = generation, True
        if verdict and not self.verdict:
            self.verdict, news = verdict, True
        if self.volume is None and news:
            self._alone()
        return news

    def keep(self, counter: int | None, rest: int) -> bool:
        """Take what is to be said of the programs; return whether that is news."""
        before, self.kept = self.kept, (counter, rest)
        return before != self.kept

    def round(self) -> Iterator[None]:
        """Do what is wished by now, and read the record; time passes at each step."""
        volume, generation, verdict = self.volume, self.generation, self.verdict
        if volume is None:
            return
        if verdict and not self.facts.sealed:
            self._learn(sealed=volume.seal(self.key, verdict))
            yield
        if self.doubt > self.facts.read:
            looked = self.clock()
            yield
            self._learn(newest=max(self.seen(), default=None), read=looked)
        if not self.facts.known:
            self._read(volume, generation)
            yield
        looked = self.clock()
        yield
        self._keep_run(volume, looked)
        if generation and generation != self.answered and not self.facts.sealed:
            self._give_way(volume)
            if not self.facts.sealed and volume.make(self.key, generation):
                yield
                self._give_way(volume)
                if not self.facts.sealed:
                    self._made(generation)
            self.answered = generation
        self._read(volume, generation)

    def _keep_run(self, volume: Volume, looked: float) -> None:
        files, (counter, rest) = volume.of(self.key), self.kept
        if counter is not None:
            files.counters[counter] += 1
        if rest != self.rested:
            self.rested, files.rest = rest, rest or files.rest
        if self.leads and self.facts.held and self.facts.known and not self.facts.sealed:
            self.number = self.number or volume.enter(self.key)
            before = None if self.facts.highest else volume.predecessor(self.number)
            self.stillness = succession.still(self.stillness, before, self.clock())
            self._learn(held=succession.held(self.stillness, looked))

    def _give_way(self, volume: Volume) -> None:
        newer = volume.newer(self.key)
        if newer and not self.facts.sealed:
            self._learn(sealed=succession.overtaken(newer))

    def _read(self, volume: Volume, wished: Generation | None) -> None:
        files, now, sealed = volume.of(self.key), self.clock(), self.facts.sealed
        if not sealed and now >= self.absent + STALE:
            sealed = files.verdict
            self.absent = now if sealed is None else self.absent
        self._learn(sealed=sealed)
        self._give_way(volume)
        latest = files.generations.get(files.highest)
        if latest and latest == wished and not self.facts.sealed:
            self._made(latest)
        stopped = max(files.stopped, default=0)
        self._learn(known=True, highest=files.highest, latest=latest, stopped=stopped, rested=files.rest, looked=now)

    def _made(self, generation: Generation) -> None:
        number = generation.number
        self._learn(made=max(self.facts.made, number), highest=max(self.facts.highest, number), latest=generation)

    def _alone(self) -> None:
        if self.generation and self.generation != self.answered:
            self.answered = self.generation
            self._made(self.generation)
        self._learn(sealed=self.verdict)

    def _learn(self, **news: object) -> None:
        self.facts = replace(self.facts, **news)  # type: ignore[arg-type]
