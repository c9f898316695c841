"""Data's way on the cluster: the split Job with a claim, the training on its output, the seeds' readers in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.dataset.manifest import parse_manifest
from tests.cluster.kubectl import Kubectl
from tests.cluster.training import await_state, ended, log_of, manifest, pods, told
from tests.cluster.volumes import JOB, Volume, claimed_by
from tests.support import counting
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ground", "images")
SPLIT = "paddle-data"
SAMPLES = 3000
# Put after the stand-in's configuration, which is a program: it reads *.csv, and has as many rows as it is told.
FOR_SHARDS = """
from pathlib import Path

users, movies = 901, 701
for part in Path("data").glob("part-?????"):
    part.rename(part.with_suffix(".csv"))
"""


@pytest.fixture
def unsplit(namespace: Kubectl, tmp_path: Path) -> Iterator[Volume]:
    """A volume behind the claim `mfs`, with a job's files and no shards yet."""
    with claimed_by(namespace, "mfs", tmp_path) as volume:
        for rank in range(3):
            shutil.rmtree(volume.job / str(rank))
        with (volume.job / "recommendation" / "trainer_config.py").open("a") as file:
            file.write(FOR_SHARDS)
        yield volume


def split(kubectl: Kubectl) -> str:
    """Apply k8s/data, with few ratings, wait for its end, and return what its pod said last."""
    command = f'["/opt/launcher/bin/python", "-m", "launcher.dataset", "split", "--samples", "{SAMPLES}"]'
    kubectl.apply(manifest("data", command=command))
    await_state(kubectl, "Complete", SPLIT)
    (pod,) = pods(kubectl, f"job-name={SPLIT}")
    assert ended(pod)["exitCode"] == 0
    return log_of(kubectl, pod).splitlines()[-1]


def train(kubectl: Kubectl, **environ: str) -> None:
    """Apply the careful Job with these variables besides, and wait for its end."""
    text, grace = manifest("distributed-careful"), "        - name: LAUNCHER_GRACE\n"
    assert grace in text
    more = "".join(f"        - name: {name}\n          value: {value}\n" for name, value in environ.items())
    kubectl.apply(manifest("rbac", namespace=kubectl.namespace), text.replace(grace, more + grace))
    await_state(kubectl, "Complete", timeout=120)


def test_a_split_job_with_a_claim_and_the_training_on_its_output(namespace: Kubectl, unsplit: Volume) -> None:
    said = split(namespace)
    assert said.startswith(f"/home/work/mfs/{JOB} has {SAMPLES} records in 3 shards, 1000 in each")
    made = parse_manifest((unsplit.job / "manifest.json").read_bytes())
    assert [entry.name for entry in made.files] == [f"{rank}/data/part-0000{rank}" for rank in range(3)]
    assert {"output", "quick_start"} <= {path.name for path in unsplit.job.iterdir()}
    train(namespace)
    for rank, pod in enumerate(pods(namespace)):
        staged = told(namespace, pod, "staged")[0]
        assert staged["source"] == f"/home/jobpath/{JOB}/{rank}/data"
        assert (staged["files"], staged["verified"]) == (1, 1)
        assert "loading dataprovider: 1000 samples" in log_of(namespace, pod)
    assert (unsplit.output / "pass-00009" / "done").exists()


def test_applied_again_the_split_job_changes_nothing(namespace: Kubectl, unsplit: Volume) -> None:
    split(namespace)
    before = [(path, path.stat().st_mtime_ns) for path in sorted(unsplit.job.rglob("*"))]
    namespace("delete", "job", SPLIT)
    wait_until(lambda: not pods(namespace, f"job-name={SPLIT}"), timeout=30)
    assert "has been split already" in split(namespace)
    assert [(path, path.stat().st_mtime_ns) for path in sorted(unsplit.job.rglob("*"))] == before


def test_the_seeds_readers_in_a_training_run_read_every_record_once(namespace: Kubectl, unsplit: Volume) -> None:
    """By each reader, and from the shards that were staged: the counts of all ranks add up."""
    split(namespace)
    counting.lay_out(unsplit.job)
    (unsplit.job / "recommendation" / counting.NAME).write_text(counting.PROGRAM)
    train(namespace, LAUNCHER_RUNTIME="env", LAUNCHER_ENTRY=f"/opt/launcher/bin/python {counting.NAME}")
    counting.hold(unsplit.job, 3)
