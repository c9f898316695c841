"""What stands in k8s/: it parses, it says one thing everywhere, and a launcher would accept it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not
from kubernetes.client import ApiClient

from launcher.pod.discovery.kubernetes import wanted
from launcher.pod.discovery.rights import ROLE
from launcher.pod.settings import PeersFrom, Role, Settings
from launcher.pod.variables import read

ROOT = Path(__file__).parents[2]
K8S = ROOT / "k8s"
FOLDERS = sorted(path for path in K8S.iterdir() if path.is_dir())
APPLIED = sorted(path for folder in FOLDERS for path in folder.glob("*.yaml"))
CAREFUL = ("distributed-careful", "indexed", "separated")
JOB_LABEL = "batch.kubernetes.io/job-name"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
FROM_POD = {"metadata.labels['batch.kubernetes.io/controller-uid']": "4b3a2c1d-0000-4000-8000-000000000000"}

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
        return read(self.environ, start_sh_flags(self.environ), here="/root")


def start_sh_flags(environ: Mapping[str, str]) -> list[str]:
    """Return the flags of docker/start.sh, its variables filled in as the shell would."""
    flags = re.findall(r"^\s+(--\S+) \\$", (ROOT / "docker/start.sh").read_text(), re.MULTILINE)
    assert len(flags) > 5
    filled = [re.sub(r'"\$\{(\w+):-(\w*)\}"', lambda at: environ.get(at[1]) or at[2], flag) for flag in flags]
    assert not any("$" in flag for flag in filled)
    return filled


JOBS = [Job(path=path, whole=found) for path in APPLIED if (found := document(path))["kind"] == "Job"]


def jobs(which: Callable[[Job], bool] = lambda _: True) -> pytest.MarkDecorator:
    chosen = [job for job in JOBS if which(job)]
    assert chosen
    return pytest.mark.parametrize("job", chosen, ids=[f"{job.path.parent.name}/{job.path.stem}" for job in chosen])


launching = jobs(lambda job: job.launches)
careful = jobs(lambda job: job.path.parent.name in CAREFUL)


def one(folder: str, kind: str = "Job") -> Json:
    (found,) = of_kind(kind, folder)
    return found


# The articles' Job, as a value: the launcher is made for it as it stands.
SEED_ENV = {
    "JOB_NAME": "paddle-cluster-job",
    "JOB_PATH": "/home/jobpath",
    "JOB_NAMESPACE": "default",
    "TRAIN_CONFIG_DIR": "recommendation",
    "CONF_PADDLE_NIC": "eth0",
    "CONF_PADDLE_PORT": "7164",
    "CONF_PADDLE_PORTS_NUM": "2",
    "CONF_PADDLE_PORTS_NUM_SPARSE": "2",
    "CONF_PADDLE_GRADIENT_NUM": "3",
}


def seed(volume: Json, container: Json) -> Json:
    trainer = {
        "name": "trainer",
        "image": "your-repo/paddle:mypaddle",
        "command": ["bin/bash", "-c", "/root/start.sh"],
        "env": [{"name": name, "value": value} for name, value in SEED_ENV.items()],
        "volumeMounts": [{"name": "jobpath", "mountPath": "/home/jobpath"}],
        **container,
    }
    pod = {"volumes": [{"name": "jobpath", **volume}], "containers": [trainer], "restartPolicy": "Never"}
    name = {"name": "paddle-cluster-job"}
    spec = {"parallelism": 3, "completions": 3, "template": {"metadata": name, "spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": name, "spec": spec}


def test_distributed_is_the_articles_job() -> None:
    assert one("distributed") == seed({"hostPath": {"path": "/home/work/mfs"}}, {})


def test_aws_is_the_articles_job_with_a_claim_for_its_volume() -> None:
    port = {"name": "jobport", "hostPort": 30001, "containerPort": 30001}
    assert one("aws") == seed({"persistentVolumeClaim": {"claimName": "efs"}}, {"ports": [port]})


def test_quickstart_is_the_articles_job() -> None:
    output = "/root/paddle/demo/quick_start/output"
    container = {
        "name": "pi",
        "image": "mypaddle/paddle:quickstart",
        "command": ["bin/bash", "-c", "/root/paddle/demo/quick_start/train.sh"],
        "volumeMounts": [{"name": "output", "mountPath": output}],
    }
    volume = {"name": "output", "hostPath": {"path": "/home/work/paddle_output"}}
    pod = {"volumes": [volume], "containers": [container], "restartPolicy": "Never"}
    name = {"name": "quickstart"}
    spec = {"parallelism": 1, "completions": 1, "template": {"metadata": name, "spec": pod}}
    assert one("quickstart") == {"apiVersion": "batch/v1", "kind": "Job", "metadata": name, "spec": spec}


def test_data_is_the_articles_job_with_the_claim_where_out_dir_is() -> None:
    container = {
        "name": "paddle-data",
        "image": "your-repo/paddle:mypaddle",
        "command": ["/opt/launcher/bin/python", "-m", "launcher.dataset", "split"],
        "volumeMounts": [{"mountPath": "/home/work/mfs", "name": "nfs"}],
        "env": [
            {"name": "OUT_DIR", "value": "/home/work/mfs/paddle-cluster-job"},
            {"name": "SPLIT_COUNT", "value": "3"},
        ],
    }
    volume = {"name": "nfs", "persistentVolumeClaim": {"claimName": "mfs"}}
    pod = {"containers": [container], "volumes": [volume], "restartPolicy": "Never"}
    template = {"metadata": {"name": "pi"}, "spec": pod}
    name = {"name": "paddle-data"}
    assert one("data") == {"apiVersion": "batch/v1", "kind": "Job", "metadata": name, "spec": {"template": template}}


@launching
def test_a_launcher_accepts_the_environment(job: Job) -> None:
    settings = job.settings()
    (volume,) = [mount["name"] for mount in job.container["volumeMounts"] if mount["mountPath"] == "/home/jobpath"]
    assert str(settings.job_path) == "/home/jobpath"
    assert volume in [each["name"] for each in job.pod["volumes"]]


@launching
def test_as_many_are_expected_as_there_are_pods(job: Job) -> None:
    settings = job.settings()
    expected = settings.pservers if settings.role is Role.PSERVER else settings.trainers
    assert job.spec["parallelism"] == job.spec["completions"] == expected


@launching
def test_the_pods_have_the_label_by_which_they_are_looked_for(job: Job) -> None:
    settings = job.settings()
    labels = {"job-name": job.name, **job.spec["template"]["metadata"].get("labels", {})}
    name, _, value = wanted(settings)[settings.role].selector.partition("=")
    assert labels[name] == value


@launching
def test_the_children_s_grace_ends_before_the_pod_s(job: Job) -> None:
    assert job.settings().timing.grace < job.pod.get("terminationGracePeriodSeconds", 30)


def test_both_separated_jobs_say_the_same_but_for_their_part() -> None:
    pserver, trainer = (job.settings() for job in JOBS if job.path.parent.name == "separated")
    assert (pserver.role, trainer.role) == (Role.PSERVER, Role.TRAINER)
    for field in ("pservers", "trainers", "gang", "job_dir", "ports"):
        assert getattr(pserver, field) == getattr(trainer, field)


@jobs()
def test_names_leave_room_for_what_is_added_to_them(job: Job) -> None:
    # A random suffix of five, or the highest index; a pod's name becomes a label and a host name.
    suffix = max(5, len(str(job.spec.get("completions", 1) - 1)))
    assert NAME.fullmatch(job.name)
    assert len(job.name) + 1 + suffix <= 63


@careful
def test_a_verdict_of_all_ends_the_job_and_a_lost_pod_is_replaced(job: Job) -> None:
    assert job.spec["backoffLimit"] == job.spec["parallelism"] - 1
    assert job.pod["restartPolicy"] == "Never"
    assert not {"podFailurePolicy", "podReplacementPolicy"} & set(job.spec)
    tolerated = {each["key"]: (each["effect"], each["tolerationSeconds"]) for each in job.pod["tolerations"]}
    kinds = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    assert tolerated == dict.fromkeys(kinds, ("NoExecute", 30))


@careful
def test_nothing_stays_for_ever_and_no_service_becomes_a_variable(job: Job) -> None:
    assert job.spec["activeDeadlineSeconds"] > job.settings().timing.join
    assert job.spec["ttlSecondsAfterFinished"] > 0
    assert job.pod["enableServiceLinks"] is False


@careful
def test_memory_is_bounded_and_shared_memory_fits_into_it(job: Job) -> None:
    resources = job.container["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"] == "2Gi"
    assert "cpu" in resources["requests"]
    assert "cpu" not in resources["limits"]
    mounts = {mount["mountPath"]: mount["name"] for mount in job.container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in job.pod["volumes"]}
    if job.settings().role is not Role.PSERVER:
        assert volumes[mounts["/dev/shm"]]["emptyDir"] == {"medium": "Memory", "sizeLimit": "512Mi"}


@careful
def test_no_probe_asks_a_port_that_is_not_served_yet(job: Job) -> None:
    assert not [key for key in job.container if key.endswith("Probe")]


def test_claims_are_in_the_folder_that_uses_them_and_alike_everywhere() -> None:
    for job in JOBS:
        for volume in job.pod["volumes"]:
            if name := volume.get("persistentVolumeClaim", {}).get("claimName"):
                assert one(job.path.parent.name, "PersistentVolumeClaim")["metadata"]["name"] == name
    ours = [claim for claim in of_kind("PersistentVolumeClaim") if claim["metadata"]["name"] == "mfs"]
    assert len(ours) == 4
    assert all(claim == ours[0] for claim in ours)


def test_the_efs_claim_takes_the_volume_made_by_hand_and_no_other() -> None:
    volume, claim = one("aws", "PersistentVolume"), one("aws", "PersistentVolumeClaim")
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert claim["spec"]["storageClassName"] == volume["spec"]["storageClassName"] == ""
    assert claim["spec"]["accessModes"] == volume["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["spec"]["resources"]["requests"]["storage"] == volume["spec"]["capacity"]["storage"]
    assert volume["spec"]["csi"]["driver"] == "efs.csi.aws.com"
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


def selects(selector: Json, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector takes a pod, as far as ours go."""
    assert set(selector) <= {"matchLabels", "matchExpressions"}
    assert selector
    asked = [(name, [value]) for name, value in selector.get("matchLabels", {}).items()]
    for each in selector.get("matchExpressions", ()):
        assert each["operator"] == "In"
        asked.append((each["key"], each["values"]))
    return all(labels.get(name) in values for name, values in asked)


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


