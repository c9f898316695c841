"""cp, file, ls, mkdir and rm as typed, through a real API server to an agent; only the container is missing."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.nodes import PULLING, Node, node_of
from tests.support.agents import arrived, contents, noise
from tests.support.desks import CLAIM, Said, User, user
from tests.support.waiting import wait_until
from tests.unit.report.goodput.test_spending import RUN
from tests.unit.report.test_gang import BEGUN, gang, lines

HOME = "/pfs/datacenter1/home/me"


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    path.mkdir()
    return path


@pytest.fixture
def me(plane: ControlPlane, tmp_path: Path, request: pytest.FixtureRequest) -> User:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:60].strip("-")
    made = user(plane, tmp_path / "home", name, public={"claim": "public"})
    plane.make(name, {**CLAIM, "metadata": {"name": "public"}})
    (tmp_path / "home" / "work").mkdir()
    return made


@pytest.fixture
def node(plane: ControlPlane, me: User, volume: Path) -> Iterator[Node]:
    with node_of(plane, me.namespace, volume) as found:
        yield found


@pytest.fixture
def work(me: User) -> Path:
    return me.home / "work"


def typed(me: User, *words: str) -> Said:
    """Type a command in the work directory."""
    done = subprocess.run(
        me.words(*words), env=me.environ(PYTHONPATH=str(Path.cwd())), capture_output=True, text=True, timeout=60,
        check=False, cwd=me.home / "work",
    )  # fmt: skip
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def pods(plane: ControlPlane, me: User) -> list[str]:
    return [each["metadata"]["name"] for each in plane.items(me.namespace, "Pod")]


def gone(plane: ControlPlane, me: User) -> None:
    wait_until(lambda: not pods(plane, me), timeout=10, every=0.05)


def dataset(work: Path, files: int = 200) -> None:
    for number in range(files):
        path = work / "dataset" / f"part-{number % 4}" / f"{number:05d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(noise(1000, number))


@pytest.mark.usefixtures("node")
def test_the_seeds_verbs(plane: ControlPlane, me: User, volume: Path, work: Path) -> None:
    dataset(work)
    done = typed(me, "file", "dataset", HOME)
    assert (done.code, done.out) == (0, ""), done.err
    assert "/pfs/datacenter1/home/me: 200 files, 200.0 kB" in done.err
    assert contents(volume) == contents(work)
    done = typed(me, "file", "dataset/", "/pfs/datacenter1/user/me/flat")
    assert done.code == 0, done.err
    assert contents(volume / "flat") == contents(work / "dataset")
    assert typed(me, "mkdir", f"{HOME}/a/b", f"{HOME}/c/").code == 0
    listed = typed(me, "ls")
    assert (listed.code, listed.out) == (0, "a/\nc/\ndataset/\nflat/\n"), listed.err
    long = typed(me, "ls", "-l", f"{HOME}/flat/part-0/00000")
    assert re.fullmatch(r"-\t1000\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\t00000\n", long.out), long.err
    refused = typed(me, "rm", f"{HOME}/flat")
    assert refused.code == 1
    assert "flat is a directory: add -r" in refused.err
    assert typed(me, "rm", "-r", f"{HOME}/flat").code == 0
    assert typed(me, "rm", f"{HOME}/dataset/part-0/00000").code == 0
    assert not (volume / "flat").exists()
    down = typed(me, "cp", f"{HOME}/dataset", "back")
    assert down.code == 0, down.err
    assert contents(work / "back" / "dataset") == contents(volume / "dataset")
    gone(plane, me)


def test_the_pod_is_of_the_restricted_standard_and_reads_only_what_it_should(
    plane: ControlPlane, me: User, node: Node, volume: Path
) -> None:
    plane.enforce(me.namespace, "restricted")
    (volume / "x").write_text("x")
    assert typed(me, "ls", "/pfs/public").out == "x\n"
    assert node.asked == [["/opt/launcher/bin/python", "-I", "-m", "launcher.files", "serve", "/volume"]]
    (spec,) = node.specs
    assert (
        spec["containers"][0]["volumeMounts"]
        == [{"name": "volume", "mountPath": "/volume", "readOnly": True, "recursiveReadOnly": "Disabled"}]
        or spec["containers"][0]["volumeMounts"][0]["readOnly"]
    )
    assert spec["volumes"] == [{"name": "volume", "persistentVolumeClaim": {"claimName": "public"}}]
    gone(plane, me)


def test_a_pod_is_called_before_its_kubelet_tells_that_it_runs(
    plane: ControlPlane, me: User, node: Node, volume: Path
) -> None:
    """It looks once a second what runs; what it never tells is here never waited for."""
    node.silent = True
    (volume / "x").write_text("x")
    done = typed(me, "ls", HOME)
    assert (done.code, done.out) == (0, "x\n"), done.err
    assert len(node.asked) == 1
    gone(plane, me)


def test_a_connection_that_is_lost_is_gone_on_with(
    plane: ControlPlane, me: User, node: Node, volume: Path, work: Path
) -> None:
    (work / "weights").write_bytes(noise(48 << 20))
    node.breaks = [30 << 20]
    done = typed(me, "cp", "weights", f"{HOME}/")
    assert done.code == 0, done.err
    assert "continuing from there" in done.err
    assert re.search(r"1 file, 50.3 MB, [12]\d\.\d MB of it was there already", done.err), done.err
    assert contents(volume) == contents(work)
    assert len(node.specs) == 1
    gone(plane, me)


def test_a_connection_whose_agent_lives_on_is_gone_on_with_when_that_has_heard_of_it(
    plane: ControlPlane, me: User, node: Node, volume: Path, work: Path
) -> None:
    """The lock of what is written is the old agent's for a while: here the test's, which takes it at once."""
    (work / "weights").write_bytes(noise(48 << 20))
    node.breaks = [30 << 20]
    with subprocess.Popen(
        me.words("cp", "weights", f"{HOME}/"), env=me.environ(PYTHONPATH=str(Path.cwd())), cwd=work,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_until(lambda: arrived(volume) > 1 << 20, timeout=30, every=0.001)
        (part,) = volume.glob(".paddlectl-*")
        with part.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # which comes when the old agent has ended
            time.sleep(3)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert "continuing from there" in told
    assert contents(volume) == contents(work)
    gone(plane, me)


@pytest.mark.usefixtures("node")
def test_a_copy_that_is_killed_is_gone_on_with_by_the_next(
    plane: ControlPlane, me: User, volume: Path, work: Path
) -> None:
    (work / "weights").write_bytes(noise(96 << 20))
    started = subprocess.Popen(
        me.words("cp", "weights", HOME), env=me.environ(PYTHONPATH=str(Path.cwd())), cwd=work, stderr=subprocess.PIPE
    )
    with started:
        wait_until(lambda: arrived(volume) > 20 << 20, timeout=30, every=0.001)
        started.kill()
    assert not (volume / "weights").exists()
    assert len(pods(plane, me)) == 1  # nobody was left to remove it
    for name in pods(plane, me):
        plane.become(me.namespace, name, {"phase": "Succeeded", "containerStatuses": []})  # as `hold` ends
    done = typed(me, "cp", "weights", HOME)
    assert done.code == 0, done.err
    assert "was there already" in done.err
    assert contents(volume) == contents(work)
    gone(plane, me)


def test_ctrl_c_removes_the_pod(plane: ControlPlane, me: User, node: Node, volume: Path, work: Path) -> None:
    (work / "weights").write_bytes(noise(96 << 20))
    started = subprocess.Popen(
        me.words("cp", "weights", HOME), env=me.environ(PYTHONPATH=str(Path.cwd())), cwd=work, stderr=subprocess.PIPE
    )
    with started:
        wait_until(lambda: arrived(volume) > 20 << 20, timeout=30, every=0.001)
        started.send_signal(signal.SIGINT)
        assert started.wait(timeout=20) == 130
    gone(plane, me)
    wait_until(lambda: all(each.poll() is not None for each in node.agents), timeout=10)


def test_a_pod_that_cannot_start_is_told_and_removed(plane: ControlPlane, me: User, node: Node) -> None:
    node.become = PULLING
    done = typed(me, "ls", HOME)
    assert done.code == 1
    assert "its image cannot be pulled (ErrImagePull): no such image" in done.err
    gone(plane, me)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("file", "../data", HOME), 2, "`..` is not allowed in src"),
        (("cp", "nothing", HOME), 1, "nothing does not exist"),
        (("cp", "dataset", "/pfs/datacenter1/public"), 1, "/pfs/datacenter1/public is read-only"),
        (("cp", "dataset", "/pfs/elsewhere/home/me"), 1, "datacenter 'elsewhere' is not in"),
        (("cp", "dataset", "/pfs/datacenter1/home/you"), 1, "that is another user's directory"),
        (("cp", "dataset", f"{HOME}/../you"), 2, "expected a path without `..`"),
        (("cp", f"{HOME}/x", "../y"), 2, "`..` is not allowed in dest"),
        (("cp", "dataset", "there"), 2, "expected one of src and dest to begin with /pfs/"),
        (("cp", f"{HOME}/a", f"{HOME}/b"), 2, "expected one of src and dest"),
        (("cp", "dataset"), 2, "cp: expected dest; `paddlectl help cp` shows how"),
        (("file", f"{HOME}/a", "b"), 2, "cp copies the other way"),
        (("rm", HOME), 1, "is your home directory"),
        (("rm", "-r", f"{HOME}/"), 1, "is your home directory"),
        (("rm", "-r", "/pfs/public/x"), 1, "is read-only"),
        (("mkdir", "here"), 2, "expected a path on the volume"),
        (("mkdir",), 2, "mkdir: expected path; `paddlectl help mkdir` shows how"),
        (("ls", HOME, "/pfs/public"), 1, "these paths are on two volumes"),
    ],
)
def test_what_cannot_be_is_told_before_a_pod_is_made(
    plane: ControlPlane, me: User, work: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    dataset(work, 1)
    done = typed(me, *words)
    assert (done.code, told in done.err) == (code, True), done.err
    assert done.err.count("\n") == 1 or code == 2
    assert pods(plane, me) == []


@pytest.mark.usefixtures("node")
def test_what_cannot_be_on_the_volume_is_one_sentence(plane: ControlPlane, me: User) -> None:
    done = typed(me, "cp", f"{HOME}/no/such", ".")
    assert (done.code, done.err) == (1, "paddlectl: /pfs/datacenter1/home/me: no/such is not there\n")
    gone(plane, me)


@pytest.mark.usefixtures("node")
def test_without_the_right_to_exec_it_is_told(plane: ControlPlane, me: User) -> None:
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{me.namespace}/roles/paddlectl"
    rules = [each for each in plane.ask("GET", role)["rules"] if "pods/exec" not in each["resources"]]
    plane.change(role, {"rules": rules})
    done = typed(me, "ls")
    assert done.code == 1
    assert 'cannot get resource "pods/exec"' in done.err
    gone(plane, me)


def test_a_terminal_has_a_bar(me: User, node: Node, work: Path) -> None:
    (work / "weights").write_bytes(noise(1 << 20))  # four pieces: the first of them is always shown
    ours, theirs = pty.openpty()
    with subprocess.Popen(me.words("cp", "weights", HOME), env=me.environ(), cwd=work, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # as a terminal ends whose other side is closed
            while data := os.read(ours, 4096):
                seen += data
        os.close(ours)
        assert process.wait(timeout=30) == 0
    assert re.search(rb"\r\[#{7}\.{23}\]  25%  0/1 file  262\.1 kB/1\.0 MB  [\d.]+ [kMG]?B/s\x1b\[K", seen), seen
    assert seen.endswith(b"/s\r\n")
    assert node.specs


@pytest.mark.usefixtures("node")
def test_a_quiet_copy_says_nothing(me: User, work: Path) -> None:
    dataset(work, 3)
    done = typed(me, "-q", "cp", "dataset", HOME)
    assert (done.code, done.out, done.err) == (0, "", "")


SUBMIT = ("submit", "-jobname", "my-job", "-parallelism", "2", "-entry", "python train.py")


@pytest.mark.usefixtures("node")
def test_submit_brings_a_package_of_this_machine(me: User, volume: Path, work: Path) -> None:
    (work / "package").mkdir()
    (work / "package" / "train.py").write_text("print('train')\n")
    done = typed(me, "-v", *SUBMIT, "package")
    assert done.code == 0, done.err
    sent = [line for line in done.err.splitlines() if re.match("(GET|POST) https", line)]
    own = [each for each in sent if "dryRun=All" in each or not re.search("/(pods|secrets)", each)]  # not the copy's
    # A list of the jobs, the two volumes' claims; four objects checked and two pods of them; four objects made.
    assert len(own) == 1 + 2 + 4 + 2 + 4, own
    assert (volume / "jobs" / "my-job" / "package" / "train.py").read_text() == "print('train')\n"


@pytest.mark.usefixtures("node")
def test_what_paddleignore_names_stays_on_this_machine(me: User, volume: Path, work: Path) -> None:
    for name in ("train.py", "old.ckpt", "out/a", "lib/out/b", "lib/keep.ckpt"):
        (work / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (work / "package" / name).touch()
    (work / "package" / ".paddleignore").write_text("/out/\n*.ckpt\n!keep.ckpt\n")
    done = typed(me, *SUBMIT, "package")
    assert done.code == 0, done.err
    top = volume / "jobs" / "my-job" / "package"
    brought = {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}
    assert brought == {".paddleignore", "train.py", "lib/out/b", "lib/keep.ckpt"}


def test_logs_and_report_come_from_the_volume_when_the_pods_are_gone(
    plane: ControlPlane, me: User, volume: Path, work: Path
) -> None:
    assert typed(me, *SUBMIT, "/pfs/datacenter1/home/me/package").code == 0
    assert typed(me, "kill", "my-job").code == 0
    wait_until(lambda: not pods(plane, me), timeout=20, every=0.1)
    output = volume / "jobs" / "my-job" / "output"
    for rank in (0, 1, 10):
        (output / f"node_{rank}").mkdir(parents=True)
        (output / f"node_{rank}" / "train.log").write_text(f"line 1 of {rank}\nlast of {rank}")
    (output / "node_0" / "server.log").write_bytes(b"\xff served\n")
    (output / "node_0" / "core").write_text("not a log\n")
    (output / "node_10" / "train-1.log").write_text("another's\n")
    (output / "node_10" / "train-.log").write_text("not a log\n")
    with node_of(plane, me.namespace, volume) as node:
        said = typed(me, "logs", "my-job")
        assert said.code == 0, said.err
        assert said.out.splitlines() == [
            "pserver-0 | \ufffd served", "trainer-0 | line 1 of 0", "trainer-0 | last of 0",
            "trainer-1 | line 1 of 1", "trainer-1 | last of 1",
            "trainer-10 | [trainer 20] line 1 of 10", "trainer-10 | [trainer 20] last of 10",
            "trainer-10 | [trainer 21] another's",
        ]  # fmt: skip
        assert node.specs[0]["containers"][0]["volumeMounts"][0]["readOnly"] is True
        some = typed(me, "logs", "my-job", "-role", "trainer", "-worker", "10", "-n", "1")
        last = "trainer-10 | [trainer 20] last of 10\ntrainer-10 | [trainer 21] another's\n"
        assert (some.code, some.out) == (0, last), some.err
        lacking = typed(me, "report", "my-job")
        assert lacking.code == 1
        assert "events.jsonl is not there" in lacking.err
        (output / "events.jsonl").write_text("nothing that is an event\n")
        unreadable = typed(me, "report", "my-job")
        assert (unreadable.code, "no event of job my-job can be read" in unreadable.err) == (1, True)
        told = [each for each in gang(2) if each["event"] != "progress"]
        (output / "events.jsonl").write_bytes(b"".join(lines(told)))
        with (output / "node_1" / "train.log").open("a") as log:
            log.write("\n Pass=0 AvgCost=3.5\n Pass=1 AvgCost=2.5\n")
        (output / "pass-00001").mkdir()  # torn: it has no `done`
        (output / "pass-00000").mkdir()
        (output / "pass-00000" / "done").touch()
        os.utime(output / "pass-00000" / "done", (BEGUN.timestamp() + 20,) * 2)
        asked = len(node.asked)
        made = typed(me, "report", "my-job")
        assert (made.code, made.out) == (0, "my-job.html\n"), made.err
        assert len(node.asked) == asked + 1  # one session, whatever is read
        page = (work / "my-job.html").read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert "Metrics by pass" in page
        assert "pass 0 saved at 10:00:20.000 UTC" in page
        assert "pass 1 saved" not in page
        assert f"<dt>Namespace</dt><dd>{me.namespace}</dd>" in page
        assert "<dt>Datacenter</dt><dd>datacenter1</dd>" in page
        gone(plane, me)


def test_goodput_of_several_jobs_and_of_files_of_this_machine_comes_by_one_pod(
    plane: ControlPlane, me: User, volume: Path, work: Path
) -> None:
    for name in ("my-job", "other"):
        submit = [name if word == "my-job" else word for word in SUBMIT]
        assert typed(me, *submit, "/pfs/datacenter1/home/me/package").code == 0
        assert typed(me, "kill", name).code == 0
    wait_until(lambda: not pods(plane, me), timeout=20, every=0.1)
    for place in (volume / "jobs/my-job/output", work / "mine/output", volume / "jobs/other/output"):
        place.mkdir(parents=True)
        (place / "events.jsonl").write_bytes(b"".join(lines(RUN if "other" not in place.parts else gang(2))))
    with node_of(plane, me.namespace, volume) as node:
        said = typed(me, "goodput", "my-job", "other", "./mine")
        assert said.code == 0, said.err
        head, *rows = [line.split("\t") for line in said.out.splitlines()]
        assert head == ["JOB", "RUNS", "LAUNCHERS", "WALL", "GOODPUT", "KEPT", "LOST", "STARTING", "LEAVING"]
        mine = ["1", "2", "1 min 40 s", "69.5 %", "2 min 19 s", "30.0 s", "29.0 s", "2 s"]
        assert rows[0] == ["my-job", *mine]
        assert rows[1] == ["other", "1", *["<nil>"] * 7]
        assert rows[2] == ["./mine", *mine]
        assert rows[3][:5] == ["(all)", "3", "<nil>", "3 min 20 s", "69.5 %"]
        assert "other: its run has no ledger" in said.err
        assert len(node.specs) == 1
        (volume / "jobs/other/output/events.jsonl").unlink()
        lacking = typed(me, "goodput", "other", "./nowhere", "my-job", "-o", "json")
        assert lacking.code == 1
        assert "events.jsonl is not there" in lacking.err
        assert "nowhere cannot be read: no such file or directory" in lacking.err
        (item,) = json.loads(lacking.out)["items"]
        assert (item["job"], item["goodput"], item["runs"][0]["lost_by"]) == ("my-job", 0.695, {"1": 30.0, "2": 0.0})
        gone(plane, me)
