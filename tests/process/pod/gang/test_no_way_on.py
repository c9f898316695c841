"""Trainers that wait for what can never come: the generation ends and says which, and all start again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.outcomes import restarts

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
def test_a_barrier_that_waits_for_a_trainer_that_is_done(tmp_path: Path, rank: int) -> None:
    """As where one has fewer batches than the others, the commonest mistake of all."""
    with gang(3, tmp_path, faults=[Fault("pass 1", "exit 0", rank=rank)]) as g:
        restarts(g, f"trainer {rank} is done, and the others wait for it at a barrier", first=1)
        cause = g.events("generation_made")[1]["cause"]
        assert "pass-1" in cause
        assert f"trainer {rank} is done" in cause
