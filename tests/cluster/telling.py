"""Everything that a cluster knows of one namespace, for whoever reads of a failed test."""

from __future__ import annotations

import subprocess

from tests.cluster.kubectl import Kubectl, KubectlFailed

QUESTIONS = (
    ("get", "pods,jobs,services,endpointslices", "--output", "wide"),
    ("get", "nodes", "--output", "wide"),
    ("get", "events", "--sort-by", ".lastTimestamp"),
    ("describe", "pods"),
)


def everything(kubectl: Kubectl) -> str:
    """Return objects, events and the logs of every container."""
    told = [ask(kubectl, *words) for words in QUESTIONS]
    names = ask(kubectl, "get", "pods", "--output", "name").splitlines()
    logs = ("--all-containers", "--prefix", "--tail", "200")
    told += [ask(kubectl, "logs", name, *logs) for name in names if name.startswith("pod/")]
    return "\n".join(told)


def ask(kubectl: Kubectl, *words: str) -> str:
    """Return one question's answer, whatever it is."""
    try:
        answer = kubectl(*words, timeout=20)
    except (KubectlFailed, subprocess.TimeoutExpired) as error:
        answer = str(error)
    return answer if words[-1] == "name" else f"--- kubectl {' '.join(words)}\n{answer}"
