"""The runs of a job's name on the volume: numbered as generations are, so that of two the newer one goes on.

Before its first generation a key makes `run-<n>.json`, one above the highest; who finds a higher one than its own is
overtaken. Plain blocking I/O for the record's thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from launcher.contract import COUNTERS, NOW, REST, RUN, SERVICE_ACCOUNT, SPARE, run_file, runs_directory
from launcher.pod.gang.protocol.codec import decode_run, encode_run
from launcher.pod.gang.protocol.messages import NumberedRun
from launcher.pod.gang.store.archive import last_run
from launcher.pod.gang.store.record import AHEAD, Record, number_in, put_number
from launcher.pod.gang.store.succession import Predecessor, is_over
from launcher.pod.settings.nouns import Settings
from launcher.safefs.dirs import Below, Dir
from launcher.safefs.small_file import content, reserve

_ROOM = 1 << 14  # its longest tail fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """All runs of one job's name, as the one of this record sees them."""

    record: Record
    peer_timeout: float
    namespace: str = ""

    @property
    def home(self) -> Below:
        """Where the runs of this name are numbered, whichever key has them."""
        return self.record.where.at(runs_directory(self.record.job))

    def enter(self) -> int:
        """Return the number of this key's run; make it, one above the highest, where there is none.

        There must be room for its verdict, which would else be missed when the programs have filled the volume.
        """
        with self.home.opened(make=True) as home, self.record.home.opened(make=True) as own:
            number = self._own(home, own)
            if not number:
                number = self._made(home)
                put_number(own, RUN, number)
            if number_in(home, NOW) < number:
                put_number(home, NOW, number)
            reserve(own, SPARE, _ROOM)
            return number

    def newer(self) -> NumberedRun | None:
        """Return the run that has overtaken this key's, if one has."""
        with self.home.found() as home, self.record.home.found() as own:
            mine = self._own(home, own) if home and own else 0
            if not (home and mine):
                return None
            highest = self._highest(home)
            # The number alone counts: the file that it names may be late to be seen, its run is not.
            run = self._read(home, highest) or self._run(highest, key="unknown")
            return run if highest > mine and run.key != self.record.key else None

    def predecessor(self, number: int) -> Predecessor | None:
        """Return the newest run before a number that began: it waited itself for those before it."""
        with self.home.found() as home:
            earlier = (self._read(home, each) for each in range(number - 1, 0, -1)) if home else iter(())
            for run in filter(None, earlier):
                record = replace(self.record, key=run.key)
                if run.key != self.record.key and (begun := record.highest()):
                    return _seen(record, run, begun)
        last = last_run(self.record)  # of a launcher that numbered no runs, and moves no counter
        if last is None:
            return None
        over = last.record.verdict() is not None
        run = replace(self._run(0, key=last.record.key), namespace="")
        return Predecessor(run=run, over=over, counters=(b"%d" % last.record.highest(),))

    def move(self, counter: int) -> None:
        """Move one of this run's counters: programs of it may run."""
        with self.record.home.opened(make=True) as own:
            put_number(own, COUNTERS[counter], number_in(own, COUNTERS[counter]) + 1)

    def rest(self, generation: int) -> None:
        """Say that nothing of a generation runs any more."""
        with self.record.home.opened(make=True) as own:
            put_number(own, REST, generation)

    def rested(self) -> int:
        """Return the generation of this run of which nothing runs any more, 0 where that is not said of any."""
        with self.record.home.found() as own:
            return number_in(own, REST) if own else 0

    def _own(self, home: Dir, own: Dir) -> int:
        """Return this key's number, 0 where it has none."""
        for number in (number_in(own, RUN), self._highest(home)):
            run = self._read(home, number)
            if run and run.key == self.record.key:
                return number
        return 0

    def _made(self, home: Dir) -> int:
        number = self._highest(home) + 1
        while not self._make(home, number):
            number += 1
        return number

    def _make(self, home: Dir, number: int) -> bool:
        return self.record.write(home, run_file(number), lambda: encode_run(self._run(number)))

    def _run(self, number: int, key: str = "") -> NumberedRun:
        key = key or self.record.key
        return NumberedRun(number=number, key=key, namespace=self.namespace, peer_timeout=self.peer_timeout)

    def _highest(self, home: Dir) -> int:
        """Return the highest number: what `now` names, or one above it that is there already."""
        number = number_in(home, NOW)
        while number < number + AHEAD and content(home, run_file(number + 1)) is not None:
            number += 1
        return number

    def _read(self, home: Dir, number: int) -> NumberedRun | None:
        return self.record.read(home, run_file(number), decode_run, every=True) if number else None


def runs_beside(record: Record, settings: Settings) -> Runs:
    """Return the runs of a job's name, as the one of a record sees them."""
    namespace = settings.namespace or _own_namespace()
    return Runs(record=record, peer_timeout=settings.timing.peer, namespace=namespace)


def _own_namespace(directory: Path = Path(SERVICE_ACCOUNT)) -> str:
    try:
        return (directory / "namespace").read_text().strip()
    except (OSError, ValueError):
        return ""  # a pod without an account, or no pod


def _seen(record: Record, run: NumberedRun, begun: int) -> Predecessor:
    """Return what is to be seen of a run now; each file is opened anew."""
    verdict = record.verdict()
    with record.home.opened() as home:
        over = is_over(begun, number_in(home, REST), verdict)
        counters = tuple(content(home, name) or b"" for name in COUNTERS)
    return Predecessor(run=run, over=over, counters=(b"%d" % begun, *counters))
