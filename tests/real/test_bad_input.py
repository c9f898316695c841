"""What cannot be trained on is told with a sentence and a code, by the gang at once and without a restart."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from launcher.bridge import passes
from tests.real.recommendation import EXAMPLE, training
from tests.support.gangs import Gang
from tests.support.pods import JOB

pytestmark = pytest.mark.timeout(300)

FEW = ("--ratings=3000", "--users=200", "--movies=200")
PART = "000/part-000-00000.gz"
PUSHES = 4  # its place in a line of a sparse table


@pytest.fixture(scope="module")
def saved(paddle_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output of three nodes after one pass, beside the data that it was learned from."""
    top = tmp_path_factory.mktemp("saved")
    with training(paddle_python, top, 1, data=FEW) as g:
        assert g.codes(timeout=200) == [0, 0, 0]
    return g.output


def taken(saved: Path, top: Path, *, until: int = 3) -> Path:
    """Lay a copy of the job's shards and of its pass into a new volume, and return the pass."""
    for rank in range(until):
        shutil.copytree(saved.parent / str(rank), top / "volume" / JOB / str(rank))
    copy = top / "volume" / JOB / "output" / "pass-00000"
    shutil.copytree(saved / "pass-00000", copy)
    return copy


def ends(g: Gang, code: int, said: str) -> None:
    """Hold that all end with this code of a trainer, that nothing was tried again, and that a log tells why."""
    found, message = g.verdict(timeout=200)
    assert (found, message.startswith("trainer ")) == (code, True), (found, message)
    assert len(g.events("generation_made")) == 1
    logs = "".join(path.read_text() for path in g.output.glob("node_*/train.log"))
    assert re.search(said, logs), logs
    assert '  File "' not in logs  # none of Python's; told to end while it is imported, Paddle writes one of C++'s


def test_no_data_at_all(paddle_python: Path, tmp_path: Path) -> None:
    (tmp_path / "volume" / JOB / "0").mkdir(parents=True)  # neither made nor a shard
    with training(paddle_python, tmp_path, 1) as g:
        ends(g, 65, "train: data holds no ratings that are known here: expected one of ")


def test_a_pass_that_is_garbled(paddle_python: Path, saved: Path, tmp_path: Path) -> None:
    """It has all its files, in their sizes, so that nobody but its reader can see it."""
    part = taken(saved, tmp_path) / PART
    part.write_bytes(b"?" * part.stat().st_size)
    with training(paddle_python, tmp_path, 2) as g:
        ends(g, 65, f"{part} cannot be read: ")


def test_a_pass_that_so_many_pservers_cannot_read(paddle_python: Path, saved: Path, tmp_path: Path) -> None:
    """Paddle would load the layers, begin with fresh tables, and say nothing."""
    taken(saved, tmp_path)
    for rank in (3, 4):
        shutil.copytree(saved.parent / "0", tmp_path / "volume" / JOB / str(rank))
    with training(paddle_python, tmp_path, 2, nodes=5) as g:
        ends(g, 78, "with pservers 3, this gang has 5: expected 1 or 2 or 3 or 4 or 6 or 12 of them")


def test_a_pass_of_another_number_of_pservers_is_gone_on_from(
    paddle_python: Path, saved: Path, tmp_path: Path
) -> None:
    """Each row of the tables keeps how often it was pushed to: from 3 shards in the pass, and then from 2."""
    before = pushes(taken(saved, tmp_path, until=2))
    with training(paddle_python, tmp_path, 2, nodes=2) as g:
        assert g.codes(timeout=200) == [0, 0]
        assert [event["resume"] for event in g.events("generation_made")] == [0]
        assert passes.read_pass(g.output / "pass-00001")["pservers"] == 2
        assert pushes(g.output / "pass-00001") > 1.4 * before


def pushes(directory: Path) -> float:
    """Return how many pushes the rows of all sparse tables have counted."""
    parts = (gzip.decompress(path.read_bytes()) for path in directory.glob("*/part-*-*"))
    return sum(float(line.split()[PUSHES]) for part in parts for line in part.splitlines())


