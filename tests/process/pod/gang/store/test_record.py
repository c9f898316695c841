"""The gang's record: made once by one, whole at every moment, refused where it is not what a launcher wrote."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.gang.store.record import Record, RecordError, on_volume, record_of
from launcher.pod.gang.store.runs import Runs
from launcher.pod.outcome import Outcome
from launcher.safefs import small_file
from launcher.safefs.small_file import LIMIT
from tests.support.keeping import KEY, generation, home_in, no_links, record_in
from tests.support.mounts import mounted
from tests.support.volume import Volume, read_back

ROOT = Path(__file__).parents[5]
PEER_TIMEOUT = 15.0
SUCCESS, FAILURE = Outcome(code=0, reason="every trainer is done"), Outcome(code=7, reason="trainer 1 ended with 7")


def refusal(work: Callable[[], object]) -> str:
    with pytest.raises(RecordError) as caught:
        work()
    assert caught.value.code == 76
    return str(caught.value)


def driven(code: str, *argv: object) -> str:
    words = [sys.executable, "-c", code, *map(str, argv)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_generation_that_was_made_is_read_back(tmp_path: Path) -> None:
    record = record_in(tmp_path)
    assert record.latest() is None
    assert record.highest() == 0
    made = generation(1, resume=3, restarts=2, cause="trainer 1 ended with 7")
    assert record.make(made)
    assert record_in(tmp_path).latest() == made
    assert record.highest() == 1
    assert {path.name for path in home_in(tmp_path).iterdir()} == {"gen-1.json", "now"}


def test_a_number_is_made_once_and_who_repeats_it_is_told_that_it_stands(tmp_path: Path) -> None:
    record = record_in(tmp_path)
    assert record.make(generation(1, "mine"))
    assert record.make(generation(1, "mine"))
    assert not record.make(generation(1, "late"))
    assert record.latest() == generation(1, "mine")


def test_without_hard_links_a_number_is_still_made_once(tmp_path: Path) -> None:
    record = record_in(tmp_path, link=no_links)
    assert record.make(generation(1, "mine"))
    assert record.make(generation(1, "mine"))
    assert not record.make(generation(1, "late"))
    assert record.latest() == generation(1, "mine")
    assert {path.name for path in home_in(tmp_path).iterdir()} == {"gen-1.json", "now"}


def test_what_one_that_was_killed_had_begun_goes_once_the_number_is_made(tmp_path: Path) -> None:
    record = record_in(tmp_path)
    assert record.make(generation(1))
    for begun in (".gen-2.json.0123456789abcdef", ".gen-3.json.0123456789abcdef"):
        (home_in(tmp_path) / begun).write_text("half a generat")
    assert record.make(generation(2))
    left = {path.name for path in home_in(tmp_path).iterdir()}
    assert left == {"gen-1.json", "gen-2.json", "now", ".gen-3.json.0123456789abcdef"}


def test_who_is_late_and_finds_what_it_had_begun_taken_away_has_lost(tmp_path: Path) -> None:
    def late(new: str, name: str, **more: int) -> None:
        assert record_in(tmp_path).make(generation(1, "first"))
        os.link(new, name, **more)  # type: ignore[arg-type]

    assert not record_in(tmp_path, link=late).make(generation(1, "late"))
    assert record_in(tmp_path).latest() == generation(1, "first")


def test_a_link_that_worked_although_nfs_says_exists_is_ours(tmp_path: Path) -> None:
    def lying(new: str, name: str, **more: int) -> None:
        os.link(new, name, **more)  # type: ignore[arg-type]
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    assert record_in(tmp_path, link=lying).make(generation(1))
    assert not record_in(tmp_path, link=lying).make(generation(1, "late"))


RACE = """
import json, multiprocessing, sys
from pathlib import Path
from tests.support.keeping import generation, no_links, record_in
from launcher.pod.outcome import Outcome
import os

top, rounds, links = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "links"
fork = multiprocessing.get_context("fork")

def run(mine, together, answers):
    record = record_in(top, link=os.link if links else no_links)
    won = []
    for number in range(1, rounds + 1):
        together.wait()
        if record.make(generation(number, f"boot-{mine}")):
            won.append(number)
    together.wait()
    answers.put((mine, won, record.seal(Outcome(code=mine, reason="")).code))

