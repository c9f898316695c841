"""What 0.1.0 left is gone on with, made way for and copied: real launchers, agents and desks, of today."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from launcher.pod.gang.store.passes import complete
from launcher.pod.gang.store.record import Record, on_volume
from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.nodes import node_of
from tests.support.desks import CLAIM, Said, User
from tests.support.gangs import Fault, gang
from tests.support.launchers import STATUS_PORT
from tests.support.outcomes import DONE, is_done
from tests.support.pods import JOB
from tests.support.serving import served
from tests.support.vectors import AT, FILES, RUNS, STATUSES, frames, has, index, lay, objects, told
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(120)

NEXT = "7a2f0c3e-0000-4000-8000-000000000002"
SESSIONS = index(FILES)
BYE = b'\0\0\0\x0e\0\0\0\0{"kind":"bye"}'


# The volume.


def left_by(name: str, top: Path) -> str:
    """Put what a run of 0.1.0 left on a volume where this job has its output; return the key of its newest run."""
    output = top / "volume" / JOB / "output"
    shutil.copytree(RUNS / name / "output", output)
    keys = sorted(path.parent.name for path in output.glob(".launcher/*/gen-1.json"))
    for later, key in enumerate(keys):  # a run is as old as its first generation's file; git keeps no times
        os.utime(output / ".launcher" / key / "gen-1.json", (AT + later, AT + later))
    return keys[-1]


@pytest.mark.parametrize(
    ("name", "highest", "code", "passes"),
    [
        ("finished", 1, 0, (0, 1, 2)),
        ("restarted", 2, 0, (0, 1, 2, 3)),
        ("interrupted", 2, None, (0, 1, 2)),
        ("failed", 2, 7, (0,)),
        ("apart", 1, 0, (0, 1, 2)),
        ("followed", 1, 0, (0, 1)),
    ],
)
def test_a_record_and_its_complete_passes_are_read(
    name: str, highest: int, code: int | None, passes: tuple[int, ...], tmp_path: Path
) -> None:
    key = left_by(name, tmp_path)
    output = on_volume(PurePosixPath(tmp_path / "volume"), JOB, "output")
    record = Record(where=output.at(".launcher"), key=key, job=JOB)
    latest, verdict = record.latest(), record.verdict()
    assert latest
    assert (record.highest(), latest.number) == (highest, highest)
    assert (verdict.code if verdict else None) == code
    assert complete(output) == passes


def test_pods_that_come_back_go_on_with_their_run(tmp_path: Path) -> None:
    key = left_by("interrupted", tmp_path)
    with gang(3, tmp_path, passes=5, key=key) as g:
        is_done(g, passes=5)
        (made,) = g.events("generation_made")[2:]
        assert (made["generation"], made["resume"], made["restarts"]) == (3, 2, 2)
        assert {start["first"] for start in g.trace("start", role="trainer")} == {3}
        home = g.output / ".launcher" / key
        assert sorted(path.name for path in home.glob("gen-*")) == ["gen-1.json", "gen-2.json", "gen-3.json"]
        assert (home / "now").read_text() == "0000000003\n"
        log = (g.output / "node_1" / "train.log").read_text()
        assert "==== generation 2, after pass 0: trainer 2 exited with 7, on node 2 (10.0.0.3) ====\npass 1\n" in log
        assert "==== generation 3, after pass 2: " in log


def test_the_restarts_that_were_spent_stay_spent_but_for_the_pass_that_came_after_them(tmp_path: Path) -> None:
    key = left_by("interrupted", tmp_path)
    faults = [Fault("pass 3", "exit 9", rank=1, times=0)]
    with gang(3, tmp_path, passes=5, key=key, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "2"}) as g:
        code, message = g.verdict()
        assert (code, "; no restart of 2 is left" in message) == (9, True)
        assert len(g.trace("fault")) == 2


@pytest.mark.parametrize(("name", "first"), [("interrupted", 3), ("failed", 1), ("stopped", 1)])
def test_a_new_job_of_the_name_goes_on_after_the_last_complete_pass(name: str, first: int, tmp_path: Path) -> None:
    left_by(name, tmp_path)
    with gang(3, tmp_path, passes=5, key=NEXT) as g:
        is_done(g, passes=5)
        assert {start["first"] for start in g.trace("start", role="trainer")} == {first}
        assert not list(g.output.glob("run-*"))


@pytest.mark.parametrize("name", ["finished", "restarted", "lost", "followed"])
def test_what_a_finished_run_left_is_moved_aside(name: str, tmp_path: Path) -> None:
    key = left_by(name, tmp_path)
    output = tmp_path / "volume" / JOB / "output"
    before = {path.name for path in output.iterdir() if not path.name.startswith((".", "run-"))}
    former = list(output.glob("run-*"))
    with gang(3, tmp_path, passes=1, key=NEXT) as g:
        is_done(g, passes=1)
        assert {start["first"] for start in g.trace("start", role="trainer")} == {0}
        (aside,) = set(g.output.glob("run-*")) - set(former)
        assert aside.name.endswith(f"-{key[:8]}")
        assert {path.name for path in aside.iterdir()} == before
        assert set(former) <= set(g.output.glob("run-*"))


@pytest.mark.parametrize(("name", "code"), [("finished", 0), ("failed", 7)])
def test_a_pod_that_comes_after_the_verdict_ends_with_it(name: str, code: int, tmp_path: Path) -> None:
    key = left_by(name, tmp_path)
    with gang(3, tmp_path, key=key) as g:
        found, message = g.verdict()
        assert (found, message.splitlines()[0] == DONE) == (code, not code)
        assert not g.trace("start")
        assert code == 0 or message.endswith("the last lines of its log:\npass 1")


# What is served.


def asked(address: str, path: str) -> tuple[int, dict[str, str], bytes]:
    wire = HTTPConnection(address, STATUS_PORT, timeout=5)
    wire.request("GET", path, headers={"Connection": "close"})
    answer = wire.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def keys(value: object) -> Any:  # noqa: ANN401  # JSON
    """Return the names in an object, at each depth, and nothing else of it."""
    if isinstance(value, dict):
        return {key: keys(each) for key, each in value.items()}
    return keys(value[0]) if isinstance(value, list) and value else None


def test_the_pages_of_the_status_port_are_still_served(tmp_path: Path) -> None:
    kept = {each["file"]: each for each in index(STATUSES)}
    with gang(2, tmp_path, faults=[Fault("pass 1", "wait", times=0)]) as g:
        g.await_trace("fault", 2)
        leader, member = g.address(0), g.address(1)
        for file, at in (
            ("leader-training-training.json", leader),
            ("member-training.json", member),
            ("gang-leader-training-training.json", leader),
            ("gang-member-training.txt", member),
            ("metrics-member-training.txt", member),
            ("readyz-member-training.txt", member),
            ("healthz-leader-gathering-staging.txt", leader),
            ("nothing-leader-gathering-staging.txt", leader),
        ):
            code, headers, body = asked(at, kept[file]["asked"])
            then = (STATUSES / file).read_bytes()
            assert code == kept[file]["code"]
            assert headers["Content-Type"] == kept[file]["headers"]["Content-Type"]
            assert headers.keys() >= kept[file]["headers"].keys() - {"Keep-Alive"}
            if file.endswith(".json"):
                assert has(keys(json.loads(body)) or {}, keys(json.loads(then)))
            elif file.startswith("metrics"):
                assert metrics(body) >= metrics(then)
            elif file.startswith("gang"):
                assert then.startswith(
                    b"the leader has this page: "
                )  # a sentence, which may change; the address may not
                assert body.decode().split()[-1] == leader
            elif not file.startswith("nothing"):
                assert body == then
        g.go()
        is_done(g)


def metrics(page: bytes) -> set[str]:
    """Return the metrics of a page with their labels, but for the programs' own and for values."""
    names = re.findall(r"^([a-z_]+(?:\{[^}]*\})?) ", page.decode(), re.MULTILINE)
    return {name for name in names if "trainer_progress" not in name}


