"""What a trainer's programs ask in one generation, and when each can be answered.

No I/O here. Arrivals and shared values go out as marks; the leader's message comes back and answers.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from launcher.pod.gang.here.requests import MOST_FACTS, OK, Answer, Ask, AskLeaving, Barrier, Get, Report, Share
from launcher.pod.gang.protocol.barriers import SHARED_BY_ALL, SHARED_BY_ONE, weight
from launcher.pod.gang.protocol.messages import AlarmTold, LeaderMessage, Marks, Trouble, Wait

STANDING = 64
NAMES_KEPT = 1000
_MOST_TROUBLES = 64
POLLED = 2.0  # seconds; who asks again and again has a shorter timeout
ONCE = "barrier {!r} was passed already in this generation: give each its own name, as f'pass-{{n}}'"
TWICE = "barrier {!r} is waited at already by another thread or process of this trainer: only one can"
_MANY = f"barrier {{!r}}: this trainer stands at {STANDING} barriers already"
UNKNOWN = "get({!r}, rank={}): the ranks are 0 to {}"
MUCH = f"share({{!r}}): {{}} bytes, but {SHARED_BY_ONE} is the limit for all of one trainer's values"
_FULL = f"share({{!r}}): with it all trainers' values would have {{}} bytes, and {SHARED_BY_ALL} is the limit"

_Caller = TypeVar("_Caller", bound=Hashable)


@dataclass(slots=True, kw_only=True)
class HereSession(Generic[_Caller]):
    """One generation of one trainer: where it waits, what it shared, and which callers wait for what.

    A barrier's name is in `arrived` until the leader's message has it, then in `passed` until a caller was told so,
    then in `told`. An arrival stays after its caller's timeout: other trainers may have passed because of it. Of
    the names that are over the last ones are known, for a training may have any number of them. A caller in
    `outlasting` hears that its timeout is over once the leader tells what it has found since.

    `stayed` counts the calls of `here.leaving()` that were told to go on, None where there was none. Once the leader
    says that the generation ends soon, such a call waits until it is known at which one all trainers are told;
    `leaves_by` is the end of the time that they have then.
    """

    number: int = 0
    rank: int = 0
    trainers: int = 1
    over: str = "no generation has begun"
    word: LeaderMessage = field(default_factory=LeaderMessage)
    arrived: set[str] = field(default_factory=set)
    passed: dict[str, None] = field(default_factory=dict)
    told: dict[str, None] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    progress: dict[str, float | str] = field(default_factory=dict)
    troubles: dict[tuple[Trouble, str], str] = field(default_factory=dict)
    waiting: dict[_Caller, Barrier | Get | AskLeaving] = field(default_factory=dict)
    stayed: int | None = None
    leaves_by: float = 0.0
    outlasting: dict[_Caller, tuple[AlarmTold, ...]] = field(default_factory=dict)

    @property
    def marks(self) -> Marks:
        """What is published of this trainer."""
        told = {"at": tuple(sorted(self.arrived)), "shared": dict(self.shared), "progress": dict(self.progress)}
        return Marks(**told, leave=self._leave)  # type: ignore[arg-type]

    @property
    def waits(self) -> tuple[Wait, ...]:
        """What is waited for without a timeout: a wait that has one ends by itself."""
        asks = (ask for ask in self.waiting.values() if not isinstance(ask, AskLeaving) and ask.timeout is None)
        return tuple(_as_wait(ask) for ask in asks)

    @property
    def decisive(self) -> object:
        """What can change the gang's decisions: what is waited for and shared, the pass; not its steps."""
        at = frozenset(self.arrived)
        return at, self.waits, self.shared, self.progress.get("pass"), self.troubles, self._leave

    @property
    def _leave(self) -> int | None:
        if self.word.leaving:
            return (self.stayed or 0) + 1
        return None if self.stayed is None else 0

    def outlasts(self, caller: _Caller) -> bool:
        """Note that a barrier's timeout is over; return whether that is news, so that all can be looked at before."""
        match self.waiting.get(caller):
            case Barrier(name=name, timeout=float() | int() as timeout) if timeout >= POLLED:
                words = f"waited {timeout:g} s at barrier {name!r}, and not every trainer came"
                if self._is_trouble(Trouble.TIMED_OUT, name, words):
                    self.outlasting[caller] = self.word.found
                    return True
        return False

    def ask(self, caller: _Caller, ask: Ask, now: float = 0.0) -> dict[_Caller, Answer]:
        """Take a question; return the answers that can be given now."""
        if self.over:
            return {caller: {"ended": self.over}}
        if isinstance(ask, Report):
            self._take(ask.facts)
            return {caller: OK}
        if refusal := self._refusal(ask):
            return {caller: {"misuse": refusal}}
        match ask:
            case Share():
                self.shared = {**self.shared, ask.key: ask.text}
                return {caller: OK} | self._settle(now)
            case AskLeaving():
                self.stayed = self.stayed or 0
            case Barrier() if ask.name not in self.passed:
                self.arrived.add(ask.name)
        self.waiting[caller] = ask
        return self._settle(now)

    def hear(self, word: LeaderMessage, now: float = 0.0) -> dict[_Caller, Answer]:
        """Take the leader's message, if it is about this generation; return the answers that can be given now."""
        if self.over or word.number != self.number:
            return {}
        if word.leaving and not self.word.leaving:
            self.leaves_by = now + word.leaving.seconds
        self.word = word
        answers = self._settle(now)
        for caller in [each for each, before in self.outlasting.items() if before != word.found]:
            answers |= self.late(caller)
        return answers

    def late(self, caller: _Caller) -> dict[_Caller, Answer]:
        """Return the answer for a caller whose timeout is over."""
        self.outlasting.pop(caller, None)
        match self.waiting.pop(caller, None):
            case Barrier(name=name, timeout=timeout):
                return {caller: {"timeout": f"barrier {name!r}: not every trainer came within {timeout} s"}}
            case Get(key=key, rank=rank, timeout=timeout):
                who = "no trainer" if rank is None else f"trainer {rank} has not"
                return {caller: {"timeout": f"get({key!r}): {who} shared it within {timeout} s"}}
        return {}

    def gone(self, caller: _Caller) -> dict[_Caller, Answer]:
        """Forget a caller that died: it has not arrived where it waited."""
        self.outlasting.pop(caller, None)
        match self.waiting.pop(caller, None):
            case Barrier(name=name):
                self.arrived.discard(name)
        return {}

    def end(self, reason: str) -> dict[_Caller, Answer]:
        """End the generation; return the answers for all who wait."""
        self.over = reason or "the generation ended"
        answers: dict[_Caller, Answer] = {caller: {"ended": self.over} for caller in self.waiting}
        self.waiting.clear()
        self.outlasting.clear()
        self.arrived.clear()
        return answers

    def _take(self, facts: Mapping[str, float | str]) -> None:
        before = self.progress
        known = {name: fact for name, fact in before.items() if name not in facts}
        self.progress = dict(list((known | dict(facts)).items())[-MOST_FACTS:])
        for name, fact in facts.items():
            if _is_no_number(fact, before.get(name)):
                self._is_trouble(Trouble.NOT_A_NUMBER, name, f"reports {name}={fact}{_place(self.progress)}")

    def _is_trouble(self, kind: Trouble, name: str, words: str) -> bool:
        """Note what is wrong though nothing has failed, once for each name; return whether that is news."""
        if (kind, name) in self.troubles or len(self.troubles) >= _MOST_TROUBLES:
            return False
        self.troubles = {**self.troubles, (kind, name): words}
        return True

    def _settle(self, now: float) -> dict[_Caller, Answer]:
        passed = self.arrived.intersection(self.word.passed)
        self.arrived -= passed
        for name in passed:
            _remember(self.passed, name)
        found = ((caller, self._answer(ask, now)) for caller, ask in self.waiting.items())
        answers = {caller: answer for caller, answer in found if answer is not None}
        for caller in answers:
            del self.waiting[caller]
            self.outlasting.pop(caller, None)
        return answers

    def _answer(self, ask: Barrier | Get | AskLeaving, now: float) -> Answer | None:
        if isinstance(ask, AskLeaving):
            return self._leaves(now)
        if isinstance(ask, Get):
            text = self._value(ask)
            return None if text is None else {"ok": _value_of(text)}
        if ask.name not in self.passed:
            return None
        del self.passed[ask.name]
        _remember(self.told, ask.name)
        return OK

    def _leaves(self, now: float) -> Answer | None:
        """Return whether this call is told that the generation ends soon; nothing while that is not decided."""
        leaving, call = self.word.leaving, (self.stayed or 0) + 1
        if leaving and not leaving.call:
            return None
        if leaving and call >= leaving.call:
            return {"ok": [max(0.0, round(self.leaves_by - now, 3)), leaving.why]}
        self.stayed = call
        return OK

    def _value(self, ask: Get) -> str | None:
        if ask.rank == self.rank:
            return self.shared.get(ask.key)
        # Without a rank even the own value is taken from the leader, so that all trainers agree on the lowest rank.
        ranks = range(self.trainers) if ask.rank is None else (ask.rank,)
        held = (self.word.shared.get(str(rank), {}).get(ask.key) for rank in ranks)
        return next((text for text in held if text is not None), None)

    def _refusal(self, ask: Barrier | Get | Share | AskLeaving) -> str:
        match ask:
            case Barrier(name=name):
                if name in self.told:
                    return ONCE.format(name)
                if any(isinstance(each, Barrier) and each.name == name for each in self.waiting.values()):
                    return TWICE.format(name)
                return _MANY.format(name) if len(self.arrived - {name}) >= STANDING else ""
            case Get(key=key, rank=rank) if rank is not None and not 0 <= rank < self.trainers:
                return UNKNOWN.format(key, rank, self.trainers - 1)
            case Share(key=key, text=text):
                own = weight({**self.shared, key: text})
                all_of_them = own + sum(
                    weight(each) for rank, each in self.word.shared.items() if rank != str(self.rank)
                )
                if own > SHARED_BY_ONE:
                    return MUCH.format(key, own)
                return _FULL.format(key, all_of_them) if all_of_them > SHARED_BY_ALL else ""
        return ""


def _is_no_number(fact: float | str, before: float | str | None) -> bool:
    """Return whether it is one of the texts that stand for such; many a best value begins as an infinite one."""
    return fact == "nan" or (fact in ("inf", "-inf") and isinstance(before, int | float))


def _place(progress: Mapping[str, float | str]) -> str:
    told = ", ".join(f"{name} {progress[name]}" for name in ("pass", "step") if name in progress)
    return f" at {told}" if told else ""


def _remember(names: dict[str, None], name: str) -> None:
    """Add a name; the first of too many is forgotten."""
    names[name] = None
    if len(names) > NAMES_KEPT:
        del names[next(iter(names))]


def _as_wait(ask: Barrier | Get) -> Wait:
    if isinstance(ask, Get):
        return Wait(name=ask.key, value=True, rank=ask.rank)
    return Wait(name=ask.name)


def _value_of(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # it comes from the network: it may be anything
        return text
