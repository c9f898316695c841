"""What a pod writes about itself: its events on stderr, the seconds of each phase, and its last message."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from launcher import __version__
from launcher.pod.log import EventLog, Tell
from launcher.pod.outcome import Outcome
from launcher.pod.output.sink import Sink
from launcher.pod.output.standard import Stream, same
from launcher.pod.peers.roster import Roster
from launcher.pod.programs.plan import Plan
from launcher.pod.programs.policy import Cause
from launcher.pod.settings.nouns import Role, Settings

if TYPE_CHECKING:
    from launcher.pod.gang.membership import Membership
    from launcher.pod.gang.seconds import Seconds
    from launcher.pod.gang.status.metrics import Facts
    from launcher.pod.output.pump import Pump

TERMINATION_LOG = Path("/dev/termination-log")
LAST_WORDS = 1.0


class Console:
    """One pod's events on stderr, with the children's output on stdout."""

    def __init__(self, termination_log: Path = TERMINATION_LOG) -> None:
        """Open and start nothing before there is something to write."""
        self.rank: int | None = None
        self._termination_log = termination_log
        self._seconds: dict[str, float] = {}
        self._children: dict[str, tuple[int, Pump]] = {}
        self._quiet = False
        self._spent: Seconds | None = None
        self._about: dict[str, str] = {}

    @cached_property
    def out(self) -> Sink:
        """Where the children's output goes."""
        return Sink(Stream(1), name="stdout")

    @cached_property
    def _err(self) -> Sink:
        # Where both are one pipe, an event must not come out in the middle of a child's line.
        return self.out if same(1, 2) else Sink(Stream(2), name="stderr")

    @cached_property
    def _log(self) -> EventLog:
        return EventLog(self._err.put_now, terminal=os.isatty(2))

    @property
    def tell(self) -> Tell:
        """What writes one event to stderr."""
        return self._log.tell

    def for_job(self, settings: Settings) -> None:
        """Name the job and this pod in every event from now on."""
        self._log.bind(job=settings.job, pod=os.uname().nodename)
        about = {"job": settings.job, "namespace": settings.namespace, "runtime": str(settings.runtime)}
        self._about = {**about, "launcher": __version__}

    def met(self, roster: Roster) -> None:
        """Name this pod's rank, too, and the pod as its peers call it."""
        self.rank = roster.rank
        known = roster.me.name not in ("", roster.me.address)
        self._log.bind(rank=roster.rank, **({"pod": roster.me.name} if known else {}))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the seconds of a phase, however it ends."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = round(self._seconds.get(name, 0.0) + time.monotonic() - begun, 3)

    def started(self, name: str, pid: int, pump: Pump) -> None:
        """Remember a child, for the metrics."""
        self._children[name] = (pid, pump)

    def facts(self) -> Facts:
        """Return what the metrics show of this pod; any thread may ask."""
        from launcher.pod.gang.status.metrics import Facts  # a plain init needs no gang

        children = dict(self._children)
        return Facts(
            seconds=dict(self._seconds),
            children={name: pid for name, (pid, _) in children.items()},
            pumps={name: {"bytes": pump.total} for name, (_, pump) in children.items()},
            about=self._about,
        )

    def starting(self, settings: Settings, roster: Roster, plan: Plan) -> None:
        """Write which programs are about to start, where, and as whom."""
        own = "pserver_id" if roster.role is Role.PSERVER else "trainer_id"
        self.tell(
            "training_starting",
            directory=settings.job_dir and str(settings.job_dir),
            num_gradient_servers=len(roster.trainers),
            **{own: roster.rank},
            version=str(settings.runtime),
            children=[program.name for program in plan.programs],
        )

    def counted(self, gang: Membership) -> Membership:
        """Return this pod's part in its gang; what its seconds were stands in the last line."""
        self._spent = gang.seconds
        return gang

    def of_init(self, cause: Cause) -> Outcome:
        """Return a plain init's outcome; nothing is written where the command ran and wrote its own lines."""
        self._quiet = not cause.unstarted
        return cause.outcome

    def end(self, outcome: Outcome) -> None:
        """Leave the termination message, and one canonical last line."""
        until = time.monotonic() + LAST_WORDS
        if self._quiet:
            if "_err" in self.__dict__:
                self._err.flush(until)
            return
        message = outcome.message()
        with suppress(OSError):
            self._termination_log.open("r+b").close()  # made by the kubelet, or not there
            self._termination_log.write_text(message, encoding="utf-8", errors="replace")
        if "out" in self.__dict__:
            self.out.flush(until)
        if outcome.code:
            self._err.put_now(f"start_paddle: {message}\n".encode(errors="replace"))
        facts = {"reason": outcome.reason, "code": int(outcome.code), "rank": self.rank, "seconds": self._seconds}
        self.tell("launcher_finished", **facts, **({"spent": self._spent.exact} if self._spent else {}))
        self._err.flush(until)
