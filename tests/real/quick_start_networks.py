"""Builds and trains all of the quick start's networks, and tells what is to be held of each as JSON.

python -m tests.real.quick_start_networks DIRECTORY      with the example and its prepared data

Each is built in a process of its own, forked off after Paddle was imported, which takes longer than all the rest.
"""

from __future__ import annotations

import json
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from launcher.bridge import config, native
from launcher.bridge.engine import Session
from launcher.bridge.fleet_role import FleetRole

CONFIGS = ("lr", "emb", "cnn", "lstm", "bidi-lstm", "db-lstm")
LENGTH, LONGER = 96, 120  # places of a row; no made-up review has as many words
Untyped = Any  # Paddle has no types


class Built:
    """One config's network with its first weights, and rows of this length."""

    def __init__(self, directory: Path, name: str, length: int) -> None:
        sys.path.insert(0, str(directory))
        import reviews  # type: ignore[import-not-found]  # the example's

        reviews.LENGTH = length
        self._said = config.load(directory / f"trainer_config.{name}.py")
        self._session = Session(FleetRole())
        self._data = self._said.data()
        self._network = self._said.network(self._session, self._data)
        self._session.minimize(self._network.cost, self._said.learning_rate)
        self._session.begin(None)

    def costs(self) -> list[float]:
        """Return the cost of each batch that is held out."""
        feeds = self._said.test(self._data, self._network)
        return [float(self._session.predict(feed, self._network.cost)[0].reshape(-1)[0]) for feed in feeds]

    def learn(self) -> None:
        """Train one pass."""
        feeds = self._said.train(self._data, 0, self._session.role, self._network)
        self._session.learn(0, feeds)

    def weights(self) -> dict[str, Untyped]:
        """Return copies of all that is trained."""
        static, numpy = self._session.paddle.static, native.module("numpy")
        names = [each.name for each in static.default_main_program().all_parameters() if each.trainable]
        return {name: numpy.array(static.global_scope().find_var(name).get_tensor()) for name in names}


def longer(directory: Path, name: str) -> list[float]:
    """Return the costs that come of the first weights where each row has more places after its last word."""
    return Built(directory, name, LONGER).costs()


def trained(directory: Path, name: str) -> dict[str, object]:
    """Return the costs before and after a pass, and the weights that have not moved in it."""
    built = Built(directory, name, LENGTH)
    before, first = built.costs(), built.weights()
    built.learn()
    after, moved = built.costs(), built.weights()
    still = [each for each in first if (first[each] == moved[each]).all()]
    return {"before": before, "after": after, "still": still, "weights": len(first)}


if __name__ == "__main__":
    native.paddle()
    with get_context("fork").Pool(1, maxtasksperchild=1) as one:
        asked = [(Path(sys.argv[1]), name) for name in CONFIGS]
        both = zip(one.starmap(longer, asked, 1), one.starmap(trained, asked, 1), strict=True)
        told = [{"longer": costs, **rest} for costs, rest in both]
    print(json.dumps(dict(zip(CONFIGS, told, strict=True))))
