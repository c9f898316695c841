"""A program that stands on a volume since 0.1.0, as the examples of then do, finds the names that it imports."""

from __future__ import annotations

import importlib

import pytest

from launcher.bridge import engine, failure, fleet_role
from launcher.contract import DONE_FILE
from launcher.dataset import problem


@pytest.mark.parametrize(
    ("module", "name", "now"),
    [
        ("launcher.bridge.place", "Place", fleet_role.FleetRole),
        ("launcher.bridge.place", "place_of", fleet_role.fleet_role),
        ("launcher.bridge.failure", "DATA", failure.BAD_DATA),
        ("launcher.bridge.failure", "Failure", failure.TrainingFailure),
        ("launcher.bridge.passes", "DONE", DONE_FILE),
        ("launcher.dataset.problem", "Misuse", problem.DatasetMisuse),
    ],
)
def test_a_name_of_0_1_0_is_still_there(module: str, name: str, now: object) -> None:
    assert getattr(importlib.import_module(module), name) is now


def test_a_session_still_has_its_role_as_its_place() -> None:
    session = engine.Session.__new__(engine.Session)
    session.role = fleet_role.FleetRole(rank=2, trainers=3)
    assert session.place is session.role
