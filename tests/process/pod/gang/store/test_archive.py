"""What a finished run left makes way for a new one: only by renames, at any moment repeatable, nothing ever lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import pytest

from launcher.pod.gang.store.archive import Moved, make_way
from launcher.pod.gang.store.passes import complete
from launcher.pod.gang.store.record import RecordError, on_volume
from launcher.pod.outcome import Outcome
from launcher.safefs.small_file import MakeLink
from tests.support.keeping import JOB, KEY, generation, home_in, no_links, output_in, record_in
from tests.support.mounts import mounted
from tests.support.volume import lay_out, read_back

ROOT = Path(__file__).parents[5]
OLD, OLDER = "11111111-aaaa", "22222222-bbbb"
BEGAN = datetime(2026, 11, 18, 10, 25, 0, tzinfo=UTC).timestamp()
ASIDE = "run-20261118T102500-11111111"
LEFT = {
    "pass-00000/emb": "0",
    "pass-00000/done": "",
    "pass-00001/emb": "1",
    "pass-00001/done": "",
    "node_0/train.log": "a log",
    "node_1/train.log": "another",
    "events.jsonl": "{}\n",
}
OF_THE_USER = {"notes.txt": "mine", "best/emb": "1", "passes": "x"}


def ran(top: Path, key: str = OLD, *, code: int | None = 0, began: float = BEGAN, job: str = JOB) -> None:
    """Leave the record of a run."""
    top.mkdir(exist_ok=True)
    record = record_in(top, key, job=job)
    record.make(generation(1))
    record.make(generation(2))
    if code is not None:
        record.seal(Outcome(code=code, reason="so it ended"))
    os.utime(home_in(top, key) / "gen-1.json", (began, began))


def left(top: Path, tree: Mapping[str, str] = LEFT) -> Path:
    output = top / JOB / "output"
    lay_out(output, {**tree, **OF_THE_USER})
    return output


def what_is_in(output: Path) -> dict[str, str]:
    return {path: text for path, text in read_back(output).items() if not path.startswith(".launcher")}


def under(name: str, tree: Mapping[str, str]) -> dict[str, str]:
    return {f"{name}/{path}": text for path, text in tree.items()}


def away(top: Path, link: MakeLink = os.link) -> Moved | None:
    return make_way(record_in(top), output_in(top), link=link)


@pytest.mark.parametrize("link", [os.link, no_links])
def test_what_a_finished_run_left_is_moved_under_its_name(tmp_path: Path, link: MakeLink) -> None:
    ran(tmp_path)
    output = left(tmp_path)
    assert away(tmp_path, link) == Moved(
        to=str(output / ASIDE), names=("events.jsonl", "node_0", "node_1", "pass-00000", "pass-00001")
    )
    assert what_is_in(output) == OF_THE_USER | under(ASIDE, LEFT)
    assert complete(output_in(tmp_path)) == ()
    assert record_in(tmp_path, OLD).verdict() == Outcome(code=0, reason="so it ended")
    assert away(tmp_path, link) is None
    assert what_is_in(output) == OF_THE_USER | under(ASIDE, LEFT)


@pytest.mark.parametrize("code", [None, 1, 143])
def test_what_an_unfinished_run_left_stays_to_be_gone_on_from(tmp_path: Path, code: int | None) -> None:
    ran(tmp_path, code=code)
    output = left(tmp_path)
    assert away(tmp_path) is None
    assert what_is_in(output) == LEFT | OF_THE_USER
    assert complete(output_in(tmp_path)) == (0, 1)


def test_without_a_record_of_an_earlier_run_nothing_is_moved(tmp_path: Path) -> None:
    assert away(tmp_path) is None
    output = left(tmp_path)
    assert away(tmp_path) is None
    assert what_is_in(output) == LEFT | OF_THE_USER


def test_once_this_run_made_a_generation_nothing_is_moved(tmp_path: Path) -> None:
    ran(tmp_path)
    output = left(tmp_path)
    record_in(tmp_path).make(generation(1))
    assert away(tmp_path) is None
    assert what_is_in(output) == LEFT | OF_THE_USER


@pytest.mark.parametrize(("older", "newer", "moved"), [(0, 1, False), (None, 0, True), (0, None, False)])
def test_of_several_earlier_runs_the_newest_counts(
    tmp_path: Path, older: int | None, newer: int | None, moved: bool
) -> None:
    ran(tmp_path, OLDER, code=older, began=BEGAN - 5)
    ran(tmp_path, OLD, code=newer)
    output = left(tmp_path)
    assert bool(away(tmp_path)) == moved
    assert (output / ASIDE).exists() == moved


def test_a_run_that_made_no_generation_left_nothing_and_does_not_count(tmp_path: Path) -> None:
    ran(tmp_path)
    record_in(tmp_path, OLDER).seal(Outcome(code=75, reason="the peers did not come"))
    output = left(tmp_path)
    assert away(tmp_path)
    assert (output / ASIDE).exists()


def test_a_run_of_another_job_in_a_shared_record_does_not_count(tmp_path: Path) -> None:
    ran(tmp_path, code=1)
    ran(tmp_path, OLDER, code=0, began=BEGAN + 60, job="another")
    left(tmp_path)
    assert away(tmp_path) is None


def test_a_record_elsewhere_serves_as_well(tmp_path: Path) -> None:
    elsewhere = on_volume(PurePosixPath(tmp_path))
    old = replace(record_in(tmp_path, OLD), where=elsewhere)
    old.make(generation(1))
    old.seal(Outcome(code=0, reason=""))
    output = left(tmp_path / "volume")
    assert make_way(replace(old, key=KEY), output_in(tmp_path / "volume"))
    assert not (output / "pass-00000").exists()


@pytest.mark.parametrize("link", [os.link, no_links])
def test_a_name_that_is_taken_there_gets_a_suffix(tmp_path: Path, link: MakeLink) -> None:
    ran(tmp_path)
    output = left(tmp_path)
    taken = {"pass-00000/emb": "a user's", "events.jsonl": "a user's", "events.jsonl.1": "too", "node_1": "a file"}
    lay_out(output / ASIDE, taken)
    (output / ASIDE / "node_0").symlink_to("nowhere")
    (output / ASIDE / "pass-00001").mkdir()
    moved = away(tmp_path, link)
    assert moved
    assert moved.names == ("events.jsonl.2", "node_0.1", "node_1.1", "pass-00000.1", "pass-00001.1")
    renamed = {
        "pass-00000.1/emb": "0",
        "pass-00000.1/done": "",
        "pass-00001": "/",
        "pass-00001.1/emb": "1",
        "pass-00001.1/done": "",
        "node_0": "-> nowhere",
        "node_0.1/train.log": "a log",
        "node_1.1/train.log": "another",
        "events.jsonl.2": "{}\n",
    }
    assert what_is_in(output) == OF_THE_USER | under(ASIDE, taken | renamed)


@pytest.mark.parametrize("link", [os.link, no_links])
def test_links_and_files_under_a_runs_names_are_moved_as_they_are(tmp_path: Path, link: MakeLink) -> None:
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    ran(tmp_path)
    output = left(tmp_path, {"pass-00000": "a file", "node_x": "too"})
    (output / "pass-last").symlink_to("pass-00000")
    (output / "pass-out").symlink_to(treasure)
    assert away(tmp_path, link)
    assert what_is_in(output) == OF_THE_USER | under(
        ASIDE,
        {"pass-00000": "a file", "node_x": "too", "pass-last": "-> pass-00000", "pass-out": f"-> {treasure}"},
    )
    assert list(treasure.iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_place_that_is_no_directory_is_refused(tmp_path: Path, kind: str) -> None:
    ran(tmp_path)
    output = left(tmp_path)
    if kind == "link":
        (output / ASIDE).symlink_to(tmp_path)
    else:
        (output / ASIDE).write_text("a user's")
    before = what_is_in(output)
    with pytest.raises(RecordError, match=ASIDE):
        away(tmp_path)
    assert what_is_in(output) == before


@pytest.mark.parametrize("name", ["gen-1.json", "verdict.json"])
def test_an_earlier_record_that_is_torn_is_refused_and_nothing_is_moved(tmp_path: Path, name: str) -> None:
    ran(tmp_path)
    output = left(tmp_path)
    (home_in(tmp_path, OLD) / name).write_bytes(b"{")
    with pytest.raises(RecordError, match=f"{name} is torn or forged: move it away"):
        away(tmp_path)
    assert what_is_in(output) == LEFT | OF_THE_USER


@pytest.mark.parametrize("plant", ["link", "file", "odd"])
def test_what_is_planted_among_the_records_is_passed_over(tmp_path: Path, plant: str) -> None:
    ran(tmp_path)
    left(tmp_path)
    records = home_in(tmp_path, OLD).parent
    if plant == "link":
        shutil.copytree(records / OLD, tmp_path / "elsewhere")
        (tmp_path / "elsewhere/verdict.json").unlink()
        (records / "newer").symlink_to(tmp_path / "elsewhere")
    elif plant == "file":
        (records / "newer").write_text("")
    else:
        (records / "not.a.key").mkdir()
        (records / "empty").mkdir()
    shutil.copytree(records / OLD, records / "a-copy-of-it")  # it says another key: whose run was that?
    (records / "a-copy-of-it/verdict.json").unlink()
    assert away(tmp_path)


@pytest.mark.parametrize("when", [-1e12, -1.0, 0.0, 9e9, 1e15])
def test_a_run_may_have_begun_at_any_time(tmp_path: Path, when: float) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=1m"):  # which keeps any time
        ran(tmp_path, began=when)
        left(tmp_path)
        moved = away(tmp_path)
    assert moved
    assert moved.to.endswith("-11111111")


KILLS = """
import shutil, sys
from pathlib import Path
from launcher.pod.gang.store.archive import make_way
from tests.support.keeping import killed_at, output_in, record_in
import os

