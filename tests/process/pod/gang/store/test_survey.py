"""The look at the passes before a start: a volume in trouble has a minute to be well again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.pod.gang.store.record import RecordError
from launcher.pod.gang.store.store import PAUSE, SURVEY_PATIENCE, Store
from launcher.pod.settings.variables import read_settings
from tests.support.keeping import JOB, Told


class Time:
    """A clock that only sleeping moves on; something happens at one moment of it."""

    def __init__(self, at: float, act: Callable[[], object]) -> None:
        self.now = 0.0
        self._at, self._act = at, act

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now == self._at:
            self._act()


def store(top: Path, told: Told, time: Time) -> Store:
    """Return the store of a job whose output is a file, which is no place for passes."""
    (top / JOB).mkdir()
    (top / JOB / "output").touch()
    settings = read_settings({"LAUNCHER_PEERS": "self", "JOB_NAME": JOB, "JOB_PATH": str(top)}, ["--", "true"])
    return Store(settings, lambda: None, told, clock=time.clock, sleep=time.sleep)


def test_trouble_that_passes_within_a_minute_is_told_once_and_stops_nothing(tmp_path: Path) -> None:
    told, time = Told(), Time(40, lambda: (tmp_path / JOB / "output").unlink())
    assert store(tmp_path, told, time).survey(leads=True) == ()
    assert told.names() == ["record_trouble", "record_back"]
    assert "links are not followed here" in told[0][1]["error"]
    assert time.now == 40


def test_trouble_that_stays_for_a_minute_is_the_end(tmp_path: Path) -> None:
    told, time = Told(), Time(-1, lambda: None)
    with pytest.raises(RecordError, match="links are not followed here"):
        store(tmp_path, told, time).survey(leads=True)
    assert told.names() == ["record_trouble"]
    assert SURVEY_PATIENCE <= time.now < SURVEY_PATIENCE + PAUSE
