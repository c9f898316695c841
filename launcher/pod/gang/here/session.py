"""What is asked of a launcher in one generation, and when it can be answered.

No I/O here. What has arrived and what is shared goes out as marks; the leader's word comes back and answers.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from launcher.pod.gang.here.requests import DONE, FACTS, Answer, Ask, Barrier, Get, Progress, Share
from launcher.pod.gang.protocol.barriers import SHARED_BY_ALL, SHARED_BY_ONE, weight
from launcher.pod.gang.protocol.messages import LeaderMessage, Marks

STANDING = 64
ONCE = "barrier {!r} was passed already in this generation: give each its own name, as f'pass-{{n}}'"
TWICE = "barrier {!r} is waited at already by this trainer: only one of its threads or processes may"
MANY = f"barrier {{!r}}: this trainer stands at {STANDING} barriers already"
UNKNOWN = "get({!r}, rank={}): the ranks are 0 to {}"
MUCH = f"share({{!r}}): {{}} bytes, but {SHARED_BY_ONE} is the limit for all of one trainer's values"
FULL = f"share({{!r}}): with it all trainers' values would have {{}} bytes, and {SHARED_BY_ALL} is the limit"

Caller = TypeVar("Caller", bound=Hashable)


@dataclass(slots=True, kw_only=True)
class Sheet(Generic[Caller]):
    """One generation of one trainer: where it stands, what it shared, who of it waits for what.

    A barrier's name is in `arrived` until the leader's word has it, then in `passed` until somebody was told so, then
    in `told`. An arrival whose caller ran out of time stands: others may have passed by it.
    """

    number: int = 0
    rank: int = 0
    trainers: int = 1
    over: str = "no generation has begun"
    word: LeaderMessage = field(default_factory=LeaderMessage)
    arrived: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    shared: dict[str, str] = field(default_factory=dict)
    progress: dict[str, float | str] = field(default_factory=dict)
    waiting: dict[Caller, Barrier | Get] = field(default_factory=dict)

    @property
    def marks(self) -> Marks:
        """What this trainer says to the others."""
        return Marks(at=tuple(sorted(self.arrived)), shared=dict(self.shared), progress=dict(self.progress))

    @property
    def decisive(self) -> object:
        """What the gang decides by: where the trainer waits, what it shares, its pass; not its steps."""
        return frozenset(self.arrived), self.shared, self.progress.get("pass")

    def ask(self, caller: Caller, ask: Ask) -> dict[Caller, Answer]:
        """Take in what is asked and return who can be answered now."""
        if self.over:
            return {caller: {"ended": self.over}}
        if isinstance(ask, Progress):
            known = {name: fact for name, fact in self.progress.items() if name not in ask.facts}
            self.progress = dict(list((known | dict(ask.facts)).items())[-FACTS:])
            return {caller: DONE}
        if refusal := self._refusal(ask):
            return {caller: {"misuse": refusal}}
        match ask:
            case Share():
                self.shared = {**self.shared, ask.key: ask.text}
                return {caller: DONE} | self._settle()
            case Barrier() if ask.name not in self.passed:
                self.arrived.add(ask.name)
        self.waiting[caller] = ask
        return self._settle()

    def hear(self, word: LeaderMessage) -> dict[Caller, Answer]:
        """Take in the leader's word, if it is about this generation, and return who can be answered now."""
        if self.over or word.number != self.number:
            return {}
        self.word = word
        return self._settle()

    def late(self, caller: Caller) -> dict[Caller, Answer]:
        """Answer one who cannot wait any longer."""
        match self.waiting.pop(caller, None):
            case Barrier(name=name, timeout=timeout):
                return {caller: {"timeout": f"barrier {name!r}: not every trainer came within {timeout} s"}}
            case Get(key=key, rank=rank, timeout=timeout):
                who = "nobody" if rank is None else f"trainer {rank} has not"
                return {caller: {"timeout": f"get({key!r}): {who} shared it within {timeout} s"}}
        return {}

    def gone(self, caller: Caller) -> dict[Caller, Answer]:
        """Forget one who died: nobody stands where it waited."""
        match self.waiting.pop(caller, None):
            case Barrier(name=name):
                self.arrived.discard(name)
        return {}

    def end(self, reason: str) -> dict[Caller, Answer]:
        """Answer all who wait that nothing more comes in this generation."""
        self.over = reason or "the generation ended"
        answers: dict[Caller, Answer] = {caller: {"ended": self.over} for caller in self.waiting}
        self.waiting.clear()
        self.arrived.clear()
        return answers

    def _settle(self) -> dict[Caller, Answer]:
        passed = self.arrived.intersection(self.word.passed)
        self.arrived -= passed
        self.passed |= passed
        found = ((caller, self._answer(ask)) for caller, ask in self.waiting.items())
        answers = {caller: answer for caller, answer in found if answer is not None}
        for caller in answers:
            del self.waiting[caller]
        return answers

    def _answer(self, ask: Barrier | Get) -> Answer | None:
        if isinstance(ask, Get):
            text = self._value(ask)
            return None if text is None else {"ok": _value_of(text)}
        if ask.name not in self.passed:
            return None
        self.passed.discard(ask.name)
        self.told.add(ask.name)
        return DONE

    def _value(self, ask: Get) -> str | None:
        if ask.rank == self.rank:
            return self.shared.get(ask.key)
        # Without a rank also the own value goes by way of the leader: so that all see the same one as the lowest.
        ranks = range(self.trainers) if ask.rank is None else (ask.rank,)
        held = (self.word.shared.get(str(rank), {}).get(ask.key) for rank in ranks)
        return next((text for text in held if text is not None), None)

    def _refusal(self, ask: Barrier | Get | Share) -> str:
        match ask:
            case Barrier(name=name):
                if name in self.told:
                    return ONCE.format(name)
                if any(isinstance(each, Barrier) and each.name == name for each in self.waiting.values()):
                    return TWICE.format(name)
                return MANY.format(name) if len(self.arrived - {name}) >= STANDING else ""
            case Get(key=key, rank=rank) if rank is not None and not 0 <= rank < self.trainers:
                return UNKNOWN.format(key, rank, self.trainers - 1)
            case Share(key=key, text=text):
                own = weight({**self.shared, key: text})
                all_of_them = own + sum(
                    weight(each) for rank, each in self.word.shared.items() if rank != str(self.rank)
                )
                if own > SHARED_BY_ONE:
                    return MUCH.format(key, own)
                return FULL.format(key, all_of_them) if all_of_them > SHARED_BY_ALL else ""
        return ""


def _value_of(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # the volume and the network may say anything
        return text
