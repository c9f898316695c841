"""What is answered instead of living."""

from __future__ import annotations

import pytest

from launcher.pod.settings.help import HELP, answer


@pytest.mark.parametrize(
    ("arguments", "expected"), [(["-h"], HELP), (["--help"], HELP), (["--help", "--x"], ""), ([], "")]
)
def test_help_is_for_who_asks_for_nothing_else(arguments: list[str], expected: str) -> None:
    assert answer(arguments) == expected


def test_the_version_is_the_distributions() -> None:
    assert answer(["--version"]).startswith("start_paddle 0.1")
