"""Whose record a launcher keeps: the key may change until the gang has met."""

from __future__ import annotations

from pathlib import Path

from launcher.pod.gang.store.store import Store
from launcher.pod.outcome import Outcome
from launcher.pod.settings.variables import read_settings
from tests.support.keeping import JOB, Told, generation, record_in
from tests.support.waiting import wait_until

OLD, NEW = "the-last-run", "this-run"


def store(top: Path) -> Store:
    settings = read_settings({"LAUNCHER_PEERS": "self", "JOB_NAME": JOB, "JOB_PATH": str(top)}, ["--", "true"])
    return Store(settings, lambda: None, Told())


def test_until_the_gang_has_met_another_key_opens_another_record(tmp_path: Path) -> None:
    """A pserver may see the last run's trainers first."""
    record_in(tmp_path, OLD).make(generation(3))
    record_in(tmp_path, OLD).seal(Outcome(code=0, reason="every trainer is done"))
    opened = store(tmp_path)
    opened.open(OLD)
    wait_until(lambda: opened.facts.sealed is not None)
    opened.open(NEW)
    wait_until(lambda: opened.facts.known)
    assert (opened.facts.sealed, opened.facts.highest) == (None, 0)


def test_a_gang_that_has_met_keeps_its_record(tmp_path: Path) -> None:
    record_in(tmp_path, NEW).make(generation(2))
    opened = store(tmp_path)
    opened.open(NEW, met=True)
    wait_until(lambda: opened.facts.known)
    opened.open(OLD)
    opened.open(OLD, met=True)
    assert opened.facts.highest == 2
