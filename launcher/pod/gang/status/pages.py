"""The pages of a launcher, from what it knows of itself and of its peers.

No I/O here. Everything shown is for anybody to read: no environment, no argv, and to strangers no end of a log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.messages import LeaderMessage, Phase, StackDigest, Status
from launcher.pod.gang.protocol.state import Heard, NodeFailure
from launcher.pod.outcome import Outcome

_Ended = TypeVar("_Ended", bound=Outcome)
JSON = "application/json"
READY = (Phase.SERVING, Phase.TRAINING, Phase.TRAINED, Phase.DONE)
_FAILURES = 5  # are shown
_WAITING = {Phase.JOINING: "waiting for its peers", Phase.STAGING: "staging its data"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer, and what is to be done once it is written."""

    code: int
    body: bytes = b""
    kind: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    written: Callable[[], None] = lambda: None


def sentence_reply(code: int, text: str) -> Reply:
    """Return an answer of one line."""
    return Reply(code=code, body=text.encode(errors="replace") + b"\n")


def still_reply(away: float) -> Reply:
    """Return what a launcher says instead of its status while its main thread stands still."""
    return sentence_reply(503, f"the launcher's main thread has stood still for {away:.0f} s: end this pod")


def ready(own: Status, word: LeaderMessage | None, waiting: str = "") -> Reply:
    """Return 200 once the pod serves, and until then what it waits for; `waiting` says what its own programs do."""
    if waiting:
        return sentence_reply(503, f"{own.phase}: {waiting}")
    if own.phase in READY:
        return sentence_reply(200, own.phase)
    if own.failure:
        return sentence_reply(503, f"{own.phase}: {own.failure.reason}")
    reason = (word.waiting if word else "") or _WAITING.get(own.phase, "it no longer runs")
    return sentence_reply(503, f"{own.phase}: {reason}")


def gang_reply(
    own: Status,
    heard: Mapping[str, Heard],
    leader: str,
    now: float,
    ratios: Mapping[int, float] | None = None,
    failures: Sequence[NodeFailure] = (),
) -> Reply:
    """Return the leader's page: its word and a line for each member; elsewhere say who the leader is.

    `ratios` say by rank how long a trainer's steps take beside the gang's; the last `failures` are shown with their
    nodes.
    """
    if own.word is None:
        return elsewhere(leader)
    members = gang_lines(own, heard, now, ratios or {})
    word = codec.plain_values(
        replace(_message_for_strangers(own.word), shared={})
    )  # the members read that in `/status`; it may be large
    last = {"failures": [codec.plain_values(each) for each in failures[-_FAILURES:]]} if failures else {}
    body = codec.as_json({"version": codec.VERSION, "word": word, "members": members, **last})
    if len(body) > codec.MESSAGE_LIMIT:
        return sentence_reply(500, f"the page has {len(body)} bytes: at most {codec.MESSAGE_LIMIT} are shown")
    return Reply(code=200, body=body, kind=JSON)


def elsewhere(leader: str) -> Reply:
    """Return what a launcher says instead of a page that only the leader has."""
    return sentence_reply(404, f"only the leader has this page: ask {leader}" if leader else "no leader is known yet")


def gang_lines(
    own: Status, heard: Mapping[str, Heard], now: float, ratios: Mapping[int, float]
) -> list[dict[str, object]]:
    """Return a line for each member, the leader's first: no line of a log, no frame."""
    lines = [_member(own.who.address, own, 0.0, ratios)]
    for address, its in heard.items():
        lines.append(_member(address, its.status, now - its.sent if its.sent else None, ratios))
    return lines


def for_strangers(status: Status) -> Status:
    """Return a status as anybody may read it: no end of a log, in which a program may have put a secret, no frame."""
    word = status.word and _message_for_strangers(status.word)
    return replace(status, failure=_without_tail(status.failure), word=word, standing=_without_frames(status))


def _message_for_strangers(word: LeaderMessage) -> LeaderMessage:
    found = tuple(replace(each, tail="") for each in word.found)
    return replace(word, cause=_without_tail(word.cause), verdict=_without_tail(word.verdict), found=found)


def _without_frames(status: Status) -> tuple[StackDigest, ...]:
    return tuple(replace(each, where="") for each in status.standing)


def _without_tail(ended: _Ended | None) -> _Ended | None:
    return ended and replace(ended, tail="")


def word_of(own: Status, heard: Mapping[str, Heard]) -> LeaderMessage | None:
    """Return the newest word of a leader, the own one first."""
    words = [each.status.word for each in heard.values() if each.status and each.status.word]
    return own.word or max(words, key=lambda word: word.number, default=None)


def _member(address: str, status: Status | None, age: float | None, ratios: Mapping[int, float]) -> dict[str, object]:
    line: dict[str, object] = {"address": address, "age": age if age is None else round(age, 3)}
    if status:
        told = {"role": status.who.role, "rank": status.rank, "phase": status.phase}
        line |= told | {"progress": codec.plain_values(status.trainers[0].marks.progress)}
        if status.several:
            line["several"] = [codec.plain_values(each.marks.progress) for each in status.several]
        more = {
            "node": status.node,
            "paces": _paces(status, ratios),
            "seconds": {state: round(each, 3) for state, each in status.seconds.items()},
            "looked": status.looked,
            "standing": codec.plain_values(_without_frames(status)),
        }
        line |= {name: value for name, value in more.items() if value}
    return line


def _paces(status: Status, ratios: Mapping[int, float]) -> list[dict[str, object]]:
    """Return how fast each trainer goes that counts its steps."""
    if status.rank is None:
        return []
    found = list[dict[str, object]]()
    for rank, trainer in enumerate(status.trainers, status.rank * len(status.trainers)):
        if pace := trainer.marks.pace:
            ratio = {"ratio": round(ratios[rank], 3)} if rank in ratios else {}
            told = {"steps": pace.steps, "busy": round(pace.busy, 3), "phase": pace.phase}
            found.append({"rank": rank, **told, **ratio})
    return found
