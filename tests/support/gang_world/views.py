"""What one launcher knows, for tables of rules: a gang of three in which all is well unless a row says otherwise."""

from __future__ import annotations

from dataclasses import replace

from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Stage, Status, Who
from launcher.pod.gang.protocol.state import Heard, Limits, Rules, View
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role

NOW = 1000.0
LIMITS = Limits(lost=15.0, lease=10.0, wait=3.0, gather=600.0, regather=900.0)
RULES = Rules(limits=LIMITS, restarts=3, grace=2.5)


def who(number: int, boot: str = "1") -> Who:
    return Who(role=Role.NODE, address=f"10.0.0.{number}", uid=f"pod{number}", boot=f"{number}.{boot}")


def gang(number: int = 1, *members: Who, **facts: object) -> Generation:
    members = members or (who(1), who(2), who(3))
    return replace(Generation(number=number, members=members, digest="order"), **facts)  # type: ignore[arg-type]


def status(number: int, **facts: object) -> Status:
    standing = Status(who=who(number), digest="order", staged=True, surveyed=True, lone=True, passes=(0, 1))
    return replace(standing, **facts)  # type: ignore[arg-type]


def heard(known: Status, **facts: object) -> Heard:
    return replace(Heard(status=known, sent=NOW - 1, wrote=NOW - 1), **facts)  # type: ignore[arg-type]


def view(*statuses: Status, mine: int = 1, **facts: object) -> View:
    """Return what the member of that number knows of a gang of three, all well unless other statuses are given."""
    known = {number: status(number) for number in (1, 2, 3)}
    known |= {int(each.who.address.rpartition(".")[2]): each for each in statuses}
    others = {each.who.address: heard(each) for number, each in known.items() if number != mine}
    order = tuple(who(number).address for number in (1, 2, 3))
    return replace(View(now=NOW, mine=known[mine], order=order, heard=others), **facts)  # type: ignore[arg-type]


def of(seen: View, number: int, **facts: object) -> View:
    """Return the same with something else heard of a member."""
    address = who(number).address
    return replace(seen, heard={**seen.heard, address: replace(seen.of(address), **facts)})  # type: ignore[arg-type]


READY = tuple(status(number, ready=1, known=1, children=1, serving=1) for number in (1, 2, 3))
BORN_AGAIN = status(2, who=who(2, boot="2"))

TRAINING = LeaderMessage(stage=Stage.TRAINING, generation=gang())
READYING = LeaderMessage(stage=Stage.READYING, generation=gang())
ENDED = LeaderMessage(generation=gang(), cause=Failure(generation=1, code=7, reason="a child ended with 7"))
OVER = Outcome(code=7, reason="it failed")
