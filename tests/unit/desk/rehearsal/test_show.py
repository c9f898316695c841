"""What a rehearsal looks like, from logs and last words."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest

from launcher.desk.rehearsal import show
from launcher.desk.rehearsal.show import LastWord, Learned

LOG = """\
I1118 08:00:34.471000  8617 paddle:39] commandline:  paddle train --num_passes=2
.....
I1118 08:00:34.571000  8617 trainer.py:104]  Batch=50 samples=2500 AvgCost=1.21138 CurrentCost=1.30221
I1118 08:00:34.584000  8617 trainer.py:104]  Pass=0 Batch=60 samples=3000 AvgCost=1.25
I1118 08:00:34.671000  8617 trainer.py:104]  Pass=1 Batch=60 samples=3000 AvgCost=0.5
"""
RECOMMENDATION = """\
trainer 0 of 3: 16000 ratings, 4000 held out
 Pass=0 AvgCost=1.04809 RMSE=0.9677 seconds=4.9
 Pass=1 AvgCost=0.843067 RMSE=0.9365 seconds=2.8
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
    assert show.costs(log) == expected


@pytest.mark.parametrize(
    ("log", "expected"),
    [("", {}), (LOG, {}), (RECOMMENDATION, {0: 0.9677, 1: 0.9365})],
    ids=["nothing yet", "a log that tells none", "Paddle's recommendation"],
)
def test_the_rmse_of_each_pass_is_read_where_it_is_told(log: str, expected: dict[int, float]) -> None:
    assert show.errors(log) == expected
    assert show.costs(RECOMMENDATION) == {0: 1.04809, 1: 0.843067}


@pytest.mark.parametrize(
    ("passes", "log", "expected"),
    [
        (10, "", f"pass 0/10 [{'.' * 30}] starting, 1.5 s"),
        (10, LOG, f"pass 2/10 [{'#' * 6}{'.' * 24}] cost 0.5000, 1.5 s"),
        (2, LOG, f"pass 2/2 [{'#' * 30}] cost 0.5000, 1.5 s"),
        (0, LOG, "pass 2: cost 0.5000, 1.5 s"),
        (0, "", "1.5 s"),
        (4, RECOMMENDATION, f"pass 2/4 [{'#' * 15}{'.' * 15}] RMSE 0.9365, 1.5 s"),
    ],
)
def test_the_bar_shows_the_passes_done(passes: int, log: str, expected: str) -> None:
    assert show.progress_text(passes, log, 1.5) == expected


def test_who_guesses_the_mean_is_off_by_the_spread() -> None:
    assert show.constant_error([1.0, 5.0], [2.0, 4.0]) == 1.0
    assert show.constant_error([1.0, 2.0], [4.5]) == 3.0


def test_costs_are_shown_node_by_node_with_a_dash_where_none_is() -> None:
    assert show.pass_table(Learned(costs={"node_0": {0: 1.25, 1: 0.5}, "node_1": {0: 1.0}})).splitlines() == [
        "cost per pass, each trainer's own",
        "pass  node_0  node_1",
        "   0  1.2500  1.0000",
        "   1  0.5000       -",
    ]


def test_the_rmse_of_all_stands_beside_that_of_who_guesses_the_mean() -> None:
    assert show.pass_table(
        Learned(costs={"node_0": {0: 1.25, 1: 0.5}}, errors={0: 0.9}, constant=1.126)
    ).splitlines() == [
        "cost per pass, each trainer's own; RMSE of all on what was held out",
        "pass  node_0    RMSE  guessing the mean",
        "   0  1.2500  0.9000             1.1260",
        "   1  0.5000       -             1.1260",
    ]


def test_many_nodes_are_shown_by_their_mean() -> None:
    by_node = {f"node_{number}": {0: float(number)} for number in range(9)}
    assert show.pass_table(Learned(costs=by_node)).splitlines()[1:] == ["pass    mean", "   0  4.0000"]


def test_each_pods_end_is_shown_with_its_seconds_in_each_phase() -> None:
    lives = {
        "127.0.1.1": (0, word(joining=0.1, training=2.0)),
        "127.0.1.2": (137, None),
        "127.0.1.3": (78, word(None)),
    }
    assert show.life_table(lives).splitlines() == [
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
    found = show.last_word(stderr)
    assert (found and (found.reason, found.rank, found.seconds["training"])) == expected


def test_each_restart_is_told_with_its_reason() -> None:
    begun = [(None, ""), (None, "trainer 1 exited with 1"), (2, "trainer 0 was ended by SIGKILL")]
    lines = [json.dumps({"event": "generation_begins", "resume": done, "cause": why}) for done, why in begun]
    assert show.restarts("\n".join(["no JSON", "[1]", *lines, json.dumps(FINISHED)])) == [
        "all started again from the beginning: trainer 1 exited with 1",
        "all started again after pass 2: trainer 0 was ended by SIGKILL",
    ]


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
    assert show.tree("output", files).splitlines() == [
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
    assert show.tree("output", paths(*files)).splitlines() == expected


def test_of_many_files_in_a_directory_the_number_is_shown() -> None:
    parts = [f"pass-00000/000/part-{number:03}.gz" for number in range(12)]
    assert show.tree("output", paths(*parts, "pass-00000/003/part-000.gz", "pass-00000/done")).splitlines() == [
        "output",
        "└── pass-00000",
        "    ├── 000 (12 files)",
        "    ├── 003",
        "    │   └── part-000.gz",
        "    └── done",
    ]


def test_of_a_pass_with_many_files_the_earlier_ones_are_still_told() -> None:
    parts = [f"pass-0000{number}/{part}.w0" for number in range(2) for part in "abcdef"]
    assert show.tree("output", paths(*parts)).splitlines() == [
        "output",
        "├── pass-00000",
        "└── pass-00001 (6 files)",
    ]
