"""The launcher's own words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod import log
from launcher.pod.log import EventLog, level
from launcher.pod.settings.masking import masked

NAMES = (
    "password",
    "db-password",
    "passwd",
    "PASSPHRASE_OR_PASSWORD",
    "pwd",
    "token",
    "auth_token",
    "api_key",
    "api-key",
    "apikey",
    "access-key",
    "private_key_text",
    "client_secret",
    "credentials",
)


def told(event: str, *, terminal: bool = False, bound: dict[str, object] | None = None, **facts: object) -> str:
    out: list[bytes] = []
    mine = EventLog(out.append, terminal=terminal)
    for name, fact in (bound or {}).items():
        mine.bind(**{name: fact})
    mine.tell(event, **facts)
    (line,) = out
    return line.decode()


def test_an_event_is_one_line_of_json_time_first_then_its_name_then_its_facts() -> None:
    line = told("child_exited", child="trainer 0", code=3)
    assert line.endswith("}\n")
    facts = json.loads(line)
    assert list(facts) == ["timestamp", "event", "level", "child", "code"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", facts["timestamp"])
    assert (facts["event"], facts["child"], facts["code"]) == ("child_exited", "trainer 0", 3)


def test_what_is_bound_stands_last_in_every_line_unless_the_event_says_it_itself() -> None:
    bound: dict[str, object] = {"job": "j", "rank": 0, "pod": "p"}
    facts = json.loads(told("staged", bound=bound, bytes=7))
    assert list(facts) == ["timestamp", "event", "level", "bytes", "job", "pod", "rank"]
    assert facts["job"] == "j"
    assert json.loads(told("roster_complete", bound=bound, rank=2))["rank"] == 2
    line = told("staged", terminal=True, bound=bound, bytes=7)
    assert all(fact in re.sub(r"\x1b\[\d*m", "", line) for fact in ("info", "bytes=7", "job=j", "pod=p", "rank=0"))


@pytest.mark.parametrize(
    ("event", "code", "expected"),
    [
        ("child_exited", 70, "info"),
        ("staging", None, "info"),
        ("record_back", None, "info"),
        ("record_trouble", None, "warning"),
        ("log_file_incomplete", None, "warning"),
        ("stdout_unfinished", None, "warning"),
        ("status_ignored", None, "warning"),
        ("generation_ended", None, "warning"),
        ("launcher_finished", 0, "info"),
        ("launcher_finished", 3, "warning"),
        ("verdict", 76, "warning"),
        ("verdict", 70, "error"),
        ("launcher_finished", 70, "error"),
        ("statuses_trouble", None, "error"),
    ],
)
def test_news_is_info_trouble_a_warning_and_a_bug_an_error(event: str, code: int | None, expected: str) -> None:
    assert level(event, {"code": code}) == json.loads(told(event, code=code))["level"] == expected
    assert expected in told(event, terminal=True, code=code)


def test_every_event_whose_name_says_trouble_has_that_level() -> None:
    code = "".join(path.read_text() for path in Path(log.__file__).parent.rglob("*.py"))
    names = set(re.findall(r"tell\(\s*\"([a-z_]+)\"", code))
    names.update(*re.findall(r"TroubleTold\([\w.]+, \"([a-z_]+)\", \"([a-z_]+)\"", code))
    bad = {name for name in names if re.search(r"trouble|incomplete|unfinished|ignored|_not_", name)}
    assert bad <= log.TROUBLE | log.BUGS <= names


@pytest.mark.parametrize("fact", ["two\nlines", "\udcff", "界", object, b"\xff", "\0\x1b[31m"])
def test_whatever_a_fact_is_its_event_stays_one_line_of_json(fact: object) -> None:
    line = told("odd", fact=fact)
    assert line.count("\n") == 1
    assert "fact" in json.loads(line)


def test_before_a_terminal_an_event_is_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    line = told("child_exited", terminal=True, code=3)
    assert "child_exited" in line
    assert "\x1b[" in line
    assert not line.startswith("{")


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in told("child_exited", terminal=True)


def test_other_people_s_facts_may_be_called_anything() -> None:
    assert json.loads(told("odd", timestamp="mine", level="low"))["level"] == "low"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dashes", ["-", "--"])
def test_the_value_of_a_flag_named_like_a_secret_is_never_shown(name: str, dashes: str) -> None:
    flag = f"{dashes}{name}"
    assert masked(["run", f"{flag}=hush", "last"]) == ["run", f"{flag}=***", "last"]
    assert masked(["run", flag, "hush", "last"]) == ["run", flag, "***", "last"]
    assert masked(["sh", "-c", f"run {flag} hush --lr=1"]) == ["sh", "-c", f"run {flag} ***"]
    assert masked(["sh", "-c", f"run --lr=1 {flag}='hush\nhush'"]) == ["sh", "-c", f"run --lr=1 {flag}=***"]


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", *(name.replace("-", "_").upper() for name in NAMES)])
def test_the_value_of_a_word_named_like_a_secret_is_never_shown(name: str) -> None:
    assert masked(["env", f"{name}=hush", "sh"]) == ["env", f"{name}=***", "sh"]
    assert masked(["sh", "-c", f"export {name}='hush hush'; run"]) == ["sh", "-c", f"export {name}=***"]
    assert masked(["run", f'{{"{name}": "hush"}}', "last"]) == ["run", f'{{"{name}":***', "last"]
    assert masked(["run", f"--env={name}=hush"]) == ["run", f"--env={name}=***"]


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("postgres://u:hush@db/x", "postgres://u:***@db/x"),
        ("redis://:hush@db", "redis://:***@db"),
        ("--to=s3+http://me:hu@sh/h@host:90/b", "--to=s3+http://me:***@host:90/b"),
        ("load a://u:hush@h and b://v:hush@i", "load a://u:***@h and b://v:***@i"),
        ("jdbc:mysql://h/db?user=u&password=hush", "jdbc:mysql://h/db?user=u&password=***"),
    ],
)
def test_a_password_in_an_address_is_never_shown(word: str, shown: str) -> None:
    assert masked(["run", word, "last"]) == ["run", shown, "last"]


def test_a_command_named_like_a_secret_hides_nothing_after_it() -> None:
    argv = ["get-token", "me", "ssh://git@host/x", "http://host:80/path", "mail@host"]
    assert masked(argv) == argv


def test_everything_else_is_shown_as_it_is() -> None:
    argv = ["python", "train.py", "--lr=0.1", "--config=./a=b.py", "-x", "", "a b", "pass"]
    assert masked(argv) == argv


def test_a_secret_flag_at_the_end_hides_nothing() -> None:
    assert masked(["run", "--token"]) == ["run", "--token"]


words = st.text(alphabet="ab-=_ \n", max_size=8)


@given(
    st.lists(words, max_size=4),
    st.sampled_from(NAMES),
    st.sampled_from(["=", " ", None]),
    st.lists(words, max_size=4),
)
def test_a_secret_is_hidden_whatever_stands_around_it(
    before: list[str], name: str, joint: str | None, after: list[str]
) -> None:
    said = [f"--{name}", "HUSH"] if joint is None else [f"--{name}{joint}HUSH"]
    assert "HUSH" not in " ".join(masked([*before, *said, *after]))


def test_a_long_word_is_looked_through_in_no_time() -> None:
    """With the square of its length it would be half a minute, and TERM would wait for it."""
    argv = ["--conf=" + "A-b_" * 50_000, "-" * 20_000, "x" + "--a" * 20_000, "a.://b:" * 20_000, "pwd " * 20_000]
    assert masked(argv) == argv
