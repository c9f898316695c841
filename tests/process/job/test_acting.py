"""Where a verb is done: in this Python, or in the launcher's own, and never by a process of the job itself."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launcher import job
from launcher.job import acting
from launcher.job.__main__ import described
from launcher.job.values import packed, unpacked
from tests.support.golden_jobs import JOBS

ROOT = Path(__file__).parents[3]
A_JOB = JOBS["claim"]

# A Python of the launcher's, as far as the answer goes: it says what it was asked, or does what its name says.
STAND_IN = f"""#!{sys.executable}
import json, os, signal, sys
asked = json.load(sys.stdin)
answer = os.fdopen(asked["answer"], "w")
def said(value):
    answer.write(json.dumps({{"said": value}}) + chr(10))
    answer.flush()
if asked["verb"] == "kill":
    json.dump({{"problems": ["no job claim in namespace default", "see paddlectl get jobs"]}}, answer)
elif asked["verb"] == "logs":
    said({{"is": "LogLine", "role": "trainer", "rank": 1, "pod": "p", "text": f"of {{os.getpid()}}"}})
    if asked["options"]["follow"]:
        signal.pause()
    answer.write(json.dumps({{"ok": None}}))
elif asked["verb"] == "wait" and asked["options"]["until"] == "running":
    for state in ("Starting", "Running"):
        said(state)
    answer.write(json.dumps({{"ok": "Running"}}))
elif asked["verb"] != "wait":
    json.dump({{"ok": {{"argv": sys.argv[1:], **asked}}}}, answer)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return such a Python; this one is made to lack what the desk needs."""
    monkeypatch.setattr(sys, "version_info", (3, 8, 18, "final", 0))
    path = tmp_path / "python"
    path.write_text(STAND_IN)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("environ", "is_inside"),
    [
        ({}, False),
        ({"JOB_NAME": "a", "TRAINERS": "3"}, False),
        ({"TRAINING_ROLE": "PSERVER", "JOB_NAME": "a"}, True),
        ({"TRAINING_ROLE": "TRAINER", "JOB_NAME": "a"}, True),
        ({"LAUNCHER_HERE": "x:y"}, True),
    ],
)
def test_a_process_of_a_job_knows_it(environ: dict[str, str], is_inside: bool) -> None:
    assert job.inside(environ) is is_inside


def test_a_process_of_a_job_submits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINING_ROLE", "TRAINER")
    monkeypatch.setenv("JOB_NAME", "word2vec")
    with pytest.raises(job.JobError, match="submit: this process is part of word2vec"):
        A_JOB.submit()


def test_another_python_asks_the_launchers_own_and_gets_its_answer(own: str) -> None:
    told = acting.act("submit", A_JOB, own=own, replace=True)
    assert told["argv"] == ["-I", "-m", "launcher.job"]
    assert (told["verb"], told["options"]) == ("submit", {"replace": True})
    assert described(told["job"]) == A_JOB


def test_the_launchers_own_python_is_found_where_it_is(own: str) -> None:
    assert acting.installed(("/nowhere/python", own)) == own
    assert acting.installed((own, "/nowhere/python")) == own
    assert acting.installed(("/nowhere/python", "/neither/python")) == "/nowhere/python"
    assert acting.installed() == "/opt/launcher/bin/python"


def test_what_cannot_be_comes_back_as_sentences(own: str) -> None:
    with pytest.raises(job.JobError) as caught:
        acting.act("kill", A_JOB, own=own, remove=False)
    assert caught.value.problems == ("no job claim in namespace default", "see paddlectl get jobs")


def test_a_launchers_python_that_dies_without_an_answer_is_told(own: str) -> None:
    with pytest.raises(job.JobError, match=r"wait: .* ended with 0 and no answer"):
        acting.act("wait", A_JOB, own=own, until="complete")


def test_lines_come_one_by_one_and_who_reads_no_more_ends_it(own: str) -> None:
    (line,) = acting.act("logs", A_JOB, own=own, follow=False)
    assert str(line).startswith("trainer-1 | of ")
    lines = acting.act("logs", A_JOB, own=own, follow=True)
    writer = int(next(lines).text.split()[1])
    lines.close()
    with pytest.raises(ProcessLookupError):
        os.kill(writer, 0)


def test_what_is_said_during_a_wait_comes_before_its_result(own: str) -> None:
    heard: list[object] = []
    assert acting.act("wait", A_JOB, own=own, heed=heard.append, until="running") == "Running"
    assert heard == ["Starting", "Running"]


VALUES = (
    job.Line(role="trainer", rank=-1, pod="p", text="x"),
    job.Event(when="", type="Normal", reason="r", about="a", message="m"),
    ("a", job.Line(role="trainer", rank=0, pod="p", text="x")),
    "Running",
    None,
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_result_survives_being_written_as_json(value: object) -> None:
    assert unpacked(json.loads(json.dumps(packed(value)))) == value


def test_a_line_says_whose_it_is() -> None:
    assert [str(value) for value in VALUES if isinstance(value, job.Line)] == ["p | x"]


def test_without_any_python_for_it_the_remedy_is_told(own: str) -> None:
    with pytest.raises(job.JobError, match="submit: this Python has no package kubernetes; expected Python 3"):
        acting.act("submit", A_JOB, own=own + "-not-there")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no cluster be known."""
    for name, value in {"HOME": tmp_path, "KUBECONFIG": tmp_path / "none"}.items():
        monkeypatch.setenv(name, str(value))


