"""How a whole life is told: the last line, the termination message, the exit code."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.contract import Spent
from launcher.pod.console import Console
from launcher.pod.outcome import Outcome
from launcher.pod.peers.roster import Peer, Roster
from launcher.pod.programs.policy import Cause
from launcher.pod.settings.nouns import Role, Settings
from launcher.pod.settings.variables import read_settings
from launcher.pod.workdir import write_identity
from tests.support.lives import Lives
from tests.support.talking import Job, all_of, events
from tests.support.waiting import wait_until
from tests.support.whole_volume import whole_volume

pytestmark = pytest.mark.timeout(60)
KUBERNETES_LIMIT = 4096
TICK = 0.02  # the kernel's, of a process's start, and another one that had begun when the test looked at its clock


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with Lives() as lives:
        yield Job(lives, tmp_path)


def test_the_last_line_tells_reason_code_rank_and_the_seconds_of_each_phase(job: Job) -> None:
    begun = time.monotonic()
    life = job.start("sys.exit(3)")
    assert life.end() == 3
    lived = time.monotonic() - begun
    last = json.loads(life.err().splitlines()[-1])
    seconds, spent = last.pop("seconds"), last.pop("spent")
    assert last.pop("timestamp")
    assert (last.pop("level"), last.pop("job"), last.pop("pod")) == ("warning", "job", socket.gethostname())
    assert last == {"event": "launcher_finished", "reason": "trainer 0 exited with 3", "code": 3, "rank": 0}
    assert list(seconds) == ["joining", "staging", "assembling", "training"]
    assert 0 < sum(seconds.values()) < lived
    assert seconds["training"] >= spent[Spent.LOST] > 0
    assert 0 < sum(spent.values()) < lived + TICK


def test_every_line_names_the_job_and_the_pod_and_once_the_peers_are_known_the_rank(job: Job) -> None:
    life = job.start("pass")
    assert life.end() == 0
    told = events(life)
    assert {(each["job"], each["pod"]) for each in told} == {("job", socket.gethostname())}
    known = [each["event"] for each in told].index("roster_complete")
    assert {each["rank"] for each in told[known:]} == {0}
    assert {each["level"] for each in told} == {"info"}
    (starting,) = events(life, "training_starting")
    assert starting["directory"] == str(job.volume / "job")


@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [
        ("pass", 0, "every trainer is done"),
        ("sys.exit(255)", 255, "trainer 0 exited with 255"),
        ("signal.signal(11, signal.SIG_DFL); os.kill(os.getpid(), 11)", 139, "trainer 0 was ended by SIGSEGV"),
    ],
)
def test_a_child_s_end_is_the_pod_s(job: Job, script: str, code: int, reason: str) -> None:
    life = job.start("import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n" + script)
    assert life.end() == code
    assert (events(life)[-1]["code"], events(life)[-1]["reason"]) == (code, reason)


def test_told_to_stop_the_last_line_says_so(job: Job) -> None:
    life = job.start('say(b"up\\n"); signal.pause()')
    assert life.line() == "up"
    life.send(15)
    assert life.end() == 143
    last = events(life)[-1]
    assert (last["event"], last["code"], last["reason"]) == ("launcher_finished", 143, "told to stop by SIGTERM")


def test_a_life_that_ends_before_it_has_a_rank_says_how_far_it_came(job: Job) -> None:
    life = job.start("pass", POD_IP="127.0.0.9")
    assert life.end() in (75, 78)
    last = events(life)[-1]
    assert (last["event"], last["rank"], list(last["seconds"])) == ("launcher_finished", None, ["joining"])


def test_the_value_of_a_secret_flag_is_nowhere_in_what_is_told(job: Job) -> None:
    life = job.start("sys.exit(1)", "--password", "hush-1", "--auth-token=hush-2", "--lr=0.5")
    assert life.end() == 1
    assert "hush" not in life.err()
    (started,) = events(life, "child_started")
    assert started["argv"][-4:] == ["--password", "***", "--auth-token=***", "--lr=0.5"]


def test_a_verdict_that_waits_for_the_volume_is_no_failure_of_a_pserver_that_has_ended(job: Job) -> None:
    script = "touch(sys.argv[1] + role); wait_for(sys.argv[1])"
    with whole_volume(job.volume) as volume:
        life = job.start(script, job.top / "go", children=2)
        wait_until(lambda: all((job.top / f"go{role}").exists() for role in ("PSERVER", "TRAINER")), timeout=30)
        with volume.hanging():
            (job.top / "go").touch()
            wait_until(lambda: events(life, "verdict"), timeout=30)
        all_of(life)
        assert life.end(30) == 0
    assert events(life, "verdict")[0]["reason"] == "every trainer is done"


# The message that the kubelet reads, at its real place: in a mount namespace with a /dev of its own.

WITH_MESSAGE = """
set -e
mount -t tmpfs none "$TOP/dev"
: > "$TOP/dev/null.real"
: > "$TOP/dev/null"
mount --bind /dev/null "$TOP/dev/null"
[ -z "$MADE" ] || : > "$TOP/dev/termination-log"
mount --rbind "$TOP/dev" /dev
set +e
"$@"
code=$?
[ ! -e /dev/termination-log ] || cat /dev/termination-log > "$TOP/message"
exit $code
"""


def with_message(job: Job, script: str, *arguments: object, made: str = "yes") -> tuple[int, bytes | None]:
    """Live with a termination log as the kubelet makes it, and return the exit code and the message."""
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no mount namespace can be made here: {tried.stderr.strip()}")
    (job.top / "dev").mkdir(exist_ok=True)
    before = ("unshare", "--mount", "/bin/sh", "-c", WITH_MESSAGE, "sh")
    life = job.start(script, *arguments, before=before, TOP=str(job.top), MADE=made)
    all_of(life)
    code = life.end()
    message = job.top / "message"
    return code, message.read_bytes() if message.exists() else None


def test_the_termination_message_names_rank_role_and_code_and_has_the_last_lines_of_the_log(job: Job) -> None:
    code, message = with_message(job, 'say(b"".join(b"pass %d\\n" % n for n in range(9999))); sys.exit(3)')
    assert code == 3
    assert message
    assert message.startswith(b"trainer 0 exited with 3\nthe last lines of its log:\n")
    assert message.endswith(b"\npass 9997\npass 9998")
    assert len(message) < KUBERNETES_LIMIT


def test_where_a_pserver_failed_its_log_is_in_the_message_not_the_trainer_s(job: Job) -> None:
    script = """
