"""The record on a thread of its own: the main thread wishes and reads facts, and never waits for the volume."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from launcher.contract import PASS_PREFIX
from launcher.pod.gang.protocol.messages import Generation
from launcher.pod.gang.protocol.state import NodeFailure, Recorded
from launcher.pod.gang.store.node_failures import NodeFailures
from launcher.pod.gang.store.passes import complete, newest_above
from launcher.pod.gang.store.record import Record, RecordError
from launcher.pod.gang.store.runs import Runs
from launcher.pod.gang.store.succession import Stillness, held, overtaken, still
from launcher.pod.log import Tell, TroubleTold
from launcher.pod.outcome import Outcome
from launcher.safefs.dirs import Below

_PATIENCE = 5.0
_UNREAD = "the gang's record on the volume is not read yet"


class Recorder:
    """What the record is to hold, and the thread that writes it. What failed is tried again at each look."""

    def __init__(
        self,
        record: Record | None,
        nudge: Callable[[], None],
        tell: Tell,
        *,
        runs: Runs | None = None,
        output: Below | None = None,
        resumes: bool = False,
        patience: float = _PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at once; `nudge` is called on any thread after each change of the facts, and must not wait.

        `resumes`: a start goes on from the passes in the output, so that it matters which are complete.
        """
        self._nudge = nudge
        self._trouble = TroubleTold(tell, "record_trouble", "record_back")
        self._patience = patience
        self._clock = clock
        self._runs = runs
        self._output = output
        read = 0.0 if record and output and resumes else math.inf
        looked = 0.0 if record else math.inf
        self._facts = Recorded(known=record is None, held=_UNREAD if runs else "", read=read, looked=looked)
        self._number = 0  # of this key's run, once it is made
        self._stillness = Stillness()
        self._nodes = NodeFailures()
        self._begins = False
        self._counter: int | None = None  # that is moved at each look
        self._rest = self._rested = 0  # wished, and written
        self._changed = threading.Condition()
        self._generation: Generation | None = None  # wished last
        self._verdict: Outcome | None = None  # wished first
        self._answered: Generation | None = None
        self._stopped = self._noted = 0  # the generation that a stop is to be noted of, and was
        self._doubt = 0.0  # the passes are to be looked at by a look that begins then, or later
        self._asked = True
        self._since: float | None = None  # when the thread began what it is at
        self._alone = record is None
        if record:
            threading.Thread(target=self._serve, args=(record,), name="record", daemon=True).start()

    @property
    def facts(self) -> Recorded:
        """What the volume said last, and the trouble with it."""
        return self._facts

    def wish_generation(self, generation: Generation) -> None:
        """Ask for a generation to be made, unless there is a verdict; a later one replaces one that is not begun."""
        with self._changed:
            if generation == self._generation:
                return
            self._generation = generation
            self._ask()
        if self._alone:
            self._made(generation)

    def wish_verdict(self, verdict: Outcome) -> None:
        """Ask for the verdict to be sealed; the first one counts."""
        with self._changed:
            if self._verdict:
                return
            self._verdict = verdict
            self._facts = replace(self._facts, unsealed=_unsealed(self._output, "the last complete pass"))
            self._ask()
        if self._alone:
            self._learn(sealed=verdict)

    def wish_stopped(self, number: int) -> None:
        """Ask for a note that a launcher was told to stop in a generation."""
        if self._alone:
            return
        with self._changed:
            self._stopped = number
            self._ask()

    def begin(self) -> None:
        """Have this key's run made, and held until the one before it is over."""
        if not self._begins:
            with self._changed:
                self._begins = True
                self._ask()

    def keep(self, counter: int | None, rest: int) -> None:
        """Have a counter moved at each look while there is one, and the rest of a generation written down."""
        if (counter, rest) != (self._counter, self._rest):
            with self._changed:
                self._counter, self._rest = counter, rest
                self._ask()

    def look_at_passes(self, since: float) -> None:
        """Have it found out which pass is the newest complete one, by a look that begins at a time or later."""
        if since > self._doubt:
            with self._changed:
                self._doubt = since
                self._ask()

    def wish_failure(self, failure: NodeFailure) -> None:
        """Ask for a failure to be added to the nodes' record."""
        if self._nodes.wish(failure):
            with self._changed:
                self._learn(failures=self._nodes.known)
                self._ask()

    def settle(self, until: float) -> None:
        """Wait until a stop is noted, the rest written down and a failure added, or until a time."""
        with self._changed:
            self._changed.wait_for(self._is_settled, max(0.0, until - self._clock()))

    def look(self) -> None:
        """Ask for the record to be read again, and for a failed step to be tried again."""
        with self._changed:
            self._ask()
            if self._since is not None and self._clock() - self._since > self._patience:
                self._learn(trouble="the volume with the gang's record does not answer")

    def _is_settled(self) -> bool:
        written = self._stopped in (0, self._noted) and self._rest in (0, self._rested) and self._nodes.settled
        return self._alone or written

    def _ask(self) -> None:
        self._asked = True
        self._changed.notify_all()

    def _serve(self, record: Record) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked)
                self._asked = False
                self._since = self._clock()
                generation, verdict, stopped = self._generation, self._verdict, self._stopped
            if stopped > self._noted:
                self._note_stop(record, stopped)
            self._round(record, generation, verdict)

    def _note_stop(self, record: Record, number: int) -> None:
        """Write that a stop was told; where it cannot be written, the stop spends a restart, no more."""
        with _noting([]):
            record.note_stop(number)
        with self._changed:
            self._noted = number
            self._changed.notify_all()

    def _round(self, record: Record, generation: Generation | None, verdict: Outcome | None) -> None:
        """Write all that is asked for, whatever of it fails, and read the record then."""
        troubles: list[str] = []
        if verdict and not self._facts.sealed:
            with _noting(troubles):
                self._learn(sealed=record.seal(verdict))
            if troubles and self._output:
                with _noting(troubles):
                    newest = max(complete(self._output), default=None)
                    self._learn(unsealed=_unsealed(self._output, f"pass {newest}") if newest is not None else "")
        if self._output and self._doubt > self._facts.read:
            with _noting(troubles):
                self._find_newest(self._output)
        if not self._facts.known:
            with _noting(troubles):
                self._read(record, generation)
        if self._runs:
            with _noting(troubles):
                self._keep_run(self._runs)
        # Nothing is begun on a record that is unread, nor on one that has its verdict.
        if generation and generation != self._answered and self._facts.known and not self._facts.sealed:
            with _noting(troubles):
                self._make(record, generation)
        with _noting(troubles):
            self._read(record, generation)
        if self._runs and self._begins:
            self._keep_failures(self._runs)
        with self._changed:
            self._since = None
            self._learn(trouble=troubles[0] if troubles else "")

    def _find_newest(self, output: Below) -> None:
        """Look for a newer pass than are known; the main thread waits for it, as for a verdict."""
        begun, facts = self._clock(), self._facts
        known = max(-1 if facts.newest is None else facts.newest, facts.latest.reached - 1 if facts.latest else -1)
        found = newest_above(output, known)
        self._learn(newest=facts.newest if found is None else found, read=begun)

    def _make(self, record: Record, generation: Generation) -> None:
        """Make a generation, unless a newer run of the name has begun."""
        self._give_way()
        if not self._facts.sealed and record.make(generation):
            # The newer run may have looked at this record before the generation was in it.
            self._give_way()
            if not self._facts.sealed:
                self._made(generation)
        self._answered = generation

    def _keep_run(self, runs: Runs) -> None:
        """Say that programs of this run may run, or that none does; begin it once the one before it is over."""
        if (counter := self._counter) is not None:  # once: the main thread may change it meanwhile
            runs.move(counter)
        if self._rest != self._rested:
            rest = self._rest
            if rest:
                runs.rest(rest)
            with self._changed:
                self._rested = rest
                self._changed.notify_all()
        if self._begins and self._facts.held and self._facts.known and not self._facts.sealed:
            self._number, looked = self._number or runs.enter(), self._clock()
            before = None if self._facts.highest else runs.predecessor(self._number)
            self._stillness = still(self._stillness, before, self._clock())
            self._learn(held=held(self._stillness, looked))

    def _keep_failures(self, runs: Runs) -> None:
        """Add to the nodes' record, and know what is in it; nobody waits for it, and what fails is tried again."""
        with _noting([]):
            self._nodes.keep(runs.home)
            with self._changed:
                self._learn(failures=self._nodes.known)
                self._changed.notify_all()

    def _give_way(self) -> None:
        """Learn that a newer run of the name has begun: it is this one's verdict."""
        newer = self._runs.newer() if self._runs else None
        if newer and not self._facts.sealed:
            self._learn(sealed=overtaken(newer))

    def _read(self, record: Record, wished: Generation | None) -> None:
        begun = self._clock()
        # A number alone counts too: the file that it names may be late to be seen, its gang is not.
        self._learn(highest=max(self._facts.highest, record.highest()), sealed=self._facts.sealed or record.verdict())
        self._give_way()
        newest = record.latest()
        # It stands, though not all of its making went well.
        if newest and newest == wished and not self._facts.sealed:
            self._made(newest)
        highest = max(self._facts.highest, newest.number if newest else 0)
        stopped = newest.number if newest and record.was_stopped(newest.number) else self._facts.stopped
        rested = self._runs.rested() if self._runs else 0
        self._learn(known=True, highest=highest, latest=newest, stopped=stopped, rested=rested, looked=begun)

    def _made(self, generation: Generation) -> None:
        facts = self._facts
        number = generation.number
        newest = generation if number >= facts.highest else facts.latest
        self._learn(made=max(facts.made, number), highest=max(facts.highest, number), latest=newest)

    def _learn(self, **news: object) -> None:
        """Replace the facts; tell trouble that begins or ends."""
        with self._changed:
            before, self._facts = self._facts, replace(self._facts, **news)  # type: ignore[arg-type]
            after = self._facts
        if replace(after, looked=before.looked) == before:
            return  # that a look saw nothing new wakes nobody
        if after.trouble:
            self._trouble.tell(after.trouble)
        else:
            self._trouble.over()
        self._nudge()


def _unsealed(output: Below | None, after: str) -> str:
    """Return what follows where the verdict of success is not written; without passes nothing does."""
    if output is None:
        return ""
    return (
        f"the volume has not taken this verdict: the next run of this name goes on after {after}; "
        f"move {output.path}/{PASS_PREFIX}* away to prevent it"
    )


@contextmanager
def _noting(troubles: list[str]) -> Iterator[None]:
    try:
        yield
    except RecordError as error:
        troubles.append(str(error))
    except Exception as error:  # a thread that died of it would look like a volume that hangs
        troubles.append(f"a bug in the launcher: {type(error).__name__}: {error}")
