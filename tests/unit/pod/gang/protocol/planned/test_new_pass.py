"""Whether a pass came since something waits for one."""

from __future__ import annotations

import pytest

from launcher import here
from launcher.pod.gang.protocol.messages import Marks
from launcher.pod.gang.protocol.planned.new_pass import NOT_SAVED, SAVED, PassLook, all_saved, looked
from launcher.pod.gang.protocol.state import Recorded
from tests.support.gang_world.views import NOW, view


def after(before: PassLook, newest: int | None, read: float, now: float) -> PassLook:
    return looked(before, view(now=now, record=Recorded(newest=newest, read=read)))


def test_the_first_look_counts_the_passes_and_later_ones_see_whether_there_are_more() -> None:
    asked = after(PassLook(), None, 0.0, NOW)
    assert asked == PassLook(asked=NOW)
    assert after(asked, 3, NOW - 1, NOW + 2) == asked, "an older look says nothing"
    first = after(asked, 3, NOW, NOW + 0.5)
    assert first == PassLook(asked=NOW, first=4)
    again = after(first, 3, NOW, NOW + 1)
    assert again == PassLook(asked=NOW + 1, first=4)
    assert after(again, 4, NOW + 1, NOW + 1.5).came
    assert after(PassLook(asked=NOW, first=4, came=True), 3, NOW, NOW).came, "a volume may not show it for a moment"


STEP = f"{SAVED}3)"


@pytest.mark.parametrize(
    ("marks", "saved"),
    [
        ((), False),
        ((Marks(at=(STEP,)), Marks(at=(STEP,))), True),
        ((Marks(at=("other", STEP)), Marks(at=(STEP,))), True),
        ((Marks(at=(STEP,)), Marks()), False),
        ((Marks(at=(STEP,)), Marks(at=(f"{SAVED}4)",))), False),
        ((Marks(at=("here.saving ends (3)",)),) * 2, False),
        ((Marks(at=(STEP,)), Marks(at=(STEP,), shared={NOT_SAVED.format(STEP): '"trainer 1: full"'})), False),
    ],
)
def test_a_pass_is_saved_when_all_stand_at_the_last_step_and_it_failed_nowhere(
    marks: tuple[Marks, ...], saved: bool
) -> None:
    assert all_saved(marks) is saved


def test_these_are_the_names_that_programs_use(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []
    monkeypatch.setattr(here, "barrier", lambda name: named.append(name))
    monkeypatch.setattr(here, "share", lambda key, value: named.append(key))
    with pytest.raises(OSError, match="full"), here._together("is complete"):
        raise OSError("full")
    failed, step = named
    assert step.startswith(SAVED)
    assert failed == NOT_SAVED.format(step)
