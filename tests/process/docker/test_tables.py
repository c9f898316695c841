"""The tables of a pod's life once more, where the launcher was brought into an image: what comes through is the same.

In a root of musl and in one of the oldest Debian; the programs are one static program, and each image's own shell.
"""

# ruff: noqa: F401, F811  # the tests and fixtures that are imported are run here, too

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.process.pod.output.test_pump import OUTPUTS
from tests.process.pod.programs.test_guardian import (
    test_a_guardian_hears_no_signal_and_holds_nothing_of_its_launchers,
    test_a_launcher_whose_guardian_is_killed_ends_its_generation_and_gets_another,
)
from tests.process.pod.programs.test_init import (
    test_a_command_inherits_what_it_would_without_a_launcher,
    test_a_command_starts_with_no_signal_blocked_and_none_of_pythons_ignored,
    test_a_command_that_cannot_be_started_is_told_in_a_sentence_with_71,
    test_a_killed_process_1_takes_all_with_it,
    test_a_parent_that_ignores_the_end_of_children_loses_no_exit_code,
    test_closed_standard_files_stay_closed,
    test_what_a_parent_ignores_stays_ignored,
)
from tests.process.pod.programs.test_supervise import (
    JOB,
    listener,
    lives,
    test_a_childs_exit_code_and_its_death_by_a_signal_come_out,
    test_a_grandchild_that_holds_the_pipe_does_not_hold_a_jobs_end,
    test_a_jobs_child_leads_a_session_and_a_group_of_its_own,
    test_a_jobs_children_are_stopped_with_it_until_they_are_continued,
    test_a_jobs_stopped_child_hears_the_term,
    test_a_launcher_that_was_stopped_itself_goes_on_where_it_was,
    test_a_launcher_told_to_stop_ends_with_143_whatever_its_child_makes_of_it,
    test_a_stop_signal_stops_the_command_and_then_the_launcher_until_both_are_continued,
    test_a_stopped_command_hears_the_term_when_it_is_continued,
    test_each_exit_code_and_each_death_by_a_signal_comes_out_of_supervision,
    test_every_catchable_signal_is_passed_on_once,
    test_in_a_job_both_term_and_interrupt_are_a_stop,
    test_in_a_job_the_other_signals_are_passed_on,
    test_term_goes_once_to_the_whole_group_and_kill_after_the_grace,
    test_the_childs_exit_code_is_not_lost_among_orphans_that_end_with_it,
    test_what_a_command_leaves_behind_neither_holds_the_end_nor_stays_and_is_named,
)
from tests.support import roots
from tests.support.lives import CHILDREN, Lives
from tests.support.talking import all_of

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="session", params=[roots.musl, roots.old], ids=["musl", "the oldest Debian"])
def image(request: pytest.FixtureRequest, tree: Path, alone: Path) -> Iterator[roots.Image]:
    """An image's root with the launcher in it."""
    with roots.laid_out(request.param, tree, alone) as image:
        yield image


@pytest.fixture(scope="module")
def world(image: roots.Image) -> Callable[[], Lives]:
    """Where the launchers of these tests are."""
    return partial(roots.Within, image)


@pytest.fixture
def codes(image: roots.Image) -> tuple[str, ...]:
    """The words that supervise ends of every kind, by the launcher's own Python."""
    return (*image.enter, *image.inside, roots.PYTHON, str(CHILDREN / "codes.py"), str(image.alone), "ender")


def test_what_a_program_says_comes_out_and_is_in_its_log_byte_for_byte(
    lives: Lives, image: roots.Image, tmp_path: Path
) -> None:
    output = b"".join(OUTPUTS.values())
    (tmp_path / "said").write_bytes(output)
    for name in ("volume", "work"):
        (tmp_path / name).mkdir()
    env = {**JOB, "JOB_NAME": "job", "JOB_PATH": str(tmp_path / "volume"), "LAUNCHER_WORKDIR": str(tmp_path / "work")}
    life = lives.start(str(image.alone), "say", str(tmp_path / "said"), env=env)
    assert all_of(life) == output
    assert life.end() == 0, life.err()
    assert (tmp_path / "volume" / "job" / "output" / "node_0" / "train.log").read_bytes() == output
