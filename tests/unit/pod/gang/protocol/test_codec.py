"""What goes over the wire: any noun comes back as it was, and nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.codec import Malformed
from launcher.pod.gang.protocol.messages import (
    Failure,
    Generation,
    LeaderMessage,
    Marks,
    NumberedRun,
    Phase,
    Stage,
    Status,
    Trainer,
    Wait,
    Who,
)
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role

TEXT = st.text(max_size=20)
WHOLE = st.integers(-codec.GREATEST, codec.GREATEST)
NUMBER = st.floats(allow_nan=False, allow_infinity=False) | WHOLE
TEXTS = st.dictionaries(TEXT, TEXT, max_size=3)
WHO = st.builds(Who, role=st.sampled_from(Role), address=TEXT, uid=TEXT, boot=TEXT)
FAILURE = st.builds(Failure, generation=WHOLE, code=st.integers(1, 255), reason=TEXT, tail=TEXT)
VERDICT = st.builds(Outcome, code=st.integers(0, 255), reason=TEXT, tail=TEXT)
MEMBERS = st.lists(WHO, max_size=3).map(tuple)
GENERATION = st.builds(
    Generation, number=WHOLE, members=MEMBERS, digest=TEXT, resume=st.none() | WHOLE, restarts=WHOLE, cause=TEXT
)
WORD = st.builds(
    LeaderMessage,
    stage=st.sampled_from(Stage),
    generation=st.none() | GENERATION,
    cause=st.none() | FAILURE,
    verdict=st.none() | VERDICT,
    waiting=TEXT,
    passed=st.lists(TEXT, max_size=3).map(tuple),
    shared=st.dictionaries(TEXT, TEXTS, max_size=3),
)
MARKS = st.builds(
    Marks,
    at=st.lists(TEXT, max_size=3).map(tuple),
    shared=TEXTS,
    progress=st.dictionaries(TEXT, NUMBER | TEXT, max_size=3),
)
WAITS = st.lists(st.builds(Wait, name=TEXT, value=st.booleans(), rank=st.none() | WHOLE), max_size=3).map(tuple)
TRAINER = st.builds(Trainer, marks=MARKS, at_pass=st.none() | WHOLE, waits=WAITS, trained=WHOLE)
STATUS = st.builds(
    Status,
    who=WHO,
    key=TEXT,
    phase=st.sampled_from(Phase),
    rank=st.none() | WHOLE,
    digest=TEXT,
    staged=st.booleans(),
    quiet=st.booleans(),
    lone=st.booleans(),
    passes=st.none() | st.lists(WHOLE, max_size=3).map(tuple),
    known=WHOLE,
    ready=WHOLE,
    failure=st.none() | FAILURE,
    stopping=st.booleans(),
    staged_bytes=WHOLE,
    looked_at=WHOLE,
    marks=MARKS,
    waits=WAITS,
    word=st.none() | WORD,
    several=st.lists(TRAINER, max_size=2).map(tuple),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)

ME = Who(role=Role.NODE, address="10.0.0.1", uid="pod", boot="b0")
FIRST = Generation(number=1, members=(ME,), digest="d")
FULL = Status(
    who=ME,
    rank=0,
    passes=(1, 2),
    failure=Failure(generation=1, code=7, reason="exited 7"),
    marks=Marks(at=("begin",), shared={"port": "7"}, progress={"loss": 0.5, "at": "pass 3"}),
    waits=(Wait(name="end"),),
    word=LeaderMessage(generation=FIRST, verdict=Outcome(code=0, reason="done"), shared={"0": {"port": "7"}}),
)


def parsed() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(codec.encode(FULL))
    return whole


def spots(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401  # JSON
    """Yield the way to every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from spots(each, (*path, key))


def changed(path: tuple[str | int, ...], value: object) -> bytes:
    """Return the whole status with one value replaced."""
    whole: Any = parsed()
    place = whole
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(whole).encode()


SPOTS = tuple(spots(parsed()))
FIELDS = [
    path for path in SPOTS if path[-2:-1] not in [("shared",), ("progress",), ("0",)] and isinstance(path[-1], str)
]


@given(STATUS)
def test_any_status_comes_back_as_it_was(status: Status) -> None:
    assert codec.decode(codec.encode(status)) == status


@given(MEMBERS)
def test_a_page_of_members_comes_back_as_it_was(members: tuple[Who, ...]) -> None:
    assert codec.decode_members(codec.encode_members(members)) == members


@given(GENERATION, VERDICT)
def test_what_the_record_holds_comes_back_as_it_was(generation: Generation, verdict: Outcome) -> None:
    assert codec.decode_generation(codec.encode_generation(generation)) == generation
    assert codec.decode_verdict(codec.encode_verdict(verdict)) == verdict


def test_a_run_comes_back_as_it_was() -> None:
    run = NumberedRun(number=3, key="uid", namespace="team-a", peer_timeout=15.0)
    assert codec.decode_run(codec.encode_run(run)) == run


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_garbage_is_malformed(data: bytes) -> None:
    for decode in (codec.decode, codec.decode_generation, codec.decode_run, codec.decode_verdict):
        with pytest.raises(Malformed):
            decode(data)


@given(st.sampled_from(SPOTS), JSON)
def test_a_changed_value_is_a_status_or_malformed_and_never_another_error(
    path: tuple[str | int, ...], value: object
) -> None:
    try:
        status = codec.decode(changed(path, value))
    except Malformed:
        return
    assert codec.decode(codec.encode(status)) == status


@given(st.binary(min_size=1, max_size=4), st.data())
def test_flipped_bytes_are_a_status_or_malformed(noise: bytes, data: st.DataObject) -> None:
    whole = codec.encode(FULL)
    at = data.draw(st.integers(0, len(whole)))
    try:
        status = codec.decode(whole[:at] + noise + whole[at + len(noise) :])
    except Malformed:
        return
    assert codec.decode(codec.encode(status)) == status


