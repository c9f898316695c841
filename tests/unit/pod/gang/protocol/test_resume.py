"""From which pass a gang goes on, given what each member sees."""

from __future__ import annotations

import pytest

from launcher.pod.gang.protocol.leader_state import resume_for


@pytest.mark.parametrize(
    ("seen", "resume"),
    [
        ([], None),
        ([None, None], None),
        ([()], None),
        ([(0,)], 0),
        ([(1, 2, 3), (1, 2, 3)], 3),
        ([(1, 2, 3), (1, 2)], 2),
        ([(1, 2, 3), None, (2, 3)], 3),
        ([(1, 2, 3), ()], None),
        ([(1, 2), (3, 4)], None),
        ([(1, 3), (2, 3, 4), (1, 2, 3)], 3),
    ],
)
def test_the_newest_pass_counts_that_every_member_with_a_volume_sees(
    seen: list[tuple[int, ...] | None], resume: int | None
) -> None:
    assert resume_for(seen) == resume
