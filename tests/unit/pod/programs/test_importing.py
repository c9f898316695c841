"""What is ours stands last on a program's PYTHONPATH."""

from __future__ import annotations

import pytest

from launcher.pod.programs.plan import importing


@pytest.mark.parametrize(
    ("given", "found"), [({}, "/ours"), ({"PYTHONPATH": ""}, "/ours"), ({"PYTHONPATH": "/a:/b"}, "/a:/b:/ours")]
)
def test_ours_stands_behind_what_a_program_has(given: dict[str, str], found: str) -> None:
    assert importing({"A": "1", **given}, "/ours") == {"A": "1", "PYTHONPATH": found}
