"""`python -m launcher.dataset split`: files, patterns, gzip or a reader into shards with a manifest."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher import dataset
from launcher.dataset import recordio, records, sources
from launcher.dataset.arguments import split_options
from launcher.dataset.manifest import Manifest, parse_manifest
from launcher.dataset.problem import DatasetError, DatasetMisuse
from launcher.dataset.progress import SplitProgress
from launcher.dataset.splitting import split_into_shards
from tests.support.mounts import mounted
from tests.support.volume import read_back

ROOT = Path(__file__).parents[3]


def command(*words: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{cwd}", **environ}
    argv = [sys.executable, "-m", "launcher.dataset", "split", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=cwd, env=env, timeout=100)


def split(top: Path, *words: str, shards: int = 3, environ: dict[str, str] | None = None, **more: Any) -> Manifest:  # noqa: ANN401
    order = split_options(["split", "--out", str(top / "out"), "--shards", str(shards), *words], {})
    return split_into_shards(order, environ or {}, SplitProgress(io.StringIO()), **more)


def outcome(words: list[str], environ: dict[str, str]) -> tuple[int, str]:
    """Return the exit code and the sentence that a command line comes to, here in this process."""
    try:
        split_into_shards(split_options(["split", *words], environ), environ, SplitProgress(io.StringIO()))
    except DatasetError as error:
        return error.code, str(error)
    return 0, ""


def records_of(top: Path, made: Manifest) -> list[list[bytes]]:
    """Return each shard's lines, after holding that the manifest tells the truth."""
    found = []
    for entry in made.files:
        content = (top / "out" / entry.name).read_bytes()
        assert (entry.bytes, entry.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        assert content.endswith(b"\n")
        found.append(content[:-1].split(b"\n"))
        assert entry.records == len(found[-1])
    return found


def test_without_an_input_the_seeds_tree_is_there_with_ratings(tmp_path: Path) -> None:
    out = tmp_path / "paddle-cluster-job"
    done = command(cwd=tmp_path, OUT_DIR=str(out), SPLIT_COUNT="3")
    assert (done.returncode, done.stdout) == (0, "")
    assert "has 60000 records in 3 shards, 20000 in each" in done.stderr
    tree = sorted(str(path.relative_to(out)) for path in out.rglob("*"))
    parts = [name for rank in range(3) for name in (f"{rank}", f"{rank}/data", f"{rank}/data/part-{rank:05d}")]
    known = [f"quick_start{name}" for name in ("", "/data", "/data/movies.dat", "/data/users.dat")]
    assert tree == [*parts, "manifest.json", "output", *known]
    user, movie, rating = map(int, (out / "1/data/part-00001").read_text().splitlines()[0].split(","))
    assert (out / "quick_start/data/users.dat").read_text().splitlines()[user - 1].startswith(f"{user}::")
    assert (out / "quick_start/data/movies.dat").read_text().splitlines()[movie - 1].startswith(f"{movie}::")
    assert 1 <= rating <= 5


def test_what_is_there_beside_the_shards_is_left_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "out/quick_start/data/users.dat"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    split(tmp_path, "--samples", "9")
    assert mine.read_text() == "mine"
    assert mine.with_name("movies.dat").read_text().count("\n") == 700


def test_run_twice_it_changes_nothing(tmp_path: Path) -> None:
    environ = {"OUT_DIR": str(tmp_path / "out"), "SPLIT_COUNT": "2", "TRAIN_CONFIG_DIR": "recommendation"}
    assert command(cwd=tmp_path, **environ).returncode == 0

    def signs() -> list[tuple[str, int, int]]:
        out = tmp_path / "out"
        return sorted((str(path), path.stat().st_mtime_ns, path.stat().st_ino) for path in (out, *out.rglob("*")))

    before = signs()
    done = command(cwd=tmp_path, **environ)
    assert (done.returncode, signs()) == (0, before)
    assert "has been split already" in done.stderr
    assert (tmp_path / "out/recommendation").is_dir()


@pytest.mark.parametrize("layout", ["rank", "data"])
def test_files_patterns_and_gzip_become_either_layout(tmp_path: Path, layout: str) -> None:
    (tmp_path / "a.txt").write_bytes(b"1\n2\n3")
    for number in (1, 0):
        (tmp_path / f"part-{number}.gz").write_bytes(gzip.compress(b"%d-a\n%d-b\n" % (number, number)) * 2)
    done = command(
        "a.txt", "part-*", "--layout", layout, "--out", "o", "--shards", "2", "--config-dir", "a/b", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found = {name: text for name, text in read_back(tmp_path / "o").items() if name != "manifest.json"}
    first, second = ("0/data/part-00000", "1/data/part-00001") if layout == "rank" else (
        "data/0/part-00000", "data/1/part-00001"
    )  # fmt: skip
    assert found == {
        first: "1\n3\n0-b\n0-b\n1-b\n1-b\n",
        second: "2\n0-a\n0-a\n1-a\n1-a\n",
        "output": "/",
        "a/b": "/",
    }


READER = """
def rows():
    for number in range(10):
        yield number, number * number
def creator():
    return rows
def text():
    return ["a", b"b\\n", "c"]
def failing():
    yield 1,
    raise RuntimeError("the network")
"""


@pytest.mark.parametrize("name", ["rows", "creator"])
def test_a_reader_in_python_becomes_lines_or_recordio(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.py").write_text(READER)
    done = command("--reader", f"mine:{name}", "--out", "lines", "--shards", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "lines/1/data/part-00001").read_text() == "1,1\n4,16\n7,49\n"
    words = ("--reader", f"mine:{name}", "--format", "recordio", "--out", "io", "--shards", "3")
    assert command(*words, cwd=tmp_path).returncode == 0
    found = [row for rank in range(3) for row in dataset.recordio_reader(f"{tmp_path}/io/*/data/part*", 3, rank)()]
    assert sorted(found) == [(number, number * number) for number in range(10)]


def test_lines_of_files_become_recordio_of_text(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\n\xff\n\nb\n")
    made = split(tmp_path, str(tmp_path / "in"), "--format", "recordio", shards=2)
    found = [list(dataset.recordio.reader(tmp_path / "out" / entry.name)) for entry in made.files]
    assert [[pickle.loads(each) for each in part] for part in found] == [["a", ""], ["\udcff", "b"]]  # noqa: S301


LINES = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"/")), min_size=1, max_size=80)


def test_recordio_becomes_recordio_record_for_record(tmp_path: Path) -> None:
    given = [os.urandom(size) for size in (0, 1, 5, 700_000, 700_000, 3, 0, 9)]
    for number, kind in enumerate(("none", "gzip", "snappy")):
        with recordio.writer(tmp_path / f"in-{number}", chunk=1 << 20, compressor=kind) as out:
            for record in given[number::3]:
                out.write(record)
    (tmp_path / "in-3").write_text("and lines\nbeside\n")
    made = split(tmp_path, str(tmp_path / "in-*"), "--format=recordio")
    found: list[bytes] = [b""] * made.records
    for rank, entry in enumerate(made.files):
        found[rank::3] = recordio.reader(tmp_path / "out" / entry.name)
    in_order = [record for number in range(3) for record in given[number::3]]
    assert found == [*in_order, pickle.dumps("and lines"), pickle.dumps("beside")]


@settings(max_examples=40)
@given(LINES, st.integers(1, 9), st.booleans(), st.booleans(), st.integers(1, 3), st.integers(1, 40))
def test_each_record_is_in_exactly_one_shard_and_in_order(
    lines: list[bytes], shards: int, by_bytes: bool, packed: bool, files: int, block: int
) -> None:
    shards, lines = min(shards, len(lines)), [b"%d:%b" % (number, line) for number, line in enumerate(lines)]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "BLOCK", block)
        top = Path(name)
        for number in range(files):
            part = b"\n".join(lines[len(lines) * number // files : len(lines) * (number + 1) // files])
            (top / f"in-{number}").write_bytes(gzip.compress(part) if packed and number % 2 == 0 else part)
        words = ["--balance", "bytes"] if by_bytes else []
        made = split(top, str(top / "in-*"), *words, shards=shards)
        found = records_of(top, made)
    assert sorted(line for part in found for line in part) == sorted(lines)
    assert all(part == sorted(part, key=lines.index) for part in found)
    sizes = [entry.bytes if by_bytes else entry.records for entry in made.files]
    assert max(sizes) - min(sizes) <= (max(map(len, lines)) + 1 if by_bytes else 1)
    assert made.records == len(lines)


def test_by_bytes_large_batches_stay_balanced(tmp_path: Path) -> None:
    with (tmp_path / "in").open("wb") as file:
        for number in range(60_000):
            file.write(b"%d %b\n" % (number, b"x" * (number * 7919 % 300)))
    made = split(tmp_path, str(tmp_path / "in"), "--balance", "bytes", shards=4)
    sizes = [entry.bytes for entry in made.files]
    assert max(sizes) - min(sizes) < 0.001 * sum(sizes)
    assert sorted(line for part in records_of(tmp_path, made) for line in part) == sorted(
        (tmp_path / "in").read_bytes()[:-1].split(b"\n")
    )


def test_a_large_input_is_streamed(tmp_path: Path) -> None:
    with (tmp_path / "in").open("wb") as file:
        block = b"".join(b"%d %b\n" % (number, b"x" * 90) for number in range(10_000))
        for _ in range(150):
            file.write(block)
    say = "import sys; from launcher.dataset.__main__ import main; code = main()"
    say += "; print(code, *[line for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    argv = [sys.executable, "-c", say, "split", "in", "--out", "out", "--shards", "8"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    code, _, kilobytes, _ = done.stdout.split()
    assert code == "0"
    assert int(kilobytes) < 100 << 10
    made = sum(path.stat().st_size for path in (tmp_path / "out").glob("*/data/*"))
    assert made == (tmp_path / "in").stat().st_size


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(tmp_path: Path, terminal: bool) -> None:
    (tmp_path / "in").write_bytes(b"x" * 99 + b"\n")
    stream = Terminal() if terminal else io.StringIO()
    now = [0.0]
    telling = SplitProgress(stream, clock=lambda: now[0])
    for done in (25, 50, 100):
        now[0] += 4
        telling.at(done * 10**6, 10**8, done)
    telling.end("done")
    if terminal:
        assert "\r\x1b[K[#######                       ] 25% of 100.0 MB, 6 MB/s, 25 records" in stream.getvalue()
        assert stream.getvalue().endswith("\r\x1b[Kdone\n")
        assert stream.getvalue().count("\n") == 1
    else:
        assert stream.getvalue().splitlines() == ["50% of 100.0 MB, 6 MB/s, 50 records", "done"]


def test_how_far_it_is_without_knowing_the_whole() -> None:
    telling = SplitProgress(io.StringIO())
    telling.at(0, 0, 7)
    assert telling.line() == "7 records"
    with Path(os.devnull).open() as stream:  # nothing can be written there
        SplitProgress(stream).end("nobody reads it")


@pytest.mark.parametrize(
    ("environ", "words", "told"),
    [
        ({"SPLIT_COUNT": "0"}, [], "SPLIT_COUNT=0: expected a whole number, 1 or more"),
        ({"SPLIT_COUNT": "-3"}, [], "SPLIT_COUNT=-3"),
        ({"SPLIT_COUNT": "three"}, [], "SPLIT_COUNT=three"),
        ({"SPLIT_COUNT": "100000"}, [], "expected at most 99999"),
        ({}, [], "SPLIT_COUNT is not set"),
        (
            {"SPLIT_COUNT": "3"},
            ["--samples", "2"],
            "SPLIT_COUNT=3: the input has only 2 records: expected at least one a shard",
        ),
        ({"SPLIT_COUNT": "3", "OUT_DIR": ""}, [], "OUT_DIR is not set"),
        ({"SPLIT_COUNT": "3", "TRAIN_CONFIG_DIR": "../x"}, [], "TRAIN_CONFIG_DIR=../x"),
        ({"SPLIT_COUNT": "3"}, ["--reader", "a:b", "in"], "expected only one of the two"),
        ({"SPLIT_COUNT": "3"}, ["--reader", "nowhere:rows"], "expected module:function"),
        ({"SPLIT_COUNT": "3"}, ["--reader", "mine:READER"], "expected module:function"),
        ({"SPLIT_COUNT": "3"}, ["--reader", "os:name"], "expected a function"),
        ({"SPLIT_COUNT": "3"}, ["--layout", "x"], "invalid choice: 'x'"),
    ],
)
def test_what_cannot_be_asked_for_is_a_sentence_and_writes_nothing(
    tmp_path: Path, environ: dict[str, str], words: list[str], told: str
) -> None:
    code, found = outcome(words, {"OUT_DIR": str(tmp_path / "a/out")} | environ)
    assert (code, told in found) == (78, True), found
    assert not list(tmp_path.iterdir())


def test_more_shards_than_files_may_be_open_are_refused(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limited = ["prlimit", f"--nofile=200:{min(hard, 1024) if hard > 0 else 1024}"]
    argv = [sys.executable, "-m", "launcher.dataset", "split", "--out", "out", "--shards"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for shards, code in ((1000, 78), (500, 0)):
        done = subprocess.run(
            [*limited, *argv, str(shards)], capture_output=True, text=True, check=False, cwd=tmp_path, env=env
        )
        assert done.returncode == code, done.stderr
        if code:
            assert (
                f"SPLIT_COUNT={shards}: only 1024 files may be open here; expected at most 960 shards" in done.stderr
            )
            assert not list(tmp_path.iterdir())
    assert soft


def test_a_sentence_and_a_code_is_all_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    for words, code in (
        (("--shards", "0"), 78),
        (("--shards", "1", "in"), 65),
        (("--shards", "1", "--out", "in/x"), 74),
    ):
        done = command("--out", "out", *words, cwd=tmp_path)
        assert done.returncode == code
        assert done.stderr.startswith("launcher.dataset: ")
        assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def chunks(*given: bytes) -> bytes:
    """Return a RecordIO file."""
    file = io.BytesIO()
    with recordio.writer(file) as out:
        for record in given:
            out.write(record)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words", "code", "told"),
    [
        (b"", ["in"], 65, "all other inputs are empty"),
        (gzip.compress(b""), ["in"], 65, "the input has no records"),
        (gzip.compress(os.urandom(5000))[:-9], ["in"], 65, "expected a whole gzip file"),
        (gzip.compress(b"a\n" * 50)[:-8] + b"\0" * 8, ["in"], 65, "expected a whole gzip file"),
        (b"\x1f\x8b\x08\x00" + b"\0" * 6 + b"\xff" * 30, ["in"], 65, "expected a whole gzip file"),
        (b"a\nb\n", ["other*"], 65, "other*: no file matches"),
        (b"a\nb\n", ["in", "i*"], 78, "in is an input twice"),
        (b"a\nb\n", ["."], 78, ". is a directory: expected files"),
        (b"a\nb\n", ["fifo"], 78, "fifo is not a regular file"),
        (b"\x04\x03\x02\x01", ["in"], 78, "in is RecordIO, which has no lines: expected text, or --format recordio"),
        (b"\x04\x03\x02\x01", ["in", "--format=recordio"], 65, "in: the chunk at byte 0: "),
        (chunks(b"a", b"b")[:-1], ["in", "--format=recordio"], 65, "in: the chunk at byte 0: "),
        (b"a\nb\n", ["--reader", "mine:failing"], 65, "the reader failed: RuntimeError: the network"),
    ],
)
def test_an_input_that_cannot_be_split_is_a_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, words: list[str], code: int, told: str
) -> None:
    (tmp_path / "in").write_bytes(content)
    (tmp_path / "mine.py").write_text(READER)
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    found = outcome([*words, "--shards", "2", "--out", "deep/out"], {})
    assert (found[0], told in found[1]) == (code, True), found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "in", "mine.py"]


@pytest.mark.parametrize("other", ["./in", "{}/in", "link", "hard", "/dev/stdin"])
def test_one_file_under_two_names_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    (tmp_path / "in").write_text("a\nb\n")
    (tmp_path / "link").symlink_to("in")
    (tmp_path / "hard").hardlink_to(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    other = other.format(tmp_path)
    before, file = os.dup(0), os.open("in", os.O_RDONLY)
    os.dup2(file, 0)
    try:
        code, told = outcome(["in", other, "--shards=2", "--out=out"], {})
        assert (code, f"{other} is an input twice, also as in: " in told) == (78, True), told
        assert outcome([other, "--shards=2", "--out=out"], {}) == (0, "")
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(file)


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LONGEST_RECORD", 1 << 20)
    (tmp_path / "in").write_bytes(bytes(3 << 20))
    with pytest.raises(DatasetError, match="a line of more than 1048576 bytes"):
        split(tmp_path, str(tmp_path / "in"))


@pytest.mark.parametrize("place", ["0/data/part", "data/7/part", "2/data/part"])
def test_anothers_shards_are_left_alone(tmp_path: Path, place: str) -> None:
    (tmp_path / "out" / place).parent.mkdir(parents=True)
    (tmp_path / "out" / place).write_text("mine")
    with pytest.raises(DatasetMisuse, match="holds a shard that is not of this split"):
        split(tmp_path)
    assert read_back(tmp_path / "out") == {place: "mine"}


def test_another_splits_shards_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a\nb\nc\n")
    split(tmp_path, str(tmp_path / "in"))
    before = read_back(tmp_path / "out")
    for words, shards in (
        (["--samples", "9"], 3),
        ([str(tmp_path / "in")], 2),
        ([str(tmp_path / "in"), "--layout=data"], 3),
    ):
        with pytest.raises(DatasetMisuse, match="holds the shards of another split"):
            split(tmp_path, *words, shards=shards)
    os.utime(tmp_path / "in", ns=(1, 1))
    with pytest.raises(DatasetMisuse, match="or of inputs that have changed since"):
        split(tmp_path, str(tmp_path / "in"))
    assert read_back(tmp_path / "out") == before


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("less")])
def test_shards_that_are_not_as_they_were_written_are_told(tmp_path: Path, change: Any) -> None:  # noqa: ANN401
    split(tmp_path)
    change(tmp_path / "out/1/data/part-00001")
    with pytest.raises(DatasetError, match=r"part-00001 (is gone|has 4 bytes), 189\d\d\d bytes were written"):
        split(tmp_path)


