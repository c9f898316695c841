"""What a launcher tells its own pod of a look at all programs: where each stands, of which pods nothing was heard.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping

from launcher.pod.gang.protocol.looks import Looks
from launcher.pod.gang.protocol.messages import StackDigest, Stage, Status, Who
from launcher.pod.gang.protocol.state import Heard


def look_told(
    own: Status, heard: Mapping[str, Heard], looks: Looks, wanted: int, leader: str
) -> Mapping[str, object] | None:
    """Return what is told of the look that was wanted, None while it is under way.

    A launcher that does not lead names the one that does.
    """
    word = own.word
    if word is None:
        return {"leader": leader}
    facts = {"generation": word.number, "stage": str(word.stage), "waiting": word.waiting, "look": word.look}
    if word.stage is not Stage.TRAINING or word.generation is None:
        return {**facts, "programs": [], "silent": []}
    if looks.wanted < wanted or looks.since is not None:
        return None
    statuses = [(who, _status_of(who, own, heard)) for who in word.generation.members]
    answered = [(who, status) for who, status in statuses if status and status.looked >= word.look]
    return {
        **facts,
        "programs": [_program(status, stack) for _, status in answered for stack in status.standing],
        "silent": [
            {"address": who.address, "node_name": status.node if status else ""}
            for who, status in statuses
            if (who, status) not in answered
        ],
    }


def _status_of(who: Who, own: Status, heard: Mapping[str, Heard]) -> Status | None:
    status = own if who == own.who else heard.get(who.address, Heard()).status
    return status if status and status.who.boot == who.boot else None


def _program(status: Status, stack: StackDigest) -> Mapping[str, object]:
    return {
        "role": str(stack.role),
        "rank": stack.rank,
        "address": status.who.address,
        "node_name": status.node,
        "digest": stack.digest,
        "waits": stack.waits,
        "state": stack.state,
        "where": stack.where,
    }