if role == "TRAINER":
    say(b"innocent\\n")
    touch(sys.argv[1])
    signal.pause()
wait_for(sys.argv[1])
say(b"port in use\\n")
sys.exit(98)
"""
    life = job.start(script, job.top / "ready", children=2)
    all_of(life)
    assert life.end() == 98
    told = life.err().partition("start_paddle: ")[2].partition("\n{")[0]
    assert told == "pserver 0 exited with 98\nthe last lines of its log:\nport in use"


@pytest.mark.parametrize("noise", [b"\xff", "界".encode(), "é".encode() + b"\xc3", b"\0", b"\x1b[31m"])
def test_the_termination_message_is_short_enough_and_text_whatever_was_said(job: Job, noise: bytes) -> None:
    (job.top / "noise").write_bytes(noise * 5000 + b"\nthe last line\n")
    code, message = with_message(job, 'say(open(sys.argv[1], "rb").read()); sys.exit(1)', job.top / "noise")
    assert code == 1
    assert message
    assert len(message) < KUBERNETES_LIMIT
    assert message.decode().endswith("\nthe last line")


def test_the_termination_message_is_there_although_a_blocked_reader_still_holds_the_end(job: Job) -> None:
    message = job.top / "message"
    message.touch()
    code = (
        "import sys; from pathlib import Path; from launcher.pod.console import Console; "
        "from launcher.pod.outcome import Outcome; console = Console(Path(sys.argv[1])); "
        "console.out.put(b'x' * 1_000_000); console.end(Outcome(code=0, reason='done'))"
    )
    argv = [sys.executable, "-c", code, str(message)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: message.read_text() == "done")
        assert process.poll() is None
        assert process.wait(10) == 0  # which does not wait for ever


def test_where_no_kubelet_made_a_place_for_the_message_none_is_left(job: Job) -> None:
    assert with_message(job, "sys.exit(2)", made="") == (2, None)
    Console(termination_log=job.top / "message").end(Outcome(code=0, reason="done"))
    assert not (job.top / "message").exists()


def test_settings_that_cannot_be_right_are_the_message_and_the_code_is_78(job: Job) -> None:
    life = job.start("pass", LAUNCHER_GRACE="soon")
    assert life.end() == 78
    assert "start_paddle: LAUNCHER_GRACE='soon': expected" in life.err()
    assert "Traceback" not in life.err()
    assert events(life)[-1]["event"] == "launcher_finished"


def test_a_program_that_cannot_be_started_is_told_with_71_and_leaves_no_log_behind_but_its_empty_one(
    job: Job,
) -> None:
    with Lives() as lives:
        env = {"LAUNCHER_PEERS": "static:127.0.0.1", "POD_IP": "127.0.0.1", "LAUNCHER_RUNTIME": "env"}
        env |= {"JOB_NAME": "job", "JOB_PATH": str(job.volume), "LAUNCHER_WORKDIR": str(job.top / "work")}
        life = lives.start("/not/there", env=env)
        assert life.end() == 71
        assert "start_paddle: cannot start '/not/there': No such file or directory" in life.err()
        assert job.log().read_bytes() == b""


def test_a_workdir_that_cannot_be_entered_is_told_with_its_name(job: Job) -> None:
    life = job.start("pass", LAUNCHER_WORKDIR=str(job.top / "nowhere"))
    assert life.end() in (71, 74, 78)
    assert str(job.top / "nowhere") in life.err()
    assert "Traceback" not in life.err()


def test_a_plain_init_that_ran_its_command_says_nothing_of_its_own() -> None:
    with Lives() as lives:
        life = lives.start(sys.executable, "-c", "import sys; print('mine'); sys.exit(6)")
        assert life.rest() == ["mine"]
        assert life.end() == 6
        assert life.err() == ""


def test_a_plain_init_tells_a_command_that_it_could_not_start() -> None:
    console = Console(termination_log=Path("/nonexistent/message"))
    ended = console.of_init(Cause(at=0, outcome=Outcome(code=71, reason="cannot start"), unstarted=True))
    assert (ended.code, ended.reason) == (71, "cannot start")
    with Lives() as lives:
        life = lives.start("/not/there")
        assert life.end() == 71
        assert "cannot start '/not/there'" in life.err()


def test_before_a_terminal_the_story_is_for_people() -> None:
    ours, theirs = pty.openpty()
    got = b""
    code = (
        "import os, sys; from launcher.pod.console import Console; from launcher.pod.outcome import Outcome; "
        "Console().end(Outcome(code=0, reason='done'))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env={"NO_COLOR": "1"})
    os.close(theirs)

    def ended() -> bool:
        nonlocal got
        try:
            got += os.read(ours, 4096)
        except OSError:
            return True
        return False

    wait_until(ended)
    os.close(ours)
    assert process.wait(10) == 0
    assert b"launcher_finished" in got
    assert b"code=0" in got
    assert b"{" not in got.replace(b"seconds={}", b"")


# /trainer_id and /trainer_count.


def pod(role: Role, **environ: str) -> tuple[Settings, Roster]:
    peers = tuple(Peer(address=f"10.0.0.{number}") for number in (1, 2, 3))
    base = {"JOB_NAME": "job", "JOB_PATH": "/volume", "LAUNCHER_WORKDIR": "/work", "CONF_PADDLE_GRADIENT_NUM": "3"}
    settings = read_settings(base | {"LAUNCHER_PEERS": "dns:peers"} | environ, ["--config=./c.py"])
    return settings, Roster(pservers=peers, trainers=peers, me=peers[2], role=role)


def test_a_trainer_s_rank_and_their_number_are_files_that_end_in_a_newline(tmp_path: Path) -> None:
    write_identity(*pod(Role.NODE), lambda *_: None, root=tmp_path)
    assert (tmp_path / "trainer_id").read_text() == "2\n"
    assert (tmp_path / "trainer_count").read_text() == "3\n"


def test_a_pserver_has_no_such_files_and_neither_have_lives_that_share_a_machine(tmp_path: Path) -> None:
    write_identity(*pod(Role.PSERVER), lambda *_: None, root=tmp_path)
    static = pod(Role.NODE, LAUNCHER_PEERS="static:10.0.0.1,10.0.0.2,10.0.0.3")
    write_identity(*static, lambda *_: None, root=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_where_the_files_cannot_be_written_the_environment_is_named_instead(tmp_path: Path) -> None:
    told: list[tuple[str, dict[str, object]]] = []
    root = tmp_path / "not there"
    write_identity(*pod(Role.NODE), lambda event, **facts: told.append((event, facts)), root=root)
    assert [(event, facts["path"], facts["instead"]) for event, facts in told] == [
        ("identity_file_not_written", str(root / "trainer_id"), "TRAINER_ID"),
        ("identity_file_not_written", str(root / "trainer_count"), "TRAINERS"),
    ]