def test_an_indexed_job_s_pods_are_found_by_name() -> None:
    (job,) = [job for job in JOBS if job.path.parent.name == "indexed"]
    service = one("indexed", "Service")
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
    (container,) = pod["containers"]
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


def test_the_indexed_job_is_restricted_and_its_root_read_only() -> None:
    pod = one("indexed")["spec"]["template"]["spec"]
    assert [rule for rule, kept in restricted(pod) if not kept] == []
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    written = {mount["mountPath"] for mount in container["volumeMounts"]}
    environ = {each["name"]: each.get("value") for each in container["env"]}
    assert {"/tmp", environ["LAUNCHER_WORKDIR"], environ["HOME"]} <= written


def test_the_rules_of_restricted_find_what_breaks_them() -> None:
    broken = {rule for rule, kept in restricted(one("aws")["spec"]["template"]["spec"]) if not kept}
    assert broken == {"no host ports", "no escalation", "not root", "seccomp", "no capabilities"}
    broken = {rule for rule, kept in restricted(one("quickstart")["spec"]["template"]["spec"]) if not kept}
    assert broken == {"volumes of a few kinds", "no escalation", "not root", "seccomp", "no capabilities"}


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


def policies() -> list[tuple[str, Json]]:
    texts = {path.stem: json.loads(path.read_text()) for path in sorted(K8S.glob("aws/iam/*.json"))}
    return [(f"{name}: {each['Sid']}", each) for name, found in texts.items() for each in found["Statement"]]


