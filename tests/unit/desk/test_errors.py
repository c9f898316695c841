"""A sentence names a parameter as the side spells it that shows the sentence."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from launcher.desk.arguments import Parser
from launcher.desk.errors import PARAMETER_FLAGS, Problem, as_flag
from launcher.desk.verbs import submit
from launcher.job import JobError, PaddleJob
from launcher.job.description import Job
from launcher.job.problem import Parameter

RIGHT = {"job_name": "a", "runtime_image": "your-repo/paddle:mypaddle", "entry_point": "python train.py"}


@pytest.mark.parametrize(
    ("wrong", "in_python", "typed"),
    [
        ({"cpu_nums": "0"}, "cpu_nums='0': ", "-cpu 0: "),
        ({"job_name": "my_job"}, "job_name='my_job': ", "-jobname my_job: "),
        ({"entry_point": ""}, "entry_point='': ", "-entry '': "),
        ({"trainers": 0}, "trainers=0: ", "-parallelism 0: "),
        (
            {"topology": "t.py"},
            "topology='t.py' is for Paddle's v1, entry_point='python train.py' is not",
            "-topology t.py is for Paddle's v1, -entry 'python train.py' is not",
        ),
        (
            {"topology": "t.py", "entry_point": ""},
            "expected a writable one in volumes",
            "expected a writable one in `volume:` of the datacenter's configuration",
        ),
        (
            {"trainer_package_path": "p"},
            "trainer_package_path='p' is relative",
            "the package p is relative",
        ),
        (
            {"env": {"JOB_NAME": "x"}},
            "env has JOB_NAME: that is set by job_name",
            "-env has JOB_NAME: that is set by -jobname",
        ),
        (
            {"pod": {"spec": {"containers": [{"name": "trainer", "args": ["x"]}]}}},
            "pod changes the command of the container trainer: ",
            "-pod changes the command of the container trainer: ",
        ),
        ({"env_from": "A"}, "env_from='A': expected", "-env-from A: expected"),
        ({"job_path": "x"}, "job_path='x': ", "job_path='x': "),  # no flag says it
    ],
)
def test_each_side_spells_its_own_parameters(wrong: dict[str, Any], in_python: str, typed: str) -> None:
    with pytest.raises(JobError) as caught:
        PaddleJob(**{**RIGHT, **wrong})
    assert in_python in str(caught.value)
    assert typed in "\n".join(caught.value.spelled(as_flag))


def test_a_switch_is_its_flag_alone() -> None:
    problem = Problem("there is one: use ", Parameter("replace", value=True))
    assert str(problem) == "there is one: use replace=True"
    assert problem.spelled(as_flag) == ("there is one: use --replace",)


def test_every_flag_of_a_sentence_is_one_of_submits_and_every_parameter_is_one() -> None:
    parser = Parser()
    submit.arguments(parser)
    flags = {text for text in PARAMETER_FLAGS.values() if text.startswith("-")} - {
        "-namespace",
        "--suspend",
    }  # the last is of scale
    assert flags <= set(parser._option_string_actions)
    assert set(PARAMETER_FLAGS) - {each.name for each in fields(Job)} == {"replace", "suspend"}
