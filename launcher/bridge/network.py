"""A config's network, and the checks of it and of its feeds.

No I/O here. Mistakes that Paddle would accept in silence are refused with a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Layers = Any  # Paddle has no types


@dataclass(frozen=True)
class Network:
    """A config's network: cost and evaluators are means over a batch, each a tensor of one number."""

    inputs: Sequence[str]  # in the order of the log
    cost: Layers  # minimized
    shown: Layers = None  # the reported cost, if it differs
    evaluators: Mapping[str, Layers] = field(default_factory=dict)  # reported beside it

    @property
    def told(self) -> Layers:
        """The reported cost."""
        return self.cost if self.shown is None else self.shown


def network_problems(network: Network) -> list[str]:
    """Return a phrase for each wrong part of a network."""
    wrong = []
    evaluators: object = network.evaluators  # of whatever type
    if not _are_names(network.inputs):
        wrong.append(f"inputs is {repr(network.inputs)[:80]}: expected the inputs' names, such as ('words', 'label')")
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
    """Return the mistake in a feed, nothing if there is none."""
    if not isinstance(feed, Mapping) or not feed:
        return f"{kind(feed)}: expected a dict of arrays by input"
    lacking = [name for name in inputs if name not in feed]
    if lacking:
        return f"a feed without {', '.join(lacking)}: expected {', '.join(inputs)}"
    rows = {name: _rows(value) for name, value in feed.items()}
    if 0 in rows.values() or len(set(rows.values())) > 1:
        told = ", ".join(f"{count} of {name}" for name, count in rows.items())
        return f"a feed with these rows: {told}: expected the same number of each, at least one"
    return ""


def kind(value: object) -> str:
    """Return the type of a value for a sentence."""
    return "None" if value is None else f"a {type(value).__name__}"


def _tensors(network: Network) -> dict[str, Layers]:
    shown = {} if network.shown is None else {"shown": network.shown}
    evaluators = network.evaluators if isinstance(network.evaluators, Mapping) else {}
    return {"cost": network.cost, **shown, **{f"the evaluator {name}": each for name, each in evaluators.items()}}


def _are_names(inputs: object) -> bool:
    if not isinstance(inputs, Sequence) or isinstance(inputs, str):
        return False
    return bool(inputs) and all(isinstance(each, str) for each in inputs)


def _rows(value: Layers) -> int:
    try:
        return len(value)
    except TypeError:  # a number has none
        return 0
