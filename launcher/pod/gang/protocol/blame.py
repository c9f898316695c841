"""Who is the cause where a training stands: a pure function of where all its programs stand.

No I/O here. Not the first that timed out: the ones that differ. Evidence, the strongest first: a program that is
stopped; one that does not wait while others do; one that stands elsewhere than most. Each narrows what the one before
has left, if it tells some from others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from launcher.pod.gang.protocol.messages import StackDigest
from launcher.pod.outcome import WHERE_THEY_STOOD
from launcher.pod.settings.nouns import Role
from launcher.text import visible

_MOST_NAMED = 8  # ranks in a sentence
_LONGEST = 200  # characters of a place
HALTED = ("stopped", "in the kernel")  # states in which a program can go on with nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """A program of the gang: where it stands, in which pod, on which node as far as that is known."""

    stack: StackDigest
    address: str
    node: str = ""

    @property
    def name(self) -> str:
        """Its name for people."""
        role = Role.PSERVER if self.stack.role is Role.PSERVER else Role.TRAINER
        return f"{role} {self.stack.rank}" + (f" on {self.node}" if self.node else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Whose fault it is, as far as the stacks tell: nobody's where all are equal; and where all stand."""

    culprits: tuple[Stood, ...] = ()
    words: str = ""
    tail: str = ""


def blamed(places: Sequence[Stood]) -> Blame:
    """Return who differs from the others."""
    trainers = [place for place in places if place.stack.role is not Role.PSERVER]
    pservers = [place for place in places if place.stack.role is Role.PSERVER]
    tail = told_where(places)
    halted = [place for place in places if place.stack.state in HALTED]
    if halted and len(halted) < len(places):
        return Blame(culprits=tuple(halted), words=_halted_words(halted), tail=tail)
    culprits, words = _narrowed(trainers, "trainers")
    if not culprits and len(trainers) > 1 and _equal(trainers):
        culprits, words = _narrowed(pservers, "pservers")
        what = f"; {words}" if words else ": look at the network, and at what they all wait for"
        words = f"all {len(trainers)} trainers stand at the same place{what}"
    return Blame(culprits=culprits, words=words, tail=tail)


def told_where(places: Sequence[Stood]) -> str:
    """Return where all stand, equal places in one line each, the rarest first."""
    groups: dict[tuple[bool, str, str], list[Stood]] = {}
    for place in places:
        stack = place.stack
        groups.setdefault((stack.role is Role.PSERVER, stack.digest, stack.where or stack.state), []).append(place)
    rows = sorted(groups.items(), key=lambda row: (row[0][0], len(row[1]), row[1][0].stack.rank))
    lines = [_row(its, where) for (_, _, where), its in rows if where]
    return "\n".join((WHERE_THEY_STOOD, *lines)) if lines else ""


def _row(places: Sequence[Stood], where: str) -> str:
    if len(places) == 1:
        return f"{places[0].name}: {visible(where, _LONGEST)}"
    kind = "pservers" if places[0].stack.role is Role.PSERVER else "trainers"
    return f"{len(places)} {kind} ({_ranks(places)}): {visible(where, _LONGEST)}"


def _narrowed(places: Sequence[Stood], kind: str) -> tuple[tuple[Stood, ...], str]:
    """Return those that differ, and a sentence on them; nobody where nothing tells some from others."""
    left, why = list(places), ""
    for differing, words in _EVIDENCE:
        found = differing(left)
        if 0 < len(found) < len(left):
            left, why = found, why or words
    others = len(places) - len(left)
    if others:
        verb = "is" if len(left) == 1 else "are"
        rest, wait = ("the other", "waits") if others == 1 else (f"the {others} others", "wait")
        return tuple(left), f"{_names(left, kind)} {verb} {why.format(others=rest, wait=wait)}"
    if len(places) > 1 and not _equal(places) and all(place.stack.digest for place in places):
        return tuple(places), f"the {len(places)} {kind} stand at different places"
    return (), ""


def _equal(places: Sequence[Stood]) -> bool:
    return len({place.stack.digest for place in places}) == 1 and bool(places[0].stack.digest)


def _unwaiting(places: Sequence[Stood]) -> list[Stood]:
    return [place for place in places if place.stack.digest and not place.stack.waits]


def _apart(places: Sequence[Stood]) -> list[Stood]:
    """Return those outside the largest group, if it is more than half of all."""
    digest, number = Counter(place.stack.digest for place in places).most_common(1)[0] if places else ("", 0)
    most = digest and 2 * number > len(places)
    return [place for place in places if place.stack.digest != digest] if most else []


_EVIDENCE: tuple[tuple[Callable[[Sequence[Stood]], list[Stood]], str], ...] = (
    (_unwaiting, "what {others} {wait} for"),
    (_apart, "at another place than {others}"),
)


def _halted_words(places: Sequence[Stood]) -> str:
    states = sorted({place.stack.state for place in places})
    return f"{' and '.join(place.name for place in places[:_MOST_NAMED])}: {', '.join(states)}"


def _names(places: Sequence[Stood], kind: str) -> str:
    if len(places) == 1:
        return places[0].name
    nodes = {place.node for place in places}
    return f"{kind} {_ranks(places)}" + (f" on {nodes.pop()}" if len(nodes) == 1 and "" not in nodes else "")


def _ranks(places: Sequence[Stood]) -> str:
    ranks = [str(place.stack.rank) for place in places]
    return ", ".join(ranks[:_MOST_NAMED]) + (f" and {len(ranks) - _MOST_NAMED} more" if ranks[_MOST_NAMED:] else "")
