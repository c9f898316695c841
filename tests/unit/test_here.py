"""What a training program may ask where no launcher is, and what it may not ask anywhere."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from launcher import here


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test be a process of its own, without a launcher."""
    for name in ("LAUNCHER_HERE", "LAUNCHER_START_PASS", "LAUNCHER_RESUME_DIR", "TRAINER_ID", "TRAINERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(here, "_KEPT", {})


def test_its_source_is_python_3_8() -> None:
    ast.parse(Path(here.__file__).read_text(), feature_version=(3, 8))


def test_rank_and_number_of_trainers_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (here.rank(), here.trainers()) == (0, 1)
    monkeypatch.setenv("TRAINER_ID", "2")
    monkeypatch.setenv("TRAINERS", "3")
    assert (here.rank(), here.trainers()) == (2, 3)


def test_where_to_go_on_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert here.resume() == (0, None)
    monkeypatch.setenv("LAUNCHER_START_PASS", "4")
    monkeypatch.setenv("LAUNCHER_RESUME_DIR", "/job/output/pass-00003")
    assert here.resume() == (4, "/job/output/pass-00003")


def test_alone_a_barrier_returns_at_once_and_a_name_is_good_for_one_use() -> None:
    here.barrier("b")
    here.barrier("c", timeout=0)
    sentence = "barrier 'b' was passed already in this generation: give each its own name, as f'pass-{n}'"
    with pytest.raises(here.Misuse) as refused:
        here.barrier("b")
    assert str(refused.value) == sentence


@pytest.mark.parametrize("value", ["text", 7, 1.5, True, None, ["a", 1], {"a": [1]}])
def test_alone_a_value_comes_back_as_json_makes_it(value: object) -> None:
    here.share("k", value)
    assert here.get("k") == value
    assert here.get("k", rank=0, timeout=5) == value


def test_alone_nobody_waits_for_a_value_that_nobody_else_can_share(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError, match="without a launcher there is no other trainer"):
        here.get("k", timeout=60)
    monkeypatch.setenv("TRAINERS", "2")
    here.share("k", 1)
    with pytest.raises(KeyError):
        here.get("k", rank=1)


def test_alone_progress_goes_nowhere() -> None:
    here.progress(pass_=1, step=2, loss=0.5)


@pytest.mark.parametrize("name", ["", "x" * 129, "a\nb", 7, None, b"bytes"])
def test_a_name_is_a_short_printable_str(name: Any) -> None:  # noqa: ANN401  # what a program might pass
    calls = (lambda: here.barrier(name), lambda: here.share(name, 1), lambda: here.get(name))
    for call in calls:
        with pytest.raises(here.Misuse, match="is not a name: expected a printable str of 1 to 128 characters"):
            call()


def test_what_json_cannot_say_is_not_shared() -> None:
    for value in (b"bytes", object(), {1, 2}):
        with pytest.raises(here.Misuse, match=r"share\('k'\): expected a value that JSON can hold: "):
            here.share("k", value)


def test_all_that_one_trainer_shares_is_limited() -> None:
    here.share("k", "x" * (here.VALUES - 9))
    here.share("k", "y" * (here.VALUES - 9))
    with pytest.raises(here.Misuse, match="one trainer's values can have at most 65536 bytes together"):
        here.share("l", 1)
    assert here.get("k")[0] == "y"


@pytest.mark.parametrize("rank", [-1, 1, "0", 0.0])
def test_a_rank_is_one_of_the_trainers(rank: Any) -> None:  # noqa: ANN401  # what a program might pass
    with pytest.raises(here.Misuse, match=r"the ranks are 0 to 0"):
        here.get("k", rank=rank)


@pytest.mark.parametrize("timeout", [-1, "5", float("nan"), float("inf"), 1e6])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:  # noqa: ANN401  # what a program might pass
    with pytest.raises(here.Misuse, match="expected seconds, below 1000000, or None"):
        here.barrier("b", timeout=timeout)


class Scalar:
    """What a numerical library computes: no number itself, but it can become one."""

    def __float__(self) -> float:
        return 0.25


def test_progress_takes_numbers_and_short_texts() -> None:
    facts = [here._fact("m", value) for value in (3, True, 0.5, "warm", Scalar(), float("nan"), -float("inf"), 2**70)]
    assert facts == [3, 1, 0.5, "warm", 0.25, "nan", "-inf", 2.0**70]


@pytest.mark.parametrize("value", ["x" * 129, "a\nb", [1], 10**400, object()])
def test_progress_refuses_what_it_cannot_show(value: Any) -> None:  # noqa: ANN401  # what a program might pass
    with pytest.raises(here.Misuse, match=r"progress: loss=.*: expected a number or 128 printable characters"):
        here.progress(loss=value)


def test_progress_refuses_too_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAUNCHER_HERE", "paddle-launcher-nobody:token")
    many: Any = {f"m{number}": number for number in range(here.FACTS)}
    here.progress(**many)
    with pytest.raises(here.Misuse, match="more than 64 names: expected the same names in each report"):
        here.progress(one_more=1)