seed, top = Path(sys.argv[1]), Path(sys.argv[2])
for effect in range(1000):
    volume = top / str(effect)
    shutil.copytree(seed, volume, copy_function=shutil.copy2)
    if not killed_at(effect, lambda: make_way(record_in(volume), output_in(volume))):
        break
print(effect)
"""


def test_killed_at_any_effect_the_next_leader_comes_to_the_same_end(tmp_path: Path) -> None:
    seed = tmp_path / "seed"
    ran(seed)
    left(seed)
    words = [sys.executable, "-c", KILLS, str(seed), str(tmp_path)]
    number = int(subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout)
    assert number > 8
    half = 0
    for effect in range(number):
        volume = tmp_path / str(effect)
        output = volume / JOB / "output"
        before = what_is_in(output)
        half += 0 < sum(path.startswith(ASIDE) for path in before) < len(LEFT)
        away(volume)
        assert what_is_in(output) == OF_THE_USER | under(ASIDE, LEFT)
    assert half > 3


RACE = """
import multiprocessing, sys
from pathlib import Path
from launcher.pod.gang.store.archive import make_way
from tests.support.keeping import output_in, record_in

top, rounds = Path(sys.argv[1]), int(sys.argv[2])
fork = multiprocessing.get_context("fork")

def run(together):
    for number in range(rounds):
        together.wait()
        make_way(record_in(top / str(number)), output_in(top / str(number)))

together = fork.Barrier(4)
racers = [fork.Process(target=run, args=(together,)) for _ in range(4)]
for racer in racers:
    racer.start()
for racer in racers:
    racer.join()
sys.exit(any(racer.exitcode for racer in racers))
"""


def test_several_that_do_it_at_once_lose_and_repeat_nothing(tmp_path: Path) -> None:
    for number in range(10):
        ran(tmp_path / str(number))
        left(tmp_path / str(number))
    words = [sys.executable, "-c", RACE, str(tmp_path), "10"]
    subprocess.run(words, cwd=ROOT, check=True, timeout=60)
    for number in range(10):
        found = what_is_in(tmp_path / str(number) / JOB / "output")
        assert found == OF_THE_USER | under(ASIDE, LEFT)