together, answers = fork.Barrier(8), fork.SimpleQueue()
racers = [fork.Process(target=run, args=(mine, together, answers)) for mine in range(8)]
for racer in racers:
    racer.start()
print(json.dumps([answers.get() for _ in racers]))
for racer in racers:
    racer.join()
"""


@pytest.mark.parametrize(("links", "rounds"), [("links", 40), ("none", 20)])
def test_of_eight_that_make_the_same_number_one_wins_every_time(tmp_path: Path, links: str, rounds: int) -> None:
    answers = json.loads(driven(RACE, tmp_path, rounds, links))
    winners = {number: f"boot-{mine}" for mine, won, _ in answers for number in won}
    assert sum(len(won) for _, won, _ in answers) == rounds == len(winners)
    record = record_in(tmp_path)
    assert record.highest() == rounds
    assert record.latest() == generation(rounds, winners[rounds])
    verdict = record.verdict()
    assert verdict
    assert {code for _, _, code in answers} == {verdict.code}
    assert len(list(home_in(tmp_path).iterdir())) == rounds + 2  # and `now`, and the verdict


def test_a_verdict_that_another_is_just_writing_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without hard links a file has its name before it has its text."""
    begun, write = threading.Event(), small_file._write

    def late(fd: int, text: bytes) -> None:
        if os.path.realpath(f"/proc/self/fd/{fd}").endswith("/verdict.json"):
            begun.set()
            time.sleep(0.05)
        write(fd, text)

    monkeypatch.setattr(small_file, "_write", late)
    record = record_in(tmp_path, link=no_links)
    first = threading.Thread(target=record.seal, args=(FAILURE,))
    first.start()
    assert begun.wait(30)
    assert record.seal(SUCCESS) == FAILURE
    first.join()


KILLS = """
import sys
from pathlib import Path
from tests.support.keeping import generation, killed_at, record_in
from launcher.pod.outcome import Outcome

top, what = Path(sys.argv[1]), sys.argv[2]

def work(record):
    if what == "seal":
        return lambda: record.seal(Outcome(code=7, reason="mine"))
    return lambda: record.make(generation(2, "mine"))

for effect in range(1000):
    volume = top / str(effect)
    volume.mkdir()
    record = record_in(volume)
    if what == "make":
        record.make(generation(1, "old"))
    if not killed_at(effect, work(record)):
        break
print(effect)
"""


def test_killed_at_any_effect_a_record_is_never_seen_half_and_the_next_leader_goes_on(tmp_path: Path) -> None:
    number = int(driven(KILLS, tmp_path, "make"))
    assert number > 8
    firsts = set()
    for effect in range(number):
        record = record_in(tmp_path / str(effect))
        seen = record.latest()
        assert seen in (generation(1, "old"), generation(2, "mine"))
        late = record.make(generation(2, "late"))
        standing = generation(2, "late" if late else "mine")
        assert late == (seen == generation(1, "old"))
        assert record.latest() == standing
        assert record.make(standing)
        assert record.highest() == 2
        firsts.add(late)
    assert firsts == {True, False}


def test_killed_at_any_effect_a_verdict_is_whole_or_not_there(tmp_path: Path) -> None:
    number = int(driven(KILLS, tmp_path, "seal"))
    assert number > 6
    firsts = set()
    for effect in range(number):
        record = record_in(tmp_path / str(effect))
        seen = record.verdict()
        assert seen in (None, Outcome(code=7, reason="mine"))
        assert record.seal(SUCCESS) == (seen or SUCCESS)
        assert record.verdict() == (seen or SUCCESS)
        firsts.add(seen is None)
    assert firsts == {True, False}


def test_the_first_verdict_stands(tmp_path: Path) -> None:
    record = record_in(tmp_path)
    assert record.verdict() is None
    assert record.seal(FAILURE) == FAILURE
    assert record.seal(SUCCESS) == FAILURE
    assert record.seal(FAILURE) == FAILURE
    assert record_in(tmp_path).verdict() == FAILURE


def test_a_reader_whose_now_lags_behind_finds_what_stands_above(tmp_path: Path) -> None:
    record = record_in(tmp_path)
    for number in (1, 2, 3):
        record.make(generation(number))
    for stale in (b"", b"0000000001\n"):
        (home_in(tmp_path) / "now").write_bytes(stale)
        assert record.latest() == generation(3)


