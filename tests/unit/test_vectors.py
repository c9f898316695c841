"""What 0.1.0 wrote is read: records, events, objects; its statuses are refused; its jobs have the same manifests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher.desk.jobs.job_state import KubePod, in_order, kube_job, kube_pod
from launcher.desk.jobs.lookup import JobGang, first_failure, gang_of
from launcher.pod.gang.protocol.codec import (
    Malformed,
    decode,
    decode_generation,
    decode_verdict,
    encode_generation,
    encode_verdict,
)
from launcher.pod.settings.nouns import Role
from launcher.report.reading import read_events
from launcher.report.sentence import Sentence, sentence
from launcher.report.story import Story, read_story
from tests.support.desks import User
from tests.support.golden_jobs import JOBS
from tests.support.vectors import MANIFESTS, RUNS, STATUSES, VECTORS, has, index, objects

STATUS = [each["file"] for each in index(STATUSES) if each["asked"] == "/status"]
RECORDED = sorted(RUNS.glob("*/output/.launcher/*/gen-*.json"))
VERDICTS = sorted(RUNS.glob("*/output/.launcher/*/verdict.json"))
DONE = "every trainer is done"


def name_of(path: Path) -> str:
    return f"{path.relative_to(RUNS).parts[0]}-{path.stem}"


def body(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the header of a record's file, and what is below it."""
    head, _, rest = path.read_bytes().partition(b"\n")
    return json.loads(head), rest.removesuffix(b"\n")


# Statuses.


@pytest.mark.parametrize("name", STATUS)
def test_a_status_is_refused_with_both_versions_and_what_to_do(name: str) -> None:
    """A launcher of 0.1.0 does not know the stage in which pservers are looked at: a mixed gang cannot end truly."""
    with pytest.raises(
        Malformed, match=r"version 1 of the status: expected version 2, .* run every pod of a job with"
    ):
        decode((STATUSES / name).read_bytes())


# The record.


@pytest.mark.parametrize("path", RECORDED, ids=name_of)
def test_a_generation_is_read_with_all_that_it_says(path: Path) -> None:
    head, text = body(path)
    assert head == {"record": 1, "key": path.parent.name, "job": "paddle-cluster-job"}
    found = decode_generation(text)
    assert found.number == int(path.stem.removeprefix("gen-"))
    assert has(json.loads(encode_generation(found)), json.loads(text))


@pytest.mark.parametrize("path", VERDICTS, ids=name_of)
def test_a_verdict_is_read_with_all_that_it_says(path: Path) -> None:
    head, text = body(path)
    assert head["key"] == path.parent.name
    found = decode_verdict(text)
    assert (found.code, found.reason == DONE) == ((7, False) if "failed" in path.parts else (0, True))
    assert has(json.loads(encode_verdict(found)), json.loads(text))


def test_a_second_generation_says_from_where_it_goes_on_and_why() -> None:
    (path,) = RUNS.glob("interrupted/output/.launcher/*/gen-2.json")
    found = decode_generation(body(path)[1])
    assert (found.resume, found.restarts, found.cause) == (0, 1, "trainer 2 exited with 7, on node 2 (10.0.0.3)")
    logs = [RUNS / f"interrupted/output/node_{rank}/train.log" for rank in range(3)]
    assert all(found.heading in log.read_text().splitlines() for log in logs)


def test_members_found_by_the_api_have_their_pods_uids() -> None:
    (path,) = RUNS.glob("apart/output/.launcher/*/gen-1.json")
    members = decode_generation(body(path)[1]).members
    assert [(who.role, who.uid) for who in members] == [
        (Role.TRAINER, "uid-of-pod-2"), (Role.TRAINER, "uid-of-pod-3"),
        (Role.PSERVER, "uid-of-pod-0"), (Role.PSERVER, "uid-of-pod-1"),
    ]  # fmt: skip


# The report.


def story(path: Path) -> tuple[Story, Sentence]:
    reading = read_events(path.read_bytes().splitlines(keepends=True))
    assert (reading.unreadable, reading.unknown, reading.repeated) == (0, 0, 0)
    found = read_story(reading)
    assert found
    return found, sentence(found)


@pytest.mark.parametrize("name", ["finished", "restarted", "lost", "apart", "shared", "followed"])
def test_a_run_that_ended_well_is_a_success(name: str) -> None:
    found, said = story(RUNS / name / "output/events.jsonl")
    assert (said.kind, DONE in said.words) == ("good", True)
    assert found.verdict
    assert (found.verdict.code, found.verdict.reason) == (0, DONE)
    assert [chapter.made.generation for chapter in found.chapters] == (
        [1, 2] if name in ("restarted", "lost") else [1]
    )


@pytest.mark.parametrize(
    ("name", "who", "reason"),
    [
        ("restarted", "node 1", "trainer 1 exited with 7, on node 1 (10.0.0.2)"),
        ("lost", "node 2", "node 2 (10.0.0.3) is gone: its launcher does not listen any more"),
        ("interrupted", "node 2", "trainer 2 exited with 7, on node 2 (10.0.0.3)"),
    ],
)
def test_a_restart_is_told_with_its_cause(name: str, who: str, reason: str) -> None:
    found, said = story(RUNS / name / "output/events.jsonl")
    (trouble,) = found.troubles
    assert (str(trouble.who), trouble.reason, trouble.lost) == (who, reason, name == "lost")
    assert found.restarts == 1
    assert reason in " ".join(said.more)


