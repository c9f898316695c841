"""The runs of a name, numbered on a real directory: who is newer, who came before, whether that one is over."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.pod.gang.protocol.messages import NumberedRun
from launcher.pod.gang.store.record import RecordError
from launcher.pod.gang.store.recorder import Recorder
from launcher.pod.gang.store.runs import Runs, runs_beside
from launcher.pod.outcome import Outcome
from launcher.pod.settings.variables import read_settings
from tests.process.pod.gang.store.test_record import driven
from tests.support.keeping import JOB, Told, generation, home_in, output_in, record_in
from tests.support.waiting import wait_until

PEER_TIMEOUT = 0.3
SUCCESS, FAILURE = Outcome(code=0, reason="every trainer is done"), Outcome(code=7, reason="trainer 1 ended with 7")
OLD, NEW = "uid-old", "uid-new"


def runs(top: Path, key: str, namespace: str = "team-a") -> Runs:
    return Runs(record=record_in(top, key), peer_timeout=PEER_TIMEOUT, namespace=namespace)


def begun(top: Path, key: str = OLD) -> Runs:
    """Return a run that came as far as a generation."""
    made = runs(top, key)
    made.enter()
    made.record.make(generation(1))
    return made


def numbers(top: Path) -> list[str]:
    return sorted(path.name for path in (top / JOB / f"output/.launcher/{JOB}.runs").iterdir())


def test_keys_are_numbered_one_above_the_other_and_each_once(tmp_path: Path) -> None:
    assert [runs(tmp_path, key).enter() for key in (OLD, OLD, NEW, OLD, "third", NEW)] == [1, 1, 2, 1, 3, 2]
    assert numbers(tmp_path) == ["now", "run-1.json", "run-2.json", "run-3.json"]
    assert sorted(path.name for path in home_in(tmp_path, OLD).iterdir()) == ["run-number", "verdict.spare"]


def test_a_run_says_whose_it_is_and_by_which_limits_it_lives(tmp_path: Path) -> None:
    runs(tmp_path, OLD).enter()
    lines = (tmp_path / JOB / f"output/.launcher/{JOB}.runs/run-1.json").read_text().splitlines()
    assert json.loads(lines[0]) == {"record": 1, "key": OLD, "job": JOB}
    assert json.loads(lines[1]) == {
        "version": 1,
        "run": {"number": 1, "key": OLD, "namespace": "team-a", "peer_timeout": 0.3},
    }


def test_who_has_a_higher_number_has_overtaken_the_others(tmp_path: Path) -> None:
    old, new = runs(tmp_path, OLD), runs(tmp_path, NEW, "team-b")
    assert old.newer() is None  # it has no number yet
    old.enter()
    assert old.newer() is None
    new.enter()
    assert old.newer() == NumberedRun(number=2, key=NEW, namespace="team-b", peer_timeout=0.3)
    assert new.newer() is None


def test_a_higher_number_counts_before_its_file_is_seen(tmp_path: Path) -> None:
    """The client of a network volume remembers for a while that there was none."""
    old = runs(tmp_path, OLD)
    old.enter()
    runs(tmp_path, NEW).enter()
    (tmp_path / JOB / f"output/.launcher/{JOB}.runs/run-2.json").unlink()
    newer = old.newer()
    assert newer
    assert (newer.number, newer.key) == (2, "unknown")


def test_a_leader_that_died_after_any_step_of_entering_enters_with_one_number_in_the_end(tmp_path: Path) -> None:
    count = int(driven(KILLS, tmp_path))
    assert count > 8
    for effect in range(count):
        volume = tmp_path / str(effect)
        assert runs(volume, NEW).enter() == 1
        assert [name for name in numbers(volume) if not name.startswith(".")] == ["now", "run-1.json"]


KILLS = """
import sys
from pathlib import Path
from tests.process.pod.gang.store.test_runs_of_a_name import NEW, runs
from tests.support.keeping import killed_at

for effect in range(1000):
    volume = Path(sys.argv[1]) / str(effect)
    volume.mkdir()
    if not killed_at(effect, runs(volume, NEW).enter):
        break
print(effect)
"""

RACE = """
import json, multiprocessing, sys
from pathlib import Path
from tests.process.pod.gang.store.test_runs_of_a_name import runs

fork = multiprocessing.get_context("fork")

def enter(mine, together, answers):
    together.wait()
    answers.put(runs(Path(sys.argv[1]), f"key-{mine}").enter())

together, answers = fork.Barrier(8), fork.SimpleQueue()
racers = [fork.Process(target=enter, args=(mine, together, answers)) for mine in range(8)]
for racer in racers:
    racer.start()
print(json.dumps([answers.get() for _ in racers]))
for racer in racers:
    racer.join()