def test_a_now_beyond_what_can_be_seen_is_told_and_its_number_counts(tmp_path: Path) -> None:
    record = record_in(tmp_path)
    record.make(generation(1))
    (home_in(tmp_path) / "now").write_bytes(b"0000000002\n")
    assert record.highest() == 2
    assert "now names generation 2, but gen-2.json is not there" in refusal(record.latest)


@pytest.mark.parametrize("others", [(2, 3), (3,)], ids=["next to it", "with a gap"])
def test_a_launcher_that_was_asleep_while_making_is_told_and_does_not_take_now_back(
    tmp_path: Path, others: tuple[int, ...]
) -> None:
    def asleep(new: str, name: str, **more: int) -> None:
        os.link(new, name, **more)  # type: ignore[arg-type]
        for number in others:
            record_in(tmp_path).make(generation(number, "other"))

    assert not record_in(tmp_path, link=asleep).make(generation(1))
    assert record_in(tmp_path).highest() == 3
    assert record_in(tmp_path).latest() == generation(3, "other")


def test_a_gap_below_the_newest_is_not_filled(tmp_path: Path) -> None:
    record = record_in(tmp_path)
    record.make(generation(7))
    assert not record.make(generation(5, "asleep"))
    assert not record.make(generation(6, "asleep"))
    assert record.make(generation(7))
    assert {path.name for path in home_in(tmp_path).iterdir()} == {"gen-7.json", "now"}


@pytest.mark.parametrize("number", [0, -1, 10**10 - 1])
def test_a_number_that_no_gang_comes_to_is_not_made(tmp_path: Path, number: int) -> None:
    assert "now has a number that no gang can reach" in refusal(lambda: record_in(tmp_path).make(generation(number)))
    assert read_back(tmp_path) == {}


def test_a_key_that_is_no_name_is_refused(tmp_path: Path) -> None:
    for key in ("", "..", "a/b", "a" * 65, "a\n", ".launcher", "é"):
        assert "is not the name of a record" in refusal(lambda key=key: record_in(tmp_path, key))  # type: ignore[misc]


def written(tmp_path: Path, name: str = "gen-1.json") -> Path:
    record = record_in(tmp_path)
    record.make(generation(1))
    record.seal(SUCCESS)
    return home_in(tmp_path) / name


def read(tmp_path: Path, name: str) -> object:
    record = record_in(tmp_path)
    return record.verdict() if name == "verdict.json" else record.latest()


def version(text: bytes) -> bytes:
    return text.replace(b'"record": 1', b'"record": 2')