MOUNTS = """22 1 0:20 / / rw,relatime - overlay overlay rw
30 22 0:30 / /mnt/my\\040claim rw - nfs4 server:/ rw
31 22 0:31 / /mnt/my rw - tmpfs tmpfs rw
"""


def test_inside_a_pod_an_out_dir_on_no_mount_is_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    inside = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    mounts.write_text(MOUNTS)
    with pytest.raises(DatasetMisuse, match="is not on a volume: the shards would be lost with this container"):
        split(tmp_path, environ=inside, mounts=str(mounts))
    assert not (tmp_path / "out").exists()
    escaped = str(tmp_path).replace(" ", "\\040")
    mounts.write_text(MOUNTS + f"32 22 0:32 / {escaped} rw - nfs4 server:/ rw\n")
    assert split(tmp_path, environ=inside, mounts=str(mounts)).shards == 3


@pytest.mark.parametrize(
    ("mounted", "remedy"),
    [
        (
            ("{0} rw - nfs4",),
            "the volume of this pod is mounted at {0}: set its mountPath to {1}, or set OUT_DIR={0}/out",
        ),
        (
            ("{0} rw,nosuid - ext4", "{1}/b rw - overlay"),
            "at {0} and {1}/b: set its mountPath to {1}, or set OUT_DIR={0}/out or OUT_DIR={1}/b/out",
        ),
        (
            ("{0} ro - nfs4", "/dev/shm rw - tmpfs", "{1}/file rw - ext4"),
            "no volume is mounted in this pod: mount the claim at {1} (mountPath)",
        ),
    ],
    ids=["one", "two", "one to be read, one of every container, one of a file"],
)  # fmt: skip
def test_such_a_refusal_names_the_mount_and_what_to_set(
    tmp_path: Path, mounted: tuple[str, ...], remedy: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "file").touch()
    places = (str(tmp_path / "a"), str(tmp_path))
    lines = [f"40 22 0:40 / {line.format(*places)} server:/ rw" for line in mounted]
    mounts = tmp_path / "mounts"
    mounts.write_text("\n".join(["22 1 0:20 / / rw,relatime - overlay overlay rw", *lines]) + "\n")
    with pytest.raises(DatasetMisuse) as refused:
        split(tmp_path, environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, mounts=str(mounts))
    assert remedy.format(*places) in str(refused.value)


