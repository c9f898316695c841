"""Whole lives: real launchers from their first line to their last, by the API and without it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from tests.grounds.api.scripted import ApiServer, Status, serving
from tests.support.lives import LAUNCHER, Life, Lives, state
from tests.support.pods import JOB, pod
from tests.support.talking import Job, events
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)

ADDRESSES = ("127.0.4.10", "127.0.4.2", "127.0.4.9")
# The service account lies where a pod has it, in a mount namespace of the launcher's own.
IN_A_POD = ("unshare", "--mount", "--", "sh", "-c")
LAY_OUT = """
account=/var/run/secrets/kubernetes.io/serviceaccount
mount -t tmpfs none "$(readlink -f /var/run)" && mkdir -p "$account" && cp "$0"/* "$account" && exec "$@"
"""


class Cluster:
    """A scripted API server, and pods that are real launchers."""

    def __init__(self, lives: Lives, api: ApiServer, account: Path, environ: dict[str, str], top: Path) -> None:
        self.api = api
        self.top, self.volume = top, top / "volume"
        self.volume.mkdir()
        self._lives, self._account, self._environ = lives, account, environ

    def start(self, address: str, script: str, **environ: str) -> Life:
        work = self.top / address
        work.mkdir(exist_ok=True)
        own = {
            "LAUNCHER_PEERS": "kubernetes",
            "LAUNCHER_RUNTIME": "fleet",
            "LAUNCHER_WORKDIR": str(work),
            "JOB_NAME": JOB,
            "JOB_PATH": str(self.volume),
            "CONF_PADDLE_GRADIENT_NUM": str(len(ADDRESSES)),
            "POD_IP": address,
        }
        before = (*IN_A_POD, LAY_OUT, str(self._account))
        return self._lives.start(sys.executable, "-c", script, env={**own, **self._environ, **environ}, before=before)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    if subprocess.run([*IN_A_POD, "true"], check=False, capture_output=True).returncode:
        pytest.skip("a mount namespace needs root: run as root to have whole lives by the API")
    authority = trustme.CA()
    account = tmp_path / "account"
    account.mkdir()
    with contextmanager(serving)(ApiServer(), authority) as api, Lives() as lives:
        yield Cluster(lives, api, account, api.environ(account, authority), tmp_path)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with Lives() as lives:
        yield Job(lives, tmp_path)


WHO = """
import os, socket, sys, time
if os.environ["TRAINING_ROLE"] == "PSERVER":
    door = socket.create_server((os.environ["POD_IP"], int(os.environ["PADDLE_PORT"])))
    time.sleep(600)
print(os.environ["PADDLE_TRAINER_ID"], os.environ["PADDLE_PSERVERS_IP_PORT_LIST"])
"""


def test_three_pods_meet_by_the_api_train_and_end(cluster: Cluster) -> None:
    """Ranks by the text of the addresses; the pods start before the last one is shown as running."""
    first, second, third = ADDRESSES
    cluster.api.put(pod("a", first), pod("b", second))
    lives = [cluster.start(address, WHO) for address in ADDRESSES]
    wait_until(lambda: all(events(life, "waiting_for_peers") for life in lives))
    cluster.api.put(pod("c", third))
    assert [life.end() for life in lives] == [0, 0, 0]
    listed = ",".join(f"{address}:7164" for address in sorted(ADDRESSES))
    for life, address in zip(lives, ADDRESSES, strict=True):
        rank = sorted(ADDRESSES).index(address)
        log = cluster.volume / JOB / "output" / f"node_{rank}" / "train.log"
        assert log.read_text() == f"{rank} {listed}\n"
        told = [event["event"] for event in events(life)]
        assert told[0] == "peers_wanted"
        assert told[-1] == "launcher_finished"
        assert len(told) <= 14, "a healthy life is told in few lines"
    digests = {events(life, "roster_complete")[0]["digest"] for life in lives}
    assert len(digests) == 1


def test_a_missing_right_ends_with_69_and_the_role_to_apply(cluster: Cluster) -> None:
    who = "system:serviceaccount:default:default"
    message = (
        f'pods is forbidden: User "{who}" cannot list resource "pods" in API group "" in the namespace "default"'
    )
    cluster.api.say("list", Status(code=403, message=message))
    life = cluster.start(ADDRESSES[0], WHO)
    assert life.end() == 69
    assert "kind: RoleBinding" in life.err()
    assert "Traceback" not in life.err()


def test_peers_that_do_not_come_end_with_75_and_say_who_is_missing(cluster: Cluster) -> None:
    cluster.api.put(pod("a", ADDRESSES[0]), pod("b", "", phase="Pending"))
    for seconds in (0.5, 2, 8):  # enough to be answered in, as soon as that may be on a busy machine
        life = cluster.start(ADDRESSES[0], WHO, LAUNCHER_JOIN_TIMEOUT=str(seconds))
        code = life.end(30)
        if events(life, "waiting_for_peers"):
            break
    assert code == 75
    assert "b is Pending" in life.err()
    assert "2 pods exist, 3 expected by CONF_PADDLE_GRADIENT_NUM" in life.err()


def test_a_word_to_stop_ends_the_wait_for_peers_at_once(cluster: Cluster) -> None:
    cluster.api.put(pod("a", ADDRESSES[0]))
    life = cluster.start(ADDRESSES[0], WHO)
    wait_until(lambda: events(life, "waiting_for_peers"))
    life.send(signal.SIGTERM)
    assert life.end() == 143
    assert "told to stop by SIGTERM while waiting for its peers" in life.err()


def test_a_wait_for_peers_can_be_stopped_and_continued_by_a_shell(cluster: Cluster) -> None:
    cluster.api.put(pod("a", ADDRESSES[0]))
    life = cluster.start(ADDRESSES[0], WHO)
    wait_until(lambda: events(life, "waiting_for_peers"))
    life.send(signal.SIGTSTP)
    wait_until(lambda: state(life.pid) == "T")
    life.send(signal.SIGCONT)
    wait_until(lambda: state(life.pid) == "S")
    life.send(signal.SIGINT)
    assert life.end() == 130


def test_bad_settings_end_with_78_and_leave_nothing_on_the_volume(job: Job) -> None:
    life = job.start("pass", JOB_NAME="../x", LAUNCHER_GRACE="soon")
    assert life.end() == 78
    assert "JOB_NAME='../x': expected" in life.err()
    assert "LAUNCHER_GRACE='soon': expected" in life.err()
    assert "Traceback" not in life.err()
    assert not list(job.volume.iterdir())


def test_a_working_directory_that_is_not_there_is_told(job: Job) -> None:
    life = job.start("pass", LAUNCHER_WORKDIR="/not/there")
    assert life.end() in (71, 74)
    assert "/not/there" in life.err()
    assert "LAUNCHER_WORKDIR" in life.err()


def test_a_working_directory_has_one_launcher_at_a_time(job: Job) -> None:
    first = job.start("say(b'here\\n'); time.sleep(60)")
    assert first.line() == "here"
    second = job.start("pass")
    assert second.end() == 74
    assert "another launcher uses" in second.err()
    first.send(signal.SIGTERM)
    assert first.end() == 143
    assert job.start("pass").end() == 0


@pytest.mark.parametrize("signum", [signal.SIGHUP, signal.SIGQUIT])
def test_what_ends_any_process_ends_the_wait_for_peers(cluster: Cluster, signum: signal.Signals) -> None:
    cluster.api.put(pod("a", ADDRESSES[0]))
    life = cluster.start(ADDRESSES[0], WHO)
    wait_until(lambda: events(life, "waiting_for_peers"))
    life.send(signum)
    assert life.end() == 128 + signum


def test_flags_before_a_plain_inits_command_go_to_the_command() -> None:
    done = subprocess.run(
        [*LAUNCHER, "--x=1", "--", "echo", "said"], check=True, capture_output=True, env={"LAUNCHER_PEERS": "self"}
    )
    assert done.stdout == b"said --x=1\n"


def test_a_plain_inits_command_runs_in_the_working_directory(tmp_path: Path) -> None:
    env = {"LAUNCHER_PEERS": "self", "LAUNCHER_WORKDIR": str(tmp_path)}
    done = subprocess.run([*LAUNCHER, "--", "pwd", "-P"], check=True, capture_output=True, text=True, env=env)
    assert done.stdout.strip() == str(tmp_path.resolve())


def test_an_event_never_ends_a_line_of_a_childs() -> None:
    """Where stdout and stderr are one pipe, as on a terminal of docker's."""
    script = f"{' '.join(LAUNCHER)} -- printf unfinished 2>&1"
    env = {"LAUNCHER_PEERS": "self", "LAUNCHER_RUNTIME": "env", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["/bin/sh", "-c", script], check=True, capture_output=True, text=True, env=env)
    assert "unfinished" in done.stdout.splitlines()


def test_a_bug_is_told_with_where_it_happened(job: Job) -> None:
    """Nothing is known to do this from outside, so a module of the launcher's is broken on its way."""
    broken = job.top / "broken" / "sitecustomize.py"
    broken.parent.mkdir()
    broken.write_text("import launcher.pod.programs.runtimes as r\nr.plan_for = lambda *_, **__: 1 / 0\n")
    life = job.start("pass", PYTHONPATH=str(broken.parent))
    assert life.end() == 70
    assert "a bug in the launcher: ZeroDivisionError" in life.err()
    assert "please report it" in life.err()


@pytest.mark.parametrize(
    ("argument", "answer"), [("--help", "usage: start_paddle"), ("-h", "examples:"), ("--version", "start_paddle 0.")]
)
def test_help_and_version_are_answered_without_any_setting(argument: str, answer: str) -> None:
    done = subprocess.run([*LAUNCHER, argument], check=True, capture_output=True, text=True, env={})
    assert answer in done.stdout
    assert not done.stderr
