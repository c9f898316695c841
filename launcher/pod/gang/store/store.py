"""The gang's files on the shared volume: the record, the events, the passes; each on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from launcher.contract import pass_directory
from launcher.pod.gang.protocol.messages import Generation
from launcher.pod.gang.protocol.state import NodeFailure, Recorded
from launcher.pod.gang.store.archive import make_way
from launcher.pod.gang.store.event_file import EventFile
from launcher.pod.gang.store.passes import NOTHING, Baseline, complete, refuse_others, saved_at
from launcher.pod.gang.store.record import Record, RecordError, output_of, record_of
from launcher.pod.gang.store.recorder import Recorder
from launcher.pod.gang.store.runs import runs_beside
from launcher.pod.gang.store.stack_texts import StackTexts
from launcher.pod.log import Tell, TroubleTold
from launcher.pod.outcome import LauncherError, Outcome
from launcher.pod.programs.plan import Resume
from launcher.pod.programs.stacks.asking import ProgramStacks
from launcher.pod.settings.nouns import Settings

# The client of a network volume may remember for so long what is so no more, and a server be away.
SURVEY_PATIENCE = 60.0
PAUSE = 1.0
_TIMED = 3  # passes of which the time is read
SETTLING = 2.5  # for a note of a stop, beyond the last words: without it the stop costs a restart


class Store:
    """Reads and writes the gang's files; the main thread never waits for any of it."""

    def __init__(
        self,
        settings: Settings,
        nudge: Callable[[], None],
        tell: Tell,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._settings = settings
        self._nudge = nudge
        self._tell = tell
        self._output = output_of(settings)
        self._record: Record | None = None
        self._recorder: Recorder | None = None
        self._baseline: Baseline | None = None
        self._event_file: EventFile | None = None
        self._key = ""
        self._met = False
        self._stack_texts: StackTexts | None = None
        self.saved: Mapping[int, float] = {}  # when the newest complete passes were, as the last survey saw them

    def open(self, key: str, *, met: bool = False) -> None:
        """Open the record of a key; without one there is none. The key may be another until the gang has met."""
        if not self._met and (self._recorder is None or key != self._key):
            self._key = key
            self._record = record_of(self._settings, key)
            runs = runs_beside(self._record, self._settings) if self._record else None
            resumes = self._settings.resume
            self._recorder = Recorder(
                self._record, self._nudge, self._tell, runs=runs, output=self._output, resumes=resumes
            )
        self._met = self._met or met

    @property
    def facts(self) -> Recorded:
        """The record, as far as it is known."""
        return self._recorder.facts if self._recorder else Recorded()

    def look(self) -> None:
        """Ask for the record to be read again."""
        if self._recorder:
            self._recorder.look()

    def wish(
        self,
        generation: Generation | None,
        verdict: Outcome | None,
        *,
        begins: bool,
        doubt: float | None = None,
        ended: NodeFailure | None = None,
    ) -> None:
        """Ask as the leader for this run to begin, for a generation to be made, and for a verdict to be sealed.

        `doubt`: the newest complete pass is to be found by a look that begins then or later. `ended`: what ended the
        last generation, for the nodes' record.
        """
        if self._recorder and begins:
            self._recorder.begin()
        if self._recorder and generation:
            self._recorder.wish_generation(generation)
        if self._recorder and verdict:
            self._recorder.wish_verdict(verdict)
        if self._recorder and doubt is not None:
            self._recorder.look_at_passes(doubt)
        if self._recorder and ended:
            self._recorder.wish_failure(ended)

    def stopped(self, number: int) -> None:
        """Note that a launcher was told to stop in a generation."""
        if self._recorder and number:
            self._recorder.wish_stopped(number)

    def keep(self, counter: int | None, rest: int) -> None:
        """Have one of the run's counters moved at each look, or the generation written down of which none runs."""
        if self._recorder:
            self._recorder.keep(counter, rest)

    def put(self, event: str, **facts: object) -> None:
        """Queue an event for the event file; never wait."""
        if self._event_file is None:
            self._event_file = EventFile(self._output, self._tell)
        self._event_file.put(event, **facts)

    def keep_stacks(self, generation: int, look: int, found: Sequence[ProgramStacks]) -> None:
        """Have the stacks that a look saw written; any thread may call it, and it does not wait."""
        if self._stack_texts is None and self._record:
            self._stack_texts = StackTexts(self._record)
        if self._stack_texts:
            self._stack_texts.put(generation, look, found)

    @property
    def record_path(self) -> str:
        """The directory of the record, nothing where there is none."""
        home = self._record.home if self._record else None
        return str(home.root.joinpath(*home.parts)) if home else ""

    @property
    def events_age(self) -> float:
        """The seconds since the event file's first line, 0 as long as that is not known."""
        return self._event_file.age if self._event_file else 0.0

    def close(self, until: float) -> None:
        """Wait until all is written, or until a time; for a stop and a rest the volume may take longer."""
        if self._recorder:
            self._recorder.settle(until + SETTLING)
        if self._event_file:
            self._event_file.close(until)

    def survey(self, *, leads: bool) -> tuple[int, ...] | None:
        """Return the complete passes, once a finished run's things are out of the way; trouble has a minute to pass.

        It waits for the volume: an errand, which a signal to stop leaves behind.
        """
        until, trouble = self._clock() + SURVEY_PATIENCE, TroubleTold(self._tell, "record_trouble", "record_back")
        while True:
            try:
                found = self._survey(leads=leads)
                self.saved = self._times(found)
            except RecordError as error:
                if self._clock() >= until:
                    raise
                trouble.tell(str(error))
                self._sleep(PAUSE)
            else:
                trouble.over()
                return found

    def saved_within(self, seconds: float) -> Mapping[int, float] | None:
        """Return when the newest complete passes were saved; None where the volume does not tell so soon."""
        found: list[Mapping[int, float]] = []

        def look() -> None:
            with suppress(LauncherError):
                found.append(self._times(self._complete()))

        looking = threading.Thread(target=look, name="last passes", daemon=True)
        looking.start()
        looking.join(seconds)
        return found[0] if found else None

    def resume(self, number: int | None) -> Resume | None:
        """Return where training goes on after a complete pass."""
        if number is None or self._output is None:
            return None
        return Resume(start_pass=number + 1, directory=f"{self._output.path}/{pass_directory(number)}")

    def _survey(self, *, leads: bool) -> tuple[int, ...] | None:
        """Look once.

        Without a record it is unknown whose passes these are: only the leader looks, and only newer ones count.
        """
        if self._output is None or not self._settings.resume:
            return None
        if self._record:
            moved = make_way(self._record, self._output) if leads else None
            if moved:
                self._tell("finished_run_moved_aside", to=moved.to, names=list(moved.names))
            passes = self._complete()
            refuse_others(self._output, passes, self._settings.runtime)
            return passes
        if self._baseline is None:
            self._baseline = Baseline.take(self._output)
        return self._complete() if leads else None

    def _complete(self) -> tuple[int, ...]:
        return complete(self._output, without=self._baseline or NOTHING) if self._output else ()

    def _times(self, passes: tuple[int, ...] | None) -> Mapping[int, float]:
        """Return when each of the newest of some passes was saved: one of these all others have, too."""
        return saved_at(self._output, passes[-_TIMED:]) if self._output and passes else {}
