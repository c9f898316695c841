"""Runtimes: settings and roster in, argv and environment out."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pytest

from launcher.pod.peers.roster import Peer, Roster, ordered
from launcher.pod.programs.plan import Program, Resume, endpoint
from launcher.pod.programs.runtimes import plan_for, xgboost_tracker
from launcher.pod.programs.runtimes.frameworks import FRAMEWORKS, Place
from launcher.pod.programs.runtimes.torch_error import LONGEST, cause
from launcher.pod.settings.nouns import Role, Runtime
from launcher.pod.settings.variables import read_settings
from tests.unit.pod.settings.test_variables import SEED
from tests.unit.test_docs import ROOT, rows

DOCS = ROOT / "docs/contracts.md"
# What every training program reads, whatever it runs on.
WHO = {
    *(
        "LAUNCHER_NODE_RANK",
        "TRAINER_ID",
        "TRAINERS",
        "PADDLE_INIT_TRAINER_ID",
        "PADDLE_INIT_NUM_GRADIENT_SERVERS",
        "PADDLE_INIT_PSERVERS",
    ),
    *("POD_IP", "LAUNCHER_NODE_RANK"),
}

# The flags that docker/start.sh gives, as the seeds' own did.
START = (
    *("--dot_period=10", "--log_period=50", "--num_passes=10", "--trainer_count=4", "--saving_period=1"),
    *("--local=0", "--use_gpu=0", "--config=./trainer_config.py", "--ports_num_for_sparse=2"),
)
# The command line that the seed's own train.log shows for rank 0.
PRINTED = """
    --nics=eth0 --port=7164
    --ports_num=2 --comment=paddle_process_by_paddle
    --pservers=192.168.129.66,192.168.223.143,192.168.129.71
    --ports_num_for_sparse=2 --config=./trainer_config.py
    --trainer_count=4 --num_passes=10 --use_gpu=0
    --log_period=50 --dot_period=10 --saving_period=1
    --local=0 --trainer_id=0
    --save_dir=/home/jobpath/paddle-cluster-job/output
"""
ADDRESSES = ("192.168.129.66", "192.168.223.143", "192.168.129.71")


def roster(me: int, role: Role = Role.NODE, addresses: tuple[str, ...] = ADDRESSES) -> Roster:
    peers = ordered(Peer(address=address) for address in addresses)
    return Roster(pservers=peers, trainers=peers, me=peers[me], role=role)


def programs(
    me: int = 0,
    *arguments: str,
    resume: Resume | None = None,
    role: Role = Role.NODE,
    generation: int = 1,
    devices: int = 0,
    environ: Mapping[str, str] = MappingProxyType({}),
    **more: str,
) -> dict[str, Program]:
    apart = {} if role is Role.NODE else {"LAUNCHER_ROLE": str(role), "PSERVERS": "3", "TRAINERS": "3"}
    settings = read_settings(SEED | apart | dict(environ) | more, arguments or START)
    plan = plan_for(settings, roster(me, role), resume, generation, devices=devices)
    return {program.log: program for program in plan.programs}


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_v1_trainer_has_the_flags_that_the_seed_printed(rank: int) -> None:
    """Its --pservers aside, which is in rank order here, and --num_gradient_servers, which the seed's text adds."""
    argv = programs(rank)["train.log"].argv
    expected = set(PRINTED.split()) - {"--pservers=" + ",".join(ADDRESSES), "--trainer_id=0"}
    expected |= {
        "--pservers=192.168.129.66,192.168.129.71,192.168.223.143",
        "--num_gradient_servers=3",
        f"--trainer_id={rank}",
    }
    assert argv[:2] == ("paddle", "train")
    assert set(argv[2:]) == expected
    assert len(argv[2:]) == len(expected)


def test_the_v1_pserver_has_the_seeds_flags() -> None:
    pserver = programs()["server.log"]
    assert pserver.argv == (
        *("paddle", "pserver", "--nics=eth0", "--port=7164", "--ports_num=2", "--ports_num_for_sparse=2"),
        *("--num_gradient_servers=3", "--comment=paddle_process_by_paddle"),
    )
    assert (pserver.role, pserver.rank, pserver.name) == (Role.PSERVER, 0, "pserver 0")


