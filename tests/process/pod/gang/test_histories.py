"""What the programs of a gang note of themselves is held, of every gang: what is wrong in it is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.gangs import Fault, gang
from tests.support.outcomes import is_done

pytestmark = pytest.mark.timeout(60)


def test_every_program_notes_that_it_begins_runs_and_ends(tmp_path: Path) -> None:
    with gang(3, tmp_path, pservers=1, faults=[Fault("pass 1", "exit 7", rank=1)]) as g:
        is_done(g)
    told = {(each.generation, each.role, each.rank): each for each in g.history()}
    assert {who: each.code for who, each in told.items() if who[1] == "trainer"} == {
        (1, "trainer", 0): None,
        (1, "trainer", 1): 7,
        (2, "trainer", 0): 0,
        (2, "trainer", 1): 0,
    }
    assert [who for who in told if who[1] == "pserver"] == [(1, "pserver", 0), (2, "pserver", 0)]
    assert {each.run for each in told.values()} == {g.run}
    boots = {each.address: each.boot for each in told.values()}
    assert [each.boot for each in told.values()] == [boots[each.address] for each in told.values()]
    assert len(set(boots.values())) == 3


def is_done_with(top: Path, *faults: Fault, **more: Any) -> None:  # noqa: ANN401  # as `gang` takes them
    """Let a gang suffer this, and come to a good end all the same."""
    with gang(3, top, faults=faults, seconds=0.1, **more) as g:
        is_done(g)


def test_a_process_of_the_next_generation_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"two at once: \w+ \d of generation 1 .* trainer 1 of generation 2"):
        is_done_with(tmp_path, Fault("pass 1", "double", rank=1))


def test_a_process_of_another_run_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"two at once: .* after trainer 1 of generation 1 of run 7a2f0c3e"):
        is_done_with(tmp_path, Fault("pass 1", "double 7a2f0c3e", rank=1))


def test_a_verdict_that_is_not_true_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="pod-0 says 0, but trainer 1 ended with 9"):
        is_done_with(tmp_path, Fault("end", "lie 9", rank=1))


def test_a_failure_that_was_none_is_found(tmp_path: Path) -> None:
    """All notes are of a good end; that the trainer ends with 7 all the same nobody sees but its launcher."""
    lies = [Fault("end", each, rank=1) for each in ("lie 0", "wait", "exit 7")]
    with pytest.raises(AssertionError, match=r"pod-\d says 7, but every trainer ended well"):
        fails_when_the_other_is_done(tmp_path, lies)


def fails_when_the_other_is_done(top: Path, faults: Sequence[Fault]) -> None:
    """Let a gang of two without restarts suffer this, in its last trainer's last moment."""
    with gang(2, top, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "0"}) as g:
        g.wait(lambda: g.launcher(0).status().get("trained") == 1)
        g.go()
        assert g.verdict()[0] == 7


def test_a_gang_whose_trainers_note_nothing_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="trainers ran, and noted nothing"):
        is_done_with(tmp_path, env={"GANG_HISTORY": ""})