# The copy agent.


def comparable(said: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """Return frames without what differs from place to place: a directory's size, the words of a sentence."""
    found = []
    for head, body in frames(said):
        for row in head.get("rows", ()):
            row[2] = 0 if row[1] == "d" else row[2]
        if "why" in head:
            head["why"] = bool(head["why"])
        found.append((head, body))
    return found


def same(found: bytes, wanted: bytes) -> bool:
    """Return whether the same frames were said, which may say more."""
    ours, theirs = comparable(found), comparable(wanted)
    return [body for _, body in ours] == [body for _, body in theirs] and has(
        [head for head, _ in ours], [head for head, _ in theirs]
    )


@pytest.mark.parametrize("name", SESSIONS)
def test_the_agent_answers_a_desk_of_then(name: str, tmp_path: Path) -> None:
    volume, kept = tmp_path / "volume", SESSIONS[name]["volume"]
    lay(volume, kept["before"])
    top = volume / "jobs/my-job/output" if name in REPORTS else volume
    words = (sys.executable, "-I", "-m", "launcher.files", "serve", str(volume))
    said = (FILES / f"{name}.desk").read_bytes()
    agent = subprocess.run(words, input=said, capture_output=True, timeout=30, check=False, cwd=top)
    assert same(agent.stdout, (FILES / f"{name}.agent").read_bytes()), agent.stdout
    assert bool(agent.returncode) == ("refused" in name)
    assert told(volume) == kept["after"]


REPORTS = {"show", "report"}  # 0.1.0 asked for the events alone, and later desks for what lies beside them
PLAYER = """
import os, sys
said, asked, heard, _ = sys.argv[-4:]
os.write(1, open(said, "rb").read())
most, come = os.path.getsize(asked), b""
with open(heard, "wb", buffering=0) as file:  # asked for more than then, it has no answer and leaves
    while not come.endswith(b'{"kind":"bye"}') and len(come) <= most and (data := os.read(0, 1 << 16)):
        come += data
        file.write(data)
"""


@pytest.mark.parametrize("name", SESSIONS)
def test_a_desk_speaks_with_an_agent_of_then(name: str, plane: ControlPlane, me: User, tmp_path: Path) -> None:
    """Its words, as recorded, are all that the agent says; the desk says and does what it did."""
    plane.make(me.namespace, {**CLAIM, "metadata": {"name": "public"}})
    kept, work, heard = SESSIONS[name], tmp_path / "work", tmp_path / "heard"
    lay(work, kept["here"]["before"])
    played = (FILES / f"{name}.agent", FILES / f"{name}.desk", heard)
    player = (sys.executable, "-I", "-S", "-c", PLAYER, *map(str, played))
    if name in REPORTS:
        submit = ("submit", "-jobname", "my-job", "-entry", "python train.py", "/pfs/datacenter1/home/me/package")
        assert me(*submit).code == 0
        assert me("kill", "my-job").code == 0
        wait_until(lambda: not plane.items(me.namespace, "Pod"), timeout=20, every=0.1)
    with node_of(plane, me.namespace, tmp_path, agent=player):
        done = typed(me, work, *kept["words"])
    assert done.code == kept["code"], done.err
    assert without_speed(done.out) == without_speed(kept["out"])
    asked, wanted = heard.read_bytes(), (FILES / f"{name}.desk").read_bytes()
    if name == "show":
        assert asked.startswith(wanted.removesuffix(BYE))
        assert "the page is made of the events alone: " in done.err
    elif not done.code:
        assert same(asked, wanted), asked
    found = told(work)
    assert found.keys() == kept["here"]["after"].keys()
    assert all(found[path] == what for path, what in kept["here"]["after"].items() if path != "my-job.html")


def typed(me: User, work: Path, *words: str) -> Said:
    environ = me.environ(PYTHONPATH=str(Path.cwd()))
    done = subprocess.run(
        me.words(*words), env=environ, capture_output=True, text=True, timeout=60, check=False, cwd=work
    )
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def without_speed(text: str) -> str:
    return re.sub(r"[\d.]+ k?B/s", "", text)


# The objects in the cluster.


@contextmanager
def api_of(moment: str) -> Iterator[str]:
    """Serve the objects that an API server had at a moment; yield its address."""
    kinds = {"jobs": "Job", "pods": "Pod"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            wanted = dict(each.split("=") for each in parse_qs(url.query)["labelSelector"][0].split(",") if each)
            items = objects(moment, kinds[url.path.rpartition("/")[2]])
            found = [each for each in items if has(each["metadata"]["labels"], wanted)]
            body = json.dumps({"metadata": {}, "items": found}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as host:
        yield f"http://{host}"


@pytest.mark.parametrize(
    ("moment", "state", "workers"),
    [
        ("starting", "Starting", ["Pending"] * 2),
        ("running", "Running", ["Running"] * 2),
        ("complete", "Complete", ["Succeeded"] * 2),
        ("failed", "Failed", ["Failed"] * 4),
        ("killed", "Suspended", []),
    ],
)
def test_jobs_that_were_submitted_then_are_listed(
    moment: str, state: str, workers: list[str], tmp_path: Path
) -> None:
    me = User(home=tmp_path)
    with api_of(moment) as endpoint:
        me.configure(endpoint=endpoint, password="token", namespace="team")  # noqa: S106  # nobody looks at it
        jobs = me("get", "jobs", "-o", "wide")
        assert jobs.code == 0, jobs.err
        head, (_, name, *row) = jobs.rows
        assert (name, row[head.index("STATE") - 2]) == ("my-job", state)
        found = me("get", "workers", "my-job")
        assert found.code == 0, found.err
        assert [row[1] for row in found.rows[1:]] == workers
