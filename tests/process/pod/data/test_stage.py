"""What a pod finds in its working directory after staging; trees and descriptors are real."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.contract import Code
from launcher.pod.data.stage import Shard
from launcher.pod.outcome import ShardError
from tests.support.volume import BY_RANK, UNDER_DATA, Volume, lay_out, read_back

CONFIG = {"TRAIN_CONFIG_DIR": "recommendation"}
APART = {"LAUNCHER_PEERS": "static:127.0.1.1,127.0.1.2,127.0.1.3;127.0.2.1,127.0.2.2,127.0.2.3"}


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume.made(tmp_path)


def refusal(volume: Volume, **environ: str) -> str:
    with pytest.raises(ShardError) as caught:
        volume.stage(environ=environ)
    assert caught.value.code is Code.SHARD
    return str(caught.value)


@pytest.mark.parametrize("tree", [BY_RANK, UNDER_DATA], ids=["rank/data", "data/rank"])
@pytest.mark.parametrize("rank", [0, 2])
def test_the_shard_of_the_rank_becomes_data_in_either_layout(
    volume: Volume, tree: dict[str, str | bytes], rank: int
) -> None:
    volume.lay_out(job=tree)
    where = f"{rank}/data" if tree is BY_RANK else f"data/{rank}"
    assert volume.stage(rank) == Shard(source=str(volume.job / where), files=1, bytes=7)
    assert read_back(volume.data) == {"part": f"shard {rank}"}
    event, facts = volume.told[-1]
    assert (event, facts.pop("seconds") >= 0) == ("staged", True)
    kept = {"kept": 0, "kept_bytes": 0}
    assert facts == {"source": str(volume.job / where), "files": 1, "bytes": 7, "verified": 0} | kept


def test_the_jobs_files_go_over_what_is_in_the_working_directory(volume: Volume) -> None:
    volume.lay_out(
        job=UNDER_DATA
        | {"recommendation/trainer_config.py": "new", "recommendation/lib/a.py": "a", "recommendation/more/b": "b"},
        work={"trainer_config.py": "old", "start.sh": "kept", "lib/image.py": "kept"},
    )
    (volume.job / "recommendation/link.py").symlink_to("lib/a.py")
    volume.stage(1, environ=CONFIG)
    assert volume.working() == {
        "trainer_config.py": "new",
        "trainer_config.py.before": "old",
        "start.sh": "kept",
        "lib/image.py": "kept",
        "lib/a.py": "a",
        "more/b": "b",
        "link.py": "-> lib/a.py",
        "data/part": "shard 1",
    }


def test_names_with_a_dot_in_front_are_passed_over_as_the_shell_does(volume: Volume) -> None:
    volume.lay_out(job={"recommendation/.hidden": "", "recommendation/sub/.seen": ""})
    volume.stage(environ=CONFIG)
    assert volume.working() == {"sub/.seen": ""}


def test_the_configs_own_data_lies_under_the_shard(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK | {"recommendation/data/meta": "m", "recommendation/data/part": "covered"})
    assert volume.stage(2, environ=CONFIG).files == 2
    assert read_back(volume.data) == {"meta": "m", "part": "shard 2"}


def test_without_shards_the_configs_own_data_is_staged_and_the_absence_told(volume: Volume) -> None:
    volume.lay_out(job={"recommendation/data/meta": "m"})
    assert volume.stage(environ=CONFIG).source == str(volume.job / "recommendation/data")
    assert read_back(volume.data) == {"meta": "m"}
    assert [event for event, _ in volume.told] == ["no_shard", "staged"]


def test_without_any_data_nothing_is_touched(volume: Volume) -> None:
    volume.lay_out(data={"mine": "x"}, job={"1/output": "", "data/readme": ""})
    assert volume.stage(2) == Shard()
    assert read_back(volume.work) == {"data/mine": "x"}
    assert volume.told == [("no_shard", {"looked_in": [f"{volume.job}/2/data", f"{volume.job}/data/2"]})]


def test_a_job_without_a_directory_on_the_volume_has_no_shard(volume: Volume) -> None:
    volume.job.rmdir()
    assert volume.stage() == Shard()


def test_without_a_volume_nothing_is_staged(volume: Volume) -> None:
    environ = {"JOB_PATH": "", "LAUNCHER_RUNTIME": "env", "LAUNCHER_ENTRY": "true"}
    assert volume.stage(environ=environ) == Shard()
    assert volume.told == []


def test_a_pserver_gets_the_jobs_files_and_no_data(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK | {"recommendation/conf": "c", "recommendation/data/meta": "m"})
    assert volume.stage(environ=CONFIG | APART | {"LAUNCHER_ROLE": "pserver"}) == Shard()
    assert volume.working() == {"conf": "c"}


def test_a_trainer_gets_the_shard_of_its_rank_among_trainers(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK)
    volume.stage(2, environ=APART | {"LAUNCHER_ROLE": "trainer"})
    assert read_back(volume.data) == {"part": "shard 2"}


def test_an_empty_shard_makes_an_empty_data(volume: Volume) -> None:
    for rank in range(3):
        (volume.job / f"data/{rank}").mkdir(parents=True)
    assert volume.stage() == Shard(source=str(volume.job / "data/0"), files=0, bytes=0)
    assert read_back(volume.work).keys() == {"data", ".data.staged"}


def test_data_of_the_image_is_set_aside_and_lies_under_every_staging(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK, data={"vocabulary": "v", "part": "of the image"})
    volume.stage(0)
    assert ("data_set_aside", {"moved_to": str(volume.work / "data.before")}) in volume.told
    assert read_back(volume.data) == {"vocabulary": "v", "part": "shard 0"}
    volume.stage(1)
    assert read_back(volume.data) == {"vocabulary": "v", "part": "shard 1"}
    assert read_back(volume.work / "data.before") == {"vocabulary": "v", "part": "of the image"}


def test_a_link_of_the_image_may_lead_anywhere(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK, data={"a": ""})
    (volume.data / "big").symlink_to("/var/lib/big")
    volume.stage()
    assert read_back(volume.data) == {"a": "", "big": "-> /var/lib/big", "part": "shard 0"}


def test_a_second_staging_leaves_nothing_of_the_first_ranks_shard(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK | {"0/data/only-0": "", "0/data/sub/only-0": "", "1/data/only-1": ""})
    for rank in (0, 1, 1):
        volume.stage(rank)
    assert read_back(volume.data) == {"part": "shard 1", "only-1": ""}
    assert {path.name for path in volume.work.iterdir()} == {"data", ".data.staged"}


def test_modes_and_times_are_kept_without_special_bits(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK | {"0/data/run": "", "0/data/sub/x": ""})
    source = volume.job / "0/data"
    (source / "run").chmod(0o6755)
    (source / "part").chmod(0o440 if os.geteuid() else 0o040)  # only root can read the latter
    (source / "sub").chmod(0o1577)
    volume.stage()
    modes = {name: (volume.data / name).stat().st_mode & 0o7777 for name in ("run", "part", "sub")}
    assert modes == {"run": 0o755, "part": 0o440, "sub": 0o777}
    assert (volume.data / "run").stat().st_mtime_ns == (source / "run").stat().st_mtime_ns


def test_progress_is_told_every_few_seconds(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK | {"0/data/big": bytes(3 << 20)})
    ticks = iter(range(0, 1000, 2))
    volume.stage(every=3, clock=lambda: float(next(ticks)))
    told = [facts for event, facts in volume.told if event == "staging"]
    assert told
    assert all((facts["of_files"], facts["of_bytes"]) == (2, (3 << 20) + 7) for facts in told)
    assert [facts["percent"] for facts in told] == [facts["bytes"] * 100 // ((3 << 20) + 7) for facts in told]


def test_what_is_looked_at_before_the_first_copy_is_told_every_few_seconds(volume: Volume) -> None:
    """Also in the shards of a rank that has several, and in what an earlier start left."""
    many = {f"{number % 6}/data/{number}/{number}": "x" for number in range(60)}
    volume.lay_out(job=BY_RANK | many | {f"{rank}/data/part-{rank}": "x" for rank in range(3, 6)})
    for _ in range(2):
        ticks = iter(range(100_000))
        volume.told.clear()
        volume.stage(every=5, clock=lambda ticks=ticks: float(next(ticks)))
        before = [event for event, _ in volume.told]
        looked_at = [facts["looked_at"] for event, facts in volume.told if event == "surveying"]
        assert before[: len(looked_at)] == ["surveying"] * len(looked_at)
        assert len(looked_at) > 5
        assert max(looked_at) > 20


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        (BY_RANK | {"data/0/x": ""}, "both layouts, 0/data and data/0"),
        ({"1/data/x": "", "2/data/x": ""}, "missing: 0;"),
        (UNDER_DATA | {"data/4/x": ""}, "not expected: 4;"),
        (UNDER_DATA | {"data/03/x": ""}, "not expected: 03;"),
        ({"0/x": "", "1/data/x": "", "2/data/x": ""}, "missing: 0;"),
    ],
)
def test_a_number_of_shards_that_is_not_the_trainers_is_refused(
    volume: Volume, tree: dict[str, str | bytes], told: str
) -> None:
    volume.lay_out(job=tree)
    assert told in refusal(volume)
    assert read_back(volume.work) == {}


def test_a_volume_that_is_not_there_is_told_by_its_variable(volume: Volume) -> None:
    assert "JOB_PATH names: is the volume mounted?" in refusal(volume, JOB_PATH=str(volume.top / "nowhere"))


def test_a_config_directory_that_is_not_there_is_told_by_its_path(volume: Volume) -> None:
    told = refusal(volume, TRAIN_CONFIG_DIR="quick/start")
    assert told.startswith(
        f"{volume.job}/quick: No such file or directory; expected a directory with the job's files"
    )
    volume.job.rmdir()
    assert refusal(volume, **CONFIG).startswith(f"{volume.job} does not exist")


def test_a_working_directory_that_is_not_there_is_told(volume: Volume) -> None:
    volume.work.rmdir()
    assert "LAUNCHER_WORKDIR" in refusal(volume)


@pytest.mark.parametrize(
    ("job", "work", "told"),
    [
        ({"recommendation/lib": "a file"}, {"lib/x": ""}, "work/lib: Is a directory"),
        ({"recommendation/lib/x": ""}, {"lib": "a file"}, "work/lib is not a directory"),
        (BY_RANK | {"recommendation/data/part/x": ""}, {}, "go to one place"),
        (BY_RANK, {"data": "a file"}, "work/data is not a directory"),
    ],
)
def test_a_file_never_takes_a_directorys_place(
    volume: Volume, job: dict[str, str | bytes], work: dict[str, str | bytes], told: str
) -> None:
    volume.lay_out(job={"recommendation/x": ""} | job, work=work)
    assert told in refusal(volume, **CONFIG)


def test_data_that_was_not_staged_is_never_deleted(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK, data={"user": "1"}, work={"data.before/older": "2"})
    assert "was not staged here" in refusal(volume)
    assert read_back(volume.work) == {"data/user": "1", "data.before/older": "2"}


def test_an_unreadable_marker_knows_nothing_as_staged(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK)
    volume.stage()
    for broken in ("{", "[]", '{"staged": 1, "copied": []}', '{"staged": [[1]], "copied": []}'):
        (volume.work / ".data.staged").write_text(broken)
        (volume.work / "data.before").mkdir(exist_ok=True)
        assert "was not staged here" in refusal(volume)


def test_a_foreign_directory_in_the_old_ones_place_is_left_alone(volume: Volume) -> None:
    volume.lay_out(job=BY_RANK, work={".data.old/x": ""})
    assert ".data.old was not staged here" in refusal(volume)
    assert (volume.work / ".data.old/x").exists()


NAMES = st.binary(min_size=1, max_size=12).map(
    lambda raw: raw.replace(b"/", b"_").replace(b"\0", b"_").replace(b".", b"-").decode(errors="surrogateescape")
)
TREES = st.dictionaries(
    st.tuples(st.sampled_from(["", "d/", "d/e/"]), NAMES.filter(lambda name: name not in "de")).map("".join),
    st.binary(max_size=3000),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_any_tree_is_staged_as_it_is(tree: dict[str, bytes]) -> None:
    with TemporaryDirectory() as top:
        volume = Volume.made(Path(top), trainers=1)
        (volume.job / "data/0").mkdir(parents=True)
        lay_out(volume.job / "data/0", tree)
        shard = volume.stage()
        assert read_back(volume.data) == read_back(volume.job / "data/0")
        assert (shard.files, shard.bytes) == (len(tree), sum(map(len, tree.values())))


def test_the_jobs_files_may_be_in_any_directory_by_an_absolute_path(volume: Volume) -> None:
    package = volume.top / "example"
    lay_out(package, {"train.py": "new", "lib/a.py": "a", "data/meta": "m"})
    volume.lay_out(job=BY_RANK)
    volume.stage(1, environ={"TRAIN_CONFIG_DIR": str(package)})
    assert (volume.work / "train.py").read_text() == "new"
    assert (volume.work / "lib/a.py").read_text() == "a"
    assert read_back(volume.data) == {"meta": "m", "part": "shard 1"}


def test_an_absolute_package_needs_no_volume(volume: Volume) -> None:
    package = volume.top / "example"
    lay_out(package, {"train.py": "new"})
    environ = {"JOB_PATH": "", "LAUNCHER_ENTRY": "true", "TRAIN_CONFIG_DIR": str(package)}
    assert volume.stage(environ=environ) == Shard()
    assert (volume.working(), volume.told) == ({"train.py": "new"}, [])


def test_an_absolute_package_that_is_not_there_is_refused_by_its_name(volume: Volume) -> None:
    where = str(volume.top / "nowhere")
    told = refusal(volume, TRAIN_CONFIG_DIR=where)
    assert told.startswith(f"{where}: ")
    assert f"as TRAIN_CONFIG_DIR={where} says" in told


def test_a_link_out_of_an_absolute_package_is_refused(volume: Volume) -> None:
    package = volume.top / "example"
    lay_out(package, {"train.py": "new"})
    (package / "secret").symlink_to("/etc/passwd")
    assert "secret" in refusal(volume, TRAIN_CONFIG_DIR=str(package))
