"""A split whose disk fills up, whose process is killed, whose input breaks, and the start after it."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from launcher.dataset import recordio, records
from launcher.dataset.arguments import split_options
from launcher.dataset.manifest import Manifest
from launcher.dataset.problem import DatasetError, DatasetMisuse
from launcher.dataset.progress import SplitProgress
from launcher.dataset.splitting import refusal_sentence, split_into_shards
from launcher.dataset.workspace import SplitWorkspace
from tests.support.hanging import hanging_volume
from tests.support.mounts import mounted
from tests.support.volume import read_back

ROOT = Path(__file__).parents[3]
LINES = b"".join(b"line %d\n" % number for number in range(3000))


class Killed(BaseException):
    """The process is no more."""


class Deadly(SplitProgress):
    """Is told of each batch; the n-th is the last."""

    def __init__(self, left: int) -> None:
        super().__init__(io.StringIO())
        self.left = left

    def at(self, *_: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


def split(top: Path, *words: str, telling: SplitProgress | None = None, shards: int = 3) -> Manifest:
    order = split_options(
        ["split", "--out", str(top / "out"), "--shards", str(shards), "--checkpoint", "0", *words], {}
    )
    return split_into_shards(order, {}, telling or SplitProgress(io.StringIO()))


def started(top: Path, *words: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    argv = [*before, sys.executable, "-m", "launcher.dataset", "split", "--out", "out", "--shards", "3", *words]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{top}"}
    return subprocess.Popen(argv, cwd=top, env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def digests(made: Manifest) -> list[str]:
    return [entry.sha256 for entry in made.files]


def contents(top: Path, made: Manifest) -> list[list[bytes]]:
    """Return the records of each shard of RecordIO."""
    return [list(recordio.reader(top / "out" / entry.name)) for entry in made.files]


def packed(content: bytes, kind: str) -> bytes:
    """Return lines as a file of some kind has them."""
    if kind == "gzip":
        return gzip.compress(content)
    if kind != "chunked":
        return content
    file = io.BytesIO()
    with recordio.writer(file, chunk=5000) as out:
        for line in content.splitlines(keepends=True):
            out.write(line)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["plain", "gzip", "recordio", "chunked", "bytes"])
def test_killed_after_any_batch_the_next_start_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(records, "BLOCK", 6000)
    for number, content in enumerate((LINES[:9000], LINES[9000:])):
        (tmp_path / f"in-{number}").write_bytes(packed(content, kind))
    flags = {"recordio": "--format=recordio", "chunked": "--format=recordio", "bytes": "--balance=bytes"}
    words = [str(tmp_path / "in-*"), *([flags[kind]] if kind in flags else [])]
    whole = split(tmp_path / "whole", *words)
    for deadly in range(6):
        top = tmp_path / str(deadly)
        with pytest.raises(Killed):
            split(top, *words, telling=Deadly(deadly))
        assert not (top / "out/manifest.json").exists()
        after = Deadly(100)
        made = split(top, *words, telling=after)
        assert after.left == 100 - (6 - deadly)  # what was kept is not read again
        assert [entry.records for entry in made.files] == [entry.records for entry in whole.files]
        if "recordio" in words[-1]:  # whose chunks end where the work was kept
            assert contents(top, made) == contents(tmp_path / "whole", whole)
        else:
            assert digests(made) == digests(whole)
        assert not (top / "out/.split").exists()


def test_killed_while_the_shards_get_their_places_the_next_start_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = os.replace, [0]

    def replace(source: str, target: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        real(source, target)

    few = ("--samples", "9")
    whole = split(tmp_path / "whole", *few)
    monkeypatch.setattr(os, "replace", replace)
    killed = 0
    for deadly in range(1, 60):
        left[0] = deadly
        top = tmp_path / str(deadly)
        try:
            split(top, *few)
            break
        except Killed:
            killed += 1
        left[0] = 0
        assert digests(split(top, *few)) == digests(whole)
        assert read_back(top / "out") == read_back(tmp_path / "whole/out")
    assert killed == 8


READER = """
import os
def rows():
    for number in range(50_000):
        if number == 30_000 and os.path.exists("stop-here"):
            os.write(2, b"half\\n")
            os.read(0, 1)
        yield number, number
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_ended_half_way_is_gone_on_with(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "mine.py").write_text(READER)
    (tmp_path / "stop-here").touch()
    words = ("--reader", "mine:rows", "--checkpoint", "0")
    with started(tmp_path, *words) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "half\n"
        child.send_signal(how)
        told = child.stderr.read()
    if how != signal.SIGKILL:
        assert (child.returncode, told) == (128 + how, "stopped after 30000 records; run it again to continue\n")
    (tmp_path / "stop-here").unlink()
    with started(tmp_path, *words) as child:
        _, told = child.communicate()
    assert child.returncode == 0, told
    assert told.startswith("continuing after 30000 records\n")
    parts = [(tmp_path / f"out/{rank}/data/part-0000{rank}").read_text().split() for rank in range(3)]
    assert [part == [f"{number},{number}" for number in range(rank, 50_000, 3)] for rank, part in enumerate(parts)]
    assert all(parts)


