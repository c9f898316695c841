"""Gangs of programs that ask their launchers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.asking import Gang


@pytest.fixture
def start_gang() -> Iterator[Callable[[int], Gang]]:
    """Start gangs, and leave nothing of them."""
    gangs: list[Gang] = []

    def start(trainers: int) -> Gang:
        gangs.append(Gang(trainers))
        return gangs[-1]

    yield start
    for gang in gangs:
        gang.close()
