"""Where the programs of a gang stand, as a person reads it: equal places together, the rarest first.

No I/O here. What pods say is shown without characters that move a terminal's cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launcher import contract
from launcher.text import visible

_Json = Mapping[str, Any]
_LONGEST = 200  # characters of a place
NO_TEXT = "its stack has not come to a volume that the leader's pod sees"


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingGroup:
    """Programs of one kind at one place; `of` is how many of that kind there are, `text` is one of their stacks."""

    kind: str
    of: int
    programs: tuple[_Json, ...]

    @property
    def text(self) -> str:
        """One of their stacks."""
        return next((str(each["text"]) for each in self.programs if each.get("text")), "")

    @property
    def sentence(self) -> str:
        """Who stands where."""
        first = self.programs[0]
        place = _place(first)
        if len(self.programs) == 1:
            node = f" on {visible(first['node_name'])}" if first.get("node_name") else ""
            return f"{self.kind} {first['rank']}{node} {place}"
        whose = ranks([each["rank"] for each in self.programs])
        return f"{len(self.programs)} of {self.of} {self.kind}s {place} ({whose})"


def standing_groups(told: _Json) -> list[StandingGroup]:
    """Return the programs of a look by where they stand."""
    found: dict[tuple[str, str, str], list[_Json]] = {}
    for each in told.get("programs") or ():
        kind = contract.PSERVER if each.get("role") == contract.PSERVER else contract.TRAINER
        found.setdefault((kind, str(each.get("digest") or each.get("where")), str(each.get("state"))), []).append(
            each
        )
    counts = {kind: sum(len(its) for (each, *_), its in found.items() if each == kind) for kind, *_ in found}
    groups = [StandingGroup(kind=kind, of=counts[kind], programs=tuple(its)) for (kind, *_), its in found.items()]
    return sorted(
        groups, key=lambda each: (each.kind == contract.PSERVER, len(each.programs), each.programs[0]["rank"])
    )


def standing_page(told: _Json, *, everything: bool) -> str:
    """Return the page: a line for each place, then a stack for each, or for each program."""
    groups = standing_groups(told)
    lines = [each.sentence for each in groups]
    lines += [f"no answer from {visible(_pod(each))}" for each in told.get("silent") or ()]
    shown = [
        (f"{group.kind} {each['rank']}", str(each.get("text") or "")) for group in groups for each in group.programs
    ]
    if not everything:
        shown = [(_one_of(group), group.text) for group in groups]
    return "".join(f"{line}\n" for line in [*lines, *_stacks(shown)])


def ranks(numbers: Sequence[int]) -> str:
    """Return ranks, those in a row as one: `0-4, 6, 7`."""
    rows: list[list[int]] = []
    for each in sorted(numbers):
        if rows and each == rows[-1][-1] + 1:
            rows[-1].append(each)
        else:
            rows.append([each])
    return ", ".join(f"{row[0]}-{row[-1]}" if len(row) > 2 else ", ".join(map(str, row)) for row in rows)


def _stacks(shown: Sequence[tuple[str, str]]) -> Iterator[str]:
    for title, text in shown:
        yield f"\n{title}:"
        yield from (f"  {visible(line)}" for line in (text.splitlines() or [NO_TEXT]) if line)


def _one_of(group: StandingGroup) -> str:
    teller = next((each for each in group.programs if each.get("text")), group.programs[0])
    more = len(group.programs) - 1
    return f"{group.kind} {teller['rank']}" + (f", as {more} more" if more else "")


def _place(program: _Json) -> str:
    where = visible(program.get("where") or "", _LONGEST)
    state = visible(program.get("state") or "")
    if not where:
        return f"is {state}" if state else "cannot be asked"
    return f"in {where}" + (f" ({state})" if state else "")


def _pod(silent: _Json) -> str:
    node = silent.get("node_name")
    return f"{silent.get('address')} on {node}" if node else str(silent.get("address"))
