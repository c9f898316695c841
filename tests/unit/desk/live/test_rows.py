"""What `top` makes of what a gang says: a row a rank, the slowest first, whatever anybody sent."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.desk.jobs import job_state
from launcher.desk.live import cells
from launcher.desk.live.rows import GangLook, PodMeasure, gang_head, goodput, last_line, rank_rows
from tests.unit.desk.jobs.test_describe import a_pod

Json = dict[str, Any]


def member(rank: int, *, steps: int = 0, busy: float = 0.0, **more: Any) -> Json:  # noqa: ANN401  # JSON
    pace = {"paces": [{"rank": rank, "steps": steps, "busy": busy, "phase": ""}]} if steps else {}
    told = {"address": f"10.0.0.{rank}", "role": "node", "rank": rank, "phase": "training", "progress": {}}
    return {**told, **pace, **more}


def pod(rank: int, **more: Any) -> job_state.KubePod:  # noqa: ANN401  # its fields
    found = job_state.kube_pod(a_pod({"running": {}}, index=str(rank)))
    return replace(found, address=f"10.0.0.{rank}", node=f"node-{rank}", **more)


def look(*members: Json, at: float = 0.0, pods: tuple[job_state.KubePod, ...] = (), **more: Any) -> GangLook:  # noqa: ANN401
    gang = {"word": {"stage": "training", "generation": {"number": 2, "restarts": 1}}, "members": list(members)}
    return GangLook(at=at, state="Running", gang=gang, pods=pods, **more)


def test_the_slowest_stands_first_and_what_has_not_begun_before_it() -> None:
    pods = (pod(0), pod(1), pod(2), replace(pod(3), phase="Pending", begun=False, why="no node takes it"))
    found = rank_rows(
        look(member(0, steps=10, busy=1), member(1, steps=10, busy=2), member(2, steps=10, busy=1), pods=pods)
    )
    assert [(row.rank, row.phase, row.skew) for row in found] == [
        (3, "Pending", None), (1, "training", 2.0), (0, "training", 1.0), (2, "training", 1.0),
    ]  # fmt: skip
    assert found[0].line == "no node takes it"


def test_a_pace_is_that_since_the_look_before_in_the_same_generation() -> None:
    then, now = look(member(0, steps=100, busy=10.0)), look(member(0, steps=110, busy=15.0))
    (row,) = rank_rows(now, then)
    assert row.pace == 2.0
    (whole,) = rank_rows(now)
    assert whole.pace == pytest.approx(110 / 15)
    other = replace(then, gang={**then.gang, "word": {"generation": {"number": 1}}})
    assert rank_rows(now, other) == (whole,)
    assert rank_rows(look(member(0, steps=110, busy=15.0)), now) == (whole,), "it has made no step since"


def test_the_leaders_finding_of_a_slow_rank_counts_more_than_the_desks() -> None:
    told = member(0, paces=[{"rank": 0, "steps": 8, "busy": 1.0, "phase": "data", "ratio": 5.5}])
    row = rank_rows(look(told, member(1, steps=8, busy=4.0)))[0]
    assert (row.rank, row.skew, row.phase) == (0, 5.5, "training (data)")


def test_a_pod_with_several_trainers_has_a_row_for_each() -> None:
    told = member(1, several=[{"pass": 3, "step": 7}, {"pass": 3.0, "note": "x"}])
    measure = PodMeasure(at=1, memory={"trainer 2": 5.0, "trainer 3": 7.0, "tracker 0": 1.0}, lines=(
        b"[trainer 2] a", b"[trainer 3] b", b"[trainer 2] c",
    ))  # fmt: skip
    found = rank_rows(look(told, pods=(pod(1),), measures={"pod-1": measure}))
    assert [(row.rank, row.at_pass, row.step, row.memory, row.line) for row in found] == [
        (2, 3, 7, 6.0, "c"), (3, 3, None, 7.0, "b"),
    ]  # fmt: skip


def test_what_a_pods_programs_took_between_two_looks_is_its_share_of_processors() -> None:
    then = look(pods=(pod(0),), measures={"pod-0": PodMeasure(at=10, cpu={"trainer 0": 5.0, "pserver 0": 1.0})})
    measure = PodMeasure(at=12, cpu={"trainer 0": 7.0, "pserver 0": 2.0}, memory={"trainer 0": 1.0})
    now = look(member(0), pods=(pod(0),), measures={"pod-0": measure})
    assert rank_rows(now, then)[0].cpu == 1.5
    assert rank_rows(now)[0].cpu is None
    assert rank_rows(now, now)[0].cpu is None, "it was not asked again yet"
    again = look(member(0), pods=(pod(0),), measures={"pod-0": PodMeasure(at=14, cpu={"trainer 0": 0.5})})
    assert rank_rows(again, now)[0].cpu is None, "the programs are others than before"


def test_a_pserver_has_a_row_without_a_pace() -> None:
    (row,) = rank_rows(look(member(0, role="pserver", steps=3, busy=1.0)))
    assert (row.role, row.rank, row.pace, row.skew) == ("pserver", 0, None, None)


def test_what_does_not_train_has_no_pace() -> None:
    (row,) = rank_rows(look(member(0, steps=3, busy=1.0, phase="staging")))
    assert (row.phase, row.pace, row.skew) == ("staging", None, None)


def test_of_a_pod_and_the_one_that_took_its_place_the_newer_is_shown() -> None:
    old = replace(pod(0), name="old", created="2026-01-01T00:00:00Z", address="10.0.0.9", phase="Failed", over=True)
    new = replace(pod(0), name="new", created="2026-01-01T00:01:00Z")
    assert [row.pod for row in rank_rows(look(member(0), pods=(new, old)))] == ["new"]


def test_a_member_that_the_api_does_not_list_is_shown_by_its_address() -> None:
    (row,) = rank_rows(look(member(5)))
    assert (row.pod, row.rank) == ("10.0.0.5", 5)


@pytest.mark.parametrize(
    ("lines", "program", "expected"),
    [
        ((b"a", b"b", b""), "trainer 0", "b"),
        ((b"pass 1", b'{"timestamp": "t", "event": "child_exited"}'), "trainer 0", "pass 1"),
        ((b"pass 1", b'{"timestamp": "not ours'), "trainer 0", '{"timestamp": "not ours'),
        ((b"[trainer 0] a", b"[trainer 1] b"), "trainer 0", "a"),
        ((b"[trainer 1] b",), "trainer 0", ""),
        ((b"one of no program", b"[trainer 1] b"), "trainer 0", "one of no program"),
        ((b"\x1b[2J\x07gone\xff",), "trainer 0", "?[2J?gone\ufffd"),
        ((b"x" * 5000,), "trainer 0", "x" * 297 + "..."),
        ((), "trainer 0", ""),
    ],
)
def test_the_last_line_is_the_programs_and_moves_no_cursor(
    lines: tuple[bytes, ...], program: str, expected: str
) -> None:
    assert last_line(lines, program) == expected


def test_goodput_is_the_share_of_training_that_is_not_known_to_be_lost() -> None:
    assert goodput({"training": 30.0, "kept": 30.0, "lost": 20.0, "waiting": 20.0}) == 0.6
    assert goodput({}) is None


def test_the_head_tells_the_gangs_state_and_its_trouble() -> None:
    told = look(member(0, seconds={"kept": 3, "lost": 1}), member(1, seconds={"kept": 3, "lost": 1, "x": "y"}))
    word = told.gang["word"] | {
        "stage": "gathering", "waiting": "node 1 is staging\x1b[2J", "cause": {"reason": "trainer 1 exited with 7"},
        "found": [{"reason": f"alarm {number}"} for number in range(5)],
    }  # fmt: skip
    head = gang_head(replace(told, gang={**told.gang, "word": word}))
    assert cells.head_lines("j", head) == (
        "job j: Running, gathering, generation 2, 1 restart, goodput 75.0%",
        "waits for: node 1 is staging?[2J",
        "last trouble: trainer 1 exited with 7",
        "alarm: alarm 2",
        "alarm: alarm 3",
        "alarm: alarm 4",
    )


def test_without_a_leader_the_pods_are_shown_as_the_api_has_them() -> None:
    found = GangLook(at=0.0, state="Starting", pods=(pod(1), pod(0)))
    assert [row.rank for row in rank_rows(found)] == [0, 1]
    assert cells.head_lines("j", gang_head(found)) == ("job j: Starting",)


def test_the_table_is_in_columns_and_on_a_terminal_no_wider_than_that() -> None:
    measure = PodMeasure(at=2, cpu={"trainer 0": 3.0}, memory={"trainer 0": 200 << 20}, lines=(b"l" * 200,))
    then = look(pods=(pod(0),), measures={"pod-0": replace(measure, at=1, cpu={"trainer 0": 1.5})})
    told = member(0, steps=300, busy=2.0, progress={"pass": 3, "step": 17})
    rows = rank_rows(look(told, member(1, steps=100, busy=2.0), pods=(pod(0),), measures={"pod-0": measure}), then)
    wide = cells.plain_table(rows).splitlines()
    assert " ".join(wide[0].split()) == "RANK POD NODE PHASE PASS STEP PACE SKEW CPU MEMORY LAST LINE"
    assert " ".join(wide[1].split()) == "trainer 1 10.0.0.1 - training - 100 50/s 3.00 - -"
    assert " ".join(wide[2].split()[:-1]) == "trainer 0 pod-0 node-0 training 3 17 150/s 1.00 1.50 200Mi"
    for width in (80, 100, 130, 200):
        assert max(map(len, cells.plain_table(rows, width).splitlines())) <= width


def test_as_values_it_is_json_with_a_value_for_each_rank() -> None:
    found = look(member(0, steps=2, busy=1.0, seconds={"kept": 1.0}))
    told = json.loads(json.dumps(cells.top_values("j", "team", gang_head(found), rank_rows(found))))
    assert (told["job"], told["namespace"], told["goodput"]) == ("j", "team", 1.0)
    (rank,) = told["ranks"]
    assert rank["pass"] is None
    assert (rank["rank"], rank["pace"], rank["pod"]) == (0, 2.0, "10.0.0.0")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ("word", "members", "address", "role", "rank", "phase", "progress", "several", "paces", "steps", "busy",
         "seconds", "found", "reason", "generation", "number", "pass", "step", "ratio", "node", "waiting", "cause")
    ), inner, max_size=6),
    max_leaves=20,
)  # fmt: skip


@given(JUNK, JUNK)
def test_whatever_answers_in_the_leaders_place_is_shown_or_not_and_raises_nothing(one: object, other: object) -> None:
    gang = one if isinstance(one, dict) else {"word": one, "members": [other]}
    before = other if isinstance(other, dict) else {"members": other}
    pods = (pod(0), pod(1))
    now, then = (GangLook(at=at, state="Running", gang=each, pods=pods) for at, each in ((1, gang), (0, before)))
    head, rows = gang_head(now), rank_rows(now, then)
    text = "".join(cells.head_lines("j", head)) + cells.plain_table(rows, 80).replace("\n", "")
    assert text.isprintable()
    json.dumps(cells.top_values("j", "n", head, rows), allow_nan=False)


def test_a_rank_without_a_step_has_no_skew_and_a_number_beyond_all_numbers_is_none() -> None:
    still = member(2, paces=[{"rank": 2, "steps": 0, "busy": 0.0, "phase": "compute"}])
    huge = member(3, paces=[{"rank": 3, "steps": 10**400, "busy": 1.0, "phase": "compute"}])
    found = rank_rows(look(member(0, steps=4, busy=1), member(1, steps=4, busy=1), still, huge))
    assert {row.rank: row.skew for row in found} == {0: 1.0, 1: 1.0, 2: None, 3: None}


def test_what_is_left_of_the_table_is_how_the_job_ended() -> None:
    assert cells.over_line("j", gang_head(look())) == "job j: Running\n"