@pytest.mark.parametrize("name", ["gen-1.json", "verdict.json"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: b"", "is torn or forged"),
        (lambda text: text[:-1], "is torn"),
        (lambda text: text[: len(text) // 2], "is torn"),
        (lambda text: text + b"{}\n", "is torn or forged"),
        (lambda text: bytes(len(text)), "is torn or forged"),
        (lambda text: b"null\n" + text, "is torn or forged"),
        (lambda text: b"[" * 100_000, "is torn or forged"),
        (lambda text: text.replace(b'"record": 1', b'"record": true'), "is torn or forged"),
        (lambda text: text.splitlines(keepends=True)[0] + b"{}\n", "is torn or forged"),
        (lambda text: text + b" " * LIMIT, "is larger than 1048576 bytes"),
        (lambda text: text.replace(KEY.encode(), b"another"), "belongs to another job"),
        (lambda text: text.replace(b'"job": "job"', b'"job": "other"'), "belongs to another job"),
        (version, "was written by a newer launcher (version 2, not 1)"),
    ],
)
def test_what_no_launcher_wrote_whole_is_refused(
    tmp_path: Path, name: str, change: Callable[[bytes], bytes], told: str
) -> None:
    file = written(tmp_path, name)
    before = file.read_bytes()
    file.write_bytes(change(before))
    assert file.read_bytes() != before
    sentence = refusal(lambda: read(tmp_path, name))
    assert f"{file} {told}" in sentence
    assert "move it away" in sentence


@pytest.mark.parametrize("code", [256, -1, 2**40])
def test_a_verdict_with_a_code_that_no_process_exits_with_is_refused(tmp_path: Path, code: int) -> None:
    file = written(tmp_path, "verdict.json")
    file.write_bytes(file.read_bytes().replace(b'"code":0', b'"code":%d' % code))
    sentence = refusal(lambda: read(tmp_path, "verdict.json"))
    assert f"{file} is torn or forged (verdict.code: expected 0 to 255): move it away" in sentence


def test_a_generation_under_another_number_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.rename(file.with_name("gen-2.json"))
    (file.parent / "now").write_bytes(b"0000000002\n")
    assert "gen-2.json holds generation 1" in refusal(record_in(tmp_path).latest)


@pytest.mark.parametrize("text", [b"1\n", b"0000000001", b"-000000001\n", b"one", b"0000000001\n1", b"\xb2" * 10])
def test_a_now_that_is_no_number_is_refused(tmp_path: Path, text: bytes) -> None:
    written(tmp_path, "now").write_bytes(text)
    for work in (record_in(tmp_path).latest, record_in(tmp_path).highest):
        assert f"{home_in(tmp_path)}/now " in refusal(work)


def test_a_record_of_any_bytes_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    text = file.read_bytes()
    cut = st.integers(0, len(text) - 1).map(lambda end: text[:end])

    @given(cut | st.binary(max_size=400))
    def check(found: bytes) -> None:
        file.write_bytes(found)
        refusal(record_in(tmp_path).latest)

    check()


def test_one_changed_byte_never_breaks_the_reader(tmp_path: Path) -> None:
    file = written(tmp_path)
    text = file.read_bytes()

    @given(st.integers(0, len(text) - 1), st.integers(0, 255))
    def check(at: int, byte: int) -> None:
        file.write_bytes(text[:at] + bytes([byte]) + text[at + 1 :])
        try:
            found = record_in(tmp_path).latest()
        except RecordError:
            return
        assert found
        assert found.number == 1

    check()


@pytest.mark.parametrize("name", ["now", "gen-1.json", "verdict.json"])
@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_what_is_planted_in_a_files_place_is_refused_and_left_alone(tmp_path: Path, name: str, kind: str) -> None:
    treasure = tmp_path / "treasure"
    treasure.write_text("mine")
    home = home_in(tmp_path)
    home.mkdir(parents=True)
    if kind == "link":
        (home / name).symlink_to(treasure)
    elif kind == "fifo":
        os.mkfifo(home / name)
    else:
        (home / name).mkdir()
    record = record_in(tmp_path)
    work = (lambda: record.seal(SUCCESS)) if name == "verdict.json" else (lambda: record.make(generation(1)))
    assert f"{home}/{name}" in refusal(work)
    assert treasure.read_text() == "mine"


@pytest.mark.parametrize("depth", ["job", "job/output", "job/output/.launcher", f"job/output/.launcher/{KEY}"])
def test_a_link_on_the_way_to_the_record_is_not_followed(tmp_path: Path, depth: str) -> None:
    elsewhere, volume = tmp_path / "elsewhere", tmp_path / "volume"
    elsewhere.mkdir()
    (volume / depth).parent.mkdir(parents=True)
    (volume / depth).symlink_to(elsewhere)
    record = record_in(volume)
    for work in (lambda: record.make(generation(1)), lambda: record.seal(SUCCESS), record.latest, record.verdict):
        assert "links are not followed here" in refusal(work)
    assert list(elsewhere.iterdir()) == []


def test_a_volume_that_is_not_mounted_is_not_taken_for_an_empty_record(tmp_path: Path) -> None:
    record = record_in(tmp_path / "not there")
    for work in (record.latest, record.verdict, record.highest, lambda: record.make(generation(1))):
        assert "is the volume mounted?" in refusal(work)


def test_on_a_full_volume_nothing_half_is_left_and_it_works_once_there_is_room(tmp_path: Path) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=64k"):
        record = record_in(tmp_path)
        record.make(generation(1))
        filler = filled(tmp_path)
        assert "No space left on device; expected room for all of it" in refusal(lambda: record.make(generation(2)))
        assert "expected room for all of it" in refusal(lambda: record.seal(FAILURE))
        assert {path.name for path in home_in(tmp_path).iterdir()} == {"gen-1.json", "now"}
        assert record.latest() == generation(1)
        filler.unlink()
        assert record.make(generation(2))
        assert record.seal(FAILURE) == FAILURE


def filled(top: Path) -> Path:
    """Fill what is left of a volume, as a trainer may that saves more than it has room for."""
    filler = top / "filler"
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while file.write(b"f" * 4096):
            pass
    return filler


def test_on_a_full_volume_the_verdict_takes_the_room_that_was_kept_for_it(tmp_path: Path) -> None:
    long = Outcome(code=7, reason="trainer 1 ended with 7", tail="\N{SNOWMAN}" * 1000)
    with mounted("tmpfs", "none", tmp_path, "size=128k"):
        record = record_in(tmp_path)
        Runs(record=record, peer_timeout=PEER_TIMEOUT).enter()
        filled(tmp_path)
        assert "expected room for all of it" in refusal(lambda: record.make(generation(1)))
        assert record.seal(long) == long
        assert record_in(tmp_path).verdict() == long
        assert {path.name for path in home_in(tmp_path).iterdir()} == {"run-number", "verdict.json"}


def test_a_spare_that_is_too_small_does_not_serve(tmp_path: Path) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=128k"):
        record = record_in(tmp_path)
        Runs(record=record, peer_timeout=PEER_TIMEOUT).enter()
        (home_in(tmp_path) / "verdict.spare").write_bytes(b"small")
        filled(tmp_path)
        assert "expected room for all of it" in refusal(lambda: record.seal(FAILURE))
        assert {path.name for path in home_in(tmp_path).iterdir()} == {"run-number"}


def test_with_room_the_spare_goes_once_the_verdict_stands(tmp_path: Path) -> None:
    record = record_in(tmp_path)
    Runs(record=record, peer_timeout=PEER_TIMEOUT).enter()
    assert (home_in(tmp_path) / "verdict.spare").stat().st_size == 1 << 14
    assert record.seal(SUCCESS) == SUCCESS
    assert {path.name for path in home_in(tmp_path).iterdir()} == {"run-number", "verdict.json"}


def test_without_links_a_file_that_fits_only_half_does_not_keep_the_name(tmp_path: Path) -> None:
    def filling(*_: object, **__: object) -> None:
        with (tmp_path / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"f" * 4096):
                pass
        no_links()

    with mounted("tmpfs", "none", tmp_path, "size=64k"):
        assert "expected room for all of it" in refusal(lambda: record_in(tmp_path, link=filling).make(generation(1)))
        assert read_back(home_in(tmp_path)) == {}


def test_what_a_file_holds_is_on_the_disk_before_it_has_its_name(tmp_path: Path) -> None:
    called: list[object] = []

    def note(_frame: FrameType, event: str, what: object) -> None:
        if event == "c_call" and what in (os.write, os.fsync, os.link, os.pwrite):
            called.append(what)

    sys.setprofile(note)
    try:
        record_in(tmp_path).make(generation(1))
    finally:
        sys.setprofile(None)
    assert called == [os.write, os.fsync, os.link, os.fsync, os.pwrite, os.fsync]


def test_a_read_only_volume_is_read_and_not_written(tmp_path: Path) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=64k"):
        record = record_in(tmp_path)
        record.make(generation(1))
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        assert record.latest() == generation(1)
        assert "Read-only file system; mount the volume for writing" in refusal(lambda: record.make(generation(2)))


def test_a_generation_that_nobody_would_read_is_not_written(tmp_path: Path) -> None:
    for size in (LIMIT, LIMIT - 320):  # too long by itself, and with what stands before it in the file
        long = generation(1, cause="x" * size)
        assert str(LIMIT) in refusal(lambda long=long: record_in(tmp_path).make(long))  # type: ignore[misc]
    assert read_back(home_in(tmp_path)) == {}


def test_the_settings_say_where_the_record_is(tmp_path: Path) -> None:
    volume = Volume.made(tmp_path)
    assert record_of(volume.settings(), KEY) == record_in(volume.job.parent)
    assert record_of(volume.settings(LAUNCHER_RECORD="none"), KEY) is None
    assert record_of(volume.settings(), "") is None
    elsewhere = record_of(volume.settings(LAUNCHER_RECORD="/records"), KEY)
    assert elsewhere == Record(where=on_volume(PurePosixPath("/records")), key=KEY, job="job")
    assert elsewhere.home.path == f"/records/{KEY}"
