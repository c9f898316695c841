"""What is held of a pass before it is saved, and what becomes of one that cannot be; without Paddle."""

from __future__ import annotations

import errno
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launcher.bridge import passes
from launcher.bridge.alone import Alone
from launcher.bridge.config import ConfigFile, Network
from launcher.bridge.engine import Session
from launcher.bridge.failure import BAD_DATA, SETTINGS, STORAGE, TrainingFailure
from launcher.bridge.fleet_role import FleetRole
from launcher.bridge.v1.flags import V1Flags
from launcher.bridge.v1.log import V1Log
from launcher.bridge.v1.trainer import Training

NAN, INF = math.nan, math.inf
COST, SHOWN, ERROR = (SimpleNamespace(name=name) for name in ("cost", "shown", "error"))
FEED = {"x": [1, 2]}


class Values:
    """As much of an array as is asked for, since numpy is not here."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = numbers

    def __abs__(self) -> Values:
        return Values(*map(abs, self._numbers))

    def __getitem__(self, at: int) -> float:
        return self._numbers[at]

    def max(self) -> float:
        return NAN if any(map(math.isnan, self._numbers)) else max(self._numbers)

    def reshape(self, *_shape: int) -> Values:
        return self


class Told(Session):
    """A session of a network whose values and weights are told beforehand."""

    def __init__(self, output: Path, values: Mapping[str, float], weight: Values) -> None:
        self.role, self._output, self._cost = FleetRole(), output, COST
        self.parameters = Saved()
        self._values, self._weight = values, weight

    def _step(self, _feed: Mapping[str, Any], wanted: Sequence[Any]) -> list[float]:
        return [self._values[each.name] for each in wanted]

    def predict(self, _feed: Mapping[str, Any], *wanted: SimpleNamespace) -> Sequence[Any]:
        return [Values(self._values[f"held-out {each.name}"]) for each in wanted]

    def together(self, name: str) -> None:
        pass

    def held(self) -> Iterator[tuple[str, Any]]:
        yield "fc_0.w_0", self._weight


class Saved(Alone):
    """Parameters that are saved as one file."""

    def __init__(self) -> None:
        pass

    def save(self, directory: Path) -> dict[str, object]:
        (directory / "parameters").write_text("0.5")
        return {"pservers": 0}


def told(output: Path, *, weight: Values | None = None, **values: float) -> Told:
    every = {"cost": 1.0, "shown": 0.5, "error": 0.25, "held-out shown": 0.75, "held-out error": 0.5, **values}
    return Told(output, every, weight or Values(0.5, -0.5))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"shown": NAN}, "the cost is nan in pass 2, batch 1: is the learning rate too high?"),
        ({"cost": INF}, "the cost is inf in pass 2, batch 1: is the learning rate too high?"),
    ],
)
def test_what_is_told_and_what_becomes_small_have_to_be_numbers(
    tmp_path: Path, values: Mapping[str, Any], sentence: str
) -> None:
    with pytest.raises(TrainingFailure) as caught:
        told(tmp_path, **values).learn(2, [FEED], cost=SHOWN)
    assert (caught.value.code, str(caught.value)) == (BAD_DATA, sentence)


def test_who_listens_hears_of_what_is_told_and_of_what_is_asked_for_beside_it(tmp_path: Path) -> None:
    heard: list[tuple[float, ...]] = []
    mean = told(tmp_path, error=NAN).learn(0, [FEED], lambda *said: heard.append(said), SHOWN, [ERROR])
    assert (mean, heard[0][:3], len(heard[0])) == (0.5, (1, 2, 0.5), 4)
    assert told(tmp_path).learn(0, [FEED]) == 1.0


def trained(session: Told, number: int) -> str:
    """Run a pass of `paddle train` with held-out data, and return its log."""
    config = ConfigFile(Path("trainer_config.py"), {"train": lambda *_: [FEED], "test": lambda *_: [FEED, FEED]})
    network = Network(inputs=("x",), cost=COST, shown=SHOWN, evaluators={"error": ERROR})
    flags = V1Flags(save_dir="output")
    Training(flags, V1Log(log := io.StringIO()), session, config, network, None).run(number)
    return log.getvalue()


def test_a_pass_is_saved_once_its_test_cost_is_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Training, "_by_v1_names", lambda *_: None)
    assert " Test samples=4 cost=0.75 Eval: error=0.5" in trained(told(tmp_path), 7001)
    assert passes.read_pass(tmp_path / "pass-07001")["pass"] == 7001


@pytest.mark.parametrize(
    ("number", "broken", "sentence"),
    [
        (7002, {"held-out shown": NAN}, "the test cost is nan after pass 7002: is the learning rate too high?"),
        (7003, {"held-out shown": INF}, "the test cost is inf after pass 7003: is the learning rate too high?"),
        (7004, {"weight": Values(0.5, NAN)}, "fc_0.w_0 is nan after pass 7004: is the learning rate too high?"),
        (7005, {"weight": Values(0.5, -INF)}, "fc_0.w_0 is inf after pass 7005: is the learning rate too high?"),
    ],
)
def test_a_pass_that_its_last_batch_has_ruined_is_not_saved(
    tmp_path: Path, number: int, broken: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TrainingFailure) as caught:
        trained(told(tmp_path, **broken), number)
    assert (caught.value.code, str(caught.value)) == (BAD_DATA, sentence)
    assert not list(tmp_path.iterdir())


def denied(directory: Path) -> Mapping[str, Any]:
    raise PermissionError(errno.EACCES, "Permission denied", str(directory / "parameters.npz"))


def full(directory: Path) -> Mapping[str, Any]:
    (directory / "middle").symlink_to("/dev/full")
    (directory / "middle").write_bytes(b"0.5")
    return {}


def nothing(_directory: Path) -> Mapping[str, Any]:
    return {}


@pytest.mark.parametrize(
    ("fill", "why"),
    [(denied, "Permission denied"), (full, "No space left on device")],
)
def test_a_pass_that_cannot_be_saved_ends_with_a_sentence_and_74(
    tmp_path: Path, fill: Callable[[Path], Mapping[str, Any]], why: str
) -> None:
    with pytest.raises(TrainingFailure) as caught:
        passes.write_pass(tmp_path, 3, fill)
    assert caught.value.code == STORAGE
    assert str(caught.value).startswith(f"{tmp_path}: pass 3 could not be saved: [Errno ")
    assert why in str(caught.value)


def test_an_output_that_is_no_directory_ends_so_as_well(tmp_path: Path) -> None:
    (tmp_path / "output").touch()
    with pytest.raises(TrainingFailure, match=r"output: pass 0 could not be saved: .*File exists") as caught:
        passes.write_pass(tmp_path / "output", 0, nothing)
    assert caught.value.code == STORAGE


def test_a_pass_of_pservers_is_not_gone_on_from_without_any(tmp_path: Path) -> None:
    with pytest.raises(TrainingFailure, match="was made with pservers 3, this gang has 0") as caught:
        Saved().load(tmp_path, {"pservers": 3})
    assert caught.value.code == SETTINGS