def test_a_torn_pass_is_not_gone_on_from(paddle_python: Path, saved: Path, tmp_path: Path) -> None:
    """The launcher sees it: training begins where it would have without it."""
    (taken(saved, tmp_path) / PART).unlink()
    with training(paddle_python, tmp_path, 1) as g:
        assert g.codes(timeout=200) == [0, 0, 0]
        assert [event["resume"] for event in g.events("generation_made")] == [None]
        assert (g.output / "pass-00000" / PART).exists()


def test_a_cost_that_is_no_number(paddle_python: Path, saved: Path, tmp_path: Path) -> None:
    shutil.rmtree(taken(saved, tmp_path))
    with training(paddle_python, tmp_path, 2, "--learning-rate=1e30") as g:
        ends(g, 65, r"the cost is (nan|-?inf) in pass \d+, batch \d+: is the learning rate too high\?")


def test_an_output_that_bash_would_read(paddle_python: Path, saved: Path, tmp_path: Path) -> None:
    shutil.rmtree(taken(saved, tmp_path))
    with training(paddle_python, tmp_path, 1, f"--output={tmp_path}/a;b") as g:
        ends(g, 78, f"'{tmp_path}/a;b': Paddle passes this name to bash: expected only letters")
    assert not (tmp_path / "a;b").exists()


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"TRAINING_ROLE": "PSERVER"}, "PADDLE_PSERVERS_IP_PORT_LIST is not set, but this is one process of several"),
        ({"TRAINERS": "3"}, "PADDLE_PSERVERS_IP_PORT_LIST is not set, but this is one process of several"),
        ({"PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:7164"}, "TRAINING_ROLE is '': expected PSERVER or TRAINER"),
    ],
)
def test_a_place_without_its_variables(
    paddle_python: Path, tmp_path: Path, environ: Mapping[str, str], said: str
) -> None:
    refuses(paddle_python, tmp_path, "train.py", environ=environ, code=78, said=said)


def test_a_pass_that_is_torn_between_the_launchers_look_and_the_trainers(
    paddle_python: Path, saved: Path, tmp_path: Path
) -> None:
    part = taken(saved, tmp_path) / PART
    part.unlink()
    environ = {"LAUNCHER_START_PASS": "1", "LAUNCHER_RESUME_DIR": str(part.parent.parent)}
    data = f"--data={saved.parent / '0' / 'data'}"
    refuses(paddle_python, tmp_path, "train.py", data, environ=environ, code=65, said=f"is torn: {PART} is missing")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("7",), "infer: output has no complete pass: name one with --pass"),
        (("7", "--pass={pass}"), "pass-00000 is torn: 000/part-000-00000.gz has 4 bytes, expected "),
        (("999", "--pass={whole}"), "has no user 999: expected one of 200, 1 to 200"),
        (("7", "--pass={whole}", "--data=nowhere"), "infer: nowhere holds no ratings that are known here"),
    ],
)
def test_nothing_to_infer_from(
    paddle_python: Path, saved: Path, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    torn = taken(saved, tmp_path)
    (torn / PART).write_bytes(b"torn")
    given = [flag.format(**{"pass": torn, "whole": saved / "pass-00000"}) for flag in flags]
    data = f"--data={saved.parent / '0' / 'data'}"
    refuses(paddle_python, tmp_path, "infer.py", data, *given, code=65, said=said)


def test_a_user_who_has_rated_every_movie(paddle_python: Path, tmp_path: Path) -> None:
    lines = {"users": "7::F::1::10::0", "movies": "1::A::Drama\n2::B::War", "ratings": "7::1::5::0"}
    for name, text in {**lines, "held_out": "7::2::5::0"}.items():
        (tmp_path / f"{name}.dat").write_text(f"{text}\n")
    words = (str(paddle_python), str(EXAMPLE / "infer.py"), "7", f"--data={tmp_path}", "--pass=none")
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, f"user 7 has rated every movie in {tmp_path}\n"), ended.stderr


def refuses(
    python: Path,
    work: Path,
    program: str,
    *flags: str,
    code: int,
    said: str,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Hold that a program of the example ends with this code, and with a sentence."""
    words = (str(python), str(EXAMPLE / program), *flags)
    env = {**os.environ, **(environ or {})}
    ended = subprocess.run(words, cwd=work, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr
    assert "Traceback" not in ended.stderr