VERBS: dict[str, Callable[[job.PaddleJob], object]] = {
    "submit": lambda described: described.submit(),
    "dry_run": lambda described: described.dry_run(),
    "status": lambda described: described.status(),
    "workers": lambda described: described.workers(),
    "events": lambda described: described.events(),
    "get": lambda described: job.get(described.job_name),
    "jobs": lambda _: job.jobs(),
    "logs": lambda described: described.logs(follow=True, role="trainer", tail=10),
    "wait": lambda described: described.wait(timeout=1),
    "kill": lambda described: described.kill(remove=True),
}


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_the_desks_and_what_it_cannot_is_a_sentence(verb: str) -> None:
    with pytest.raises(job.JobError, match="no cluster is configured"):
        VERBS[verb](A_JOB)


@pytest.mark.usefixtures("nowhere", "own")
@pytest.mark.parametrize(
    ("verb", "options"), [("submit", {"replace": True}), ("status", {}), ("logs", {"since": 5}), ("wait", {})]
)
def test_a_verb_in_the_launchers_own_python_is_the_desks_too(verb: str, options: dict[str, Any]) -> None:
    with pytest.raises(job.JobError, match="no cluster is configured"):
        list(acting.act(verb, A_JOB, own=sys.executable, **options))


@pytest.mark.parametrize("name", sorted(JOBS))
def test_a_job_survives_being_written_as_json(name: str, own: str) -> None:
    told = acting.act("status", JOBS[name], own=own)
    assert described(json.loads(json.dumps(told["job"]))) == JOBS[name]


def test_a_job_of_which_only_the_name_is_known_survives_it_too(own: str) -> None:
    named = job.JobByName("a", "train")
    assert described(acting.act("status", named, own=own)["job"]) == named


def test_describing_a_job_costs_little_and_needs_nothing_installed() -> None:
    words = (
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from launcher import job; print(*sys.modules)",
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    told = subprocess.run((sys.executable, *words), capture_output=True, text=True, check=True, env=environ)
    assert {"yaml", "kubernetes", "subprocess", "asyncio", "launcher.desk", "launcher.pod"}.isdisjoint(
        told.stdout.split()
    )


@pytest.mark.parametrize("path", sorted((ROOT / "launcher/job").rglob("*.py")), ids=lambda path: path.stem)
def test_it_is_written_in_a_python_that_old_training_programs_have(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 8))
