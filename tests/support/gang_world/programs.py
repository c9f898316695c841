"""The programs of a simulated pod: what the kernel knows of each, and a trainer that talks to its launcher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launcher.pod.gang.here.requests import Ask, AskLeaving, Barrier, Get, Share
from launcher.pod.gang.protocol.planned.new_pass import SAVED
from launcher.pod.settings.nouns import Role

if TYPE_CHECKING:
    from tests.support.gang_world.children import Children

PASSES = 6
Script = Iterator[float | Ask]  # seconds of work, and what it asks its launcher for


@dataclass(eq=False)
class Program:
    """One program: whether it lives, and what it does."""

    role: Role
    pid: int
    deaf: bool  # to TERM: it goes on
    alive: bool = True
    stuck: bool = False  # stopped, which nobody notices but who looks
    slow: float = 0.0  # so much longer its next pass takes
    asked: Ask | None = None
    mistake: Ask | None = None  # what it asks for after its next pass, though nobody else comes there
    leaves: bool = False  # after its next pass, as if it were done
    said: str = ""  # its last line
    answer: object = None  # to what it asked last
    left: bool = False  # it ended since it was told that all end soon
    script: Script = field(default_factory=lambda: iter(()))


@dataclass(eq=False)
class Doom:
    """What happens to the trainer of a slot again and again: in one pass, or in each, so often."""

    act: Callable[[Program, Children], None]
    at: int | None  # the pass, None for each
    times: int
    had: Counter[int] = field(default_factory=Counter)

    def strikes(self, number: int) -> bool:
        """Return whether it happens in a pass, and note that it did."""
        strikes = self.at in (None, number) and self.had[number] < self.times
        self.had[number] += strikes
        return strikes


def training(program: Program, children: Children) -> Script:
    """Train the passes that are left, meeting the other trainers after each where they talk; the last rank saves."""
    world, generation, rank = children.launcher.world, children.generation, children.rank
    if world.talks:
        yield Share(key="start", text="0") if rank == 0 else Get(key="start", rank=0)
    calls = 0
    for number in range(0 if generation.resume is None else generation.resume + 1, PASSES):
        for _ in range(3 if world.asks else 0):
            yield AskLeaving()
            calls += 1
            if program.answer:
                children.launcher.checks.leaves(children, calls)
                yield from _leaving(program, children, number)
                return
            yield world.some(0.1, 0.4)
        late, program.slow = program.slow, 0.0
        yield world.some(0.8, 1.2) + late
        doom = world.dooms.get(children.launcher.pod.slot)
        if doom and world.now < world.quiet and doom.strikes(number):
            doom.act(program, children)
            return
        if program.leaves:
            return
        if program.mistake:
            mistake, program.mistake = program.mistake, None
            yield mistake
        if children.launcher.boot == generation.members[-1].boot:
            world.volume.passes.add(number)
        if world.asks:
            yield Barrier(name=f"{SAVED}{number})")
        if world.talks:
            yield Barrier(name=f"pass-{number}")


def _leaving(program: Program, children: Children, number: int) -> Script:
    """Save a pass, as all do or none does, and end, or wait to be ended."""
    program.left = True
    yield children.launcher.world.some(0.1, 2.0)
    saves = children.launcher.world.seed // 3 % 2
    if saves and children.launcher.boot == children.generation.members[-1].boot:
        children.launcher.world.volume.passes.add(number)
    if (True, False, children.rank % 2)[children.launcher.world.seed % 3]:
        if saves:
            yield Barrier(name=f"{SAVED}{number})")
        yield 1000.0
