"""A config's contract, held where it is loaded and whenever one of its functions is called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from launcher import here
from launcher.bridge import config as configs
from launcher.bridge.config import ConfigFile, Network
from launcher.bridge.failure import BAD_DATA, SETTINGS, TrainingFailure
from launcher.bridge.fleet_role import FleetRole

NEEDED = "def network(session, data): pass\ndef train(data, number, place): yield {'x': [number, place.rank, data]}\n"
PLACE = FleetRole(rank=2)
MEAN = SimpleNamespace(name="mean_0.tmp_0", shape=())  # as much of a tensor as is asked for, since Paddle is not here
NETWORK = Network(inputs=("x",), cost=MEAN)
RETURNED = "from types import SimpleNamespace as Tensor\nfrom launcher.bridge.config import Network\n" + NEEDED


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop(configs.CONFIG_NAME, None)


def loaded(tmp_path: Path, text: str) -> ConfigFile:
    path = tmp_path / "trainer_config.py"
    path.write_text(text)
    return configs.load(path)


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(TrainingFailure) as told:
        loaded(tmp_path, text)
    assert told.value.code == SETTINGS
    return str(told.value)


def test_the_least_that_a_config_has(tmp_path: Path) -> None:
    config = loaded(tmp_path, NEEDED)
    assert config.learning_rate == 1e-3
    assert config.data() is None
    assert list(config.train(None, 4, PLACE, NETWORK)) == [{"x": [4, 2, None]}]
    assert not config.tests
    assert list(config.test(None, NETWORK)) == []


def test_all_that_a_config_may_have(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("rate = 1\n")
    text = NEEDED + "import beside_it\nlearning_rate = beside_it.rate\nbatch_size = 8\ndef data(): return 'd'\n"
    config = loaded(tmp_path, text + "def test(data): return [{'x': [data]}]\n")
    assert config.learning_rate == 1.0
    assert config.data() == "d"
    assert list(config.test("d", NETWORK)) == [{"x": ["d"]}]
    assert config.tests


def test_what_it_builds_is_a_network(tmp_path: Path) -> None:
    text = RETURNED.replace("pass", "return Network(inputs=[session], cost=data)")
    made = loaded(tmp_path, text).network("x", MEAN)
    assert (made.inputs, made.told, made.evaluators) == (["x"], MEAN, {})
    assert Network(inputs=(), cost=1, shown=2).told == 2
    with pytest.raises(
        TrainingFailure, match=r"network\(\) returned None: expected a launcher.bridge.config.Network"
    ):
        loaded(tmp_path, NEEDED).network(None, None)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("inputs=('x',), cost=3.0", "cost is a float: expected a tensor"),
        ("inputs=('x',), cost=None", "cost is None: expected a tensor"),
        ("inputs=('x',), cost=Tensor(name='fc_0.tmp_1', shape=(-1, 2))", "cost has the shape [-1, 2]: expected one"),
        ("inputs=('x',), cost=data, shown=0", "shown is a int: expected a tensor"),
        ("inputs=('x',), cost=data, evaluators={'error': 0.5}", "the evaluator error is a float: expected a tensor"),
        ("inputs=('x',), cost=data, evaluators=data", "evaluators is a SimpleNamespace: expected a dict of tensors"),
        ("inputs='words', cost=data", "inputs is 'words': expected the inputs' names, such as ('words', 'label')"),
        ("inputs=(), cost=data", "inputs is (): expected the inputs' names"),
        ("inputs=(data, 'x'), cost=data", "inputs is (namespace(name="),
        ("inputs=7, cost=data", "inputs is 7: expected the inputs' names"),
    ],
)
def test_a_network_that_cannot_be_trained_is_refused_with_its_file(tmp_path: Path, said: str, sentence: str) -> None:
    config = loaded(tmp_path, RETURNED.replace("pass", f"return Network({said})"))
    with pytest.raises(TrainingFailure) as told:
        config.network(None, MEAN)
    assert (told.value.code, len(str(told.value).splitlines())) == (SETTINGS, 1)
    assert str(told.value).startswith(f"{config.path}: network(): {sentence}")


def test_everything_that_is_wrong_with_a_network_is_told_at_once(tmp_path: Path) -> None:
    config = loaded(tmp_path, RETURNED.replace("pass", "return Network(inputs='x', cost=1, evaluators={'error': 2})"))
    with pytest.raises(TrainingFailure) as told:
        config.network(None, None)
    assert len(str(told.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("feed", "sentence"),
    [
        ("None", "None: expected a dict of arrays by input"),
        ("{'y': [1]}", "a feed without x: expected x"),
        ("{'x': 3}", "a feed with these rows: 0 of x: expected the same number of each, at least one"),
        ("{'x': []}", "a feed with these rows: 0 of x: expected"),
        ("{'x': [1, 2], 'y': [1]}", "a feed with these rows: 2 of x, 1 of y: expected"),
    ],
)
@pytest.mark.parametrize("function", ["train(d, n, p)", "test(d)"])
def test_a_feed_that_cannot_be_is_told_and_nothing_after_it_is_lost_in_silence(
    tmp_path: Path, function: str, feed: str, sentence: str
) -> None:
    config = loaded(
        tmp_path, NEEDED + f"def {function}:\n  yield {{'x': [0]}}\n  yield {feed}\n  yield {{'x': [2]}}\n"
    )
    feeds = config.test(None, NETWORK) if config.tests else config.train(None, 0, PLACE, NETWORK)
    assert next(feeds) == {"x": [0]}
    with pytest.raises(TrainingFailure) as told:
        next(feeds)
    name = function.partition("(")[0]
    assert told.value.code == BAD_DATA
    assert str(told.value).startswith(f"{config.path}: {name}() yielded {sentence}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the function network is missing: expected network(session, data) and train(data, number, role)"),
        (NEEDED + "train = 7", "train is a int: expected a function"),
        (NEEDED + "test = 'x'", "test is a str: expected a function"),
        (NEEDED + "batch_size = 0", "batch_size is 0: expected a number above 0, such as 256"),
        (NEEDED + "batch_size = 1.5", "batch_size is 1.5: expected"),
        (NEEDED + "batch_size = True", "batch_size is True: expected"),
        (NEEDED + "learning_rate = float('nan')", "learning_rate is nan: expected a number above 0, such as 0.001"),
        (NEEDED + "learning_rate = 'x'", "learning_rate is 'x': expected"),
        (NEEDED + "def so(:\n", "trainer_config.py:3: not valid Python:"),
        ("\n\nimport what_is_not_there\n", "trainer_config.py:3: ModuleNotFoundError: No module named"),
        ("def f():\n  return 1 / 0\nf()\n", "trainer_config.py:2: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(0)\n", "trainer_config.py:2: SystemExit: 0"),
        ("\0", "trainer_config.py:"),
    ],
)
def test_what_it_lacks_is_told_with_its_file(tmp_path: Path, text: str, sentence: str) -> None:
    assert sentence in refused(tmp_path, text)


def test_everything_that_it_lacks_is_told_at_once(tmp_path: Path) -> None:
    assert len(refused(tmp_path, "batch_size = 0\nlearning_rate = -1\n").splitlines()) == 4


def test_a_mistake_in_a_module_beside_it_is_told_there(tmp_path: Path) -> None:
    (tmp_path / "beside_broken.py").write_text("x = (\n")
    assert "beside_broken.py:1: not valid Python" in refused(tmp_path, "import beside_broken\n")


def test_a_config_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingFailure, match=r"the config .*/none.py cannot be read: No such file") as told:
        configs.load(tmp_path / "none.py")
    assert told.value.code == SETTINGS


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        ("def data(): open('nowhere')", BAD_DATA, r"py:3: data\(\): FileNotFoundError: .*nowhere"),
        ("def train(d, n, p): raise KeyError('x')", BAD_DATA, r"py:3: train\(\): KeyError: 'x'"),
        (
            "def train(d, n, p):\n  yield {'x': [1]}\n  raise OSError('torn')",
            BAD_DATA,
            r"py:5: train\(\): OSError: torn",
        ),
        ("def train(d, n, p): return 7", BAD_DATA, r"train\(\): TypeError: 'int' object is not iterable"),
        ("def train(d, n, p): yield [1]", BAD_DATA, r"train\(\) yielded a list: expected a dict of arrays by input"),
        ("def train(d, n, p): yield {}", BAD_DATA, r"train\(\) yielded a dict: expected a dict"),
        ("def test(d): yield None, 1", BAD_DATA, r"test\(\) yielded a tuple: expected"),
        ("def network(s, d): return s.none", SETTINGS, r"py:3: network\(\): AttributeError"),
    ],
)
def test_what_goes_wrong_in_its_functions_is_told_with_the_line(
    tmp_path: Path, text: str, code: int, sentence: str
) -> None:
    config = loaded(tmp_path, NEEDED + text)

    def call_all() -> None:
        config.data()
        list(config.train(None, 0, PLACE, NETWORK))
        list(config.test(None, NETWORK))
        config.network(None, None)

    with pytest.raises(TrainingFailure, match=sentence) as told:
        call_all()
    assert told.value.code == code


def test_a_failure_of_its_own_and_the_end_of_a_generation_pass_through(tmp_path: Path) -> None:
    text = "from launcher.bridge.failure import TrainingFailure\nfrom launcher import here\n" + NEEDED
    text += "def data(): raise TrainingFailure(64, 'mine')\ndef test(d): raise here.GenerationEnded()"
    config = loaded(tmp_path, text)
    with pytest.raises(TrainingFailure, match="mine") as told:
        config.data()
    assert told.value.code == 64
    with pytest.raises(here.GenerationEnded):
        list(config.test(None, NETWORK))
