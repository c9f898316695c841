"""Trouble and waits that last: told once for each reason."""

from __future__ import annotations

from launcher.pod.log import LASTING, TroubleTold, WaitTold


def test_trouble_is_told_once_for_each_reason_and_when_it_is_over() -> None:
    told: list[tuple[str, dict[str, object]]] = []
    trouble = TroubleTold(lambda event, **facts: told.append((event, facts)), "begins", "ends", path="/x")
    assert not trouble.over()
    for reason in ("full", "full", "hangs", "full"):
        trouble.tell(reason, meanwhile="y")
    assert trouble.over(lost=3)
    assert not trouble.over()
    trouble.tell("full")
    assert told == [
        ("begins", {"path": "/x", "error": "full", "meanwhile": "y"}),
        ("begins", {"path": "/x", "error": "hangs", "meanwhile": "y"}),
        ("ends", {"path": "/x", "lost": 3}),
        ("begins", {"path": "/x", "error": "full"}),
    ]


def test_what_is_waited_for_is_told_once_for_each_change_and_only_where_it_lasts() -> None:
    told: list[tuple[float, object]] = []
    now = 0.0
    waits = WaitTold(lambda event, **facts: told.append((now, facts["reason"])))
    due: list[float | None] = []
    for now, reason in (
        (0.0, "a"),
        (4.0, "a"),
        (5.0, "a"),
        (9.0, "a"),
        (10.0, "b"),
        (12.0, "a"),
        (30.0, "a"),
        (31.0, ""),
        (32.0, "a"),
        (36.0, "c"),
        (41.0, "c"),
        (42.0, "a"),
        (47.5, "a"),
    ):
        due.append(waits.look(reason, now))
    assert told == [(5.0, "a"), (41.0, "c"), (47.5, "a")]
    assert LASTING == 5
    assert due == [5.0, 5.0, None, None, 15.0, None, None, None, 37.0, 41.0, None, 47.0, None]
