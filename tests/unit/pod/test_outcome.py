"""How a life ends in codes and words."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.contract import Code
from launcher.pod import outcome
from launcher.pod.outcome import Outcome

KUBERNETES_LIMIT = 4096

CODES = {
    "DONE": 0,
    "DATA": 65,
    "API": 69,
    "BUG": 70,
    "CANNOT_START": 71,
    "SHARD": 74,
    "JOIN": 75,
    "GANG": 76,
    "SETTINGS": 78,
}


def test_the_exit_codes_are_the_contract_s() -> None:
    assert {name: code for name, code in vars(Code).items() if name.isupper()} == CODES


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (outcome.SettingsError(["a problem"]), 78),
        (outcome.JoinError("no peers"), 75),
        (outcome.ApiError("refused"), 69),
        (outcome.ShardError("no shard"), 74),
        (outcome.StartError("no such program"), 71),
        (outcome.Stopped(signal.SIGTERM, "waiting for its peers"), 143),
        (outcome.Stopped(signal.SIGINT, "staging its data"), 130),
        (outcome.LauncherError("anything else"), 70),
    ],
)
def test_an_expected_failure_ends_with_its_code_and_its_sentence(error: outcome.LauncherError, code: int) -> None:
    ended = outcome.of(error)
    assert (ended.code, ended.reason) == (code, str(error))
    assert ended.message() == str(error)


def test_all_problems_of_the_settings_are_told_each_on_its_line() -> None:
    assert outcome.of(outcome.SettingsError(["one", "two"])).message() == "one\ntwo"


def test_a_stop_before_the_children_says_by_which_signal_and_during_what() -> None:
    assert (
        str(outcome.Stopped(signal.SIGTERM, "staging its data")) == "told to stop by SIGTERM while staging its data"
    )


def test_a_bug_ends_with_70_and_says_what_and_where() -> None:
    def faulty() -> None:
        raise ValueError("odd")

    with pytest.raises(ValueError, match="odd") as caught:
        faulty()
    ended = outcome.of(caught.value)
    assert ended.code == 70
    assert ended.reason.startswith("a bug in the launcher: ValueError: odd; please report it")
    assert "in faulty" in ended.message()


@pytest.mark.parametrize(("signum", "name"), [(15, "SIGTERM"), (9, "SIGKILL"), (42, "signal 42")])
def test_a_signal_is_told_by_its_name_where_it_has_one(signum: int, name: str) -> None:
    assert outcome.signal_name(signum) == name


def test_the_message_has_the_reason_first_and_then_the_last_lines_of_the_log() -> None:
    message = Outcome(code=3, reason="trainer 2 exited with 3", tail="pass 1\nNaN!\n").message()
    assert message == "trainer 2 exited with 3\nthe last lines of its log:\npass 1\nNaN!"


@pytest.mark.parametrize("tail", ["", " \n\n"])
def test_without_a_last_line_nothing_is_said_about_one(tail: str) -> None:
    assert Outcome(code=1, reason="pserver 0 exited with 1", tail=tail).message() == "pserver 0 exited with 1"


def test_of_a_long_log_the_end_is_kept_as_much_as_fits() -> None:
    tail = "".join(f"line {number}\n" for number in range(1000))
    message = Outcome(code=1, reason="trainer 0 exited with 1", tail=tail).message()
    assert message.startswith("trainer 0 exited with 1\n")
    assert message.endswith("line 998\nline 999")
    assert 3900 < len(message.encode()) < KUBERNETES_LIMIT


def test_a_reason_that_leaves_no_room_for_the_log_stands_alone() -> None:
    message = Outcome(code=1, reason="r" * 5000, tail="a line").message()
    assert message.endswith("r...")
    assert "a line" not in message


texts = st.text(max_size=50) | st.sampled_from(["é", "界", "🚀", "\udcff", "\0", "a"])
long_texts = st.builds(lambda text, times: text * times, texts, st.integers(0, 5000))
long_tails = st.builds(
    lambda data, times: data * times,
    st.text(max_size=60) | st.sampled_from(["\ufffd", "\udcff", "界", "\n"]),
    st.integers(0, 3000),
)


@given(long_texts, long_tails)
def test_the_message_is_below_the_limit_and_can_be_written_whatever_was_said(reason: str, tail: str) -> None:
    message = Outcome(code=1, reason=reason, tail=tail).message()
    assert len(message.encode()) < KUBERNETES_LIMIT  # encodes: nothing in it is half a character


@given(st.binary(max_size=6000))
def test_what_is_no_text_in_a_log_is_shown_as_such_and_costs_no_good_line(noise: bytes) -> None:
    tail = (noise + b"\nthe last line").decode(errors="replace")
    message = Outcome(code=1, reason="trainer 0 exited with 1", tail=tail).message()
    assert message.endswith("the last line")