def test_the_articles_data_job_by_the_images_own_command(tmp_path: Path) -> None:
    """The image's target `data` names the command; the claim is a real mount, OUT_DIR beside it, then on it."""
    target = (ROOT / "docker" / "Dockerfile").read_text().partition(" AS data\n")[2]
    words = json.loads(target.partition("ENTRYPOINT ")[2].splitlines()[0])
    assert words[0] == "/opt/launcher/bin/python"
    claim, beside = tmp_path / "mnt", Path("/no-volume")  # of the root itself, wherever tmp_path is
    claim.mkdir()

    def job(out: Path) -> subprocess.CompletedProcess[str]:
        inside = {"OUT_DIR": str(out), "SPLIT_COUNT": "3", "KUBERNETES_SERVICE_HOST": "10.96.0.1"}
        env = {**os.environ, "PYTHONPATH": str(ROOT), **inside}
        return subprocess.run(
            [sys.executable, *words[1:], "--samples", "300"], env=env, capture_output=True, text=True, check=False
        )

    with mounted("", str(claim), claim, "bind"):
        refused, done = job(beside / "paddle-cluster-job"), job(claim / "paddle-cluster-job")
    assert refused.returncode == 78
    assert f"OUT_DIR={beside}/paddle-cluster-job is not on a volume" in refused.stderr
    assert f"set its mountPath to {beside}, or set OUT_DIR=" in refused.stderr
    assert f"OUT_DIR={claim}/paddle-cluster-job" in refused.stderr
    assert not beside.exists()
    assert done.returncode == 0, done.stderr
    assert (claim / "paddle-cluster-job" / "2" / "data" / "part-00002").is_file()


TEXTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["files", "name", "bytes"]), inner),
    max_leaves=12,
)


def entry(**more: object) -> dict[str, object]:
    return {"name": "0/data/x", "bytes": 1, "sha256": "a" * 64, "records": 1} | more


def whole(**more: object) -> str:
    return json.dumps({"version": 1, "origin": "o", "shards": 1, "files": [entry()]} | more)


@pytest.mark.parametrize(
    "text",
    [
        "", "[" * 100_000, "9" * 100_000, "[]", "null", whole(version=2), whole(files=[entry(), entry()]),
        *(whole(files=[entry(name=name)]) for name in ("/x", "../x", "a/../b", "a//b", "", "a\0b", 3)),
        *(whole(files=[entry(sha256=digest)]) for digest in ("a" * 63, "A" * 64, None)),
        *(whole(files=[entry(bytes=size)]) for size in (-1, True, "1", 1.0, 10**30)),
        whole(files={}), whole(shards=True), whole(origin=1),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(DatasetError):
        parse_manifest(text)


@settings(max_examples=200)
@given(TEXTS.map(json.dumps) | st.binary(max_size=60) | st.builds(lambda each: whole(files=[each]), TEXTS))
def test_no_manifest_crashes_its_reader(text: str | bytes) -> None:
    try:
        assert parse_manifest(text).text()
    except DatasetError as error:
        assert len(str(error)) < 500  # noqa: PT017  # both ends are right


def test_a_manifest_that_is_none_stands_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/manifest.json").write_text("{}")
    with pytest.raises(
        DatasetError,
        match="not a manifest: KeyError: 'version'; expected the manifest of a split: move the file away",
    ):
        split(tmp_path)


@settings(max_examples=60)
@given(
    st.lists(
        st.binary(max_size=200)
        | st.binary(max_size=60).map(gzip.compress)
        | st.builds(lambda given, cut: chunks(given)[:-cut], st.binary(max_size=60), st.integers(0, 30)),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["lines", "recordio"]),
)
def test_no_input_crashes_a_split(files: list[bytes], kind: str) -> None:
    with TemporaryDirectory() as name:
        top = Path(name)
        for number, content in enumerate(files):
            (top / f"in-{number}").write_bytes(content)
        try:
            assert split(top, str(top / "in-*"), "--format", kind, shards=1).records
        except DatasetError:
            assert not (top / "out").exists()


def test_a_reader_of_endless_batches_is_not_gathered() -> None:
    def endless() -> Iterator[str]:
        return (str(number) for number in count())

    batches = sources.ReaderSource(endless, "endless", pickled=False).batches((0, 5))
    assert next(batches)[0][0] == b"5"
    assert next(batches)[1] == (0, 2005)
