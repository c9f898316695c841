"""What restarts cost: a new pass gives one back, and a program that fails ever alike gets no more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gangs import Fault, Gang, gang
from tests.support.outcomes import ends, is_done, note
from tests.support.pods import JOB

pytestmark = pytest.mark.timeout(120)

BAD = "ValueError: batch # is bad"
ALWAYS = Fault("pass 1", f"fail {BAD}", rank=1, times=0)


def spent(g: Gang) -> list[int]:
    """Return the restarts that count at each start."""
    return [event["restarts"] - event.get("regained", 0) for event in g.events("generation_made")]


def test_a_program_that_fails_ever_alike_ends_all_at_the_third_time_with_its_code_and_the_proof(
    tmp_path: Path,
) -> None:
    with gang(3, tmp_path, faults=[ALWAYS], env={"LAUNCHER_MAX_RESTARTS": "50"}) as g:
        message = ends(
            g,
            "a trainer fails ever alike",
            code=3,
            text="for the third time after pass 0 and with the same last line",
        )
        where = f"node 1 ({g.address(1)})"
        assert message.startswith(f"restarts would not help: trainer 1 exited with 3, on {where}, for the third time")
        assert "; correct the program or its data, and submit the job again\n" in message
        assert message.splitlines()[-1].startswith("ValueError: batch ")
        assert len(g.trace("fault")) == 3
        (verdict,) = g.events("verdict")
        assert "ValueError" not in verdict["reason"]


def test_other_last_words_each_time_go_on_to_the_end_of_the_budget(tmp_path: Path) -> None:
    """A word is no number: it is not taken for the same line."""
    faults = [Fault("pass 1", f"fail {BAD} {word}", rank=1) for word in ("one", "two", "three", "four")]
    with gang(2, tmp_path, faults=faults) as g:
        ends(g, "a trainer fails in ever other words", code=3, text="; no restart of 3 is left")
        assert len(g.trace("fault")) == 4


def test_another_rank_that_fails_in_the_same_way_is_another_failure(tmp_path: Path) -> None:
    faults = [Fault("pass 1", f"fail {BAD}", rank=rank) for rank in (0, 1, 0, 1)]
    with gang(2, tmp_path, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "4"}) as g:
        is_done(g)
        assert len(g.trace("fault")) == 4


def test_a_lost_pod_in_between_does_not_count_and_does_not_begin_the_row_anew(tmp_path: Path) -> None:
    held = Fault("pass 1", "wait", rank=0, generation=2)
    faults = [held, *[Fault("pass 1", f"fail {BAD}", rank=1, generation=each) for each in (1, 3, 4)]]
    with gang(2, tmp_path, process_one=True, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "50"}) as g:
        g.await_trace("fault", do="wait")
        g.launcher(1).kill()
        g.again(1)
        ends(g, "a trainer fails ever alike, and a pod is lost in between", code=3, text="restarts would not help")
        assert len(g.trace("fault", do=f"fail {BAD}")) == 3


def test_a_program_that_is_killed_by_others_is_started_again_as_often_as_it_may_be(tmp_path: Path) -> None:
    with gang(2, tmp_path, faults=[Fault("pass 1", "kill", rank=1, times=4)]) as g:
        ends(g, "a trainer is killed ever again", code=137, text="; no restart of 3 is left")


def test_a_program_that_fails_once_in_each_pass_is_done_with_two_restarts(tmp_path: Path) -> None:
    """Its words are the same each time, but it comes further. Between failures that come soon there are pauses."""
    faults = [Fault(f"pass {number}", f"fail {BAD}", rank=1) for number in range(6)]
    with gang(2, tmp_path, passes=6, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "2"}) as g:
        g.wait(lambda: len(g.trace("fault")) == 6, timeout=90)
        is_done(g, passes=6)
        assert spent(g) == [0, 1, 1, 1, 1, 1, 1]
        assert [event["restarts"] for event in g.events("generation_made")] == list(range(7))


def test_the_last_restart_is_given_back_by_a_pass_that_was_completed_since(tmp_path: Path) -> None:
    faults = [Fault("pass 1", "exit 7", rank=1), Fault("pass 2", "exit 7", rank=1), Fault("end", "exit 7", rank=1)]
    with gang(2, tmp_path, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "1"}) as g:
        is_done(g)
        assert spent(g) == [0, 1, 1, 1]


@pytest.mark.parametrize("facts", [{}, {"LAUNCHER_RESUME": "never"}], ids=["looked at", "nothing to look at"])
def test_a_pod_that_is_lost_with_the_last_restart_is_not_waited_for(tmp_path: Path, facts: dict[str, str]) -> None:
    held = Fault("pass 1", "wait", generation=2, times=0)
    faults = [Fault("pass 1", "exit 7", rank=1), held]
    with gang(3, tmp_path, process_one=True, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "1", **facts}) as g:
        g.await_trace("fault", 3, do="wait")
        at = g.launcher(2).kill()
        g.wait(lambda: None not in [each.code for each in g.places[:2]])
        assert [each.code for each in g.places[:2]] == [76, 76]
        note("a pod is lost with the last restart", "the others end with 76", g.now() - at)
        assert "; no restart of 1 is left" in g.launcher(0).message()


def test_an_output_that_cannot_be_read_holds_the_verdict_no_longer_than_5_s(tmp_path: Path) -> None:
    """The record lies elsewhere, and the output is no directory any more."""
    held = Fault("pass 1", "wait", rank=1, generation=2)
    faults = [Fault("pass 1", "exit 7", rank=1), held, Fault("pass 1", "exit 7", rank=1)]
    env = {"LAUNCHER_MAX_RESTARTS": "1", "LAUNCHER_RECORD": str(tmp_path / "record")}
    (tmp_path / "record").mkdir()
    with gang(2, tmp_path, faults=faults, env=env) as g:
        g.await_trace("fault", do="wait")
        output = g.volume / JOB / "output"
        output.rename(output.with_name("aside"))
        output.symlink_to("aside")
        at = g.go()
        g.wait(lambda: None not in [each.code for each in g.places])
        took = g.now() - at
        output.unlink()
        output.with_name("aside").rename(output)
        ends(g, "the passes cannot be looked at", code=7, text="; no restart of 1 is left")
        assert took > 5
