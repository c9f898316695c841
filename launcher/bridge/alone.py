"""The parameters in the process itself, where one trains without parameter servers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launcher.bridge import native, parts, passes
from launcher.bridge.failure import DATA, TrainingFailure
from launcher.bridge.native import Untyped


class Alone:
    """What a network needs of its parameters, where one process holds them."""

    elsewhere: frozenset[str] = frozenset()  # the tables that this process does not have

    def __init__(self) -> None:
        self._paddle = native.paddle()
        self._numpy = native.module("numpy")

    def embedding(self, ids: Untyped, rows: int, dim: int, attributes: Untyped) -> Untyped:
        """Return the vectors of a column of ids."""
        return self._paddle.static.nn.embedding(ids, size=[rows, dim], is_sparse=True, param_attr=attributes)

    def minimize(self, cost: Untyped, learning_rate: float) -> None:
        """Make the program train; lazy, as a server is: a step moves only the rows that it has seen."""
        self._paddle.optimizer.Adam(learning_rate, lazy_mode=True).minimize(cost)

    def connect(self) -> None:
        """Do nothing: as the four below."""

    pull = flush = leave = connect

    def end(self, leads: bool) -> None:
        """Do nothing: there is no pserver."""

    def save(self, directory: Path) -> dict[str, object]:
        """Write all that the program keeps from step to step, and return what is to be known of it."""
        self._numpy.savez_compressed(directory / parts.ALONE, **{name: self._array(name) for name in self._names()})
        return {"pservers": 0}

    def load(self, directory: Path, facts: Mapping[str, Any]) -> None:
        """Take what was saved."""
        passes.check_same(directory, facts, {"pservers": 0})
        self.fill(parts.parameters(directory, facts))

    def fill(self, values: Mapping[str, Any]) -> None:
        """Take these values, arrays by their parameters' names; some may be of no use here, but none may lack."""
        for name in self._names():
            if name not in values:
                raise TrainingFailure(
                    DATA, f"{name} was not saved: it was another network, or another way to train it"
                )
            value = values[name]
            if value.shape != self._array(name).shape:
                shapes = f"{value.shape}, here it is {self._array(name).shape}"
                raise TrainingFailure(DATA, f"{name} has the shape {shapes}: it was saved by another network")
            self._tensor(name).set(value, self._paddle.CPUPlace())

    def _names(self) -> list[str]:
        variables = self._paddle.static.default_main_program().list_vars()
        return [each.name for each in variables if each.persistable and each.name not in ("feed", "fetch")]

    def _array(self, name: str) -> Untyped:
        return self._numpy.array(self._tensor(name))

    def _tensor(self, name: str) -> Untyped:
        return self._paddle.static.global_scope().find_var(name).get_tensor()
