"""How the desk speaks: which word counts, colours and prompts on terminals alone, lists of any length."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.job import PaddleJob
from tests.grounds.api.control_plane import ControlPlane
from tests.process.desk.test_paddlectl import NAME, everything, submitted
from tests.support.desks import User
from tests.support.terminals import on_a_terminal
from tests.support.waiting import wait_until

MANY = 260  # jobs; a page of the API has 250
COLOURED = (
    "from launcher.desk.terminal import Terminal; print(Terminal.of(quiet=False, verbose=False).coloured('x', 0))"
)


def test_flags_count_more_than_the_environment_and_that_more_than_the_file(me: User) -> None:
    whole = (me.home / ".paddle" / "config").read_text()
    other = me.home / "other"
    other.write_text(whole.replace("datacenter1", "datacenter2").replace(me.namespace, "elsewhere"))
    other.chmod(0o600)
    assert me("get", "jobs").code == 0
    by_environment = me("get", "jobs", PADDLE_CONFIG=str(other))
    assert 'namespace "elsewhere"' in by_environment.err
    by_flag = me("-config", str(me.home / ".paddle" / "config"), "get", "jobs", PADDLE_CONFIG=str(other))
    assert by_flag.code == 0, by_flag.err
    assert me("get", "jobs", "-namespace", me.namespace, PADDLE_CONFIG=str(other)).code == 0
    assert "datacenter 'nowhere' is not in" in me("get", "jobs", PADDLE_DATACENTER="nowhere").err
    assert me("get", "jobs", "-datacenter", "datacenter1", PADDLE_DATACENTER="nowhere").code == 0


def test_colours_are_for_terminals_and_not_where_no_color_is_set() -> None:
    words = (sys.executable, "-c", COLOURED)
    assert on_a_terminal(words, b"", **os.environ)[1] == "\x1b[36mx\x1b[0m\r\n"
    assert on_a_terminal(words, b"", **{**os.environ, "NO_COLOR": "1"})[1] == "x\r\n"
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "x\n"


def test_a_password_is_asked_for_on_a_terminal_and_not_shown(me: User, plane: ControlPlane) -> None:
    words = me.words("registry", "-name", "mine", "-username", "u", "-server", "registry.example.com")
    code, shown = on_a_terminal(words, b"5ecret\n", **me.environ())
    assert code == 0, shown
    assert "password of u at registry.example.com: " in shown
    assert "5ecret" not in shown
    assert [each["metadata"]["name"] for each in plane.items(me.namespace, "Secret")] != []


def test_a_password_that_is_none_is_told(me: User) -> None:
    words = me.words("registry", "-name", "mine", "-username", "u", "-server", "registry.example.com")
    code, shown = on_a_terminal(words, b"\x04", **me.environ())
    assert (code, "the password is empty" in shown) == (1, True)
    done = subprocess.run(words, input=b"5ecret\xff\n", env=me.environ(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"paddlectl: the password is not UTF-8 text\n")


def test_where_it_cannot_write_it_says_so(me: User) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            me.words("commands"), env=me.environ(), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "paddlectl: standard output: No space left on device\n")


def test_a_terminal_without_the_marks_of_a_text_shows_their_numbers(tmp_path: Path) -> None:
    nobody = User(home=tmp_path)
    words = ("submit", "-jobname", "a", "-image", "i", "-entry", "echo \N{SNOWMAN}", "--dry-run")
    shown = nobody(*words, PYTHONIOENCODING="ascii")
    assert (shown.code, "\\u2603" in shown.out) == (0, True), shown.err


def test_an_authority_of_nobodys_home_is_told(me: User) -> None:
    said = me("get", "jobs", *me.saying(**{"certificate-authority": "~nobody-here/ca.crt"}))
    assert (said.code, "certificate-authority: ~nobody-here/ca.crt does not exist" in said.err) == (1, True)


def test_a_list_of_more_than_a_page_is_whole(plane: ControlPlane, me: User) -> None:
    job = PaddleJob(job_name="x", entry_point="python train.py", runtime_image="repo/paddle:1", together=True)
    made = job.manifests()[0]
    made["spec"]["suspend"] = True
    for number in range(MANY):
        plane.make(me.namespace, {**made, "metadata": {**made["metadata"], "name": f"x-{number:03d}"}})
    said = me("get", "jobs", "-v")
    assert [row[0] for row in said.rows[1:]] == [str(number) for number in range(MANY)]
    assert len([line for line in said.err.splitlines() if line.startswith("GET ")]) == 2


@pytest.mark.parametrize(
    "words", [("describe",), ("wait",), ("kill",), ("report",), ("get", "workers"), ("logs", "-f")]
)
def test_a_job_that_is_not_there_is_one_sentence(me: User, words: tuple[str, ...]) -> None:
    said = me(*words, "no-such")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"paddlectl: there is no job no-such in the namespace {me.namespace}: `paddlectl get jobs` lists the jobs\n"
    )


def test_delete_job_leaves_nothing_of_it(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    assert me("delete", "job", NAME).code == 0
    wait_until(lambda: not everything(plane, me), timeout=30, every=0.2)


def test_the_flags_of_all_commands_are_listed(tmp_path: Path) -> None:
    said = User(home=tmp_path)("flags")
    assert said.code == 0
    assert all(f"-{name}" in said.out for name in ("config", "datacenter", "namespace", "q", "v"))
