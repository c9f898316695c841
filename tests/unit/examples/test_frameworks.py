"""The examples without parameter servers: short enough to be read at a glance."""

from __future__ import annotations

import pytest

from tests.real.frameworks import ALL, Example


@pytest.mark.parametrize("example", ALL, ids=lambda each: each.folder)
def test_a_program_is_a_file_of_at_most_eighty_lines_and_alone_in_its_folder(example: Example) -> None:
    assert len(example.program.read_text().splitlines()) <= 80
    assert [path.name for path in example.program.parent.iterdir() if path.suffix == ".py"] == ["train.py"]
    assert len(example.alone) == 5
