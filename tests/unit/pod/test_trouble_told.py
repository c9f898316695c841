"""Trouble that lasts: told once for each reason, and once when it is over."""

from __future__ import annotations

from launcher.pod.log import TroubleTold


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
