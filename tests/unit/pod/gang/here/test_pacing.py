"""Steps and seconds out of what programs report, and what the rest of their time goes into."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.gang.here.pacing import LISTENING, Pacing
from launcher.pod.gang.here.requests import Report, Stepping
from launcher.pod.gang.protocol.messages import Pace


def told(steps: int, busy: float = 0.0, phase: str = "", *, lasts: bool = False, process: int = 7) -> Report:
    return Report(facts={}, stepping=Stepping(process=process, steps=steps, busy=busy, phase=phase, lasts=lasts))


def after(*reports: Report, own: float = 0.0) -> Pacing:
    pacing = Pacing()
    for report in reports:
        pacing = pacing.reported(report, own)
    return pacing


def test_nothing_is_published_of_a_program_that_reports_no_steps() -> None:
    assert Pacing().pace is None
    assert after(Report(facts={"loss": 0.5})).pace is None


def test_what_here_step_tells_is_the_pace() -> None:
    pacing = after(told(3, 0.3, "compute"), told(5, 0.5, "data"), told(5, 0.5, "data", lasts=True))
    assert pacing.pace == Pace(steps=5, busy=0.5, phase="data")


def test_the_processes_of_a_trainer_are_added_up_and_one_that_begins_anew_goes_on() -> None:
    assert after(told(3, 0.3), told(4, 0.4, process=8), told(5, 0.5), told(1, 0.1, process=8)).pace == Pace(
        steps=10, busy=1.0
    )


TABLE: Mapping[str, tuple[list[Mapping[str, float | str]], int]] = {
    "the first report begins": ([{"step": 7}], 0),
    "larger steps are the difference": ([{"pass": 0, "step": step} for step in (7, 9, 19)], 12),
    "another pass is one": ([{"pass": 0, "step": 7}, {"pass": 1, "step": 50}], 1),
    "a step counted anew is one": ([{"step": 7}, {"step": 2}], 1),
    "passes alone are steps": ([{"pass": 0}, {"pass": 1}, {"pass": 5}], 2),
    "a step can be a text": ([{"step": "a"}, {"step": "b"}], 1),
    "or a part": ([{"step": 0.5}, {"step": 0.75}, {"step": 3.75}], 4),
    "what does not change is none": ([{"step": 7}, {"step": 7, "loss": 0.5}, {"step": 7, "loss": 0.25}], 0),
}


@pytest.mark.parametrize(("facts", "steps"), TABLE.values(), ids=TABLE)
def test_reported_steps_are_counted(facts: list[Mapping[str, float | str]], steps: int) -> None:
    assert after(*(Report(facts=each) for each in facts)).steps == steps


def test_the_time_since_the_first_report_is_work_until_the_last_step() -> None:
    pacing = Pacing()
    for step, own in ((0, 100.0), (1, 102.0), (1, 105.0), (2, 107.5), (2, 200.0)):
        pacing = pacing.reported(Report(facts={"step": step}), own)
    assert pacing.pace == Pace(steps=2, busy=7.5, counted=True)


def test_a_program_that_steps_is_not_counted_by_its_reports() -> None:
    facts = [Report(facts={"step": number}, stepping=told(number).stepping) for number in range(1, 6)]
    assert after(*facts).steps == 5


def test_one_that_only_saves_is_counted_by_its_reports() -> None:
    saving = Report(facts={"step": 1}, stepping=told(0, phase="saving", lasts=True).stepping)
    pacing = after(Report(facts={"step": 0}), saving, Report(facts={"step": 9}))
    assert (pacing.steps, pacing.phase) == (9, "saving")


DOING = [
    ("saving", True, (), "saving"),
    ("save", True, (), "saving"),
    ("save", False, (), ""),
    ("saving", True, ("who",), "saving"),
    ("compute", True, (), ""),
    ("", True, (), ""),
    ("compute", True, ("who",), "barrier"),
    ("data", True, (), "aside"),
    ("data", False, (), ""),
    ("evaluate", True, ("who",), "barrier"),
]


@pytest.mark.parametrize(("phase", "lasts", "waits", "doing"), DOING)
def test_what_time_goes_into(phase: str, lasts: bool, waits: tuple[str, ...], doing: str) -> None:
    assert after(told(1, phase=phase, lasts=lasts)).waiting(waits).doing == doing


def test_a_wait_during_which_steps_go_on_is_that_of_a_listener() -> None:
    pacing = after(told(1)).waiting(["listener"])
    for steps in range(2, 2 + LISTENING):
        assert pacing.doing == "barrier"
        pacing = pacing.reported(told(steps), 0.0).waiting(["listener"])
    assert pacing.doing == ""
    assert pacing.waiting(["listener", "other"]).doing == "barrier"
    assert pacing.waiting(["other"]).waiting(["listener"]).doing == "barrier", "it waits anew"


@given(
    st.lists(
        st.builds(
            told,
            st.integers(0, 1000),
            st.floats(0, 1000),
            st.sampled_from(["", "compute", "data", "saving"]),
            lasts=st.booleans(),
            process=st.integers(1, 100),
        ),
        max_size=200,
    )
)
def test_whatever_is_reported_steps_and_seconds_only_grow(reports: list[Report]) -> None:
    pacing = Pacing()
    for report in reports:
        now = pacing.reported(report, 0.0)
        assert now.steps >= pacing.steps
        assert now.busy >= pacing.busy
        assert len(now.processes) <= 64
        pacing = now
