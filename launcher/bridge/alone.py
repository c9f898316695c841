"""The parameters in the process itself, for a training without parameter servers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launcher.bridge import native, parts, passes
from launcher.bridge.failure import BAD_DATA, TrainingFailure
from launcher.bridge.native import Untyped


class Alone:
    """The parameters of a network, held by this process."""

    elsewhere: frozenset[str] = frozenset()  # the tables that this process does not have

    def __init__(self) -> None:
        self._paddle = native.paddle()
        self._numpy = native.module("numpy")

    def embedding(self, ids: Untyped, rows: int, dim: int, attributes: Untyped) -> Untyped:
        """Return the vectors of a column of ids."""
        return self._paddle.static.nn.embedding(ids, size=[rows, dim], is_sparse=True, param_attr=attributes)

    def minimize(self, cost: Untyped, learning_rate: float) -> None:
        """Make the program train; lazy, as on a server: a step moves only the rows of its own ids."""
        self._paddle.optimizer.Adam(learning_rate, lazy_mode=True).minimize(cost)

    def connect(self) -> None:
        """Do nothing: there are no pservers."""

    pull = flush = leave = connect

    def end(self, leads: bool) -> None:
        """Do nothing: there is no pserver."""

    def save(self, directory: Path) -> dict[str, object]:
        """Write all persistent variables, and return the facts for `done`."""
        self._numpy.savez_compressed(
            directory / parts.LOCAL_PARAMETERS, **{name: self._array(name) for name in self._names()}
        )
        return {"pservers": 0}

    def load(self, directory: Path, facts: Mapping[str, Any]) -> None:
        """Load a saved pass."""
        passes.check_same(directory, facts, {"pservers": 0})
        self.fill(parts.parameters(directory, facts))

    def fill(self, values: Mapping[str, Any]) -> None:
        """Set the parameters to these arrays, by name; others than needed are ignored, a missing one is refused."""
        for name in self._names():
            if name not in values:
                raise TrainingFailure(
                    BAD_DATA,
                    f"{name} is not in this pass: it was saved by another network, or with another optimizer",
                )
            value = values[name]
            if value.shape != self._array(name).shape:
                shapes = f"{value.shape}, expected {self._array(name).shape}"
                raise TrainingFailure(BAD_DATA, f"{name} has the shape {shapes}: it was saved by another network")
            self._tensor(name).set(value, self._paddle.CPUPlace())

    def _names(self) -> list[str]:
        variables = self._paddle.static.default_main_program().list_vars()
        return [each.name for each in variables if each.persistable and each.name not in ("feed", "fetch")]

    def _array(self, name: str) -> Untyped:
        return self._numpy.array(self._tensor(name))

    def _tensor(self, name: str) -> Untyped:
        return self._paddle.static.global_scope().find_var(name).get_tensor()