def test_what_was_kept_is_not_believed_when_it_cannot_be_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "BLOCK", 6000)
    (tmp_path / "in").write_bytes(LINES)
    whole = split(tmp_path / "whole", str(tmp_path / "in"))
    for number, text in enumerate(('{"origin"', "[]", '{"origin": "x"}', None)):
        top = tmp_path / str(number)
        with pytest.raises(Killed):
            split(top, str(tmp_path / "in"), telling=Deadly(3))
        if text is None:
            os.truncate(top / "out/.split/part-00001", 10)
        else:
            (top / "out/.split/state.json").write_text(text)
        after = Deadly(100)
        assert digests(split(top, str(tmp_path / "in"), telling=after)) == digests(whole)
        assert after.left == 95


def test_another_input_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "BLOCK", 6000)
    (tmp_path / "in").write_bytes(LINES)
    with pytest.raises(Killed):
        split(tmp_path, str(tmp_path / "in"), telling=Deadly(3))
    (tmp_path / "in").write_bytes(LINES.upper())
    made = split(tmp_path, str(tmp_path / "in"))
    assert b"line" not in b"".join((tmp_path / "out" / entry.name).read_bytes() for entry in made.files)


def test_a_second_split_at_the_same_time_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with (
        SplitWorkspace(str(tmp_path / "out"), "another").held(),
        pytest.raises(DatasetMisuse, match="another split is running there"),
    ):
        split(tmp_path)
    assert split(tmp_path).shards == 3