@pytest.mark.parametrize(
    ("path", "code", "least"),
    [
        (("status", "word", "verdict", "code"), 256, 0),
        (("status", "word", "verdict", "code"), -1, 0),
        (("status", "word", "verdict", "code"), 2**40, 0),
        (("status", "failure", "code"), 256, 1),
        (("status", "failure", "code"), 0, 1),
    ],
)
def test_a_code_that_no_process_exits_with_is_malformed(path: tuple[str, ...], code: int, least: int) -> None:
    with pytest.raises(Malformed, match=f"code: expected {least} to 255"):
        codec.decode(changed(path, code))
    with pytest.raises(Malformed, match=r"verdict\.code: expected 0 to 255"):
        codec.decode_verdict(b'{"version": 1, "verdict": {"code": 256, "reason": "done", "tail": ""}}')


@pytest.mark.parametrize("path", FIELDS, ids=lambda path: ".".join(map(str, path)))
def test_a_missing_field_is_named(path: tuple[str | int, ...]) -> None:
    whole: Any = parsed()
    place = whole
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    with pytest.raises(
        Malformed, match=r"version|expected an object" if len(path) == 1 else f"{path[-1]} is missing"
    ):
        codec.decode(json.dumps(whole).encode())


@pytest.mark.parametrize("path", SPOTS, ids=lambda path: ".".join(map(str, path)))
def test_a_value_of_no_type_that_it_may_have_is_malformed(path: tuple[str | int, ...]) -> None:
    wrong: object = [[]] if path[-1] != "members" else "x"
    with pytest.raises(Malformed, match="expected"):
        codec.decode(changed(path, wrong))


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("version",), 1, "version 1 of the status: expected version 2, .*; run every pod of a job with the same"),
        (("version",), True, "version: expected a whole number"),
        (("status", "phase"), "sleeping", r"status\.phase: expected one of joining, staging"),
        (("status", "who", "role"), "king", r"status\.who\.role: expected one of node, pserver, trainer"),
        (("status", "rank"), 1.0, r"status\.rank: expected a whole number"),
        (("status", "rank"), False, r"status\.rank: expected a whole number"),
        (("status", "known"), 1 << 63, "64 bits"),
        (("status", "known"), None, r"status\.known: expected a whole number"),
        (("status", "staged"), 1, r"status\.staged: expected true or false"),
        (("status", "key"), "\ud800", r"status\.key: expected valid Unicode"),
        (("status", "marks", "progress"), {"\udfff": 1}, "valid Unicode"),
        (("status", "marks", "progress", "loss"), True, r"status\.marks\.progress: expected a number"),
        (("status", "marks", "progress", "loss"), 1 << 64, "64 bits"),
        (("status", "marks", "progress", "loss"), float("nan"), "not JSON"),
        (("status", "marks", "progress", "loss"), float("-inf"), "not JSON"),
    ],
)
def test_what_is_wrong_is_said(path: tuple[str, ...], value: object, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        codec.decode(changed(path, value))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"[" * 200_000, "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b'{"version": ' + b"1" * 5000 + b"}", "not JSON"),
        (b" " * (codec.MESSAGE_LIMIT + 1), f"more than {codec.MESSAGE_LIMIT} bytes"),
        (b"[]", "the whole: expected an object"),
        (b"{}", "version: expected a whole number"),
        (b'{"version": 2}', "status: expected an object"),
        (codec.encode(FULL).replace(b'"status"', b'"verdict"'), "status: expected an object"),
        (codec.encode(FULL).replace(b"0.5", b"1e999"), r"status\.marks\.progress: expected a number"),
    ],
    ids=lambda value: str(value[:20]),
)
def test_what_is_no_status_at_all_is_said(data: bytes, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        codec.decode(data)


def test_unknown_keys_are_ignored() -> None:
    whole = parsed()
    whole["extra"] = whole["status"]["extra"] = whole["status"]["who"]["extra"] = {"a": [1]}
    assert codec.decode(json.dumps(whole).encode()) == FULL


def test_a_status_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(Malformed, match=f"expected at most {codec.MESSAGE_LIMIT}"):
        codec.encode(replace(FULL, key="x" * codec.MESSAGE_LIMIT))


@pytest.mark.parametrize(
    ("number", "text"), [(float("nan"), "nan"), (float("-inf"), "-inf"), (1 << 64, f"{1 << 64:#x}")]
)
def test_a_reported_number_that_the_wire_has_not_arrives_as_text(number: float, text: str) -> None:
    status = replace(FULL, marks=Marks(progress={"loss": number}))
    assert codec.decode(codec.encode(status)).marks.progress == {"loss": text}


def test_a_status_says_of_a_single_trainer_what_it_always_has() -> None:
    assert FULL.trainers == (FULL,)
    assert list(parsed()["status"]) == [
        *("who", "key", "gang", "peers", "peer_timeout", "phase", "rank", "digest", "staged", "surveyed", "quiet"),
        *("lone", "passes", "known", "restarts", "stopped", "ready", "children", "serving", "trained", "checked"),
        *("failure", "stopping", "staged_bytes", "looked_at", "at_pass", "marks", "waits", "word"),
    ]


def test_a_status_tells_of_each_of_several_trainers() -> None:
    several = (Trainer(trained=1, at_pass=3), Trainer(marks=FULL.marks, waits=FULL.waits))
    assert codec.decode(codec.encode(replace(FULL, several=several))).trainers == several


def test_half_a_character_arrives_as_a_question_mark() -> None:
    assert codec.decode(codec.encode(replace(FULL, key="\ud800"))).key == "?"
