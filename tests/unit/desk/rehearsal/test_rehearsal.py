"""What a rehearsal runs: each pod's words, environment and directories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from launcher.desk.rehearsal import example
from launcher.desk.rehearsal.example import Example
from launcher.desk.rehearsal.rehearsal import (
    JOB,
    PACKAGE,
    Rehearsal,
    RehearsalPod,
    addresses,
    meetings,
    pods_of,
    ports,
)
from launcher.job import PaddleJob, Volume
from launcher.pod.settings.nouns import Runtime
from launcher.pod.settings.variables import read_settings

TOP = Path("/demo")
EXAMPLES, PYTHON = Path("/package/examples"), Path("/venv/bin/python")
ENVIRON = {"PATH": "/usr/bin", "HOME": "/home/somebody"}


STAND_IN = example.stand_in(EXAMPLES, PYTHON, ENVIRON)
PADDLE = example.recommendation(EXAMPLES, Path("/paddle/bin/python"))


def rehearsal(example: Example = STAND_IN, *, pods: int = 3, passes: int = 10, port: int = 7164) -> Rehearsal:
    return Rehearsal(example=example, directory=TOP, pods=pods, passes=passes, port=port)


def pods(environ: Mapping[str, str] = ENVIRON, example: Example = STAND_IN, **facts: int) -> tuple[RehearsalPod, ...]:
    return pods_of(rehearsal(example, **facts), environ, "/venv/bin/python")


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, ("127.0.1.1",)),
        (3, ("127.0.1.1", "127.0.1.2", "127.0.1.3")),
        (10, tuple(f"127.0.1.{number}" for number in range(1, 11))),
    ],
)
def test_each_pod_has_an_address_of_its_own(count: int, expected: tuple[str, ...]) -> None:
    assert tuple(pod.address for pod in pods(pods=count)) == expected == addresses(count)


def test_no_two_pods_share_a_directory_and_none_works_on_the_volume() -> None:
    found = pods()
    places = {path for pod in found for path in (pod.workdir, pod.stdout, pod.stderr)}
    assert len(places) == 9
    assert not any(path.is_relative_to(rehearsal().volume) for path in places)


def test_all_that_is_made_lies_below_the_directory_and_only_the_output_on_the_volume() -> None:
    made = (rehearsal().output, rehearsal().config_dir, rehearsal().report, rehearsal().library)
    assert all(path.is_relative_to(TOP) for path in made)
    assert [path.is_relative_to(rehearsal().job_dir) for path in made] == [True, True, False, False]


def test_the_launcher_is_started_by_its_command_with_the_flags_of_start_sh() -> None:
    (pod,) = pods(pods=1, passes=4)
    start_sh = (Path(__file__).parents[4] / "docker" / "start.sh").read_text()
    assert pod.argv[:3] == ("/venv/bin/python", "-m", "launcher.pod")
    assert {"--num_passes=4", "--config=./trainer_config.py", "--local=0"} <= set(pod.argv)
    assert all(word.partition("=")[0] in start_sh for word in pod.argv[3:])


def test_the_variables_are_the_seeds_and_where_the_peers_are() -> None:
    (_, second, _) = pods(port=8000)
    said = {name: value for name, value in second.env.items() if name not in ENVIRON}
    assert said == {
        "JOB_NAME": JOB,
        "JOB_PATH": "/demo/volume",
        "JOB_NAMESPACE": "default",
        "TRAIN_CONFIG_DIR": "recommendation",
        "CONF_PADDLE_NIC": "lo",
        "CONF_PADDLE_PORT": "8000",
        "CONF_PADDLE_PORTS_NUM": "2",
        "CONF_PADDLE_PORTS_NUM_SPARSE": "2",
        "CONF_PADDLE_GRADIENT_NUM": "3",
        "LAUNCHER_PEERS": "static:127.0.1.1,127.0.1.2,127.0.1.3",
        "LAUNCHER_PORTS": "12400",
        "LAUNCHER_STATUS_PORT": "8006",
        "LAUNCHER_WORKDIR": "/demo/pods/127.0.1.2/root",
        "POD_IP": "127.0.1.2",
    }


def test_the_stand_in_is_found_before_any_other_paddle() -> None:
    assert pods()[0].env["PATH"] == "/package/examples/stand_in:/venv/bin:/usr/bin"
    nowhere = example.stand_in(EXAMPLES, PYTHON, {"HOME": "/"})
    assert (
        pods({"HOME": "/"}, nowhere)[0]
        .env["PATH"]
        .startswith("/package/examples/stand_in:/venv/bin:/usr/local/bin:/")
    )


def test_nothing_of_a_job_around_the_rehearsal_reaches_the_pods() -> None:
    around = {
        "TRAINER_ID": "7",
        "LAUNCHER_ROLE": "pserver",
        "PADDLE_PORT": "1",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    }
    found = pods({**ENVIRON, **around})[0].env
    assert not set(around) & set(found)
    assert found["HOME"] == "/home/somebody"


def test_the_launcher_takes_what_it_is_told() -> None:
    for pod in (*pods(), *pods(example=PADDLE)):
        settings = read_settings(pod.env, pod.argv[3:])
        assert (settings.trainers, settings.address, str(settings.workdir)) == (3, pod.address, str(pod.workdir))
        assert str(settings.job_dir) == str(rehearsal().job_dir)


def test_paddles_own_example_runs_the_jobs_copy_of_its_program() -> None:
    (first, *_) = pods(example=PADDLE, passes=7)
    assert first.argv[3:] == ("--", "/paddle/bin/python", "train.py", "--passes=7")
    assert first.env["PYTHONPATH"] == "/demo/python"
    assert first.env["PATH"] == "/usr/bin"
    settings = read_settings(first.env, first.argv[3:])
    assert settings.runtime is Runtime.FLEET
    assert settings.command == ("/paddle/bin/python", "train.py", "--passes=7")


def test_blocks_to_meet_at_are_apart_and_have_ports_for_each_generation_of_each_pod() -> None:
    first, second, *_ = meetings(7164, 3)
    assert (first, second) == (range(12400, 12418), range(12418, 12436))
    assert meetings(8000, 1)[0] == range(13236, 13242)
    assert meetings(8000, 1, "4")[0] == range(13236, 13260)
    assert len(meetings(8000, 2, "gpu")[0]) == 6 * 2 * 16


@pytest.mark.parametrize("which", [STAND_IN, PADDLE], ids=["stand-in", "Paddle"])
def test_every_port_that_a_pod_may_open_is_known(which: Example) -> None:
    settings = read_settings(pods(example=which, port=9000)[0].env, pods(example=which)[0].argv[3:])
    v1 = range(settings.ports.first, settings.ports.last + 1)
    fleet = (settings.ports.of_generation(number) for number in range(1, 20))
    assert {*v1, *fleet, settings.status_port} == {*ports(9000)} == {*range(9000, 9007)}


def submitted(*, entry_point: str = "", topology: str = "", passes: int) -> Example:
    job = PaddleJob(
        job_name="mine", runtime_image="none", trainer_package_path="/package", trainers=2, together=True, cpu_nums=2,
        volumes=(Volume(mount_path="/volume", claim="here"),), entry_point=entry_point, topology=topology,
        passes=passes,
    )  # fmt: skip
    return example.submitted(job, Path("/package"))


def test_a_job_of_ones_own_has_the_words_that_its_pods_have_on_a_cluster() -> None:
    mine = submitted(entry_point="python train.py 'two words'", passes=3)
    (first, _) = pods(example=mine, pods=2, passes=mine.passes)
    assert first.argv[3:] == ("--", "python", "train.py", "two words")
    settings = read_settings(first.env, first.argv[3:])
    assert settings.runtime is Runtime.FLEET
    assert (first.env["TRAIN_CONFIG_DIR"], first.env["PADDLE_INIT_NUM_PASSES"]) == (PACKAGE, "3")
    assert mine.has_pservers


def test_a_job_of_several_programs_in_a_pod_has_them_here_as_well() -> None:
    job = PaddleJob(job_name="mine", runtime_image="none", entry_point="x", runtime="torch", processes=3)
    mine = example.submitted(job, Path("/package"))
    (first,) = pods(example=mine, pods=1)
    assert (mine.processes, read_settings(first.env, first.argv[3:]).processes) == ("3", 3)
    assert STAND_IN.processes == "1"


def test_a_jobs_own_variables_are_its_programs_here_as_well() -> None:
    env = {"A": "1", "PYTHONPATH": "/of-the-job", "LAUNCHER_STALL_TIMEOUT": "300"}
    job = PaddleJob(job_name="mine", runtime_image="none", entry_point="x", runtime="env", env=env, restarts=0)
    (first,) = pods({**ENVIRON, "A": "0"}, example.submitted(job, Path("/package")), pods=1)
    assert (first.env["A"], first.env["PYTHONPATH"]) == ("1", "/demo/python:/of-the-job")
    settings = read_settings(first.env, first.argv[3:])
    assert (settings.max_restarts, settings.timing.stall) == (0, 300)


def test_a_program_finds_the_launchers_package_before_what_its_own_shell_names() -> None:
    mine = submitted(entry_point="python train.py", passes=3)
    (first, _) = pods({**ENVIRON, "PYTHONPATH": "/mine:/yours"}, mine, pods=2)
    assert first.env["PYTHONPATH"] == "/demo/python:/mine:/yours"


def test_a_v1_job_of_ones_own_has_start_shs_words_and_then_its_own() -> None:
    mine = submitted(topology="conf/net.py", passes=7)
    (first, _) = pods(example=mine, pods=2, passes=mine.passes)
    assert read_settings(first.env, first.argv[3:]).runtime is Runtime.V1
    last = {word.partition("=")[0]: word.partition("=")[2] for word in first.argv[3:]}
    assert (last["--config"], last["--num_passes"], last["--trainer_count"]) == ("./conf/net.py", "7", "2")
    assert mine.passes == 7
    start_sh = (Path(__file__).parents[4] / "docker" / "start.sh").read_text()
    assert all(f"{name}=" in start_sh for name in last)