def test_who_is_refused_leaves_the_other_its_lock_and_directory(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with SplitWorkspace(str(out), "another").held():
        for _ in range(2):  # the second is refused as the first was
            with pytest.raises(DatasetMisuse, match="another split is running there"):
                split(tmp_path)
            assert [path.name for path in (out / ".split").iterdir()] == ["lock"]
    assert not out.exists()


def test_what_another_start_has_finished_meanwhile_is_told_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signs: list[dict[Path, int]] = []
    real = os.makedirs

    def makedirs(path: str, *, exist_ok: bool) -> None:
        monkeypatch.undo()
        split(tmp_path, "--samples=9")
        signs.append(files())
        real(path, exist_ok=exist_ok)

    def files() -> dict[Path, int]:
        return {path: path.stat().st_ino for path in (tmp_path / "out").rglob("*") if path.is_file()}

    monkeypatch.setattr(os, "makedirs", makedirs)
    telling = SplitProgress(stream := io.StringIO())
    assert split(tmp_path, "--samples=9", telling=telling).records == 9
    assert stream.getvalue().endswith("9 records in 3 shards, 3 in each, 0.0 MB in all; nothing is changed\n")
    assert signs == [files()]
    assert not (tmp_path / "out/.split").exists()


def test_a_full_disk_is_told_and_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(LINES * 100)
    (tmp_path / "out").mkdir()
    with mounted("tmpfs", "tmpfs", tmp_path / "out", "size=3m"):
        filler = tmp_path / "out/filler"
        filler.write_bytes(bytes(2 << 20))
        with started(tmp_path, "in") as child:
            _, told = child.communicate()
        assert child.returncode == 74
        assert "No space left on device; the finished part stays in out/.split: run it again to continue" in told
        assert not (tmp_path / "out/manifest.json").exists()
        filler.unlink()
        subprocess.run(["mount", "-o", "remount,size=30m", str(tmp_path / "out")], check=True)
        with started(tmp_path, "in") as child:
            _, told = child.communicate()
        assert child.returncode == 0, told
        assert sum(path.stat().st_size for path in (tmp_path / "out").glob("*/data/*")) == len(LINES) * 100


@pytest.mark.parametrize("change", ["truncate", "grow", "touch"])
def test_an_input_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    class Meanwhile(SplitProgress):
        def at(self, *_: int) -> None:
            if change == "truncate":
                os.truncate(tmp_path / "in", 20_000)
            elif change == "grow":
                with (tmp_path / "in").open("ab") as file:
                    file.write(b"more\n")
            else:
                os.utime(tmp_path / "in", ns=(1, 1))

    monkeypatch.setattr(records, "BLOCK", 6000)
    (tmp_path / "in").write_bytes(LINES)
    with pytest.raises(DatasetError, match=r"in changed while it was read"):
        split(tmp_path, str(tmp_path / "in"), telling=Meanwhile(io.StringIO()))
    assert not (tmp_path / "out").exists()


def test_an_input_that_may_not_be_read_is_told() -> None:
    with TemporaryDirectory() as name:  # on a way that is open to everybody
        top = Path(name)
        top.chmod(0o755)
        (top / "in").write_bytes(LINES)
        (top / "in").chmod(0)
        with as_nobody(), pytest.raises(PermissionError) as caught:
            split(top, str(top / "in"))
        assert refusal_sentence(caught.value, str(top / "out")) == f"{top}/in: Permission denied; nothing is written"
        assert not (top / "out").exists()


@contextmanager
def as_nobody() -> Iterator[None]:
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def traced(call: str, path: Path) -> tuple[str, ...]:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    return ("strace", "-f", "-qq", "-o", "/dev/null", "-P", str(path), "-e", f"inject={call}:error=EIO:when=1")


@pytest.mark.parametrize(("call", "name"), [("read", "in"), ("write", "out/.split/part-00001")])
def test_an_input_output_error_is_told_with_its_path(tmp_path: Path, call: str, name: str) -> None:
    (tmp_path / "in").write_bytes(LINES)
    path = tmp_path / name
    place = path if call == "write" else Path(name)
    with started(tmp_path, "--out", str(tmp_path / "out"), "in", before=traced(call, path)) as child:
        _, told = child.communicate()
    if "ptrace" in told.lower():
        pytest.skip(f"strace may not trace here: {told.strip()}")
    assert child.returncode == 74, told
    assert f"launcher.dataset: {place}: Input/output error; " in told
    assert not (tmp_path / "out/manifest.json").exists()


ODD = os.fsdecode(b"line\nbreak \xff [1]*")


def test_names_of_any_bytes_are_inputs_and_shown_with_escapes(tmp_path: Path) -> None:
    (tmp_path / ODD).write_bytes(LINES)
    assert split(tmp_path, str(tmp_path / ODD)).records == 3000
    with pytest.raises(DatasetError, match=r"line\\nbreak \\udcff \[1\]\*\?'?: no file matches"):
        split(tmp_path, str(tmp_path / (ODD + "?")))


def test_a_link_is_an_input_as_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(LINES)
    (tmp_path / "in").symlink_to("file")
    assert split(tmp_path, str(tmp_path / "in")).records == 3000


def test_on_a_volume_that_hangs_term_ends_it_and_says_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"import os\nos.write(2, b'begun\\n')\n{READER}")
    words = ("--reader", "mine:rows", "--out", str(tmp_path / "volume/out"))
    with hanging_volume(tmp_path / "volume") as volume, volume.hanging(), started(tmp_path, *words) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "begun\n"
        child.send_signal(signal.SIGTERM)
        assert child.stderr.read() == "stopped after 0 records; run it again to continue\n"
        child.wait(timeout=20)
    assert child.returncode == 143


@pytest.mark.parametrize(
    "call", [lambda shards: shards.settle(), lambda shards: shards.add(0, [b"x" * (2 << 20)] * 3)]
)
def test_a_write_that_failed_is_never_forgotten(tmp_path: Path, call: Callable[[object], None]) -> None:
    from launcher.dataset.shards import ShardFiles

    shards = ShardFiles(str(tmp_path), [0], recordio=False)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, shards.all[0].fd)
    os.close(full)
    shards.add(0, [b"x" * (2 << 20)])
    shards._todo.join()
    with pytest.raises(OSError, match="No space left"):
        call(shards)
    shards.close()
