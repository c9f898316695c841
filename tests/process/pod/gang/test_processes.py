"""Several programs in each pod: rank, waits, values, log and stall are a program's own, the verdict is of all."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.account import IN_A_POD, need_mounts
from tests.support.gangs import Gang, gang
from tests.support.lives import LAUNCHER, Lives, shell

pytestmark = pytest.mark.timeout(60)
ROOT = Path(__file__).parents[4]
PRELUDE = f"""
import json, os, signal, sys, time
import sitecustomize
sys.path.insert(0, {str(ROOT)!r})
from launcher import here
rank, local, node = here.rank(), int(os.environ["LOCAL_RANK"]), int(os.environ["LAUNCHER_NODE_RANK"])
"""
# Each tells what it has from all; one of them is killed in its first life, when all are there.
MEETS = """
here.share("rank", rank)
got = [here.get("rank", rank=other) for other in range(here.trainers())]
here.barrier("all have told")
generation = int(os.environ["TORCHELASTIC_RESTART_COUNT"]) + 1
here.progress(pass_=generation, at=rank)
print("generation", generation, flush=True)
who = [generation, rank, node, local, int(os.environ["RANK"]), got]
with open(os.environ["JOB_PATH"] + "/told", "ab", buffering=0) as told:
    told.write(json.dumps(who).encode() + b"\\n")
here.barrier("all have written")
if generation == 1 and rank == 3:
    os.kill(os.getpid(), signal.SIGKILL)
here.barrier("the end")
"""
STANDS = """
if rank == 5:
    signal.pause()
here.barrier("the end")
"""
LEAVES = """
if rank != 1:
    here.barrier("the end")
