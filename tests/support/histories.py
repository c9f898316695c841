"""What the programs of gangs noted of themselves, and whether all of that may be. No I/O here.

Each line is one of `children/witness`: who it is, when, and whether it begins, runs or ends. Two programs may run at
once if they are of one generation of one run, at different places; `wrong` says where others did, and which
launcher's word is not what its programs came to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

PSERVER, TRAINER, HELPER = "pserver", "trainer", "helper"
RECORDED = ", by the record of "
SILENT = 2.0  # a pserver that has noted nothing for so long when the last trainer ends was not there any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One process: what it is of, where, when it ran, and the code that it gave itself, if it came to its end.

    A fleet's generations are told by their port, so that after six the numbers come again.
    """

    run: str
    generation: int
    role: str
    rank: int
    trainers: int
    address: str = ""
    boot: str = ""
    process: str = ""
    times: tuple[float, ...]
    code: int | None = None

    @property
    def name(self) -> str:
        """What it is called where something is wrong."""
        return f"{self.role} {self.rank} of generation {self.generation} of run {self.run} (launcher {self.boot})"

    @property
    def began(self) -> float:
        """When it first ran."""
        return self.times[0]

    @property
    def last(self) -> float:
        """When it last ran."""
        return self.times[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What a launcher said of how its run ended."""

    run: str
    who: str
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waking:
    """From when until when a pod's programs may run beside others: it was frozen, and its launcher wakes, too."""

    address: str
    since: float
    until: float


def lives(text: str) -> tuple[Life, ...]:
    """Return the processes that noted these lines, by their begin; half a line at the end is still being written."""
    lines = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]
    found = defaultdict(list)
    for words in lines:
        found[tuple(words[:8])].append(words[8:])
    return tuple(sorted((_life(who, told) for who, told in found.items()), key=lambda life: life.began))


def is_a_word(event: Mapping[str, Any]) -> bool:
    """Return whether a launcher says by this event how the run ended: a verdict, or a good end without one.

    One that only repeats what stands in the record says nothing of its own.
    """
    if RECORDED in event.get("reason", ""):
        return False
    return bool(event["event"] == "verdict" or (event["event"] == "launcher_finished" and event["code"] == 0))


def wrong(found: Sequence[Life], words: Iterable[Word] = (), wakings: Sequence[Waking] = ()) -> tuple[str, ...]:
    """Return what must not be, as sentences: who ran beside whom, and which word is not true."""
    ordered = sorted(words, key=lambda word: word.run)
    by_run = [(run, list(said)) for run, said in groupby(ordered, key=lambda word: word.run)]
    untrue = [why for run, said in by_run for why in _untrue([life for life in found if life.run == run], said)]
    return (*_at_once(found, wakings), *untrue)


def _life(who: tuple[str, ...], told: Sequence[Sequence[str]]) -> Life:
    run, generation, role, rank, trainers, address, boot, process = who
    codes = [int(code) for _, what, *rest in told for code in rest if what == "ends"]
    return Life(
        run=run,
        generation=int(generation),
        role=role,
        rank=int(rank),
        trainers=int(trainers),
        address=address,
        boot=boot,
        process=process,
        times=tuple(sorted(float(at) for at, *_ in told)),
        code=codes[-1] if codes else None,
    )


def _at_once(found: Sequence[Life], wakings: Sequence[Waking]) -> Iterator[str]:
    for one, other in combinations(sorted(found, key=lambda life: life.began), 2):
        if one.last <= other.began or _may_be_together(one, other):
            continue
        late = [at for at in one.times if at > other.began and not _is_waking(one, at, wakings)]
        if late:
            yield f"two at once: {one.name} still ran {late[-1] - other.began:.3f} s after {other.name} had begun"


def _may_be_together(one: Life, other: Life) -> bool:
    if (one.run, one.generation) != (other.run, other.generation):
        return False
    return (one.role, one.rank) != (other.role, other.rank) or HELPER in (one.role, other.role)


def _is_waking(life: Life, at: float, wakings: Sequence[Waking]) -> bool:
    return any(each.address == life.address and each.since <= at <= each.until for each in wakings)


def _untrue(found: Sequence[Life], words: Sequence[Word]) -> Iterator[str]:
    codes = {word.code for word in words}
    if len(codes) > 1:
        yield "more than one verdict: " + ", ".join(f"{word.who} says {word.code}" for word in words)
    why = _unfinished(_last_generation(found))
    if 0 in codes and why:
        yield f"{words[0].who} says 0, but {why}"
    if codes - {0} and not why:
        yield f"{words[0].who} says {words[0].code}, but every trainer ended well, and no pserver failed before"


def _last_generation(found: Sequence[Life]) -> list[Life]:
    ours = [life for life in found if life.role != HELPER]
    last = max(ours, key=lambda life: life.began, default=None)
    if last is None:
        return []
    others = [life.began for life in ours if life.generation != last.generation]
    since = max(others, default=0.0)  # what has its number and is older is of six generations ago
    return [life for life in ours if life.generation == last.generation and life.began >= since]


def _unfinished(found: Sequence[Life]) -> str:
    """Return what a generation lacks to have ended well, nothing if it did."""
    if not found:
        return "no program of this run noted anything"
    at_place = {(life.role, life.rank): life for life in sorted(found, key=lambda life: life.began)}
    for rank in range(found[0].trainers):
        trainer = at_place.get((TRAINER, rank))
        if trainer is None or trainer.code != 0:
            return f"trainer {rank} {'noted nothing' if trainer is None else _how_it_ended(trainer)}"
    done = max(life.last for (role, _), life in at_place.items() if role == TRAINER)
    for pserver in (life for (role, _), life in at_place.items() if role == PSERVER):
        if pserver.code and pserver.last <= done:
            return f"pserver {pserver.rank} {_how_it_ended(pserver)} before the last trainer"
        if pserver.code is None and pserver.last < done - SILENT:
            return f"pserver {pserver.rank} was last there {done - pserver.last:.3f} s before the last trainer ended"
    return ""


def _how_it_ended(life: Life) -> str:
    return "noted no end" if life.code is None else f"ended with {life.code}"
