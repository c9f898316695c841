"""Notes what happens in a gang, as its leader sees it: each change once, in the words of the event file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from launcher import __version__
from launcher.contract import LEAVING, Code
from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.protocol.messages import AlarmTold, Failure, Generation, LeaderMessage, Phase, Stage, Status
from launcher.pod.gang.protocol.reasons import told_by
from launcher.pod.gang.protocol.state import Heard
from launcher.pod.gang.store.ledger_events import LedgerEvents
from launcher.pod.gang.store.progress_events import ProgressEvents, seat_of
from launcher.pod.outcome import Outcome
from launcher.pod.settings.masking import masked
from launcher.pod.settings.nouns import Settings

_Put = Callable[..., None]


class RunEvents:
    """What was noted last, so that nothing is noted twice."""

    def __init__(
        self,
        put: _Put,
        *,
        job: str,
        facts: Mapping[str, str],
        seconds: Callable[[], Mapping[str, float]] = dict,
        age: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`seconds` returns what those of this launcher were, `age` how long ago the file's first event was."""
        self._put = put
        self._job = {"job": job, **facts}
        self._key: str | None = None
        self._generation = 0
        self._caused = self._leaving = 0
        self._found: tuple[AlarmTold, ...] = ()
        self.alarms: Mapping[str, int] = {}  # so far, by their kinds
        self._phases: dict[str, Phase] = {}
        self._progress = ProgressEvents(put, age)
        self._ledgers = LedgerEvents(put, seconds)
        self._verdict: Outcome | None = None

    def look(self, now: float, member: Member, heard: Mapping[str, Heard]) -> None:
        """Note what is new; of progress all at a new pass, now and then, and once training has ended."""
        word = member.lead.word
        statuses = [member.status, *(each.status for each in heard.values() if each.status)]
        generation = word.generation
        if not (generation or member.status.surveyed):
            return  # before that a finished run's events may still lie where this one will
        if self._key is None:
            self._key = member.status.key
            if not member.status.known:
                self._put("run_started", key=self._key, **self._job)
        if generation and generation.number != self._generation:
            if generation.number > 1:
                self._ledgers.note(self._generation or generation.number - 1, now, member)
            self._begins(generation, statuses)
        if generation and word.cause and self._caused != word.cause.generation:
            self._caused = word.cause.generation
            self._ends(word.cause, told=any(told_by(status, word.cause) for status in statuses))
        if word.leaving and self._leaving != word.number:
            self._leaving = word.number
            self._put(LEAVING, generation=word.number, seconds=word.leaving.seconds, reason=word.leaving.why)
        self._note_alarms(word)
        for status in statuses:
            self._one(status)
        self._progress.look(statuses, now, training=word.stage is Stage.TRAINING)
        if word.verdict and self._verdict is None:
            self._verdict = word.verdict
            self._put("verdict", code=word.verdict.code, reason=word.verdict.reason)

    def hear(self, heard: Mapping[str, Heard]) -> None:
        """Take what the others count, as a member too: it may be the next leader, or the only one that knows."""
        self._ledgers.hear(heard)

    def begin(self, generation: Generation, boot: str, now: float) -> None:
        """Take part in a generation: its second member notes the seconds of a leader that is gone."""
        boots = [who.boot for who in generation.members]
        if boots[1:2] == [boot]:
            self._ledgers.note_gone(boots, now)

    def close(self, now: float, member: Member) -> None:
        """Note what the seconds of all were, as far as this leader has heard at its end."""
        if self._key is not None:
            self._ledgers.note(self._generation, now, member)

    def _begins(self, generation: Generation, statuses: list[Status]) -> None:
        self._generation = generation.number
        ranks = {status.who.boot: status.rank for status in statuses}
        members = [
            {"role": str(who.role), "rank": ranks.get(who.boot), "address": who.address, "pod": who.uid}
            for who in generation.members
        ]
        self._put(
            "generation_made",
            generation=generation.number,
            members=members,
            resume=generation.resume,
            restarts=generation.restarts,
            regained=generation.regained,
            cause=generation.cause,
        )

    def _ends(self, cause: Failure, *, told: bool) -> None:
        """Note why a generation ended: a pod is lost where that is its leader's finding, and not what it told."""
        kind = "lost" if cause.code == Code.GANG and cause.address and not told else "failure"
        facts: dict[str, object] = {"generation": cause.generation, "code": int(cause.code), "reason": cause.reason}
        more = {name: text for name, text in (("node", cause.node), ("tail", cause.tail)) if text}
        self._put(kind, address=cause.address, **facts, **more)

    def _note_alarms(self, word: LeaderMessage) -> None:
        """Note what the leader tells of a training that goes on; where the programs stand is for the volume alone."""
        for each in word.found:
            if each not in self._found:
                facts = {"kind": str(each.kind), "rank": each.rank, "node": each.node, "reason": each.reason}
                more = {"tail": each.tail} if each.tail else {}
                self.alarms = {**self.alarms, each.kind: self.alarms.get(each.kind, 0) + 1}
                self._put("alarm", generation=word.number, **facts, **more)
        self._found = word.found

    def _one(self, status: Status) -> None:
        boot = status.who.boot
        if self._phases.get(boot) is not status.phase:
            self._phases[boot] = status.phase
            self._put("phase", **seat_of(status, status.who.role, status.rank), phase=str(status.phase))


def job_told(settings: Settings) -> Mapping[str, str]:
    """Return what a reader of a run's story wants to know of its job, no secret in it."""
    command = shlex.join(masked(settings.command))
    where = {"namespace": settings.namespace, "launcher": __version__}
    return {"command": command, "runtime": str(settings.runtime), **where}
