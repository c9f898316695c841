"""The v1 flags: how they are written, what is refused and in which words, and that the tables have them all."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from launcher.bridge.failure import SETTINGS, TrainingFailure
from launcher.bridge.v1.flags import V1Flags, parse_flags

ROOT = Path(__file__).parents[4]
PADDLE = str(ROOT / "launcher" / "bridge" / "bin" / "paddle")
# fmt: off
OF_THE_ARTICLES = (
    "nics", "port", "port_num", "ports_num", "ports_num_for_sparse", "num_gradient_servers", "pservers", "trainer_id",
    "config", "save_dir", "num_passes", "start_pass", "init_model_path", "trainer_count", "use_gpu", "log_period",
    "dot_period", "saving_period", "test_period", "local", "comment", "show_parameter_stats_period",
    "test_all_data_in_one_period",
)
# fmt: on


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", V1Flags()),
        (
            "--port=7164 --ports_num 2 --ports_num_for_sparse=2",
            V1Flags(port=7164, ports_num=2, ports_num_for_sparse=2),
        ),
        ("--port_num=2", V1Flags(ports_num=2)),
        (
            "--local=0 --use_gpu=false --config=./trainer_config.py",
            V1Flags(local=False, config="./trainer_config.py"),
        ),
        ("--local FALSE --comment=x", V1Flags(local=False, comment="x")),
        ("--test_all_data_in_one_period --num_passes=3", V1Flags(test_all_data_in_one_period=True, num_passes=3)),
        ("--local --local=True --local=1", V1Flags()),
        ("--num_passes=10 --num_passes=2", V1Flags(num_passes=2)),
        ("--pservers= --comment= --nics eth0", V1Flags(nics="eth0")),
        ("--comment=a=b", V1Flags(comment="a=b")),
        ("--start_pass=3 --save_dir=/out", V1Flags(start_pass=3, save_dir="/out")),
        ("--trainer_id=2 --num_gradient_servers=3", V1Flags(trainer_id=2, num_gradient_servers=3)),
    ],
)
def test_they_are_written_as_v1_took_them(words: str, expected: V1Flags) -> None:
    assert parse_flags(words.split()) == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--num_pases=3", r"^--num_pases is not a flag of this paddle: did you mean --num_passes\?$"),
        ("--rdma_tcp=rdma", r"^--rdma_tcp is not a flag of this paddle: run paddle --help for the list$"),
        ("trainer_config.py", "trainer_config.py is not a flag"),
        ("--num_passes=many", "^--num_passes=many: expected a whole number, 0 or more$"),
        ("--num_passes", "^--num_passes=: expected a whole number"),
        ("--num_passes --port=7164", "^--num_passes=: expected a whole number"),
        ("--num_passes=-1", "--num_passes=-1: expected"),
        ("--num_passes=1e3", "--num_passes=1e3: expected"),
        ("--saving_period=0", "--saving_period=0: expected a whole number, 1 or more"),
        ("--local=yes", "^--local=yes: expected 0, 1, true or false$"),
        ("--use_gpu=1", "^--use_gpu=1: these parameter servers run on CPUs only: expected --use_gpu=0$"),
        ("--port=65535 --ports_num=2", "--port=65535 and the ports after it end at 65536: expected at most 65535"),
        ("--trainer_id=3 --num_gradient_servers=3", "^--trainer_id=3: expected 0 to 2, by --num_gradient_servers=3$"),
        ("--start_pass=2", "--start_pass=2: expected --save_dir"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(words: str, sentence: str) -> None:
    with pytest.raises(TrainingFailure, match=sentence) as told:
        parse_flags(words.split())
    assert told.value.code == SETTINGS


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(TrainingFailure) as told:
        parse_flags(["--num_pases=3", "--local=yes", "--use_gpu=1"])
    assert len(str(told.value).splitlines()) == 3


def test_the_document_has_every_flag_with_what_it_is_otherwise() -> None:
    rows = re.findall(r"^\| `--(\w+)` \| (\S*) *\|", (ROOT / "docs" / "bridge.md").read_text(), re.MULTILINE)
    defaults = {field.name: field.default for field in fields(V1Flags)}
    shown = {name: str(int(value)) if isinstance(value, bool) else str(value) for name, value in defaults.items()}
    assert dict(rows) == shown


def test_every_flag_of_the_articles_is_known() -> None:
    zero = {"use_gpu", "trainer_id"}
    parse_flags([f"--{name}={int(name not in zero)}" for name in OF_THE_ARTICLES])


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["version"], 0, "2.6.2's parameter servers behind the v1 command line, with_gpu: OFF", ""),
        (["--help"], 0, "usage: paddle train --config=FILE", ""),
        (["train", "--help"], 0, "--num_passes=100", ""),
        ([], 78, "", "expected paddle pserver or paddle train"),
        (["merge_model"], 78, "", "paddle merge_model: expected paddle pserver or paddle train"),
        (["train", "--num_pases=1", "--use_gpu=1"], 78, "", "--num_pases is not a flag of this paddle"),
        (["train"], 78, "", "--config is not given: expected --config=FILE"),
    ],
)
def test_the_command_answers_without_paddle(words: list[str], code: int, out: str, err: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, PADDLE, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert out in done.stdout
    assert err in done.stderr


def test_the_command_line_stands_first_in_the_log(tmp_path: Path) -> None:
    words = [sys.executable, PADDLE, "train", "--num_passes=3"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    line = r"I\d{4} [\d:]{8}\.\d{6} +\d+ __main__\.py:\d+\] commandline:  paddle train --num_passes=3"
    assert re.fullmatch(line, done.stderr.splitlines()[0])
