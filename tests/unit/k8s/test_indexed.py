"""The Indexed Job of k8s/: found by name, without any right, under the `restricted` standard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from launcher.contract import BROUGHT
from launcher.job import PaddleJob, Volume
from launcher.pod.settings.nouns import PeersFrom, Runtime
from tests.support.manifests import JOB_LABEL, JOBS, Json, one, selects

INDEXED = pytest.mark.parametrize("folder", ["indexed", "frameworks", "any-image", "elastic"])


@INDEXED
def test_an_indexed_job_s_pods_are_found_by_name(folder: str) -> None:
    (job,) = [job for job in JOBS if job.path.parent.name == folder]
    service = one(folder, "Service")
    settings = job.settings()
    assert settings.peers.source is PeersFrom.DNS
    assert settings.peers.trainers == (service["metadata"]["name"],) == (job.pod["subdomain"],)
    assert settings.job == job.name  # the names that are looked up begin with it
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert selects({"matchLabels": service["spec"]["selector"]}, {JOB_LABEL: job.name})
    assert job.pod["automountServiceAccountToken"] is False


def restricted(pod: Json) -> Iterator[tuple[str, bool]]:
    """Yield each rule of the `restricted` pod security standard, and whether the pod keeps it."""
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        yield from rules(pod, container)


def rules(pod: Json, container: Json) -> Iterator[tuple[str, bool]]:
    """Yield them for one of its containers."""
    whole, own = pod.get("securityContext", {}), container.get("securityContext", {})
    security = {**whole, **own}
    capabilities = own.get("capabilities", {})
    kinds = {kind for volume in pod["volumes"] for kind in volume if kind != "name"}
    allowed = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    yield "no host namespaces", not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    yield "no host ports", not any("hostPort" in port for port in container.get("ports", ()))
    yield "volumes of a few kinds", kinds <= allowed
    yield "not privileged", not own.get("privileged", False)
    yield "no escalation", own.get("allowPrivilegeEscalation") is False
    yield "not root", security.get("runAsNonRoot") is True and security.get("runAsUser") != 0
    yield "seccomp", security.get("seccompProfile", {}).get("type") in ("RuntimeDefault", "Localhost")
    yield (
        "no capabilities",
        capabilities.get("drop") == ["ALL"] and not set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"},
    )
    yield "nothing unusual", not {"seLinuxOptions", "procMount", "sysctls", "appArmorProfile"} & set(security)


@INDEXED
def test_the_indexed_job_is_restricted_and_its_root_read_only(folder: str) -> None:
    pod = one(folder)["spec"]["template"]["spec"]
    assert [rule for rule, kept in restricted(pod) if not kept] == []
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    written = {mount["mountPath"] for mount in container["volumeMounts"]}
    environ = {each["name"]: each.get("value") for each in container["env"]}
    assert {"/tmp", environ["LAUNCHER_WORKDIR"], environ["HOME"]} <= written


def test_the_job_of_a_framework_is_the_indexed_one_but_for_its_program() -> None:
    told = []
    for folder in ("indexed", "frameworks"):
        found = one(folder)
        (container,) = found["spec"]["template"]["spec"]["containers"]
        del container["command"], container["env"]
        told.append((found, *(one(folder, kind) for kind in ("Service", "NetworkPolicy"))))
    assert told[0] == told[1]
    (job,) = [job for job in JOBS if job.path.parent.name == "frameworks"]
    assert job.settings().runtime is Runtime.JAX
    assert job.settings().command == ("python", "train.py")


def test_the_job_of_any_image_is_the_frameworks_one_but_for_what_brings_the_launcher() -> None:
    plain, brought = one("frameworks"), one("any-image")
    pod = brought["spec"]["template"]["spec"]
    (first,), (container,) = pod.pop("initContainers"), pod["containers"]
    pod["volumes"].remove({"name": "launcher", "emptyDir": {}})
    container["volumeMounts"].remove({"name": "launcher", "mountPath": BROUGHT, "readOnly": True})
    assert container["command"].pop(0) == f"{BROUGHT}/bin/start_paddle"
    assert first["volumeMounts"] == [{"name": "launcher", "mountPath": BROUGHT}]
    assert "command" not in first
    (other,) = plain["spec"]["template"]["spec"]["containers"]
    assert other["command"].pop(0) == "start_paddle"
    for each in (container, other):
        del each["image"], each["env"]
    assert plain == brought
    kinds = ("Service", "NetworkPolicy")
    assert [one("frameworks", kind) for kind in kinds] == [one("any-image", kind) for kind in kinds]


def test_the_elastic_job_is_the_frameworks_one_but_for_its_width() -> None:
    plain, elastic = one("frameworks"), one("elastic")
    told = [each["spec"]["template"]["spec"]["containers"][0]["env"] for each in (plain, elastic)]
    told[0].remove({"name": "CONF_PADDLE_GRADIENT_NUM", "value": "3"})
    told[1].remove({"name": "LAUNCHER_MEMBERS", "value": "2:5"})
    limits = ("backoffLimit", "backoffLimitPerIndex", "podReplacementPolicy", "podFailurePolicy", "successPolicy")
    width = ("parallelism", "completions", *limits)
    changed = [{name: each["spec"].pop(name, None) for name in width} for each in (plain, elastic)]
    assert plain == elastic
    job = PaddleJob(
        job_name="j",
        runtime_image="i",
        entry_point="x",
        runtime="jax",
        members="2:5",
        volumes=(Volume("/v", claim="c"),),
    )
    submitted = job.manifests()[0]["spec"]
    assert changed[1] == {name: submitted.get(name) for name in width}
    kinds = ("Service", "NetworkPolicy")
    assert [one("frameworks", kind) for kind in kinds] == [one("elastic", kind) for kind in kinds]


def test_the_rules_of_restricted_find_what_breaks_them() -> None:
    broken = {rule for rule, kept in restricted(one("aws")["spec"]["template"]["spec"]) if not kept}
    assert broken == {"no host ports", "no escalation", "not root", "seccomp", "no capabilities"}
    broken = {rule for rule, kept in restricted(one("quickstart")["spec"]["template"]["spec"]) if not kept}
    assert broken == {"volumes of a few kinds", "no escalation", "not root", "seccomp", "no capabilities"}
