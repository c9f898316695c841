"""What a rehearsal looks like, from logs and last words."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest

from launcher.desk import showing
from launcher.desk.showing import LastWord

LOG = """\
I1118 08:00:34.471000  8617 paddle:39] commandline:  paddle train --num_passes=2
.....
I1118 08:00:34.571000  8617 trainer.py:104]  Batch=50 samples=2500 AvgCost=1.21138 CurrentCost=1.30221
I1118 08:00:34.584000  8617 trainer.py:104]  Pass=0 Batch=60 samples=3000 AvgCost=1.25
I1118 08:00:34.671000  8617 trainer.py:104]  Pass=1 Batch=60 samples=3000 AvgCost=0.5
"""
FINISHED = {"event": "launcher_finished", "reason": "every trainer is done", "code": 0, "rank": 1}


def word(rank: int | None = 0, code: int = 0, **seconds: float) -> LastWord:
    return LastWord(code=code, reason="", rank=rank, seconds=seconds)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", {}),
        (LOG, {0: 1.25, 1: 0.5}),
        (LOG + "I1 1 trainer.py:1]  Pass=1 Batch=60 samples=3000 AvgCost=0.4\n", {0: 1.25, 1: 0.4}),
        (LOG + "I1 1 trainer.py:1]  Pass=2 Batch=60 samples=3000 AvgCost=?\n", {0: 1.25, 1: 0.5}),
    ],
    ids=["nothing yet", "two passes", "a pass run again", "a line that is no number"],
)
def test_the_cost_of_each_pass_is_read_from_a_trainers_log(log: str, expected: dict[int, float]) -> None:
    assert showing.costs(log) == expected


@pytest.mark.parametrize(
    ("passes", "found", "expected"),
    [
        (10, {}, f"pass 0/10 [{'.' * 30}] starting, 1.5 s"),
        (10, {0: 1.25}, f"pass 1/10 [{'#' * 3}{'.' * 27}] cost 1.2500, 1.5 s"),
        (2, {0: 1.25, 1: 0.5}, f"pass 2/2 [{'#' * 30}] cost 0.5000, 1.5 s"),
    ],
)
def test_the_bar_shows_the_passes_done(passes: int, found: dict[int, float], expected: str) -> None:
    assert showing.progress(passes, found, 1.5) == expected


def test_costs_are_shown_node_by_node_with_a_dash_where_none_is() -> None:
    assert showing.cost_table({"node_0": {0: 1.25, 1: 0.5}, "node_1": {0: 1.0}}).splitlines() == [
        "pass  node_0  node_1",
        "   0  1.2500  1.0000",
        "   1  0.5000       -",
    ]


def test_many_nodes_are_shown_by_their_mean() -> None:
    by_node = {f"node_{number}": {0: float(number)} for number in range(9)}
    assert showing.cost_table(by_node).splitlines() == ["pass    mean", "   0  4.0000"]


def test_each_pods_end_is_shown_with_its_seconds_in_each_phase() -> None:
    lives = {
        "127.0.1.1": (0, word(joining=0.1, training=2.0)),
        "127.0.1.2": (137, None),
        "127.0.1.3": (78, word(None)),
    }
    assert showing.life_table(lives).splitlines() == [
        "      pod  rank  code  joining s  training s",
        "127.0.1.1     0     0      0.100       2.000",
        "127.0.1.2     -   137          -           -",
        "127.0.1.3     -    78          -           -",
    ]


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("", None),
        ("a word that is no JSON\n[1]\n{}\n", None),
        (json.dumps({"event": "staged"}), None),
        (json.dumps({**FINISHED, "seconds": {"training": 2.0}}) + "\n\n", ("every trainer is done", 1, 2.0)),
        (json.dumps({**FINISHED, "seconds": {"training": 3.0}}) + "\nlast words", ("every trainer is done", 1, 3.0)),
    ],
)
def test_the_last_word_is_the_canonical_line(stderr: str, expected: tuple[str, int, float] | None) -> None:
    found = showing.last_word(stderr)
    assert (found and (found.reason, found.rank, found.seconds["training"])) == expected


def paths(*names: str) -> list[PurePath]:
    return [PurePath(name) for name in names]


def test_the_output_is_shown_as_a_tree_with_the_last_pass_open() -> None:
    files = paths(
        "pass-00000/done",
        "pass-00001/done",
        "pass-00002/done",
        "pass-00002/___embedding_0__.w0",
        "node_0/train.log",
        "node_0/server.log",
        ".launcher/record",
    )
    assert showing.tree("output", files).splitlines() == [
        "output",
        "├── node_0",
        "│   ├── server.log",
        "│   └── train.log",
        "├── pass-00000 ... pass-00001",
        "└── pass-00002",
        "    ├── ___embedding_0__.w0",
        "    └── done",
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["pass-00000/done"], ["output", "└── pass-00000", "    └── done"]),
        (["pass-00000/done", "pass-00001/done"], ["output", "├── pass-00000", "└── pass-00001", "    └── done"]),
    ],
)
def test_few_passes_need_no_dots(files: list[str], expected: list[str]) -> None:
    assert showing.tree("output", paths(*files)).splitlines() == expected
