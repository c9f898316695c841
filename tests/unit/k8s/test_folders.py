"""What stands in k8s/: it parses, it says one thing everywhere, and its pages name what exists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not
from kubernetes.client import ApiClient

from launcher.kube.rbac import ROLE
from tests.support.manifests import (
    APPLIED,
    CAREFUL,
    FOLDERS,
    JOB_LABEL,
    JOBS,
    K8S,
    NAME,
    ROOT,
    document,
    of_kind,
    one,
    selects,
)


def test_claims_are_in_the_folder_that_uses_them_and_alike_everywhere() -> None:
    for job in JOBS:
        for volume in job.pod["volumes"]:
            if name := volume.get("persistentVolumeClaim", {}).get("claimName"):
                assert one(job.path.parent.name, "PersistentVolumeClaim")["metadata"]["name"] == name
    ours = [claim for claim in of_kind("PersistentVolumeClaim") if claim["metadata"]["name"] == "mfs"]
    assert len(ours) == 7
    assert all(claim == ours[0] for claim in ours)


@pytest.mark.parametrize("folder", [*CAREFUL, "aws"])
def test_a_network_policy_lets_in_the_job_s_own_pods_alone(folder: str) -> None:
    policy = one(folder, "NetworkPolicy")["spec"]
    (rule,) = policy["ingress"]
    (source,) = rule["from"]
    assert policy["policyTypes"] == ["Ingress"]
    assert set(rule) == {"from"}
    assert set(source) == {"podSelector"}
    names = [job.name for job in JOBS if job.path.parent.name == folder]
    assert names
    for selector in (policy["podSelector"], source["podSelector"]):
        assert all(selects(selector, {JOB_LABEL: name}) for name in names)
        assert not selects(selector, {JOB_LABEL: "another-job"})
        assert not selects(selector, {})


def test_the_role_is_the_one_that_the_launcher_asks_for() -> None:
    said = list(yaml.safe_load_all(ROLE.format(namespace="default", account="default", home="default")))
    for each in said:
        del each["metadata"]["namespace"]
    assert [one("rbac", "Role"), one("rbac", "RoleBinding")] == said


@pytest.mark.parametrize("path", APPLIED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_file_is_kubectl_s(path: Path) -> None:
    found = document(path)
    assert found["apiVersion"] in ("v1", "batch/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1")
    assert "namespace" not in found["metadata"]
    assert NAME.fullmatch(found["metadata"]["name"])


@pytest.mark.parametrize("path", APPLIED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_api_knows_every_field(path: Path) -> None:
    """The client's models pass over a field that they do not know: what comes back has lost it."""
    api: Any = ApiClient()  # not typed
    found = document(path)
    model = api.deserialize(json.dumps(found), f"V1{found['kind']}", "application/json")
    assert api.sanitize_for_serialization(model) == found


def test_kubectl_finds_nothing_but_manifests_where_it_looks() -> None:
    assert not [path for folder in FOLDERS for ending in ("json", "yml") for path in folder.glob(f"*.{ending}")]


PAGES = sorted(K8S.glob("**/*.md"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_folder_has_a_readme_with_the_way_up_and_down(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    assert "kubectl apply" in text
    assert "kubectl delete" in text
    assert f"({folder.name}/README.md)" in (K8S / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_a_page_names_only_what_exists(page: Path) -> None:
    text = page.read_text()
    linked = [page.parent / target for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)]
    quoted = [page.parent / name for name in re.findall(r"`([\w-][\w/-]*\.(?:yaml|json|md|sh))`", text)]
    typed = [ROOT / name for name in re.findall(r"(?<![\w/])k8s/[\w-][\w/.-]*[\w/]", text)]
    assert [str(path) for path in (*linked, *quoted, *typed) if not path.exists()] == []