def test_a_run_that_failed_is_told_with_its_code_and_reason() -> None:
    found, said = story(RUNS / "failed/output/events.jsonl")
    assert said.kind == "bad"
    assert "code 7" in said.words
    assert "trainer 1 exited with 7, on node 1 (10.0.0.2); no restart of 1 is left" in said.words
    assert (found.restarts, len(found.troubles)) == (1, 2)


@pytest.mark.parametrize("name", ["interrupted", "stopped"])
def test_a_run_without_a_verdict_is_open(name: str) -> None:
    found, said = story(RUNS / name / "output/events.jsonl")
    assert (found.verdict, said.kind) == (None, "open")
    assert "3 training" in " ".join(said.more)


def test_progress_and_metrics_are_read() -> None:
    found, _ = story(RUNS / "shared/output/events.jsonl")
    assert len(found.progress) >= 4
    assert {name for each in found.progress for name in each.metrics} >= {"cost", "lr"}


# The desk.

STATES = {
    "starting": "Starting",
    "running": "Running",
    "complete": "Complete",
    "failed": "Failed",
    "killed": "Suspended",  # 0.1.0 left no mark of it
}


def gang(moment: str) -> JobGang:
    found = gang_of(tuple(map(kube_job, objects(moment, "Job"))))
    assert found
    return found


def workers(moment: str) -> tuple[KubePod, ...]:
    return in_order(map(kube_pod, objects(moment, "Pod")))


@pytest.mark.parametrize(("moment", "state"), STATES.items())
def test_a_job_is_known_with_its_state_and_what_was_asked_for(moment: str, state: str) -> None:
    found = gang(moment)
    assert (found.name, found.state) == ("my-job", state)
    spec = found.lead.spec
    assert (spec["image"], spec["job_path"]) == ("repo/paddle:2.6.2", "/pfs/datacenter1/home/me/jobs")
    assert spec["trainers"] == {"failed": 3, "killed": 2}.get(moment, 1)
    assert {each["claim"] for each in spec["volumes"]} == {"mfs", "public"}
    assert found.over == (moment in ("complete", "failed"))


@pytest.mark.parametrize("moment", ["starting", "running", "complete", "failed"])
def test_pods_are_known_by_role_and_rank(moment: str) -> None:
    trainers = 3 if moment == "failed" else 1
    assert [each.title for each in workers(moment)] == [f"trainer-{n}" for n in range(trainers)] + ["pserver-0"]
    assert {each.ready for each in workers(moment)} == {moment == "running"}
    assert {each.over for each in workers(moment)} == {moment in ("complete", "failed")}


def test_the_gangs_own_words_are_found_in_a_pod_that_failed() -> None:
    assert "trainer 0 exited with 3, on trainer 0 (10.0.0.1); no restart of 3 is left" in first_failure(
        workers("failed")
    )


# Manifests.


def documents(text: str) -> list[Any]:
    return list(yaml.safe_load_all(text))


def as_then(found: list[Any]) -> list[Any]:
    """Return manifests without what 0.1.0 left out, the seeds' files in `/` and the node; with its /dev/shm."""
    for pod in (each["spec"]["template"]["spec"] for each in found if each["kind"] == "Job"):
        pod.pop("initContainers", None)
        (container,) = pod["containers"]
        container["env"] = [each for each in container["env"] if each["name"] != "NODE_NAME"]
        next(each for each in pod["volumes"] if each["name"] == "shm")["emptyDir"]["sizeLimit"] = "512Mi"
        for holder, key in ((pod, "volumes"), (container, "volumeMounts")):
            holder[key] = [each for each in holder[key] if each["name"] != "root-files"]
    return found


@pytest.mark.parametrize("name", sorted(path.stem for path in MANIFESTS.glob("*.yaml") if path.stem in JOBS))
def test_a_job_described_in_python_has_the_same_manifests(name: str) -> None:
    assert as_then(list(JOBS[name].manifests())) == documents((MANIFESTS / f"{name}.yaml").read_text())


@pytest.mark.parametrize("name", index(MANIFESTS)["words"])
def test_a_job_described_by_flags_has_the_same_manifests(name: str, tmp_path: Path) -> None:
    config = tmp_path / ".paddle" / "config"
    config.parent.mkdir()
    config.write_text(json.dumps(index(MANIFESTS)["config"]))
    config.chmod(0o600)
    said = User(home=tmp_path)(*index(MANIFESTS)["words"][name])
    assert said.code == 0, said.err
    assert as_then(documents(said.out)) == documents((MANIFESTS / f"{name}.yaml").read_text())


def test_all_that_is_kept_is_small() -> None:
    assert sum(path.stat().st_size for path in VECTORS.rglob("*") if path.is_file()) < 400_000