"""


def test_eight_keys_that_enter_at_once_get_eight_numbers(tmp_path: Path) -> None:
    assert sorted(json.loads(driven(RACE, tmp_path))) == list(range(1, 9))


def again(run: Runs) -> None:
    run.rest(1)
    run.record.make(generation(2))


OVER: dict[str, tuple[Callable[[Runs], object], bool]] = {
    "it made a generation, and says no more": (lambda run: None, False),
    "nothing of it runs": (lambda run: run.rest(1), True),
    "nothing of its first generation runs, and there is a second": (again, False),
    "it is done": (lambda run: run.record.seal(SUCCESS), True),
    "it failed, and its programs may be in their grace": (lambda run: run.record.seal(FAILURE), False),
}


@pytest.mark.parametrize("case", OVER)
def test_the_run_before_is_over_when_it_says_so(tmp_path: Path, case: str) -> None:
    act, over = OVER[case]
    act(begun(tmp_path))
    new = runs(tmp_path, NEW)
    found = new.predecessor(new.enter())
    assert found
    assert (found.run.key, found.over) == (OLD, over)


def test_a_counter_that_moves_is_seen_at_the_next_look(tmp_path: Path) -> None:
    old, new = begun(tmp_path), runs(tmp_path, NEW)
    number = new.enter()
    seen = [new.predecessor(number)]
    for counter in (0, 1, 0):
        old.move(counter)
        seen.append(new.predecessor(number))
    assert len({each.counters for each in seen if each}) == 4
    assert new.predecessor(number) == seen[-1]


def test_a_run_that_began_nothing_is_passed_over(tmp_path: Path) -> None:
    begun(tmp_path)
    runs(tmp_path, "between").enter()
    new = runs(tmp_path, NEW)
    found = new.predecessor(new.enter())
    assert found
    assert found.run.key == OLD


def test_a_record_that_was_moved_away_holds_up_nobody(tmp_path: Path) -> None:
    begun(tmp_path)
    home_in(tmp_path, OLD).rename(tmp_path / "away")
    new = runs(tmp_path, NEW)
    assert new.predecessor(new.enter()) is None


@pytest.mark.parametrize(("sealed", "over"), [(SUCCESS, True), (FAILURE, True), (None, False)])
def test_a_run_without_a_number_was_of_a_launcher_that_moved_no_counter(
    tmp_path: Path, sealed: Outcome | None, over: bool
) -> None:
    left = record_in(tmp_path, OLD)
    left.make(generation(1))
    if sealed:
        left.seal(sealed)
    new = runs(tmp_path, NEW)
    found = new.predecessor(new.enter())
    assert found
    assert (str(found.run), found.over, found.run.peer_timeout) == (f"the run of key {OLD}", over, PEER_TIMEOUT)


def test_jobs_that_share_a_directory_of_records_do_not_overtake_each_other(tmp_path: Path) -> None:
    mine = Runs(record=record_in(tmp_path, OLD), peer_timeout=PEER_TIMEOUT)
    mine.enter()
    theirs = Runs(record=record_in(tmp_path, NEW, job="other"), peer_timeout=PEER_TIMEOUT)
    elsewhere = Runs(record=record_in(tmp_path, NEW), peer_timeout=PEER_TIMEOUT)
    assert theirs.enter() == 1
    assert mine.newer() is None
    assert elsewhere.enter() == 2


@pytest.mark.parametrize("name", ["run-1.json", "now"])
def test_what_no_launcher_wrote_is_refused_with_the_path(tmp_path: Path, name: str) -> None:
    runs(tmp_path, OLD).enter()
    file = tmp_path / JOB / f"output/.launcher/{JOB}.runs" / name
    file.write_bytes(b"what is this\n")
    with pytest.raises(RecordError) as caught:
        runs(tmp_path, NEW).predecessor(runs(tmp_path, NEW).enter())
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(("told", "namespace"), [({"JOB_NAMESPACE": "team-c"}, "team-c"), ({}, "")])
def test_a_run_is_named_by_its_namespace_where_it_is_known(
    tmp_path: Path, told: dict[str, str], namespace: str
) -> None:
    base = {"LAUNCHER_PEERS": "self", "JOB_NAME": JOB, "JOB_PATH": str(tmp_path), "LAUNCHER_PEER_TIMEOUT": "6"}
    made = runs_beside(record_in(tmp_path, NEW), read_settings({**base, **told}, ["--", "true"]))
    assert (made.namespace, made.peer_timeout) == (namespace, 6.0)


# Behind the record's thread.


class Looks:
    """A recorder, looked at again and again as a leader does."""

    def __init__(self, top: Path, key: str) -> None:
        self.told = Told()
        self.recorder = Recorder(
            record_in(top, key), lambda: None, self.told, runs=runs(top, key), output=output_in(top)
        )

    def until(self, check: Callable[[], object]) -> None:
        def look() -> bool:
            self.recorder.look()
            return bool(check())

        wait_until(look)


def test_a_first_run_is_held_only_until_its_record_is_read_and_made(tmp_path: Path) -> None:
    looks = Looks(tmp_path, NEW)
    assert looks.recorder.facts.held == "the gang's record on the volume is not read yet"
    looks.until(lambda: looks.recorder.facts.known)
    assert looks.recorder.facts.held  # only a leader makes a run
    looks.recorder.begin()
    looks.until(lambda: not looks.recorder.facts.held)
    assert numbers(tmp_path) == ["now", "run-1.json"]


def test_a_run_waits_while_the_counter_moves_and_for_its_limits_after_that(tmp_path: Path) -> None:
    old = begun(tmp_path)
    looks = Looks(tmp_path, NEW)
    looks.recorder.begin()
    looks.until(lambda: "run 1 of this name" in looks.recorder.facts.held)
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        moved = time.monotonic()
        old.move(0)
        looks.recorder.look()
        assert looks.recorder.facts.held
        time.sleep(0.05)  # the pace of a counter
    looks.until(lambda: not looks.recorder.facts.held)
    assert time.monotonic() - moved >= PEER_TIMEOUT * 5 / 3


def test_a_run_that_began_already_waits_for_none(tmp_path: Path) -> None:
    begun(tmp_path)
    begun(tmp_path, NEW)
    looks = Looks(tmp_path, NEW)
    looks.recorder.begin()
    looks.until(lambda: not looks.recorder.facts.held)


def test_who_is_overtaken_has_a_verdict_and_makes_no_generation(tmp_path: Path) -> None:
    looks = Looks(tmp_path, OLD)
    looks.recorder.begin()
    looks.until(lambda: not looks.recorder.facts.held)
    runs(tmp_path, NEW, "team-b").enter()
    looks.recorder.wish_generation(generation(1))
    looks.until(lambda: looks.recorder.facts.sealed)
    sealed = looks.recorder.facts.sealed
    assert sealed
    assert sealed.code == 76
    assert "run 2 of this name (key uid-new, namespace team-b) has begun" in sealed.reason
    assert looks.recorder.facts.made == 0
    assert record_in(tmp_path, OLD).verdict() is None


def test_a_verdict_that_stands_holds_though_a_newer_run_began(tmp_path: Path) -> None:
    begun(tmp_path).record.seal(SUCCESS)
    runs(tmp_path, NEW).enter()
    looks = Looks(tmp_path, OLD)
    looks.until(lambda: looks.recorder.facts.known)
    assert looks.recorder.facts.sealed == SUCCESS


def test_a_generation_counts_as_made_only_if_no_newer_run_began_before_it_stood(tmp_path: Path) -> None:
    """The leader slept while it made it, and the newer run saw a record without it."""

    def asleep(new: str, name: str, **more: int) -> None:
        os.link(new, name, **more)  # type: ignore[arg-type]
        if name == "gen-1.json":
            runs(tmp_path, NEW).enter()

    slow = Runs(record=record_in(tmp_path, OLD, link=asleep), peer_timeout=PEER_TIMEOUT)
    recorder = Recorder(slow.record, lambda: None, Told(), runs=slow)
    recorder.begin()
    wait_until(lambda: not recorder.facts.held)
    recorder.wish_generation(generation(1))
    wait_until(lambda: recorder.facts.sealed is not None)
    assert recorder.facts.made == 0


def test_counters_move_at_each_look_and_the_rest_is_written_once_it_is_wished(tmp_path: Path) -> None:
    looks = Looks(tmp_path, OLD)
    looks.recorder.keep(1, 0)
    home = home_in(tmp_path, OLD)
    looks.until(lambda: (home / "counter-1").exists() and int((home / "counter-1").read_text()) > 2)
    looks.recorder.keep(None, 4)
    looks.recorder.settle(time.monotonic() + 10)
    assert (home / "rest").read_text() == "0000000004\n"
    stands = (home / "counter-1").read_text()
    for _ in range(3):
        looks.recorder.look()
        looks.recorder.settle(time.monotonic() + 10)
    assert (home / "counter-1").read_text() == stands
    assert not (home / "counter-0").exists()


def test_a_restarted_leader_moves_the_counter_on(tmp_path: Path) -> None:
    runs(tmp_path, OLD).move(0)
    runs(tmp_path, OLD).move(0)
    assert (home_in(tmp_path, OLD) / "counter-0").read_text() == "0000000002\n"
