"""Settings: every variable checked whole before anything starts, all problems told at once."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.contract import Code
from launcher.pod.outcome import SettingsError
from launcher.pod.settings.conflicts import for_devices
from launcher.pod.settings.nouns import PeersFrom, Resize, Role, Runtime, Settings, Width
from launcher.pod.settings.variables import known, read_settings

# The environment of the seed's own Job.
SEED = {
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "JOB_NAME": "paddle-cluster-job",
    "JOB_PATH": "/home/jobpath",
    "JOB_NAMESPACE": "default",
    "TRAIN_CONFIG_DIR": "recommendation",
    "CONF_PADDLE_NIC": "eth0",
    "CONF_PADDLE_PORT": "7164",
    "CONF_PADDLE_PORTS_NUM": "2",
    "CONF_PADDLE_PORTS_NUM_SPARSE": "2",
    "CONF_PADDLE_GRADIENT_NUM": "3",
}
CONFIG = ("--config=./trainer_config.py",)


def problems(environ: dict[str, str], *arguments: str) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read_settings(environ, arguments or CONFIG)
    assert int(caught.value.code) == Code.SETTINGS
    return caught.value.problems


def problem(environ: dict[str, str], *arguments: str) -> str:
    (only,) = problems(environ, *arguments)
    return only


def test_the_seeds_environment_is_complete() -> None:
    settings = read_settings(SEED, CONFIG, here="/root")
    assert (settings.runtime, settings.role, settings.peers.source) == (Runtime.V1, Role.NODE, PeersFrom.KUBERNETES)
    assert (settings.pservers, settings.trainers, settings.counted_by) == (3, 3, "CONF_PADDLE_GRADIENT_NUM")
    assert settings.job_dir == PurePosixPath("/home/jobpath/paddle-cluster-job")
    assert settings.workdir == PurePosixPath("/root")
    assert (settings.ports.nic, settings.ports.first, settings.ports.dense, settings.ports.sparse) == (
        "eth0",
        7164,
        2,
        2,
    )
    assert (settings.timing.grace, settings.timing.join, settings.timing.stall) == (25, 600, None)
    assert settings.gang == settings.job
    assert settings.owns_root
    assert settings.resume
    assert not settings.plain_init


@pytest.mark.parametrize(("said", "threads"), [("", 0), ("auto", 0), ("1", 1), ("64", 64)])
def test_how_many_files_are_staged_at_a_time(said: str, threads: int) -> None:
    assert read_settings(SEED | {"LAUNCHER_STAGE_THREADS": said}, CONFIG).stage_threads == threads


def test_all_problems_are_told_at_once() -> None:
    broken = SEED | {
        "JOB_NAME": "../x",
        "CONF_PADDLE_PORT": "99999",
        "TRAIN_CONFIG_DIR": "../etc",
        "LAUNCHER_GRACE": "no",
    }
    told = problems(broken)
    assert [each.partition("=")[0] for each in told] == [
        "JOB_NAME",
        "TRAIN_CONFIG_DIR",
        "CONF_PADDLE_PORT",
        "LAUNCHER_GRACE",
    ]
    assert all("expected" in each for each in told)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("JOB_NAME", "../x", "at most 63 letters"),
        ("JOB_NAME", "a\nb", "at most 63 letters"),
        ("JOB_NAME", "-a", "at most 63 letters"),
        ("JOB_NAME", "a" * 64, "at most 63 letters"),
        ("JOB_PATH", "home", "an absolute path"),
        ("JOB_PATH", "/home/../etc", "an absolute path"),
        ("JOB_PATH", "/home\n", "an absolute path"),
        ("JOB_NAMESPACE", "a b", "at most 63 letters"),
        ("TRAIN_CONFIG_DIR", "/", "a relative or absolute path"),
        ("TRAIN_CONFIG_DIR", "a/../../b", "a relative or absolute path"),
        ("TRAIN_CONFIG_DIR", ".", "a relative or absolute path"),
        ("TRAIN_CONFIG_DIR", "a\0b", "a relative or absolute path"),
        ("TRAIN_CONFIG_DIR", "/example/../etc", "an absolute path"),
        ("TRAINER_COUNT", "0", "a whole number from 1"),
        ("LAUNCHER_STAGE_THREADS", "0", "a whole number from 1 to 64"),
        ("LAUNCHER_STAGE_THREADS", "many", "a whole number from 1 to 64"),
        ("LAUNCHER_KEEP_PASSES", "0", "a whole number from 1 to 1000"),
        ("LAUNCHER_KEEP_PASSES", "some", "a whole number from 1 to 1000"),
        ("LAUNCHER_PROCESSES", "2", "expected 1 with LAUNCHER_RUNTIME=v1, which has pservers"),
        ("LAUNCHER_PROCESSES", "gpu", "expected 1 with LAUNCHER_RUNTIME=v1, which has pservers"),
        ("CONF_PADDLE_NIC", "eth0 eth1", "without blanks"),
        ("CONF_PADDLE_NIC", "eth0\t", "without blanks"),
        ("CONF_PADDLE_PORT", "0", "from 1 to 65535"),
        ("CONF_PADDLE_PORTS_NUM", "-1", "from 1 to 1000"),
        ("CONF_PADDLE_PORTS_NUM_SPARSE", "two", "from 0 to 1000"),
        ("CONF_PADDLE_GRADIENT_NUM", "0", "from 1 to"),
        ("LAUNCHER_RUNTIME", "v2", "v1 or fleet or env"),
        ("LAUNCHER_RUNTIME", "fleet", "a command after"),
        ("LAUNCHER_ROLE", "worker", "node or pserver or trainer"),
        ("LAUNCHER_PEERS", "etcd", "kubernetes, dns:NAME"),
        ("LAUNCHER_PEERS", "dns:", "kubernetes, dns:NAME"),
        ("LAUNCHER_PEERS", "static:a b,c d,a b", "addresses or host names"),
        ("LAUNCHER_PEERS", "dns:a,b", "one name, or dns:PSERVERS;TRAINERS"),
        ("LAUNCHER_GANG", "a/b", "at most 63 letters"),
        ("LAUNCHER_ENTRY", "python 'x", "quoted as for a shell"),
        ("LAUNCHER_ENTRY", " ", "a command"),
        ("LAUNCHER_WORKDIR", "here", "an absolute path"),
        ("LAUNCHER_WORKDIR", "/home/jobpath/paddle-cluster-job/x", "only this pod uses"),
        ("LAUNCHER_WORKDIR", "/home/jobpath", "on the volume at JOB_PATH"),
        ("LAUNCHER_PEERS", "dns:;x", "names on both sides of the semicolon"),
        ("LAUNCHER_PEERS", "static:x;", "names on both sides of the semicolon"),
        ("LAUNCHER_GRACE", "0", "a number of seconds"),
        ("LAUNCHER_GRACE", "30s", "a number of seconds"),
        ("LAUNCHER_JOIN_TIMEOUT", "-1", "a number of seconds"),
        ("LAUNCHER_REJOIN_TIMEOUT", "inf", "a number of seconds"),
        ("LAUNCHER_PEER_TIMEOUT", "nan", "a number of seconds"),
        ("LAUNCHER_MAX_RESTARTS", "-1", "from 0 to 1000"),
        ("LAUNCHER_STALL_TIMEOUT", "on", "a number of seconds"),
        ("LAUNCHER_PROGRESS_TIMEOUT", "0", "a number of seconds"),
        ("LAUNCHER_NAN", "no", "tell or fail"),
        ("LAUNCHER_STATUS_PORT", "65536", "from 1 to 65535"),
        ("LAUNCHER_RECORD", "record", "an absolute path"),
        ("LAUNCHER_JOB_UID", "a b", "without blanks"),
        ("LAUNCHER_RESUME", "yes", "auto or never"),
        ("LAUNCHER_LOG_PREFIX", "yes", "on, off or auto"),
        ("LAUNCHER_IMPORTABLE", "yes", "off or on"),
        ("POD_IP", "localhost", "an IP address"),
        ("JOB_COMPLETION_INDEX", "-1", "the completion index"),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, value: str, expected: str) -> None:
    told = [each for each in problems(SEED | {name: value}) if each.startswith(name)]
    assert told
    assert expected in told[0]
    assert "\n" not in told[0]


@pytest.mark.parametrize(("pods", "peer"), [("1333", "15"), ("5000", "57")])
def test_a_gang_whose_polls_fit_into_its_peer_time_out_is_taken(pods: str, peer: str) -> None:
    environ = SEED | {"CONF_PADDLE_GRADIENT_NUM": pods, "LAUNCHER_PEER_TIMEOUT": peer}
    assert read_settings(environ, CONFIG).members == int(pods)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"JOB_NAME": ""}, "JOB_NAME is not set: expected the name of the Job"),
        ({"JOB_PATH": ""}, "JOB_PATH is not set"),
        ({"CONF_PADDLE_GRADIENT_NUM": ""}, "CONF_PADDLE_GRADIENT_NUM='': expected the number of pods"),
        ({"LAUNCHER_ROLE": "trainer"}, "PSERVERS is not set: expected the number of pods"),
        ({"LAUNCHER_PEERS": "self", "JOB_NAME": ""}, "JOB_NAME is not set: expected the name of the job's directory"),
        ({"LAUNCHER_PEERS": "self"}, "CONF_PADDLE_GRADIENT_NUM='3': expected 1, the number in LAUNCHER_PEERS"),
        ({"LAUNCHER_PEERS": "static:10.0.0.1,10.0.0.2"}, "expected 2, the number in LAUNCHER_PEERS"),
        ({"LAUNCHER_PEERS": "static:10.0.0.1,10.0.0.1,10.0.0.2"}, "each address once"),
        ({"LAUNCHER_PEERS": "static:10.0.0.1,a b,c"}, "addresses or host names"),
        ({"LAUNCHER_PEERS": "dns:node", "JOB_COMPLETION_INDEX": "0", "JOB_NAME": ""}, "the name of the Job"),
        (
            {"LAUNCHER_ROLE": "pserver", "LAUNCHER_PEERS": "self", "PSERVERS": "1", "TRAINERS": "1"},
            "where there is no other pod",
        ),
        (
            {"LAUNCHER_ROLE": "pserver", "LAUNCHER_PEERS": "dns:node", "PSERVERS": "1"},
            "with one group in LAUNCHER_PEERS: expected two, PSERVERS;TRAINERS",
        ),
        ({"LAUNCHER_PEERS": "dns:a;b"}, "LAUNCHER_PEERS names two groups"),
        ({"JOB_PATH": ""}, "TRAIN_CONFIG_DIR is relative and JOB_PATH is not set: set JOB_PATH"),
        (
            {"TRAIN_CONFIG_DIR": "/example", "LAUNCHER_WORKDIR": "/example/work"},
            "LAUNCHER_WORKDIR=/example/work is in TRAIN_CONFIG_DIR=/example",
        ),
        ({"TRAINERS": "5"}, "TRAINERS and PSERVERS need LAUNCHER_ROLE=pserver or trainer"),
        ({"CONF_PADDLE_PORT": "65533"}, "CONF_PADDLE_PORT=65533 takes the ports 65533 to 65536"),
        (
            {"CONF_PADDLE_PORTS_NUM": "5"},
            "the ports 7164 to 7170, and LAUNCHER_STATUS_PORT=7170 is one of them",
        ),
        ({"LAUNCHER_STATUS_PORT": "7164"}, "set another port"),
        (
            {"CONF_PADDLE_GRADIENT_NUM": "5000"},
            "5000 pods cannot all poll their leader in time with LAUNCHER_PEER_TIMEOUT=15: expected at least 57",
        ),
        ({"LAUNCHER_STATUS_PORT": "tcp://10.0.0.1:80"}, "a Service named launcher-status set it"),
    ],
)
def test_variables_that_contradict_each_other_are_refused(environ: dict[str, str], expected: str) -> None:
    assert any(expected in each for each in problems(SEED | environ))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*CONFIG, "--"), "expected a command after it"),
        (("stray", *CONFIG), "argument 'stray': expected --name=value"),
        (("--=x", *CONFIG), "argument '--=...': expected --name=value"),
        (("--num_passes=1",), "--config is not given"),
        ((*CONFIG, "--local=1"), "each of 3 trainers train by itself: expected --local=0"),
        ((*CONFIG, "--local"), "each of 3 trainers train by itself"),
        ((*CONFIG, "--local=True"), "each of 3 trainers train by itself"),
        ((*CONFIG, "--local", "YES"), "each of 3 trainers train by itself"),
        ((*CONFIG, "--local=t"), "each of 3 trainers train by itself"),
        ((*CONFIG, "--trainer_id=0"), "--trainer_id cannot be given as a flag"),
        ((*CONFIG, "--save_dir", "/x"), "--save_dir cannot be given as a flag: set JOB_PATH and JOB_NAME"),
        ((*CONFIG, "--ports_num_for_sparse=1"), "expected 2, as for the pserver"),
    ],
)
def test_arguments_that_mean_nothing_or_contradict_are_refused(arguments: tuple[str, ...], expected: str) -> None:
    assert expected in problem(SEED, *arguments)


@pytest.mark.parametrize("runtime", Runtime)
def test_no_port_that_is_taken_in_any_generation_is_the_status_port_or_beyond_the_last_one(runtime: Runtime) -> None:
    environ = SEED | {"LAUNCHER_RUNTIME": runtime, "LAUNCHER_STATUS_PORT": "7170"}
    arguments = CONFIG if runtime == "v1" else ("--", "python", "train.py")
    ports = 4 if runtime is Runtime.V1 else 6
    name = "CONF_PADDLE_PORT" if runtime.has_pservers else "LAUNCHER_PORTS"
    for first in (7170 - ports, 7171, 65536 - ports):
        read_settings(environ | {name: str(first)}, arguments)
    for first in (7171 - ports, 7170):
        told = problem(environ | {name: str(first)}, *arguments)
        said = f"{name}={first} takes the ports {first} to {first + ports - 1}, and LAUNCHER_STATUS_PORT"
        assert told.startswith(said)
    told = problem(environ | {name: str(65537 - ports)}, *arguments)
    assert "expected the last to be at most 65535" in told


@pytest.mark.parametrize("given", ["0", "-1", "129", "two", "2.0", "GPU", "\u0662"])
def test_a_number_of_programs_is_a_number(given: str) -> None:
    told = problem(SEED | {"LAUNCHER_RUNTIME": "torch", "LAUNCHER_PROCESSES": given}, "--", "python", "t.py")
    assert told == f"LAUNCHER_PROCESSES={given!r}: expected gpu, or a whole number from 1 to 128"


def test_a_plain_init_runs_one_command() -> None:
    told = problem({"LAUNCHER_PEERS": "self", "LAUNCHER_PROCESSES": "2"}, "--", "python", "t.py")
    assert told.startswith("LAUNCHER_PROCESSES='2': expected 1 with LAUNCHER_RUNTIME=fleet, which has pservers")


def of_jax(**environ: str) -> Settings:
    return read_settings(SEED | {"LAUNCHER_RUNTIME": "jax"} | environ, ("--", "python", "t.py"))


@pytest.mark.parametrize(
    ("given", "seen", "processes"), [("1", 0, 1), ("1", 8, 1), ("4", 0, 4), ("4", 4, 4), ("4", 8, 4), ("gpu", 3, 3)]
)
def test_a_pod_runs_as_many_programs_as_were_asked_for_or_as_it_sees_devices(
    given: str, seen: int, processes: int
) -> None:
    assert for_devices(of_jax(LAUNCHER_PROCESSES=given), seen).processes == processes


@pytest.mark.parametrize(
    ("environ", "seen", "said"),
    [
        ({"LAUNCHER_PROCESSES": "gpu"}, 0, "LAUNCHER_PROCESSES=gpu, and no device is seen in this pod"),
        (
            {"LAUNCHER_PROCESSES": "2"},
            1,
            "LAUNCHER_PROCESSES=2, and 1 device is seen in this pod: expected at most 1",
        ),
        ({"LAUNCHER_PROCESSES": "9"}, 8, "and 8 devices are seen in this pod: expected at most 8, or gpu"),
        (
            {"LAUNCHER_PROCESSES": "gpu", "LAUNCHER_PORTS": "7130"},
            8,
            "LAUNCHER_PORTS=7130 takes the ports 7130 to 7177, and LAUNCHER_STATUS_PORT=7170 is one of them",
        ),
    ],
)
def test_programs_that_do_not_fit_to_the_devices_are_refused(environ: dict[str, str], seen: int, said: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        for_devices(of_jax(**environ), seen)


def test_ports_are_as_many_as_programs_in_each_of_six_turns() -> None:
    settings = of_jax(LAUNCHER_PROCESSES="4")
    met = [settings.ports.met_in(number, 4) for number in range(1, 8)]
    assert met == [12400, 12404, 12408, 12412, 12416, 12420, 12400]
    assert settings.ports.taken(Runtime.JAX, 4) == range(12400, 12424)
    told = problem(SEED | {"LAUNCHER_RUNTIME": "jax", "LAUNCHER_PROCESSES": "4", "LAUNCHER_PORTS": "7150"}, "--", "a")
    assert told.startswith("LAUNCHER_PORTS=7150 takes the ports 7150 to 7173, and LAUNCHER_STATUS_PORT")


def test_a_fleet_pserver_takes_no_port_that_was_not_looked_at() -> None:
    ports = read_settings(SEED, ("--", "python", "train.py")).ports
    assert {ports.of_generation(number) for number in range(20)} == {*ports.taken(Runtime.FLEET, 1)}


def test_flags_are_taken_with_and_without_the_equals_sign() -> None:
    settings = read_settings(SEED, ("--config", "a b;$(c)", "--use_gpu", "--num_passes=1=2", "--offset", "-1"))
    assert settings.flags.words == ("--config=a b;$(c)", "--use_gpu", "--num_passes=1=2", "--offset=-1")


def test_a_command_means_fleet_unless_something_else_is_said() -> None:
    assert read_settings(SEED, ("--", "python", "t.py", "--x")).runtime is Runtime.FLEET
    entry = read_settings(SEED | {"LAUNCHER_ENTRY": "python 't 1.py' $HOME;ls", "LAUNCHER_RUNTIME": "env"}, ())
    assert entry.command == ("python", "t 1.py", "$HOME;ls")
    assert "give the command once" in problem(SEED | {"LAUNCHER_ENTRY": "a"}, "--", "b")
    assert "expected fleet or env or " in problem(SEED | {"LAUNCHER_RUNTIME": "v1"}, *CONFIG, "--", "b")


def test_fleet_refuses_a_directory_that_paddle_would_hand_to_a_shell() -> None:
    told = problem(SEED | {"JOB_PATH": "/home/a b"}, "--", "python")
    assert "only letters, digits and _ . / -" in told
    assert read_settings(SEED | {"JOB_PATH": "/home/a b", "LAUNCHER_RUNTIME": "env"}, ("--", "python")).job_path


def test_the_jobs_files_may_be_in_the_image_and_need_no_volume_then() -> None:
    environ = {**SEED, "TRAIN_CONFIG_DIR": "/example//word2vec/", "JOB_PATH": ""}
    settings = read_settings(environ, ("--", "python", "train.py"), here="/work")
    assert (settings.config_dir, settings.job_dir) == (PurePosixPath("/example/word2vec"), None)


def test_roles_apart_have_their_own_numbers() -> None:
    apart = SEED | {"LAUNCHER_ROLE": "trainer", "PSERVERS": "2", "TRAINERS": "10", "LAUNCHER_GANG": "g"}
    settings = read_settings(apart, CONFIG)
    assert (settings.pservers, settings.trainers, settings.separated) == (2, 10, True)
    assert settings.counted_by == "TRAINERS"
    assert settings.gang == "g"
    assert read_settings(apart | {"TRAINERS": ""}, CONFIG).trainers == 3
    assert read_settings(apart | {"LAUNCHER_ROLE": "pserver"}, ("--num_passes=1",)).role is Role.PSERVER
    env = problem(apart | {"LAUNCHER_RUNTIME": "env"}, "--", "python")
    assert "env, which has no pservers" in env
    groups = read_settings(apart | {"LAUNCHER_PEERS": "static:a,b;" + ",".join("defghijklm")}, CONFIG)
    assert (groups.peers.pservers, len(groups.peers.trainers)) == (("a", "b"), 10)


def test_a_list_of_addresses_says_its_own_number() -> None:
    environ = SEED | {"LAUNCHER_PEERS": "static:fe80::1,10.0.0.2", "CONF_PADDLE_GRADIENT_NUM": ""}
    settings = read_settings(environ, CONFIG)
    assert (settings.trainers, settings.pservers, settings.owns_root) == (2, 2, False)


def test_a_plain_init_asks_for_nothing_about_jobs_and_minds_nothing_of_one() -> None:
    settings = read_settings({"LAUNCHER_PEERS": "self"}, ("--", "sleep", "1"))
    assert settings.plain_init
    assert settings.job_dir is None
    assert read_settings({"LAUNCHER_PEERS": "self", "JOB_NAME": "../x"}, ("--", "sleep", "1")).plain_init
    assert "LAUNCHER_GRACE" in problem({"LAUNCHER_PEERS": "self", "LAUNCHER_GRACE": "x"}, "--", "sleep")
    job = read_settings({"LAUNCHER_PEERS": "self", "LAUNCHER_RUNTIME": "env"}, ("--", "sleep", "1"))
    assert (job.plain_init, job.trainers) == (False, 1)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert read_settings(
        {"LAUNCHER_PEERS": "self", "LAUNCHER_RUNTIME": "", "LAUNCHER_WHAT": ""}, ("--", "true")
    ).plain_init


def test_a_secret_is_not_shown_in_a_problem() -> None:
    entry = problem(SEED | {"LAUNCHER_ENTRY": "python t.py --db-password=hunter2"}, "--", "true")
    assert "LAUNCHER_ENTRY='python t.py --db-password=***'" in entry
    stray = problem(SEED, *CONFIG, "--api-token", "abc", "hunter2")
    assert stray.startswith("argument a word after --api-token: expected")
    assert "'API_TOKEN=***'" in problem(SEED, "API_TOKEN=hunter2", *CONFIG)
    assert "hunter2" not in problem(SEED, "--=hunter2", *CONFIG)
    assert "hunter2" not in problem(SEED | {"CONF_PADDLE_PORT": "https://me:hunter2@host"}, *CONFIG)


@pytest.mark.parametrize("name", ["LAUNCHER_HF_TOKEN", "LAUNCHER_HELLO"])
def test_the_value_of_an_unknown_variable_is_not_shown(name: str) -> None:
    told = problem(SEED | {name: "hunter2"}, *CONFIG)
    assert told.startswith(f"{name} is not a variable of the launcher: expected ")
    assert "hunter2" not in told


def test_an_unknown_variable_is_refused_with_the_nearest_known() -> None:
    assert problem(SEED | {"LAUNCHER_GRACES": "1"}) == (
        "LAUNCHER_GRACES is not a variable of the launcher: expected LAUNCHER_GRACE?"
    )
    assert "one of LAUNCHER_ENTRY, " in problem(SEED | {"LAUNCHER_QQQQQQQQQQQQ": "1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LAUNCHER_PORT", "tcp://10.0.0.1:80"),
        ("LAUNCHER_SERVICE_HOST", "10.0.0.1"),
        ("LAUNCHER_SERVICE_PORT", "80"),
        ("LAUNCHER_SERVICE_PORT_HTTP", "80"),
        ("LAUNCHER_PORT_7170_TCP", "tcp://10.0.0.1:80"),
        ("LAUNCHER_WEB_PORT_7170_TCP_ADDR", "10.0.0.1"),
        ("LAUNCHER_RESUME_DIR", "/x"),
    ],
)
def test_what_kubernetes_makes_of_a_services_name_is_left_alone(name: str, value: str) -> None:
    assert read_settings(SEED | {name: value}, CONFIG)


def test_a_port_that_no_service_made_is_still_unknown() -> None:
    assert "LAUNCHER_STATUS_PORT?" in problem(SEED | {"LAUNCHER_STATU_PORT": "7170"})


def test_optional_settings_are_taken() -> None:
    settings = read_settings(
        SEED
        | {
            "LAUNCHER_STALL_TIMEOUT": "60.5",
            "LAUNCHER_PROGRESS_TIMEOUT": "300",
            "LAUNCHER_NAN": "fail",
            "LAUNCHER_RECORD": "none",
            "LAUNCHER_RESUME": "never",
            "LAUNCHER_LOG_PREFIX": "on",
            "LAUNCHER_IMPORTABLE": "on",
            "LAUNCHER_WORKDIR": "//work//",
            "POD_IP": "fd00:0::1",
            "JOB_COMPLETION_INDEX": "2",
            "TRAINER_COUNT": "8",
        },
        CONFIG,
    )
    assert (settings.timing.stall, settings.record, settings.resume, settings.prefix) == (60.5, "none", False, True)
    assert (settings.workdir, settings.address, settings.index) == (PurePosixPath("/work"), "fd00::1", 2)
    assert (settings.threads, settings.importable) == (8, True)
    assert (settings.timing.progress, settings.nan_fails) == (300.0, True)
    usual = read_settings(SEED, CONFIG)
    assert (usual.timing.progress, usual.nan_fails, usual.importable) == (None, False, False)
    assert read_settings(SEED | {"LAUNCHER_RECORD": "/r", "LAUNCHER_LOG_PREFIX": "off"}, CONFIG).record == "/r"


@pytest.mark.parametrize(
    ("given", "node"),
    [
        ("node-b", "node-b"),
        ("ip-10-0-0-7.eu-1.compute.internal", "ip-10-0-0-7.eu-1.compute.internal"),
        ("", ""),
        ("my node", ""),
        ("Node_B", ""),
        ("-b", ""),
        ("b" * 254, ""),
    ],
)
def test_what_is_no_name_of_a_node_is_another_s_variable(given: str, node: str) -> None:
    assert read_settings(SEED | {"NODE_NAME": given}, CONFIG).node == node


NAMES = sorted(known())


@given(
    st.dictionaries(st.sampled_from(NAMES), st.text(max_size=20)),
    st.lists(st.text(max_size=8), max_size=4),
)
def test_any_environment_gives_settings_or_sentences(environ: dict[str, str], arguments: list[str]) -> None:
    """Never anything else than Settings, or problems that are one line each."""
    told: tuple[str, ...] = ("expected",)
    try:
        found: object = read_settings(environ, arguments)
    except SettingsError as error:
        found, told = error, error.problems
    assert isinstance(found, Settings | SettingsError)
    assert told
    assert all(re.search(r"expected|: (set|remove) ", each) and "\n" not in each for each in told)


@given(st.text(alphabet=st.characters(blacklist_characters="\0", codec="utf-8")), st.text(min_size=1, max_size=5))
def test_any_value_reaches_the_trainer_unchanged(value: str, word: str) -> None:
    """Shell metacharacters, blanks, newlines: as they are."""
    settings = read_settings(SEED, (*CONFIG, f"--x={value}", "--", "python"))
    assert settings.flags.words[-1] == f"--x={value}"
    assert read_settings(SEED, ("--", "python", word)).command == ("python", word)


ELASTIC = SEED | {"LAUNCHER_RUNTIME": "torch", "LAUNCHER_MEMBERS": "2:5", "CONF_PADDLE_GRADIENT_NUM": ""}
APART = SEED | {"LAUNCHER_ROLE": "trainer", "PSERVERS": "2", "CONF_PADDLE_GRADIENT_NUM": ""}
PROGRAM = ("--", "python", "t.py")


def test_a_gang_may_be_narrower() -> None:
    settings = read_settings(ELASTIC | {"LAUNCHER_SETTLE": "3", "LAUNCHER_RESIZE": "now"}, PROGRAM)
    assert settings.width == Width(least=2, most=5, settle=3, shrink_after=60, resize=Resize.NOW)
    assert (settings.trainers, settings.counted_by, settings.width.elastic) == (5, "LAUNCHER_MEMBERS", True)
    assert read_settings(ELASTIC | {"CONF_PADDLE_GRADIENT_NUM": "5"}, PROGRAM).trainers == 5
    fixed = read_settings(ELASTIC | {"LAUNCHER_MEMBERS": "4"}, PROGRAM)
    assert (fixed.trainers, fixed.width.elastic) == (4, False)
    assert not read_settings(SEED, CONFIG).width.elastic
    apart = read_settings(APART | {"LAUNCHER_MEMBERS": "1:3"}, PROGRAM)
    assert (apart.pservers, apart.trainers, apart.members) == (2, 3, 5)
    assert apart.counted_by == "LAUNCHER_MEMBERS"


def test_a_gang_may_be_narrower_by_the_names_of_an_indexed_job_too() -> None:
    by_name = ELASTIC | {"LAUNCHER_PEERS": "dns:job", "JOB_COMPLETION_INDEX": "4", "LAUNCHER_JOB_UID": "uid"}
    settings = read_settings(by_name, PROGRAM)
    assert (settings.index, settings.width.elastic, settings.width.most_pods) == (4, True, 5)
    pserver = {"LAUNCHER_ROLE": "pserver", "LAUNCHER_RUNTIME": "fleet", "PSERVERS": "2", "LAUNCHER_JOB_UID": ""}
    assert read_settings(by_name | pserver, PROGRAM).width.elastic


@pytest.mark.parametrize(
    ("more", "pservers"),
    [
        ({"LAUNCHER_RUNTIME": "fleet"}, 2),
        ({"LAUNCHER_RUNTIME": "fleet", "LAUNCHER_MEMBERS": "5:5", "LAUNCHER_SPARES": "1"}, 5),
        ({"LAUNCHER_RUNTIME": "env"}, 5),  # none: every pod's address, as ever
        ({"LAUNCHER_RUNTIME": "fleet", "LAUNCHER_MEMBERS": "", "CONF_PADDLE_GRADIENT_NUM": "3"}, 3),
    ],
)
def test_as_many_pods_have_a_pserver_beside_the_trainer_as_there_always_are(
    more: dict[str, str], pservers: int
) -> None:
    assert read_settings(ELASTIC | more, PROGRAM).pservers == pservers


@pytest.mark.parametrize("given", ["5:2", "0:3", "2:", ":3", "2-5", "two", "1:100001", "\u0662:5"])
def test_a_width_is_two_numbers_the_smaller_one_first(given: str) -> None:
    told = problems(ELASTIC | {"LAUNCHER_MEMBERS": given}, *PROGRAM)
    assert f"LAUNCHER_MEMBERS={given!r}: expected MIN:MAX, such as 2:5" in told[0]


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"CONF_PADDLE_GRADIENT_NUM": "3"}, "expected 5, the most of LAUNCHER_MEMBERS, or nothing"),
        (
            {"LAUNCHER_PEERS": "dns:job"},
            "LAUNCHER_MEMBERS=2:5 with LAUNCHER_PEERS=dns and no JOB_COMPLETION_INDEX, which does not",
        ),
        (
            {"LAUNCHER_PEERS": "static:10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5"},
            "LAUNCHER_MEMBERS=2:5 with LAUNCHER_PEERS=static, which does not tell which pods there are: expected "
            "kubernetes, dns:NAME in an Indexed Job, or one number of members",
        ),
        (
            {"LAUNCHER_PEERS": "dns:job", "JOB_COMPLETION_INDEX": "0"},
            "LAUNCHER_MEMBERS=2:5 with LAUNCHER_PEERS=dns and no LAUNCHER_JOB_UID, under which the record is kept",
        ),
        ({"LAUNCHER_RECORD": "none"}, "LAUNCHER_MEMBERS=2:5 and no record (JOB_PATH or LAUNCHER_RECORD)"),
        (
            {"LAUNCHER_SHRINK_AFTER": "900"},
            "LAUNCHER_SHRINK_AFTER=900: expected less than LAUNCHER_REJOIN_TIMEOUT=900",
        ),
    ],
)
def test_what_a_changing_width_cannot_be_beside_is_refused(environ: dict[str, str], told: str) -> None:
    assert told in problem(ELASTIC | environ, *PROGRAM)
