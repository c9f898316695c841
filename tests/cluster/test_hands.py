"""Hands that know kubectl, on the real cluster: a plugin of its kubectl, and Tab in a real bash."""

from __future__ import annotations

import subprocess
from pathlib import Path

from launcher.job import PaddleJob
from tests.cluster.files import user_of
from tests.cluster.kubectl import Kubectl
from tests.support.shells import completed_by_tab, environ, programs


def test_bash_completes_the_name_of_a_job_and_kubectl_takes_it(namespace: Kubectl, tmp_path: Path) -> None:
    me = user_of(namespace, tmp_path)
    job = PaddleJob(job_name="my-paddlecloud-job", entry_point="python train.py", runtime_image="repo/paddle:1")
    for made in job.manifests():
        if made["kind"] == "Job":
            namespace.apply({**made, "spec": {**made["spec"], "suspend": True}})  # no pod is needed to have a name
    place = programs(tmp_path / "bin", namespace.program)
    begin = "source <(paddlectl completion bash)"
    completed_by_tab(me, place, ("bash", "--norc", "-i"), begin, "paddlectl describe my-", "paddlecloud-job")

    def kubectl(*words: str) -> str:
        done = subprocess.run(
            (namespace.program.name, "paddle", *words), env=environ(me, place), capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert kubectl("get", "jobs").splitlines()[1].startswith("0\tmy-paddlecloud-job\t")
    listed = kubectl("--kubeconfig", str(namespace.kubeconfig), "get", "jobs", "-A", "-l", "paddle-launcher/job")
    assert f"{namespace.namespace}\t" in listed
    assert "state:       Queued" in kubectl("describe", "job", "my-paddlecloud-job")