@pytest.mark.parametrize("statement", [each for _, each in policies()], ids=[name for name, _ in policies()])
def test_a_right_in_aws_is_for_what_it_needs(statement: Json) -> None:
    actions, resources = (
        [given] if isinstance(given := statement[key], str) else given for key in ("Action", "Resource")
    )
    assert statement["Effect"] == "Allow"
    if any("*" in action for action in actions):
        assert all("/paddle" in resource for resource in resources)
    if resources == ["*"] and actions != ["cloudformation:ListStacks"]:
        assert statement["Condition"]["StringEquals"]["aws:RequestedRegion"] == "REGION"
        assert not any(action.startswith("iam:") for action in actions)


def test_nothing_on_aws_is_open_to_all() -> None:
    files = [path for path in K8S.glob("aws/**/*") if path.suffix in (".yaml", ".json")]
    assert not [path for path in files if "0.0.0.0/0" in path.read_text()]
    cluster = document(K8S / "aws/eksctl/cluster.yaml")
    assert cluster["vpc"]["publicAccessCIDRs"] == ["MY_ADDRESS/32"]
    (nodes,) = cluster["managedNodeGroups"]
    assert nodes["privateNetworking"]
    assert nodes["disablePodIMDS"]
    assert nodes["desiredCapacity"] == one("aws")["spec"]["parallelism"]  # a host port wants a node for each pod


def test_the_guide_takes_down_in_the_order_in_which_it_can() -> None:
    guide = (K8S / "aws/GUIDE.md").read_text()
    _, down = guide.split("## 8. Down again")
    steps = [
        "delete -f k8s/aws/job.yaml",
        "delete pod files",
        "delete -f k8s/aws/claim.yaml",
        "-f k8s/aws/volume.yaml",
        "efs delete-mount-target",
        "ec2 delete-security-group",
        "efs delete-file-system",
        "eksctl delete cluster",
        "iam delete-role --role-name",
    ]
    places = [down.index(step) for step in steps]
    assert places == sorted(places)


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
