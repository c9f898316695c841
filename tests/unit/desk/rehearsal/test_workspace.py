"""The ground of a rehearsal: nothing of anybody else's is touched, and what is missing is said in a sentence."""

from __future__ import annotations

import errno
import signal
import socket
import sys
from pathlib import Path

import pytest

from launcher.desk import cli
from launcher.desk.rehearsal import example, local, processes, workspace
from launcher.desk.rehearsal.processes import END_PATIENCE, EndedPod
from launcher.desk.rehearsal.rehearsal import Rehearsal, pods_of
from launcher.desk.rehearsal.workspace import MARKER, NotReady

ROOT = Path(__file__).parents[4]


def test_a_new_directory_is_made_and_marked(tmp_path: Path) -> None:
    workspace.clear(tmp_path / "build" / "demo", keep=False)
    assert [path.name for path in (tmp_path / "build" / "demo").iterdir()] == [MARKER]


def test_the_last_rehearsals_directory_is_made_anew(tmp_path: Path) -> None:
    for _ in range(2):
        workspace.clear(tmp_path / "demo", keep=False)
        (tmp_path / "demo" / "left").touch()
    workspace.clear(tmp_path / "demo", keep=False)
    assert [path.name for path in (tmp_path / "demo").iterdir()] == [MARKER]


def test_what_is_to_be_kept_is_moved_aside(tmp_path: Path) -> None:
    for number in range(3):
        workspace.clear(tmp_path / "demo", keep=True)
        (tmp_path / "demo" / f"run {number}").touch()
    assert (tmp_path / "demo" / "run 2").exists()
    assert (tmp_path / "demo.1" / "run 0").exists()
    assert (tmp_path / "demo.2" / "run 1").exists()


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", ["directory", "file"])
def test_what_no_rehearsal_made_is_left_alone(tmp_path: Path, kind: str, keep: bool) -> None:
    theirs = tmp_path / "demo" if kind == "file" else tmp_path / "demo" / "thesis.tex"
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text("years of work")
    with pytest.raises(NotReady, match="nothing was changed; choose an empty or a new one with --directory"):
        workspace.clear(tmp_path / "demo", keep=keep)
    assert theirs.read_text() == "years of work"


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotReady, match="cannot be made again: Not a directory"):
        workspace.clear(tmp_path / "file" / "demo", keep=False)


def test_a_taken_port_is_told_with_the_remedy() -> None:
    with socket.create_server(("127.0.1.2", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NotReady, match=rf"127\.0\.1\.2:{port} is in use by another program: .* --port"):
            workspace.check_ports(["127.0.1.2"], [port])
    workspace.check_ports(["127.0.1.2"], [port])


@pytest.mark.parametrize(
    ("number", "words"), [(errno.EACCES, "1024 or more with --port"), (errno.EADDRNOTAVAIL, "127.0.0.0/8")]
)
def test_other_reasons_against_a_port_are_told(number: int, words: str) -> None:
    def refuse(where: tuple[str, int]) -> socket.socket:
        raise OSError(number, f"no {where[1]}")

    with pytest.raises(NotReady, match=words):
        workspace.check_ports(["127.0.1.1"], [80], listen=refuse)


def test_programs_meet_at_ports_on_which_no_connection_of_the_last_run_is_closing() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.1.1", 0))
        free = unused.getsockname()[1]
    with socket.socket() as server:  # as XGBoost's and LightGBM's, without SO_REUSEADDR
        server.bind(("127.0.1.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.1.1", port)) as client:
            server.accept()[0].close()  # who closes first waits for a minute
            assert client.recv(1) == b""
    closing, after, beyond = range(port, port + 1), range(free, free + 1), range(65536, 65537)
    assert workspace.meeting((closing, beyond, after)) == free
    assert workspace.meeting((closing, beyond)) == port


def test_the_examples_are_in_the_package_or_beside_it(tmp_path: Path) -> None:
    package = tmp_path / "launcher"
    assert workspace.examples(package) == tmp_path / "examples"
    (package / "examples").mkdir(parents=True)
    assert workspace.examples(package) == package / "examples"
    assert workspace.examples() == ROOT / "examples"


@pytest.mark.parametrize("name", example.EXAMPLES)
def test_a_package_without_its_examples_is_told_with_the_remedy(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        NotReady, match=r"does not contain .*: expected the examples .* `pip install --force-reinstall"
    ):
        local.shipped(name, examples=tmp_path)


def test_another_python_finds_the_launchers_package_and_none_beside_it(tmp_path: Path) -> None:
    chosen = example.recommendation(ROOT / "examples", Path(sys.executable))
    mine = Rehearsal(example=chosen, directory=tmp_path, pods=1, passes=1, port=7164)
    workspace.furnish(mine, pods_of(mine, {}, "python"))
    assert [path.name for path in mine.library.iterdir()] == ["launcher"]
    assert (mine.library / "launcher" / "here.py").is_file()
    assert (mine.job_dir / "0" / "data" / "ratings.dat").is_file()


def one_pod(root: Path, directory: Path) -> Rehearsal:
    return Rehearsal(
        example=example.stand_in(root / "examples", Path(sys.executable), {}),
        directory=directory,
        pods=1,
        passes=1,
        port=7164,
    )


def test_data_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    rehearsal = one_pod(tmp_path, tmp_path / "demo")
    rehearsal.example.directory.mkdir(parents=True)
    (rehearsal.example.directory / "make_data.py").write_text("raise SystemExit('no numbers today')")
    with pytest.raises(NotReady, match="ended with 1:\nno numbers today"):
        workspace.furnish(rehearsal, pods_of(rehearsal, {}, "python"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--pods", "0"], "'0': expected a whole number from 1 to 100"),
        (["--passes", "ten"], "'ten': expected a whole number from 1 to 1000000"),
    ],
)
def test_a_number_that_cannot_be_is_told(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["local", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["local", "--help"]) == 0
    assert "paddlectl local --pods 3 --passes 10" in capsys.readouterr().out


def ended(code: int) -> EndedPod:
    (pod,) = pods_of(one_pod(ROOT, Path("/")), {}, "python")
    return EndedPod(pod=pod, code=code, at=100.0)


INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


@pytest.mark.parametrize(
    ("gone", "told", "given", "now", "expected"),
    [
        ([], [], [], 0.0, []),
        ([], [INT], [], 0.0, [TERM]),
        ([], [INT], [TERM], 0.0, []),
        ([], [INT, INT], [TERM], 0.0, [KILL]),
        ([], [INT, TERM, INT], [TERM, KILL], 0.0, []),
        ([0], [], [], 1000.0, []),
        ([0, 7], [], [], 100.0 + END_PATIENCE - 0.1, []),
        ([0, 7], [], [], 100.0 + END_PATIENCE, [TERM]),
        ([0, 7], [], [TERM], 1000.0, []),
    ],
    ids=[
        "all is well",
        "told to stop",
        "each signal once",
        "told again",
        "nothing is harder than a kill",
        "a good end is no reason",
        "the others may find out by themselves",
        "they did not",
        "and are told once",
    ],
)
def test_when_the_pods_are_told_to_end(
    gone: list[int], told: list[int], given: list[int], now: float, expected: list[int]
) -> None:
    assert [
        signum for signum, _ in processes.due_signals([ended(code) for code in gone], told, given, now)
    ] == expected
