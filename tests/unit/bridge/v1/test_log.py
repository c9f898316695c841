"""What a v1 trainer writes: its lines, its dots, and the names and files of its parameters."""

from __future__ import annotations

import io
import re
import struct
from array import array
from pathlib import Path

import pytest

from launcher.bridge.v1 import names
from launcher.bridge.v1 import pass_stats as courses
from launcher.bridge.v1.log import V1Log
from launcher.bridge.v1.pass_stats import PassStats, Sums, sum_of

ERROR = "classification_error_evaluator"


def test_a_course_tells_means_by_sample_of_the_whole_and_of_late() -> None:
    course = PassStats(3, (ERROR,))
    course.add(1, 10, (1.0, 0.5))
    course.add(2, 30, (2.0, 0.1))
    assert course.line() == (
        f" Batch=2 samples=40 AvgCost=1.75 CurrentCost=1.75 Eval: {ERROR}=0.2 CurrentEval: {ERROR}=0.2"
    )
    course.add(3, 40, (0.25, 0.0))
    assert course.line() == (
        f" Batch=3 samples=80 AvgCost=1 CurrentCost=0.25 Eval: {ERROR}=0.1 CurrentEval: {ERROR}=0"
    )
    assert course.end() == f" Pass=3 Batch=3 samples=80 AvgCost=1 Eval: {ERROR}=0.1"
    assert re.search(r"\bPass=(\d+) .*\bAvgCost=(\S+)", course.end())  # as the readers of logs look for it


def test_without_evaluators_there_is_no_word_of_them() -> None:
    course = PassStats(0, ())
    course.add(1, 4, (0.5,))
    assert course.end() == " Pass=0 Batch=1 samples=4 AvgCost=0.5"


@pytest.mark.parametrize(
    ("sums", "expected"),
    [
        ([], " Test samples=0"),
        ([Sums(), Sums()], " Test samples=0"),
        ([Sums(4, (2.0, 1.0))], f" Test samples=4 cost=0.5 Eval: {ERROR}=0.25"),
        ([Sums(4, (2.0, 1.0)), Sums(), Sums(12, (2.0, 3.0))], f" Test samples=16 cost=0.25 Eval: {ERROR}=0.25"),
    ],
)
def test_held_out_samples_of_all_trainers_count_alike(sums: list[Sums], expected: str) -> None:
    assert courses.tested(sum_of(sums), (ERROR,)) == expected


def test_a_line_is_glogs_and_begins_anew_after_dots() -> None:
    out = io.StringIO()
    log = V1Log(out)
    log.dot()
    log.dot()
    log.tell("trainer mode: Normal")
    log.end_dots()
    dots, line, end = out.getvalue().split("\n")
    assert (dots, end) == ("..", "")
    assert re.fullmatch(r"I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ test_log\.py:\d+\] trainer mode: Normal", line)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fc_0.w_0", "___fc_layer_0__.w0"),
        ("fc_12.b_0", "___fc_layer_12__.wbias"),
        ("fc_0.w_1", "___fc_layer_0__.w1"),
        ("embedding_0.w_0", "___embedding_0__.w0"),
        ("conv2d_0.w_0", "___conv_0__.w0"),
        ("batch_norm_0.b_0", "___batch_norm_0__.wbias"),
        ("lstm_cell_3.b_1", "___lstm_cell_3__.wbias1"),
        ("output.w_0", "_output.w0"),
        ("user_table", "user_table"),
        ("middle", "middle"),
    ],
)
def test_parameters_are_called_as_v1_called_them(name: str, expected: str) -> None:
    assert names.v1_name(name) == expected


class Values:
    """As much of an array as is asked for, since numpy is not here."""

    def __init__(self, *numbers: float) -> None:
        self.content = array("f", numbers)
        self.itemsize, self.size = self.content.itemsize, len(self.content)

    def astype(self, kind: str, **_: object) -> Values:
        assert kind == "<f4"
        return self

    def tobytes(self) -> bytes:
        return self.content.tobytes()


def test_a_file_is_v1s(tmp_path: Path) -> None:
    names.write_v1_files(tmp_path, {"fc_0.w_0": Values(1.5, -2.0), "middle": Values(3.5)})
    assert (tmp_path / "___fc_layer_0__.w0").read_bytes() == struct.pack("<iIQff", 0, 4, 2, 1.5, -2.0)
    assert (tmp_path / "middle").read_bytes() == struct.pack("<iIQf", 0, 4, 1, 3.5)