"""


def each_with_two(count: int, top: Path, program: str, **env: str) -> AbstractContextManager[Gang]:
    settings = {"LAUNCHER_RUNTIME": "torch", "LAUNCHER_PROCESSES": "2", **env}
    return gang(count, top, command=(sys.executable, "-S", "-c", PRELUDE + program), env=settings)


def test_of_six_programs_in_three_pods_one_is_killed_and_all_begin_again(tmp_path: Path) -> None:
    with each_with_two(3, tmp_path, MEETS) as g:
        assert g.verdict() == (0, "every trainer is done")
        told = sorted(json.loads(line) for line in (g.volume / "told").read_text().splitlines())
        ranks = list(range(6))
        assert told == [
            [generation, rank, rank // 2, rank % 2, rank, ranks] for generation in (1, 2) for rank in ranks
        ]
        first, second = g.events("generation_made")
        assert (first["restarts"], second["restarts"]) == (0, 1)
        assert second["cause"].startswith("trainer 3 was ended by SIGKILL, on node 1 (")
        reports = {(each["metrics"]["at"], each["rank"], each["node_rank"]) for each in g.events("progress")}
        assert reports == {(rank, rank, rank // 2) for rank in ranks}
        for rank in ranks:
            name = "train-1.log" if rank % 2 else "train.log"
            log = (g.output / f"node_{rank // 2}" / name).read_text().splitlines()
            assert [line for line in log if line.startswith("gen")] == ["generation 1", "generation 2"]
        assert sorted(g.launcher(1).life.rest()) == [
            f"[trainer {rank}] generation {n}" for rank in (2, 3) for n in (1, 2)
        ]


def test_a_program_that_stands_still_is_named_by_its_own_rank(tmp_path: Path) -> None:
    with each_with_two(3, tmp_path, STANDS, LAUNCHER_STALL_TIMEOUT="3", LAUNCHER_MAX_RESTARTS="0") as g:
        code, reason = g.verdict()
        assert code == 134
        assert reason.startswith("trainer 5 stood still for 3 s (no output, no CPU, no progress)")
        assert ", on node 2 (" in reason
        assert "signal.pause()" not in (g.output / "node_2/train.log").read_text()
        assert 'File "<string>"' in (g.output / "node_2/train-1.log").read_text()


def test_who_waits_for_a_program_of_its_own_pod_that_is_done_ends_the_generation(tmp_path: Path) -> None:
    quick = {"LAUNCHER_PEER_TIMEOUT": "3", "LAUNCHER_MAX_RESTARTS": "0"}
    with each_with_two(2, tmp_path, LEAVES, **quick) as g:
        code, reason = g.verdict()
        assert code == 76
        assert reason.endswith(" waits at 'the end', and trainer 1 is done")


def test_pods_with_other_numbers_of_programs_end_with_both_numbers(tmp_path: Path) -> None:
    env = {"LAUNCHER_RUNTIME": "torch", "LAUNCHER_PROCESSES": "2"}
    with gang(3, tmp_path, env=env, env_of={2: {"LAUNCHER_PROCESSES": "3"}}) as g:
        code, reason = g.verdict()
        names = (f"node {rank} ({g.address(rank)})" for rank in (0, 2))
        assert code == 78
        assert reason == "LAUNCHER_PROCESSES is 2 on {} and 3 on {}: set the same on every pod".format(*names)


@pytest.fixture
def lives() -> Iterator[Lives]:
    with Lives() as made:
        yield made


def test_a_program_that_is_done_before_the_next_has_begun_ends_nothing(lives: Lives, tmp_path: Path) -> None:
    env = {"LAUNCHER_RUNTIME": "env", "POD_IP": "127.0.0.1", "LAUNCHER_PROCESSES": "3"}
    script = '[ "$LOCAL_RANK" = 0 ] || { sleep 0.3; echo "$RANK of $WORLD_SIZE"; }'
    life = lives.start(*shell(script), env={**env, "LAUNCHER_WORKDIR": str(tmp_path)})
    assert sorted((life.line(), life.line())) == ["[trainer 1] 1 of 3", "[trainer 2] 2 of 3"]
    assert life.end() == 0


def with_devices(lives: Lives, top: Path, names: str, processes: str, *command: str) -> tuple[int, list[str], str]:
    """Run a launcher alone in a pod that has these device files, and no others that a driver makes."""
    lay_out = (
        f"mkdir {top}/dev && cp -a /dev/null /dev/zero /dev/urandom /dev/fd {top}/dev/ && cd {top}/dev && "
        f'touch nvidiactl {names} && mount --rbind {top}/dev /dev && cd / && exec "$@"'
    )
    env = {"LAUNCHER_RUNTIME": "paddle", "POD_IP": "127.0.0.1", "LAUNCHER_PROCESSES": processes}
    before = (*IN_A_POD, lay_out, "sh")
    life = lives.start(*command, env={**env, "LAUNCHER_WORKDIR": str(top)}, before=before, launcher=(*LAUNCHER, "--"))
    lines = life.rest()
    return life.end(), lines, life.err()


def test_gpu_is_a_program_for_each_device_that_is_seen(lives: Lives, tmp_path: Path) -> None:
    need_mounts()
    script = 'echo "$PADDLE_TRAINER_ID $PADDLE_TRAINERS_NUM $PADDLE_RANK_IN_NODE $FLAGS_selected_gpus"'
    code, lines, _ = with_devices(lives, tmp_path, "nvidia0 nvidia1 nvidia2", "gpu", *shell(script))
    assert code == 0
    assert sorted(lines) == [f"[trainer {rank}] {rank} 3 {rank} {rank}" for rank in range(3)]


@pytest.mark.parametrize(
    ("names", "processes", "said"),
    [
        ("", "gpu", "LAUNCHER_PROCESSES=gpu, and no device is seen in this pod"),
        ("accel0 accel1", "3", "LAUNCHER_PROCESSES=3, and 2 devices are seen in this pod: expected at most 2"),
        ("accel7", "2", "LAUNCHER_PROCESSES=2, and 1 device is seen in this pod: expected at most 1"),
    ],
)
def test_a_program_without_a_device_is_78(
    lives: Lives, tmp_path: Path, names: str, processes: str, said: str
) -> None:
    need_mounts()
    code, lines, err = with_devices(lives, tmp_path, names, processes, "true")
    assert (code, lines) == (78, [])
    assert f"start_paddle: {said}" in err