def test_a_v1_trainer_is_one_of_many_even_where_nobody_says_so() -> None:
    argv = programs(0, "--config=c.py", TRAINER_COUNT="8")["train.log"].argv
    assert {"--local=0", "--ports_num_for_sparse=2", "--trainer_count=8"} <= set(argv)
    assert "--trainer_count" not in " ".join(programs(0, "--config=c.py")["train.log"].argv)


def test_start_pass_is_said_only_when_resuming() -> None:
    assert not any("start_pass" in word for word in programs()["train.log"].argv)
    resumed = programs(0, *START, "--start_pass=1", resume=Resume(start_pass=4, directory="/o/pass-00003"))
    assert [word for word in resumed["train.log"].argv if "start_pass" in word] == ["--start_pass=4"]
    assert "--start_pass=1" in programs(0, *START, "--start_pass=1")["train.log"].argv


def test_every_trainer_reads_who_it_is_by_the_seeds_names() -> None:
    env = programs(1)["train.log"].env
    assert env["TRAINER_ID"] == env["PADDLE_INIT_TRAINER_ID"] == "1"
    assert env["TRAINERS"] == env["PADDLE_INIT_NUM_GRADIENT_SERVERS"] == "3"
    assert env["PADDLE_INIT_PSERVERS"] == "192.168.129.66,192.168.129.71,192.168.223.143"


def test_fleet_tells_each_part_what_it_plays() -> None:
    both = programs(2, "--passes=3", "--", "python", "t.py")
    server, trainer = both["server.log"], both["train.log"]
    assert server.argv == trainer.argv == ("python", "t.py", "--passes=3")
    listed = "192.168.129.66:7164,192.168.129.71:7164,192.168.223.143:7164"
    for program in (server, trainer):
        assert program.env["PADDLE_PSERVERS_IP_PORT_LIST"] == listed
        assert program.env["PADDLE_TRAINERS_NUM"] == "3"
        assert f"{program.env['POD_IP']}:{program.env['PADDLE_PORT']}" == listed.split(",")[2]
    assert (server.env["TRAINING_ROLE"], trainer.env["TRAINING_ROLE"]) == ("PSERVER", "TRAINER")
    assert trainer.env["PADDLE_TRAINER_ID"] == "2"
    assert "PADDLE_TRAINER_ID" not in server.env


def test_resuming_is_told_by_the_environment_where_there_is_no_flag_for_it() -> None:
    resume = Resume(start_pass=4, directory="/o/pass-00003")
    for runtime in ("fleet", *map(str, FRAMEWORKS)):
        env = programs(0, "--", "python", resume=resume, LAUNCHER_RUNTIME=runtime)["train.log"].env
        assert (env["LAUNCHER_RESUME_DIR"], env["LAUNCHER_START_PASS"]) == ("/o/pass-00003", "4")


