"""The manifests of k8s/, read as they stand: documents by kind, and Jobs as their launchers would see them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher.pod.settings.nouns import Settings
from launcher.pod.settings.variables import read_settings

ROOT = Path(__file__).parents[2]
K8S = ROOT / "k8s"
FOLDERS = sorted(path for path in K8S.iterdir() if path.is_dir())
APPLIED = sorted(path for folder in FOLDERS for path in folder.glob("*.yaml"))
CAREFUL = ("any-image", "distributed-careful", "elastic", "frameworks", "indexed", "separated")
JOB_LABEL = "batch.kubernetes.io/job-name"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
FROM_POD = {
    "metadata.labels['batch.kubernetes.io/controller-uid']": "4b3a2c1d-0000-4000-8000-000000000000",
    "spec.nodeName": "node-1",
}

Json = dict[str, Any]


def document(path: Path) -> Json:
    """Return the one document of a file."""
    (found,) = yaml.safe_load_all(path.read_text())
    assert isinstance(found, dict)
    return found


def of_kind(kind: str, *folders: str) -> list[Json]:
    """Return the documents of a kind, in these folders or in all."""
    paths = [path for path in APPLIED if not folders or path.parent.name in folders]
    return [found for found in map(document, paths) if found["kind"] == kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A Job as it stands in a file, with the parts that most tests look at."""

    path: Path
    whole: Json

    @property
    def name(self) -> str:
        return str(self.whole["metadata"]["name"])

    @property
    def spec(self) -> Json:
        return dict(self.whole["spec"])

    @property
    def pod(self) -> Json:
        return dict(self.spec["template"]["spec"])

    @property
    def container(self) -> Json:
        (only,) = self.pod["containers"]
        return dict(only)

    @property
    def environ(self) -> dict[str, str]:
        given = {
            each["name"]: each["value"] if "value" in each else FROM_POD[each["valueFrom"]["fieldRef"]["fieldPath"]]
            for each in self.container.get("env", ())
        }
        indexed = {"JOB_COMPLETION_INDEX": "0"} if self.spec.get("completionMode") == "Indexed" else {}
        return {"KUBERNETES_SERVICE_HOST": "10.96.0.1", **indexed, **given}

    @property
    def launches(self) -> bool:
        return any(word.endswith(("/start.sh", "start_paddle")) for word in self.container["command"])

    def settings(self) -> Settings:
        first, *words = self.container["command"]
        if not first.endswith("start_paddle"):  # its words are start.sh's
            words = start_sh_flags(self.environ)
        return read_settings(self.environ, words, here="/root")


def start_sh_flags(environ: Mapping[str, str]) -> list[str]:
    """Return the flags of docker/start.sh, its variables filled in as the shell would."""
    flags = re.findall(r"^\s+(--\S+) \\$", (ROOT / "docker/start.sh").read_text(), re.MULTILINE)
    assert len(flags) > 5
    filled = [re.sub(r'"\$\{(\w+):-(\w*)\}"', lambda at: environ.get(at[1]) or at[2], flag) for flag in flags]
    assert not any("$" in flag for flag in filled)
    return filled


JOBS = [Job(path=path, whole=found) for path in APPLIED if (found := document(path))["kind"] == "Job"]


def jobs(which: Callable[[Job], bool] = lambda _: True) -> pytest.MarkDecorator:
    """Return the mark of a test that is run for each Job, or for some."""
    chosen = [job for job in JOBS if which(job)]
    assert chosen
    return pytest.mark.parametrize("job", chosen, ids=[f"{job.path.parent.name}/{job.path.stem}" for job in chosen])


def one(folder: str, kind: str = "Job") -> Json:
    """Return the only document of a kind in a folder."""
    (found,) = of_kind(kind, folder)
    return found


def selects(selector: Json, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector takes a pod, as far as ours go."""
    assert set(selector) <= {"matchLabels", "matchExpressions"}
    assert selector
    asked = [(name, [value]) for name, value in selector.get("matchLabels", {}).items()]
    for each in selector.get("matchExpressions", ()):
        assert each["operator"] == "In"
        asked.append((each["key"], each["values"]))
    return all(labels.get(name) in values for name, values in asked)
