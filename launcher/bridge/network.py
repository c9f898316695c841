"""What a config's network has for the trainer, what of it cannot be, and what a feed for it has to be.

No I/O here. What Paddle would be told in vain is told with a sentence before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Untyped = Any  # Paddle has no types


@dataclass(frozen=True)
class Network:
    """What a config's network has for the trainer: means over a batch, each a tensor of one number."""

    inputs: Sequence[str]  # in the order in which the log tells them
    cost: Untyped  # what is to become small
    shown: Untyped = None  # what is told as cost, where that is not quite the same
    evaluators: Mapping[str, Untyped] = field(default_factory=dict)  # what is told beside it

    @property
    def told(self) -> Untyped:
        """What is told as cost."""
        return self.cost if self.shown is None else self.shown


def network_problems(network: Network) -> list[str]:
    """Return a phrase for each part of a network that cannot be."""
    wrong = []
    evaluators: object = network.evaluators  # of whatever type
    if not _are_names(network.inputs):
        wrong.append(f"inputs is {repr(network.inputs)[:80]}: expected the inputs' names, as ('words', 'label')")
    if not isinstance(evaluators, Mapping):
        wrong.append(f"evaluators is {kind(evaluators)}: expected a dict of tensors by name")
    for what, tensor in _tensors(network).items():
        shape = getattr(tensor, "shape", None)
        if shape is None or not hasattr(tensor, "name"):
            wrong.append(f"{what} is {kind(tensor)}: expected a tensor")
        elif any(size != 1 for size in shape):
            wrong.append(f"{what} has the shape {list(shape)}: expected one number, the mean of a batch")
    return wrong


def feed_problem(feed: object, inputs: Sequence[str]) -> str:
    """Return what of a feed cannot be, nothing where it can be trained on."""
    if not isinstance(feed, Mapping) or not feed:
        return f"{kind(feed)}: expected a dict of arrays by input"
    lacking = [name for name in inputs if name not in feed]
    if lacking:
        return f"a feed without {', '.join(lacking)}: expected {', '.join(inputs)}"
    rows = {name: _rows(value) for name, value in feed.items()}
    if 0 in rows.values() or len(set(rows.values())) > 1:
        told = ", ".join(f"{count} of {name}" for name, count in rows.items())
        return f"a feed with these rows: {told}: expected as many of each, and one at least"
    return ""


def kind(value: object) -> str:
    """Return what a value is, as a sentence calls it."""
    return "None" if value is None else f"a {type(value).__name__}"


def _tensors(network: Network) -> dict[str, Untyped]:
    shown = {} if network.shown is None else {"shown": network.shown}
    evaluators = network.evaluators if isinstance(network.evaluators, Mapping) else {}
    return {"cost": network.cost, **shown, **{f"the evaluator {name}": each for name, each in evaluators.items()}}


def _are_names(inputs: object) -> bool:
    if not isinstance(inputs, Sequence) or isinstance(inputs, str):
        return False
    return bool(inputs) and all(isinstance(each, str) for each in inputs)


def _rows(value: Untyped) -> int:
    try:
        return len(value)
    except TypeError:  # a number has none
        return 0