def test_env_gives_what_torch_and_its_like_read() -> None:
    only = programs(1, "--", "python", "t.py", LAUNCHER_RUNTIME="env")
    assert list(only) == ["train.log"]
    env = only["train.log"].env
    assert (env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"]) == ("1", "3", "0")
    assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("192.168.129.66", "12400")
    assert env["TRAINER_ID"] == "1"
    assert set(env) == WHO | set(FRAMEWORKS[Runtime.ENV].set)


def of(runtime: str, rank: int = 1, *, generation: int = 1, devices: int = 0, **environ: str) -> Program:
    environ["LAUNCHER_RUNTIME"] = runtime
    found = programs(rank, "--", "python", "t.py", generation=generation, devices=devices, environ=environ)
    return found["train.log"]


@pytest.mark.parametrize("runtime", FRAMEWORKS)
def test_a_framework_s_variables_are_those_of_the_documentation(runtime: Runtime) -> None:
    (row,) = (
        row for row in rows(DOCS, "| runtime | sets | where the pod's manifest does not |") if runtime in row[0]
    )
    framework = FRAMEWORKS[runtime]
    assert [set(re.findall(r"`(\w+)`", cell)) for cell in row[1:]] == [
        set(framework.set),
        set(framework.unless_given),
    ]


def test_every_runtime_has_a_row_or_pservers() -> None:
    assert set(FRAMEWORKS) == {runtime for runtime in Runtime if not runtime.has_pservers}


@pytest.mark.parametrize("devices", [0, 1, 4])
@pytest.mark.parametrize("runtime", FRAMEWORKS)
def test_no_variable_is_without_a_value_and_none_is_unknown(runtime: Runtime, devices: int) -> None:
    framework = FRAMEWORKS[runtime]
    for interface in ("", "eth1"):
        program = of(runtime, devices=devices, CONF_PADDLE_NIC=interface)
        assert set(program.env) - WHO <= set(framework.set)
        assert set(program.defaults) <= set(framework.unless_given)
        assert all((dict(program.env) | dict(program.defaults)).values())
        named = {name for name in program.defaults if name.endswith("_SOCKET_IFNAME")}
        assert named == {name for name in framework.unless_given if name.endswith("_SOCKET_IFNAME") and interface}


@pytest.mark.parametrize("runtime", FRAMEWORKS)
def test_each_generation_meets_at_another_port(runtime: Runtime) -> None:
    ports = [[of(runtime, rank, generation=number).ports for rank in range(3)] for number in range(1, 8)]
    every = runtime in (Runtime.TENSORFLOW, Runtime.LIGHTGBM)
    if runtime is Runtime.XGBOOST:
        assert set(map(tuple, ports)) == {((), (), ())}
        return
    assert ports == [
        [(at,), (at,) if every else (), (at,) if every else ()]
        for at in (12400, 12401, 12402, 12403, 12404, 12405, 12400)
    ]
    text = " ".join((of(runtime, generation=3).env).values())
    assert "12402" in text
    assert "12400" not in text
    assert of(runtime, 0, LAUNCHER_PORTS="20000").ports == (20000,)


def test_torch_finds_what_its_own_agent_would_set() -> None:
    env = of("torch", 2, generation=3, LAUNCHER_JOB_UID="u-1").env
    assert (env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"], env["LOCAL_WORLD_SIZE"]) == ("2", "3", "0", "1")
    assert (env["GROUP_RANK"], env["GROUP_WORLD_SIZE"], env["NODE_RANK"]) == ("2", "3", "2")
    assert (env["ROLE_RANK"], env["ROLE_WORLD_SIZE"], env["ROLE_NAME"]) == ("2", "3", "default")
    assert env["TORCHELASTIC_RUN_ID"] == "u-1"
    assert (env["TORCHELASTIC_RESTART_COUNT"], env["TORCHELASTIC_MAX_RESTARTS"]) == ("2", "3")
    assert "TORCHELASTIC_USE_AGENT_STORE" not in env


def test_jax_takes_itself_for_a_step_of_slurm() -> None:
    """The five that slurm_cluster.py of jax 0.10 looks for, its number of processes, and the devices of a process."""
    env = of("jax", 1, devices=4).env
    assert (env["JAX_COORDINATOR_ADDRESS"], env["SLURM_NTASKS"]) == ("192.168.129.66:12400", "3")
    assert (env["SLURM_PROCID"], env["SLURM_LOCALID"], env["SLURM_JOB_ID"]) == ("1", "0", "1")
    assert env["SLURM_STEP_NODELIST"] == "192.168.129.66,192.168.129.71,192.168.223.143"
    assert env["JAX_LOCAL_DEVICE_IDS"] == "0,1,2,3"
    assert "JAX_LOCAL_DEVICE_IDS" not in of("jax", devices=1).env
    assert of("jax").defaults["no_grpc_proxy"] == env["SLURM_STEP_NODELIST"]


def test_paddle_s_store_is_at_one_place_by_every_name_that_a_version_reads() -> None:
    env = of("paddle", 1).env
    first = f"{env['MASTER_ADDR']}:{env['MASTER_PORT']}"
    assert first == env["PADDLE_MASTER"] == env["PADDLE_TRAINER_ENDPOINTS"].split(",")[0] == "192.168.129.66:12400"
    assert env["PADDLE_CURRENT_ENDPOINT"] == env["PADDLE_TRAINER_ENDPOINTS"].split(",")[1]
    assert (env["PADDLE_TRAINER_ID"], env["PADDLE_TRAINERS_NUM"]) == ("1", "3")


def test_paddle_is_told_of_gloo_where_there_is_no_card() -> None:
    assert of("paddle").defaults["PADDLE_DISTRI_BACKEND"] == "gloo"
    assert "FLAGS_selected_gpus" not in of("paddle").env
    assert "PADDLE_DISTRI_BACKEND" not in of("paddle", devices=2).defaults
    assert of("paddle", devices=2).env["FLAGS_selected_gpus"] == "0"


def test_tensorflow_finds_its_cluster_and_its_task() -> None:
    assert json.loads(of("tensorflow", 2).env["TF_CONFIG"]) == {
        "cluster": {"worker": ["192.168.129.66:12400", "192.168.129.71:12400", "192.168.223.143:12400"]},
        "task": {"type": "worker", "index": 2},
    }


def test_lightgbm_s_machines_listen_at_the_generation_s_port() -> None:
    env = of("lightgbm", generation=2).env
    assert env["LIGHTGBM_MACHINES"] == "192.168.129.66:12401,192.168.129.71:12401,192.168.223.143:12401"
    assert (env["LIGHTGBM_LISTEN_PORT"], env["LIGHTGBM_NUM_MACHINES"]) == ("12401", "3")


def six(runtime: str, *, generation: int = 1, devices: int = 0, **environ: str) -> list[Program]:
    """Return two programs in each of three pods, by rank."""
    environ |= {"LAUNCHER_RUNTIME": runtime, "LAUNCHER_PROCESSES": "2"}
    pods = [programs(me, "--", "t", generation=generation, devices=devices, environ=environ) for me in range(3)]
    return [pod[name] for pod in pods for name in ("train.log", "train-1.log")]


def told(found: Sequence[Program], *names: str) -> list[tuple[str, ...]]:
    return [tuple(program.env[name] for name in names) for program in found]


@pytest.mark.parametrize("runtime", FRAMEWORKS)
def test_a_program_s_number_is_its_own_and_its_pod_s_is_told_beside_it(runtime: Runtime) -> None:
    found = six(runtime)
    assert [program.name for program in found] == [f"trainer {rank}" for rank in range(6)]
    assert told(found, "TRAINER_ID", "TRAINERS", "LAUNCHER_NODE_RANK") == [
        (str(rank), "6", str(rank // 2)) for rank in range(6)
    ]
    assert told(found, "PADDLE_INIT_TRAINER_ID", "PADDLE_INIT_NUM_GRADIENT_SERVERS") == [
        (str(rank), "6") for rank in range(6)
    ]
    assert [set(program.env) - WHO <= set(FRAMEWORKS[runtime].set) for program in found] == [True] * 6
    assert of(runtime).env["LAUNCHER_NODE_RANK"] == "1"


@pytest.mark.parametrize("runtime", FRAMEWORKS)
def test_each_generation_of_several_programs_meets_at_other_ports(runtime: Runtime) -> None:
    opened = [
        {(program.env["POD_IP"], port) for program in six(runtime, generation=number) for port in program.ports}
        for number in range(1, 7)
    ]
    assert all(one.isdisjoint(other) for one, other in itertools.combinations(opened, 2))
    assert {len(ports) for ports in opened} == {
        6 if runtime in _EACH_OPENS else 0 if runtime is Runtime.XGBOOST else 1
    }


_EACH_OPENS = (Runtime.TENSORFLOW, Runtime.LIGHTGBM)


def test_torch_finds_two_programs_a_pod() -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE")
    pods = ("GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK")
    found = six("torch", generation=2)
    assert told(found, *names) == [(str(rank), "6", str(rank % 2), "2", str(rank), "6") for rank in range(6)]
    assert told(found, *pods) == [(str(rank // 2), "3", str(rank // 2)) for rank in range(6)]
    assert {program.env["MASTER_PORT"] for program in found} == {"12402"}
    files = [program.env["TORCHELASTIC_ERROR_FILE"].rpartition("/")[2] for program in found]
    assert files == ["torch-error.json", "torch-error-1.json"] * 3
    assert {program.defaults["OMP_NUM_THREADS"] for program in found} == {"1"}
    assert "OMP_NUM_THREADS" not in of("torch").defaults


def test_jax_finds_two_programs_a_pod_and_the_devices_of_each() -> None:
    names = ("SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
    assert told(six("jax"), *names) == [("6", str(rank), str(rank % 2), "6", str(rank)) for rank in range(6)]
    assert told(six("jax", devices=2), "JAX_LOCAL_DEVICE_IDS") == [("0",), ("1",)] * 3
    assert told(six("jax", devices=8), "JAX_LOCAL_DEVICE_IDS") == [("0,1,2,3",), ("4,5,6,7",)] * 3
    assert {program.env["JAX_COORDINATOR_ADDRESS"] for program in six("jax")} == {"192.168.129.66:12400"}


def test_paddle_finds_an_endpoint_of_each_program() -> None:
    found = six("paddle", devices=2)
    names = ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_RANK_IN_NODE", "PADDLE_LOCAL_SIZE")
    assert told(found, *names, "FLAGS_selected_gpus") == [
        (str(rank), "6", str(rank % 2), "2", str(rank % 2)) for rank in range(6)
    ]
    addresses = ("192.168.129.66", "192.168.129.71", "192.168.223.143")
    endpoints = [f"{address}:{port}" for address in addresses for port in (12400, 12401)]
    assert {program.env["PADDLE_TRAINER_ENDPOINTS"] for program in found} == {",".join(endpoints)}
    assert told(found, "PADDLE_CURRENT_ENDPOINT") == [(endpoint,) for endpoint in endpoints]


def test_tensorflow_finds_a_worker_of_each_program() -> None:
    found = six("tensorflow", generation=2)
    cluster = [json.loads(program.env["TF_CONFIG"]) for program in found]
    assert [each["task"]["index"] for each in cluster] == list(range(6))
    assert cluster[5]["cluster"]["worker"][5] == "192.168.223.143:12403"
    assert [program.ports for program in found] == [(12402,), (12403,)] * 3
    assert told(found, "LOCAL_RANK", "LOCAL_WORLD_SIZE") == [("0", "2"), ("1", "2")] * 3


def test_lightgbm_has_a_line_for_each_program_and_its_file_once_in_a_pod() -> None:
    found = six("lightgbm")
    lines = [line.replace(":", " ") for line in found[0].env["LIGHTGBM_MACHINES"].split(",")]
    assert len(lines) == 6
    assert told(found, "LIGHTGBM_LISTEN_PORT", "LIGHTGBM_NUM_MACHINES") == [("12400", "6"), ("12401", "6")] * 3
    assert [program.files for program in found] == [{"machines.txt": "\n".join([*lines, ""])}, {}] * 3


def test_xgboost_has_one_tracker_for_all_programs() -> None:
    environ = {"LAUNCHER_RUNTIME": "xgboost", "LAUNCHER_PROCESSES": "2"}
    pods = [programs(me, "--", "python", "t.py", environ=environ) for me in range(3)]
    assert ["tracker.log" in pod for pod in pods] == [True, False, False]
    assert pods[0]["tracker.log"].argv[-2] == "6"
    assert told(six("xgboost"), "DMLC_TASK_ID", "DMLC_NUM_WORKER") == [(f"{rank:06}", "6") for rank in range(6)]


def test_a_role_of_its_own_runs_only_that() -> None:
    assert list(programs(1, "--num_passes=1", role=Role.PSERVER)) == ["server.log"]
    assert list(programs(1, role=Role.TRAINER)) == ["train.log"]
    pserver = programs(1, "--", "python", role=Role.PSERVER)["server.log"]
    assert "TRAINER_ID" not in pserver.env
    assert pserver.env["TRAINERS"] == "3"


def test_an_ipv6_endpoint_has_brackets() -> None:
    assert endpoint("fd00::1", 7164) == "[fd00::1]:7164"
    assert endpoint("10.0.0.1", 7164) == "10.0.0.1:7164"


def test_lightgbm_s_and_tensorflow_s_pods_on_one_machine_differ_by_their_ports() -> None:
    """One looks for itself by the addresses of interfaces, of which loopback has one; the other listens at all."""
    at = Place(
        node=1,
        local=0,
        processes=1,
        addresses=("127.0.7.1", "127.0.7.2"),
        port=12401,
        interface="",
        devices=0,
        run="r",
        generation=2,
        restarts=3,
        error_file="/w/e",
    )
    lightgbm = FRAMEWORKS[Runtime.LIGHTGBM]
    assert lightgbm.variables(at)["LIGHTGBM_MACHINES"] == "127.0.0.1:12401,127.0.0.1:12407"
    assert lightgbm.variables(at)["LIGHTGBM_LISTEN_PORT"] == "12407"
    assert lightgbm.ports(at) == (12407,)
    tensorflow = FRAMEWORKS[Runtime.TENSORFLOW]
    told = json.loads(tensorflow.variables(at)["TF_CONFIG"])
    assert told == {
        "cluster": {"worker": ["127.0.0.1:12401", "127.0.0.1:12407"]}, "task": {"type": "worker", "index": 1}
    }  # fmt: skip
    assert tensorflow.ports(at) == (12407,)
    assert tensorflow.defaults(at)["no_grpc_proxy"] == "127.0.0.1"
    two = replace(at, processes=2, local=1, port=12402)
    assert lightgbm.variables(two)["LIGHTGBM_MACHINES"] == ",".join(
        f"127.0.0.1:{port}" for port in (12402, 12403, 12414, 12415)
    )
    assert lightgbm.ports(two) == (12415,)


def test_lightgbm_s_command_line_has_its_list_as_a_file() -> None:
    assert of("lightgbm", 2, generation=2).files == {
        "machines.txt": "192.168.129.66 12401\n192.168.129.71 12401\n192.168.223.143 12401\n"
    }


@pytest.mark.parametrize(
    ("command", "python"),
    [
        (("python", "t.py"), "python"),
        (("/opt/conda/bin/python3.9", "-u", "t.py"), "/opt/conda/bin/python3.9"),
        (("env", "A=1", "python3", "t.py"), "python3"),
        (("./train.sh",), "python3"),
    ],
)
def test_xgboost_s_tracker_is_beside_the_first_program_in_its_python(command: tuple[str, ...], python: str) -> None:
    both = programs(0, "--", *command, generation=2, LAUNCHER_RUNTIME="xgboost")
    tracker, trainer = both["tracker.log"], both["train.log"]
    assert tracker.argv == (python, xgboost_tracker.__file__, "192.168.129.66", "12401", "3", "71")
    assert (tracker.name, tracker.role, tracker.ports) == ("tracker 0", Role.PSERVER, (12401,))
    assert (trainer.env["DMLC_TRACKER_URI"], trainer.env["DMLC_TRACKER_PORT"]) == ("192.168.129.66", "12401")
    assert (trainer.env["DMLC_TASK_ID"], trainer.env["DMLC_NUM_WORKER"]) == ("000000", "3")
    assert list(programs(1, "--", *command, LAUNCHER_RUNTIME="xgboost")) == ["train.log"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"message": {"message": "ValueError: column", "extraInfo": {"py_callstack": ""}}}', "ValueError: column"),
        (b'{"message": "RuntimeError: NCCL\\nat line 3"}', "RuntimeError: NCCL"),
        (b'{"message": {"message": {"message": "too deep"}}}', ""),
        (b'{"message": 3}', ""),
        (b'{"other": "x"}', ""),
        (b"[1]", ""),
        (b"torn {", ""),
        (b"\xff\xfe", ""),
        (b"[" * 100_000, ""),
    ],
)  # fmt: skip
def test_what_a_torch_program_says_of_its_failure(text: bytes, said: str) -> None:
    assert cause(text) == said


def test_a_long_cause_is_cut() -> None:
    assert len(cause(json.dumps({"message": "x" * 5000}).encode())) <= LONGEST + 3
