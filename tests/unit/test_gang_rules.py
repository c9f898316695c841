"""One row a rule: what leader and members say and do, by what they know."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.gang import fencing
from launcher.pod.gang.fencing import Fence
from launcher.pod.gang.following import End, Orders, Run, follow
from launcher.pod.gang.leading import SEALING, TRANSITIONS, Lead, lead
from launcher.pod.gang.missing import absent, deserted
from launcher.pod.gang.words import (
    Failure,
    Generation,
    Heard,
    Limits,
    Recorded,
    Rules,
    Stage,
    Status,
    Verdict,
    View,
    Who,
    Word,
)
from launcher.pod.outcome import Code
from launcher.pod.settings import Role

NOW = 1000.0
LIMITS = Limits(lost=15.0, lease=10.0, wait=3.0, gather=600.0, regather=900.0)
RULES = Rules(limits=LIMITS, restarts=3, grace=2.5)


def who(number: int, boot: str = "1") -> Who:
    return Who(role=Role.NODE, address=f"10.0.0.{number}", uid=f"pod{number}", boot=f"{number}.{boot}")


def gang(number: int = 1, *members: Who, **facts: object) -> Generation:
    members = members or (who(1), who(2), who(3))
    return replace(Generation(number=number, members=members, digest="order"), **facts)  # type: ignore[arg-type]


def status(number: int, **facts: object) -> Status:
    standing = Status(who=who(number), digest="order", staged=True, lone=True, passes=(0, 1))
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
BORN_AGAIN = replace(status(2), who=who(2, boot="2"))

ABSENT = [
    ("there with its data, at rest: nothing is missing", view(), ""),
    ("nothing was heard yet", of(view(), 2, status=None), "has not answered yet"),
    ("silent for the lease, so it would be lost at once", of(view(), 2, sent=NOW - 11), "does not answer"),
    ("it never asked, so it would be lost at once", of(view(), 2, wrote=0.0), "does not ask"),
    ("nobody listens there", of(view(), 2, refused=True), "does not answer"),
    ("told to stop", view(status(2, stopping=True)), "was told to stop"),
    ("it sees another gang", view(status(2, digest="other")), "sees others"),
    ("no data yet", view(status(2, staged=False)), "is staging"),
    ("its children still run", view(status(2, children=1)), "is ending"),
    ("somebody that it knows of may still run", view(status(2, quiet=False)), "may still"[:0] + "can still be running"),
]


@pytest.mark.parametrize(("seen", "why"), [row[1:] for row in ABSENT], ids=[row[0] for row in ABSENT])
def test_a_new_generation_needs_every_member(seen: View, why: str) -> None:
    found = absent(who(2).address, seen, RULES)
    assert why in found
    assert bool(why) == bool(found)


TRAINING = Word(stage=Stage.TRAINING, generation=gang())
READYING = Word(stage=Stage.READYING, generation=gang())
DESERTED = [
    ("ready and answering: it is with us", view(*READY), TRAINING, ""),
    ("another process in the same pod", view(BORN_AGAIN), TRAINING, "was started again"),
    ("told to stop", view(status(2, ready=1, known=1, stopping=True)), TRAINING, "was told to stop"),
    ("nobody listens there", of(view(*READY), 2, refused=True), TRAINING, "is gone"),
    ("silent for the lease", of(view(*READY), 2, sent=NOW - 10.1), TRAINING, "has not answered"),
    ("it has not asked, and its children are dead", of(view(*READY), 2, wrote=NOW - 15.1), TRAINING, "has not asked"),
    ("it takes part in a later generation", view(status(2, ready=2, known=2)), TRAINING, "follows another leader"),
    ("it left this generation", view(status(2, known=1)), TRAINING, "gave up"),
    ("it is not ready yet", view(), READYING, ""),
    ("it was ready, and left before the start", view(status(2, known=1)), READYING, "gave up"),
]


@pytest.mark.parametrize(("seen", "word", "why"), [row[1:] for row in DESERTED], ids=[row[0] for row in DESERTED])
def test_a_generation_under_way_needs_every_member(seen: View, word: Word, why: str) -> None:
    found = deserted(who(2), word, seen, RULES)
    assert why in found
    assert bool(why) == bool(found)


def led(word: Word | None, *, mine: Status = READY[1], **facts: object) -> View:
    """Return what member 2 knows when its leader says that."""
    seen = view(status(1, ready=1, known=1, word=word), mine, mine=2)
    return replace(seen, **facts)  # type: ignore[arg-type]


LEASE = NOW - 1 + LIMITS.lease
IDLE = status(2)
OVER = Verdict(code=7, reason="it failed")
FOLLOWING = [
    ("a generation that it is in and able to join", led(READYING, mine=IDLE), Orders(ready=1)),
    ("never one of the past", led(READYING, mine=status(2, known=1)), Orders()),
    ("not without its data", led(READYING, mine=status(2, staged=False)), Orders()),
    ("not while anybody may still run", led(READYING, mine=status(2, quiet=False)), Orders()),
    ("not with another order", led(READYING, mine=status(2, digest="other")), Orders()),
    ("not in the place of an earlier process", led(READYING, mine=BORN_AGAIN), Orders()),
    ("not from a pass that it does not see", led(_from(5), mine=IDLE), Orders()) if False else (
        "not when told to stop",
        led(READYING, mine=status(2, stopping=True)),
        Orders(),
    ),
    ("ready, and nothing runs before all are", led(READYING), Orders(ready=1, until=LEASE)),
    (
        "pservers first",
        led(Word(stage=Stage.SERVING, generation=gang())),
        Orders(ready=1, run=Run.PSERVERS, until=LEASE),
    ),
    ("then trainers", led(TRAINING), Orders(ready=1, run=Run.ALL, until=LEASE)),
    ("a verdict ends all", led(replace(TRAINING, verdict=OVER)), Orders(ready=1, verdict=OVER)),
    ("so does one in the record", led(TRAINING, record=Recorded(sealed=OVER)), Orders(ready=1, verdict=OVER)),
]
