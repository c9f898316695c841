"""What a line to the launcher asks for, and that no line of a stranger does any harm."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher import here
from launcher.pod.gang.here import requests
from launcher.pod.gang.here.requests import Ask, Barrier, Get, Report, Share, Stepping, understood
from launcher.pod.gang.protocol import barriers


def line(**said: object) -> bytes:
    return json.dumps({"token": "t", **said}).encode()


@pytest.mark.parametrize(
    ("said", "ask"),
    [
        ({"ask": "barrier", "name": "b"}, Barrier(name="b")),
        ({"ask": "barrier", "name": "b", "timeout": 2}, Barrier(name="b", timeout=2)),
        ({"ask": "barrier", "name": "b", "timeout": -1}, Barrier(name="b")),
        ({"ask": "barrier", "name": "b", "timeout": float("nan")}, Barrier(name="b")),
        ({"ask": "barrier", "name": "b", "timeout": 10**400}, Barrier(name="b")),
        ({"ask": "share", "key": "k", "value": [1, "ü"]}, Share(key="k", text='[1, "\\u00fc"]')),
        ({"ask": "get", "key": "k", "rank": None, "timeout": 0.5}, Get(key="k", timeout=0.5)),
        ({"ask": "get", "key": "k", "rank": 2}, Get(key="k", rank=2)),
        ({"ask": "progress", "facts": {"pass": 1, "loss": 0.5}}, Report(facts={"pass": 1, "loss": 0.5})),
    ],
)
def test_a_question_is_understood(said: dict[str, object], ask: Ask) -> None:
    assert understood(line(**said)) == (b"t", ask)


PACE = {"process": 7, "steps": 3, "busy": 0.25, "phase": "data", "lasts": False}


def test_a_report_may_tell_of_steps() -> None:
    stepping = Stepping(process=7, steps=3, busy=0.25, phase="data")
    assert understood(line(ask="progress", facts={}, pace=PACE)) == (b"t", Report(facts={}, stepping=stepping))
    between = {**PACE, "busy": 0, "phase": "", "lasts": True}
    stepping = Stepping(process=7, steps=3, busy=0, lasts=True)
    assert understood(line(ask="progress", facts={}, pace=between)) == (b"t", Report(facts={}, stepping=stepping))


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": -1},
        {"steps": 2**53},
        {"steps": 0.5},
        {"busy": -0.1},
        {"busy": float("nan")},
        {"busy": float("inf")},
        {"busy": "1"},
        {"phase": "a\nb"},
        {"phase": "x" * 129},
        {"phase": None},
        {"lasts": 1},
        {"process": "7"},
    ],
)
def test_of_steps_what_no_program_of_ours_tells_is_left_out(wrong: dict[str, object]) -> None:
    asked = line(ask="progress", facts={"step": 1}, pace=PACE | wrong)
    assert understood(asked) == (b"t", Report(facts={"step": 1}))


def test_of_progress_what_cannot_be_published_is_left_out() -> None:
    facts = {"a": float("nan"), "b": float("inf"), "c": 2**63, "d": [1], "e": "x" * 129, "f": "\n", "": 1, "g": 7}
    assert understood(line(ask="progress", facts=facts)) == (b"t", Report(facts={"g": 7}))


@pytest.mark.parametrize(
    "said",
    [
        {"ask": "barrier"},
        {"ask": "barrier", "name": 7},
        {"ask": "barrier", "name": ""},
        {"ask": "barrier", "name": "x" * 129},
        {"ask": "barrier", "name": "a\nb"},
        {"ask": "share", "key": "k"},
        {"ask": "get", "key": "k", "rank": "0"},
        {"ask": "progress", "facts": 7},
        {"ask": "progress", "facts": {f"m{number}": 1 for number in range(65)}},
        {"ask": "shutdown"},
        {"token": None, "ask": "barrier", "name": "b"},
    ],
)
def test_what_no_program_of_ours_writes_is_not_understood(said: dict[str, object]) -> None:
    assert understood(line(**said)) is None


@pytest.mark.parametrize("noise", [b"", b"{", b"7", b"[]", b"\xff\xfe", b"[" * 100_000, b"9" * 10_000])
def test_noise_is_not_understood(noise: bytes) -> None:
    assert understood(noise) is None


def test_a_token_of_any_letters_can_be_compared() -> None:
    said = line(ask="get", key="k", rank=None).replace(b'"t"', b'"\\u00fc\\ud800"')
    assert understood(said) == ("ü?".encode(), Get(key="k"))


@settings(max_examples=30)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner)))
def test_a_shared_value_arrives_as_json_makes_it(value: object) -> None:
    match understood(line(ask="share", key="k", value=value)):
        case (b"t", Share(text=text)):
            assert text == json.dumps(value)
        case other:
            raise AssertionError(other)


def test_the_limits_are_the_same_on_both_sides() -> None:
    ours = (requests.LONGEST_NAME, requests.MOST_FACTS, requests.LONGEST_TIMEOUT, barriers.SHARED_BY_ONE)
    assert ours == (here.NAME, here.FACTS, here.LONG, here.VALUES)
