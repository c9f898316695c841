"""A config: the Python file with the network and the data of `paddle train` and `paddle pserver`.

    batch_size = 256                 # optional: samples a step
    learning_rate = 1e-3             # optional
    def data(): ...                  # optional: called once, in trainers only; its result is passed to the others
    def network(session, data): ...  # returns a Network; data is None in a pserver: no layer's shape may depend on it
    def train(data, number, role):  # yields the feeds of a pass for this trainer: dicts of arrays by input
    def test(data): ...              # optional: yields held-out feeds

It is executed with its own directory first on sys.path. An error in it is reported with its file, and with the line
that raised it.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from launcher import here
from launcher.bridge.failure import BAD_DATA, SETTINGS, TrainingFailure
from launcher.bridge.fleet_role import FleetRole
from launcher.bridge.network import Layers, feed_problem, kind, network_problems
from launcher.bridge.network import Network as Network  # configs import it from here

CONFIG_NAME = "paddle_config"  # of the module, whatever the name of the file
FUNCTIONS = {"network": True, "train": True, "data": False, "test": False}  # and whether it is required
_NUMBERS = {"batch_size": 256, "learning_rate": 1e-3}
END: Any = object()  # of the feeds: None may be one of them, and is refused


@dataclass(frozen=True)
class ConfigFile:
    """A config that was executed and has all required functions."""

    path: Path
    said: Mapping[str, Any]

    @property
    def learning_rate(self) -> float:
        """The step of Adam."""
        return float(self.said.get("learning_rate", _NUMBERS["learning_rate"]))

    @property
    def tests(self) -> bool:
        """Whether it has held-out data."""
        return self.said.get("test") is not None

    def data(self) -> Layers:
        """Return the result of its `data`, None without one."""
        with self._blamed("data", BAD_DATA):
            return self.said["data"]() if self.said.get("data") else None

    def network(self, session: Layers, data: Layers) -> Network:
        """Return its network, in this session's program."""
        with self._blamed("network", SETTINGS):
            made = self.said["network"](session, data)
        if not isinstance(made, Network):
            raise TrainingFailure(
                SETTINGS,
                f"{self.path}: network() returned {kind(made)}: expected a launcher.bridge.config.Network",
            )
        wrong = network_problems(made)
        if wrong:
            raise TrainingFailure(SETTINGS, "\n".join(f"{self.path}: network(): {each}" for each in wrong))
        return made

    def train(self, data: Layers, number: int, role: FleetRole, network: Network) -> Iterator[Mapping[str, Any]]:
        """Yield the feeds of a pass, each checked against the network."""
        return self._feeds("train", network, lambda: self.said["train"](data, number, role))

    def test(self, data: Layers, network: Network) -> Iterator[Mapping[str, Any]]:
        """Yield the held-out feeds, none without `test`."""
        return self._feeds("test", network, lambda: self.said["test"](data) if self.tests else ())

    def _feeds(
        self, name: str, network: Network, made: Callable[[], Iterable[Mapping[str, Any]]]
    ) -> Iterator[Mapping[str, Any]]:
        with self._blamed(name, BAD_DATA):
            feeds = iter(made())
        while True:
            with self._blamed(name, BAD_DATA):
                feed = next(feeds, END)
            if feed is END:
                return
            wrong = feed_problem(feed, network.inputs)
            if wrong:
                raise TrainingFailure(BAD_DATA, f"{self.path}: {name}() yielded {wrong}")
            yield feed

    @contextmanager
    def _blamed(self, name: str, code: int) -> Iterator[None]:
        with _blamed(self.path, f"{name}(): ", code):
            yield


def load(path: Path) -> ConfigFile:
    """Execute a config and return it; all missing functions are reported together."""
    path = path.absolute()
    try:
        text = path.read_bytes()
    except OSError as error:
        raise TrainingFailure(SETTINGS, f"the config {path} cannot be read: {error.strerror}") from None
    module = ModuleType(CONFIG_NAME)
    module.__file__ = str(path)
    sys.modules[CONFIG_NAME] = module  # dataclasses look there
    sys.path.insert(0, str(path.parent))
    with _blamed(path, "", SETTINGS):
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102  # a config is a program
    wrong = _problems(vars(module))
    if wrong:
        raise TrainingFailure(SETTINGS, "\n".join(f"{path}: {each}" for each in wrong))
    return ConfigFile(path, vars(module))


def _problems(said: Mapping[str, Any]) -> list[str]:
    wrong = []
    for name, needed in FUNCTIONS.items():
        if name not in said and needed:
            wrong.append(
                f"the function {name} is missing: expected network(session, data) and train(data, number, role)"
            )
        elif said.get(name) is not None and not callable(said[name]):
            wrong.append(f"{name} is {kind(said[name])}: expected a function")
    for name, number in _NUMBERS.items():
        value = said.get(name, number)
        if isinstance(value, bool) or not isinstance(value, (type(number), int)) or not 0 < value < float("inf"):
            wrong.append(f"{name} is {value!r}: expected a number above 0, such as {number:g}")
    return wrong


@contextmanager
def _blamed(path: Path, what: str, code: int) -> Iterator[None]:
    """Turn an error of a config into a sentence with its file and line."""
    try:
        yield
    except (TrainingFailure, here.GenerationEnded):
        raise
    except SyntaxError as error:
        where = f"{error.filename or path}:{error.lineno or 0}"
        raise TrainingFailure(code, f"{where}: {what}not valid Python: {error.msg}") from None
    except (Exception, SystemExit) as error:  # a config that exits would end this with 0
        raise TrainingFailure(code, f"{_where(error, path)}: {what}{type(error).__name__}: {error}") from None


def _where(error: BaseException, path: Path) -> str:
    """Return file and line of the innermost call in the config's own directory."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if Path(each.filename).parent == path.parent]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else str(path)
