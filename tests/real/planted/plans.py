"""Which fault is planted where: program, rank, moment and line all follow from a seed. No I/O here."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.desk.rehearsal.python_env import PADDLE as OF_PADDLE
from launcher.desk.rehearsal.python_env import Environment
from tests.real.install import FRAMEWORKS
from tests.real.planted.lines import LINES, line_of

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
RANKS = 3
ROUNDS, SEED = 5, 1200
PASSES = 5  # of every program
PAUSE = 0.02  # seconds that each step takes, besides its own
SLOW = 110.0  # and that all steps take together where one rank is slow: five windows of its pace, and more
HALF = 0.5
STALL, NO_STEP, PACE = "stall", "no step", "pace"  # what has to be over before it can be told; else nothing has


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A training: its runtime, its Python (nothing: the tests' own), how many steps a pass has."""

    name: str
    path: Path
    runtime: str
    steps: int
    memory: int  # MiB that a pod may have
    environment: Environment | None = None
    serves: bool = False  # its pservers are Python: one can stand at a line


def example(
    folder: str, runtime: str, steps: int, environment: Environment = FRAMEWORKS, memory: int = 600
) -> Program:
    """Return one of the examples, as a user has it."""
    path = ROOT / "examples" / folder / "train.py"
    return Program(
        name=folder, path=path, runtime=runtime, steps=steps, memory=memory, environment=environment
    )  # fmt: skip


PLAIN = Program(name="plain", path=HERE / "plain.py", runtime="env", steps=20, memory=256)
SERVED = Program(name="served", path=HERE / "served.py", runtime="fleet", steps=20, memory=256, serves=True)
JAX = example("jax", "jax", 40)
XGBOOST = example("xgboost", "xgboost", 10)
LIGHTGBM = example("lightgbm", "lightgbm", 10)
COLLECTIVE = example("paddle_collective", "paddle", 40)
RECOMMENDATION = example("recommendation", "fleet", 20, OF_PADDLE, 1200)
ALL = (PLAIN, JAX, XGBOOST, LIGHTGBM, COLLECTIVE, RECOMMENDATION)
WITH_PSERVERS = (SERVED, RECOMMENDATION)
PROGRAMS = (*ALL, SERVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is planted, what has to be over before it can be told, and whether it is at a line that can be seen."""

    name: str
    title: str
    after: str = ""
    at_line: bool = True


DEADLOCK = Fault(name="deadlock", title="a deadlock between two ranks", after=STALL)
READ = Fault(name="read", title="a read that never ends", after=STALL)
SPIN = Fault(name="spin", title="a spin in Python", after=NO_STEP)
SPIN_IN_C = Fault(name="spin_in_c", title="a spin in C, the GIL held", after=NO_STEP)
SLOW_DISK = Fault(name="slow_disk", title="a slow disk", after=STALL)
SLOW_RANK = Fault(name="slow", title="a rank slow by 2x", after=PACE, at_line=False)
FROZEN = Fault(name="frozen", title="a frozen child", after=STALL, at_line=False)
NAN = Fault(name="nan", title="NaN in the loss", at_line=False)
CRASH = Fault(name="crash", title="a deterministic crash")
MEMORY = Fault(name="memory", title="out of memory", at_line=False)
FULL = Fault(name="full", title="a full volume")
LATE = Fault(name="late", title="a pserver that answers late", after=STALL)
FAULTS = (DEADLOCK, READ, SPIN, SPIN_IN_C, SLOW_DISK, SLOW_RANK, FROZEN, NAN, CRASH, MEMORY, FULL, LATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run: whose the fault is, before which pass and step it comes, and at which line of each of its ranks."""

    seed: int
    fault: Fault
    program: Program
    role: str
    ranks: tuple[int, ...]
    at: tuple[int, int]
    lines: tuple[int, ...]
    steps: bool  # whether the program tells its steps by `here.step`, or only reports them

    def __str__(self) -> str:
        """Return what is planted, in words."""
        ranks, lines = " and ".join(map(str, self.ranks)), " and ".join(self.places)
        return f"{self.fault.title} in {self.program.name}: {self.role} {ranks}, {self.at}, {lines}, seed {self.seed}"

    @property
    def act(self) -> str:
        """What the program does: a pserver that no Python can be in is frozen instead."""
        return "late_frozen" if self.fault is LATE and not self.program.serves else self.fault.name

    @property
    def at_line(self) -> bool:
        """Whether there is a line to be named."""
        return self.fault.at_line and self.act != "late_frozen"

    @property
    def pause(self) -> float:
        """The seconds that a step takes, besides its own."""
        return SLOW / (PASSES * self.program.steps) / 2 if self.fault is SLOW_RANK else PAUSE

    @property
    def places(self) -> tuple[str, ...]:
        """The lines, as a user reads them."""
        return tuple(line_of(each) for each in self.lines)


def plan(seed: int, fault: Fault, programs: Sequence[Program]) -> Plan:
    """Return what a seed makes of a fault in one of these programs."""
    dice = random.Random(f"{seed} {fault.name}")  # noqa: S311  # no secret
    program = dice.choice(programs)
    ranks = tuple(dice.sample(range(RANKS), 2 if fault is DEADLOCK else 1))
    number = 0 if fault is SLOW_RANK else dice.randint(1, PASSES - 2)
    return Plan(
        seed=seed,
        fault=fault,
        program=program,
        role="pserver" if fault is LATE else "trainer",
        ranks=ranks,
        at=(number, dice.randrange(1, min(6, program.steps) if fault is SLOW_RANK else program.steps)),
        lines=tuple(dice.randrange(len(LINES)) for _ in ranks),
        steps=fault is SLOW_RANK or dice.random() < HALF,
    )


def round_of(seed: int) -> tuple[Plan, ...]:
    """Return all faults once; each program has two of them, or nearly."""
    dice = random.Random(seed)  # noqa: S311  # no secret
    dealt = [*ALL, *ALL]
    dice.shuffle(dealt)
    return tuple(
        plan(seed, fault, WITH_PSERVERS if fault is LATE else (program,))
        for fault, program in zip(FAULTS, dealt, strict=True)
    )
