"""Notes what happens in a gang, as its leader sees it: each change once, in the words of the event file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from launcher.contract import Code
from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.protocol.messages import Failure, Generation, Phase, Stage, Status
from launcher.pod.gang.protocol.state import Heard
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role

_Put = Callable[..., None]
PROGRESS = 5.0  # seconds between two lines of one pass: a trainer may report at every step


class RunEvents:
    """What was noted last, so that nothing is noted twice."""

    def __init__(self, put: _Put, *, job: str, facts: Mapping[str, str]) -> None:
        self._put = put
        self._job = {"job": job, **facts}
        self._key: str | None = None
        self._generation = 0
        self._caused = 0
        self._phases: dict[str, Phase] = {}
        self._progress: dict[tuple[str, int], tuple[float, Mapping[str, float | str]]] = {}  # when, and what
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
            self._begins(generation, statuses)
        if generation and word.cause and self._caused != word.cause.generation:
            self._caused = word.cause.generation
            self._ends(word.cause, told=word.cause in [status.failure for status in statuses])
        patient = word.stage is Stage.TRAINING
        for status in statuses:
            self._one(status)
            self._how_far(status, now, PROGRESS if patient else 0.0)
        if word.verdict and self._verdict is None:
            self._verdict = word.verdict
            self._put("verdict", code=word.verdict.code, reason=word.verdict.reason)

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
            cause=generation.cause,
        )

    def _ends(self, cause: Failure, *, told: bool) -> None:
        """Note why a generation ended: a pod is lost where that is its leader's finding, and not what it told."""
        kind = "lost" if cause.code == Code.GANG and cause.address and not told else "failure"
        facts: dict[str, object] = {"generation": cause.generation, "code": int(cause.code), "reason": cause.reason}
        self._put(kind, address=cause.address, **facts, **({"tail": cause.tail} if cause.tail else {}))

    def _one(self, status: Status) -> None:
        boot = status.who.boot
        if self._phases.get(boot) is not status.phase:
            self._phases[boot] = status.phase
            self._put("phase", **_seat(status, status.who.role, status.rank), phase=str(status.phase))

    def _how_far(self, status: Status, now: float, every: float) -> None:
        for local, trainer in enumerate(status.trainers):
            key, progress = (status.who.boot, local), trainer.marks.progress
            noted, before = self._progress.get(key, (0.0, {}))
            due = not before or now >= noted + every or progress.get("pass") != before.get("pass")
            if progress and progress != before and due:
                self._progress[key] = now, progress
                facts = dict(progress)
                at = {"pass": facts.pop("pass", None), "step": facts.pop("step", None)}
                self._put("progress", **_trainer(status, local), **at, metrics=facts)


def _trainer(status: Status, local: int) -> dict[str, object]:
    """Return which trainer it is, and where there are several in a pod that pod's number."""
    if not status.several or status.rank is None:
        return _seat(status, Role.TRAINER, status.rank)
    return {**_seat(status, Role.TRAINER, status.rank * len(status.several) + local), "node_rank": status.rank}


def _seat(status: Status, role: Role, rank: int | None) -> dict[str, object]:
    who = {"role": str(role), "rank": rank, "address": status.who.address}
    return {"generation": status.ready or status.known, **who}
