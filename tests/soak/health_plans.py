"""Which example trains healthily in a run, how wide and how long: all of it follows from a seed. No I/O here."""

from __future__ import annotations

import random
from dataclasses import dataclass

from launcher.desk.rehearsal.python_env import PADDLE as OF_PADDLE
from launcher.desk.rehearsal.python_env import Environment
from tests.real.install import FRAMEWORKS
from tests.real.install import LARGE as OF_LARGE

LONGEST_PAUSE = 0.25  # seconds a step, beside its own work, and as much again by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A folder of examples/, its runtime, its Python (none: the tests' own), and on how many nodes it trains."""

    folder: str
    runtime: str
    environment: Environment | None
    most: int = 4
    least: int = 1


RECOMMENDATION = Example(folder="recommendation", runtime="fleet", environment=OF_PADDLE, most=3, least=3)
BY_CONFIG = Example(folder="recommendation", runtime="v1", environment=OF_PADDLE, most=3, least=3)
WORD2VEC = Example(folder="word2vec", runtime="fleet", environment=OF_PADDLE)
QUICK_START = Example(folder="quick_start", runtime="env", environment=OF_PADDLE, most=1)
STAND_IN = Example(folder="stand_in", runtime="v1", environment=None)
WITHOUT_PSERVERS = (
    Example(folder="jax", runtime="jax", environment=FRAMEWORKS),
    Example(folder="xgboost", runtime="xgboost", environment=FRAMEWORKS),
    Example(folder="lightgbm", runtime="lightgbm", environment=FRAMEWORKS),
    Example(folder="paddle_collective", runtime="paddle", environment=FRAMEWORKS),
)
LARGE = (
    Example(folder="torch", runtime="torch", environment=OF_LARGE),
    Example(folder="tensorflow", runtime="tensorflow", environment=OF_LARGE),
)
EXAMPLES = (*WITHOUT_PSERVERS, *LARGE, RECOMMENDATION, BY_CONFIG, WORD2VEC, QUICK_START, STAND_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthyPlan:
    """One run: which example on how many nodes, how many passes where that can be said, and the pace of its steps.

    `pause` is what a step takes besides its own work, and by chance up to twice that; `steps` is whether the program
    tells its steps by `here.step`, or only reports them.
    """

    number: int
    example: Example
    nodes: int
    passes: int
    pause: float
    steps: bool

    def __str__(self) -> str:
        """Return it in words."""
        example = f"{self.example.folder} ({self.example.runtime})"
        return f"{example} on {self.nodes}, {self.passes} passes, {self.pause:.2f} s a step, run {self.number}"


def healthy_plan(seed: int, number: int, examples: tuple[Example, ...] = EXAMPLES) -> HealthyPlan:
    """Return what a part's seed makes of one of its runs: so many runs after each other have all examples."""
    turn, place = divmod(number, len(examples))
    order = random.Random(f"{seed} {turn}").sample(examples, len(examples))  # noqa: S311  # no secret
    dice = random.Random(f"{seed} {number} {order[place].folder}")  # noqa: S311
    return HealthyPlan(
        number=number,
        example=order[place],
        nodes=dice.randint(order[place].least, order[place].most),
        passes=dice.randint(3, 12),
        pause=dice.choice((0.0, dice.uniform(0.0, LONGEST_PAUSE))),
        steps=dice.random() < 0.5,
    )
