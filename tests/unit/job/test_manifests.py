"""Eleven jobs as YAML, compared whole; and each of their pods as its own launcher would see it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher.job import CephFSVolume, Job, JobError, PaddleJob, Volume
from launcher.job.checking import RUNTIMES
from launcher.job.entry import WITHOUT_PSERVERS
from launcher.job.pods import MAKE_ROOT_FILES
from launcher.pod.settings.nouns import PeersFrom, Role, Runtime, Settings
from launcher.pod.settings.variables import read_settings
from tests.support.golden_jobs import GOLDEN, IMAGE, JOBS, PODS, text_of
from tests.support.manifests import FROM_POD, start_sh_flags
from tests.unit.k8s.test_indexed import restricted

Json = dict[str, Any]
NAMES = sorted(JOBS)


def jobs(name: str) -> list[Json]:
    return [each for each in JOBS[name].manifests() if each["kind"] == "Job"]


def container(job: Json) -> Json:
    (only,) = job["spec"]["template"]["spec"]["containers"]
    return dict(only)


def environ(job: Json) -> dict[str, str]:
    """Return the environment of a pod, as the kubelet makes it."""
    given = {
        each["name"]: each["value"].replace("$$", "$")
        if "value" in each
        else FROM_POD[each["valueFrom"]["fieldRef"]["fieldPath"]]
        for each in container(job)["env"]
    }
    return {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "JOB_COMPLETION_INDEX": "0", **given}


def words(job: Json) -> list[str]:
    return [word.replace("$$", "$") for word in container(job)["command"]]


def settings(job: Json) -> Settings:
    """Return what the launcher of a pod makes of its manifest."""
    program, *arguments = words(job)
    if program == "/root/start.sh":
        arguments = [*start_sh_flags(environ(job)), *arguments]
    return read_settings(environ(job), arguments, here="/")


def value(text: str) -> int:
    """Return a quantity as Kubernetes reads it, by the table of its documentation."""
    suffixes = {"k": 1e3, "M": 1e6, "G": 1e9, "Mi": 2**20, "Gi": 2**30}
    number = text.rstrip("kMGi")
    return int(number) * int(suffixes[text[len(number) :]])


def test_every_golden_text_is_a_jobs() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*JOBS, *PODS}


@pytest.mark.parametrize("name", [*NAMES, *sorted(PODS)])
def test_the_yaml_is_the_one_that_is_kept(name: str) -> None:
    assert str({**JOBS, **PODS}[name]) == text_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_yaml_says_what_the_manifests_say(name: str) -> None:
    assert tuple(yaml.safe_load_all(str(JOBS[name]))) == JOBS[name].manifests()


def test_a_python_without_yaml_shows_the_same_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    job = JOBS["claim"]
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "yaml", None)
        text = str(job)
    assert tuple(yaml.safe_load_all(text)) == job.manifests()


@pytest.mark.parametrize("name", NAMES)
def test_the_launcher_takes_the_settings_of_every_pod(name: str) -> None:
    described = JOBS[name]
    for job in jobs(name):
        found = settings(job)
        role = {"": Role.NODE, "trainer": Role.TRAINER, "pserver": Role.PSERVER}[
            environ(job).get("LAUNCHER_ROLE", "")
        ]
        assert (found.role, found.job, found.gang) == (role, described.job_name, described.job_name)
        assert (found.pservers, found.trainers) == (described.pservers, described.trainers)
        assert job["spec"]["completions"] == (found.pservers if role is Role.PSERVER else found.trainers)
        assert found.runtime is (Runtime.V1 if name.startswith("v1") else Runtime.FLEET)
        assert bool(found.job_uid) == (role is not Role.PSERVER)


@pytest.mark.parametrize("name", NAMES)
def test_the_pods_are_found_by_the_names_that_their_launchers_look_up(name: str) -> None:
    service = next(each for each in JOBS[name].manifests() if each["kind"] == "Service")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    for job in jobs(name):
        found = settings(job)
        suffix = {Role.NODE: "", Role.TRAINER: "-trainer", Role.PSERVER: "-pserver"}[found.role]
        assert job["metadata"]["name"] == found.gang + suffix
        assert job["spec"]["completionMode"] == "Indexed"
        assert found.peers.source is PeersFrom.DNS
        assert {*found.peers.trainers, *found.peers.pservers} == {service["metadata"]["name"]}
        assert job["spec"]["template"]["spec"]["subdomain"] == service["metadata"]["name"]
        assert service["spec"]["selector"].items() <= job["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("name", NAMES)
def test_everything_of_a_job_is_found_by_its_label_and_the_first_is_the_trainers(name: str) -> None:
    described = JOBS[name]
    manifests = described.manifests()
    for each in manifests:
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "paddle-launcher"
        assert labels["paddle-launcher/job"] == described.job_name
    first = manifests[0]
    assert first["metadata"]["name"] == described.job_name + ("" if described.together else "-trainer")
    assert first["spec"]["template"]["metadata"]["labels"]["paddle-job"] == described.job_name
    spec = json.loads(first["metadata"]["annotations"]["paddle-launcher/spec"])
    assert (spec["image"], spec["trainers"]) == (described.runtime_image, described.trainers)


@pytest.mark.parametrize("name", NAMES)
def test_a_job_is_restricted_unless_it_says_otherwise(name: str) -> None:
    for job in jobs(name):
        broken = [rule for rule, kept in restricted(job["spec"]["template"]["spec"]) if not kept]
        assert bool(broken) == (not JOBS[name].restricted)
        mounts = {mount["mountPath"] for mount in container(job)["volumeMounts"]}
        assert {"/work", "/tmp", "/dev/shm"} <= mounts
        assert container(job)["securityContext"].get("readOnlyRootFilesystem", False) is JOBS[name].restricted


@pytest.mark.parametrize("name", NAMES)
def test_a_trainer_that_cannot_write_in_its_root_has_the_seeds_files_there(name: str) -> None:
    """Each mounted by its subPath, and made first: one that is not there would become a directory."""
    for job in jobs(name):
        pod = job["spec"]["template"]["spec"]
        trains = container(job)["name"] == "trainer"
        mounts = [each for each in container(job)["volumeMounts"] if each["name"] == "root-files"]
        expected = ["/trainer_id", "/trainer_count", "/train.list", "/test.list"]
        assert [each["mountPath"] for each in mounts] == (expected if JOBS[name].restricted and trains else [])
        assert all(f"/{each['subPath']}" == each["mountPath"] for each in mounts)
        assert [each["name"] for each in pod.get("initContainers", ())] == ["root-files"] * bool(mounts)
        for first in pod.get("initContainers", ()):
            assert [rule for rule, kept in restricted({**pod, "containers": [first]}) if not kept] == []
            assert first["resources"]["requests"] == container(job)["resources"]["requests"]


def test_what_makes_the_seeds_files_keeps_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "trainer_id").write_text("1\n")
    program = MAKE_ROOT_FILES.replace("/root-files/", f"{tmp_path}/")
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)
    assert {each.name for each in tmp_path.iterdir()} == {"test.list", "train.list", "trainer_count", "trainer_id"}
    assert (tmp_path / "trainer_id").read_text() == "1\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_volume_of_a_pod_is_mounted_and_every_made_claim_is_its_volumes(name: str) -> None:
    manifests = JOBS[name].manifests()
    made = {each["metadata"]["name"]: each for each in manifests if each["kind"] == "PersistentVolumeClaim"}
    volumes = {each["metadata"]["name"]: each for each in manifests if each["kind"] == "PersistentVolume"}
    assert {each["spec"]["volumeName"] for each in made.values()} == set(volumes)
    for job in jobs(name):
        pod = job["spec"]["template"]["spec"]
        assert {mount["name"] for mount in container(job)["volumeMounts"]} == {
            each["name"] for each in pod["volumes"]
        }
        claims = {
            each["persistentVolumeClaim"]["claimName"] for each in pod["volumes"] if "persistentVolumeClaim" in each
        }
        assert claims >= set(made)
    for volume in volumes.values():
        assert "namespace" not in volume["metadata"]  # it belongs to the whole cluster
        assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert len({volume["spec"]["csi"]["volumeHandle"] for volume in volumes.values()}) in (len(volumes), 1)


def test_a_pod_of_both_roles_asks_for_what_both_need() -> None:
    (job,) = jobs("together")
    resources = container(job)["resources"]
    assert resources["requests"]["cpu"] == "750m"
    assert value(resources["limits"]["memory"]) == (1024 + 512) * 2**20
    assert resources["limits"]["memory"] == resources["requests"]["memory"]
    trainer, pserver = jobs("gpu")
    assert container(trainer)["resources"]["limits"] == {"memory": "16G", "nvidia.com/gpu": "2"}
    assert container(pserver)["resources"]["limits"] == {"memory": "1Gi"}


def test_an_entrys_words_reach_the_program_as_a_shell_would_split_them() -> None:
    trainer, pserver = jobs("registry")
    expected = ("python", "my train.py", "--name=a b", "--price=$5")
    assert settings(trainer).command == settings(pserver).command == expected


def test_v1_gets_its_config_its_passes_and_its_threads() -> None:
    trainer, pserver = jobs("v1-topology")
    flags = dict(settings(trainer).flags.pairs)
    assert (flags["config"], flags["num_passes"], flags["trainer_count"]) == ("./trainer_config.py", "5", "2")
    assert words(pserver) == ["/root/start.sh"]
    (node,) = jobs("v1-entry")
    flags = dict(settings(node).flags.pairs)
    assert (flags["config"], flags["trainer_count"], flags["use_gpu"]) == ("conf/net.py", "2", "1")


def test_a_home_that_paddle_would_not_take_is_there_a_second_time_for_the_jobs() -> None:
    trainer, _ = jobs("registry")
    mounts = {mount["mountPath"]: mount for mount in container(trainer)["volumeMounts"]}
    assert environ(trainer)["JOB_PATH"] == "/home/jobpath/jobs"
    home, second = mounts["/pfs/dlnel/home/yanxu05@baidu.com"], mounts["/home/jobpath"]
    assert (home["name"], home["subPath"]) == (second["name"], second["subPath"])
    assert mounts["/pfs/dlnel/public"]["readOnly"] is True
    assert environ(trainer)["TRAIN_CONFIG_DIR"] == "/pfs/dlnel/home/yanxu05@baidu.com/ctr_demo_package"


def test_the_place_of_all_jobs_is_on_the_first_volume_that_can_be_written_to() -> None:
    assert environ(jobs("ceph")[0])["JOB_PATH"] == "/mnt/cephfs/jobs"
    assert environ(jobs("nfs")[0])["JOB_PATH"] == "/home/jobpath/jobs"
    assert environ(jobs("csi")[0])["JOB_PATH"] == "/mnt/efs/all/jobs"
    assert "JOB_PATH" not in environ(jobs("gpu")[0])
    assert settings(jobs("gpu")[0]).record == "none"


@pytest.mark.parametrize("runtime", WITHOUT_PSERVERS)
def test_programs_without_pservers_are_one_job_that_asks_for_nothing_of_theirs(runtime: str) -> None:
    program = {"job_name": "a", "runtime_image": IMAGE, "entry_point": "python t.py", "runtime": runtime}
    job = PaddleJob(**program, trainers=4, cpu_nums=3, psmemory="9Gi")  # type: ignore[arg-type]  # texts, all of them
    assert (job.pservers, job.together) == (0, True)
    only, *others = job.manifests()
    assert [each["kind"] for each in others] == ["Service", "NetworkPolicy"]
    found = settings(only)
    assert (found.runtime, found.role, found.members) == (runtime, Role.NODE, 4)
    assert found.command == ("python", "t.py")
    assert container(only)["resources"]["requests"] == {"cpu": "3", "memory": "1Gi"}
    assert json.loads(only["metadata"]["annotations"]["paddle-launcher/spec"])["runtime"] == runtime


@pytest.mark.parametrize(("processes", "found"), [(None, 1), (1, 1), (3, 3), ("gpu", 0)])
def test_each_pod_runs_as_many_programs_as_are_asked_for(processes: int | str | None, found: int) -> None:
    job = Job(job_name="a", runtime_image=IMAGE, entry_point="x", runtime="torch", processes=processes)
    assert settings(job.manifests()[0]).processes == found


def test_who_has_no_paddle_says_job() -> None:
    assert Job is PaddleJob


def test_the_runtimes_of_a_job_are_the_launcher_s() -> None:
    assert {*RUNTIMES, "v1"} == set(Runtime)
    assert set(WITHOUT_PSERVERS) == {each for each in Runtime if not each.has_pservers}


def test_fleet_said_is_fleet_meant() -> None:
    job = PaddleJob(job_name="a", runtime_image=IMAGE, entry_point="python t.py", runtime="fleet")
    assert {settings(each).runtime for each in job.manifests() if each["kind"] == "Job"} == {Runtime.FLEET}
    assert job.pservers == 2


def test_a_job_is_a_value() -> None:
    volumes = [Volume(mount_path="/v", csi={"driver": "d", "volumeHandle": "h"})]
    env = {"A": "1"}
    first = PaddleJob(job_name="a", runtime_image=IMAGE, entry_point="x", volumes=volumes, env=env)  # type: ignore[arg-type]  # a list is taken, too
    second = PaddleJob(job_name="a", runtime_image=IMAGE, entry_point="x", volumes=tuple(volumes), env=env)
    volumes.clear()
    env.clear()
    assert first == second
    assert hash(first) == hash(second)
    assert (len(first.volumes), first.env) == (1, {"A": "1"})
    with pytest.raises(AttributeError):
        first.job_name = "b"  # type: ignore[misc]  # that is the point


def test_both_spellings_of_the_seed_are_taken() -> None:
    spelled = PaddleJob(job_name="a", runtime_image=IMAGE, entry_point="x", cpu_num=3, use_gpu=True)
    assert (spelled.cpu_nums, spelled.gpu_nums) == (3, 1)
    assert spelled == PaddleJob(job_name="a", runtime_image=IMAGE, entry_point="x", cpu_nums=3, gpu_nums=1)
    both = PaddleJob(job_name="a", runtime_image=IMAGE, entry_point="x", gpu_nums=4, use_gpu=True)
    assert both.gpu_nums == 4
    with pytest.raises(JobError, match="use_gpu=False and gpu_nums=4: expected one of them"):
        PaddleJob(job_name="a", runtime_image=IMAGE, entry_point="x", gpu_nums=4, use_gpu=False)


def test_the_defaults_are_the_seeds() -> None:
    job = PaddleJob(job_name="a", runtime_image=IMAGE, entry_point="x")
    assert (job.pservers, job.trainers, job.gpu_nums, job.cephfs_volume) == (2, 3, 0, None)
    ceph = CephFSVolume("10.0.0.2:6789")
    assert (ceph.user, ceph.secret_name, ceph.mount_path, ceph.path) == ("admin", "cephfs-secret", "/mnt/cephfs", "/")


def test_a_secret_of_a_driver_is_in_the_jobs_namespace_unless_it_says_another() -> None:
    csi = {"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {"name": "s", "namespace": "n"}}
    job = PaddleJob(
        job_name="a", namespace="mine", runtime_image=IMAGE, entry_point="x", volumes=(Volume("/v", csi=csi),)
    )
    volume = next(each for each in job.manifests() if each["kind"] == "PersistentVolume")
    assert volume["spec"]["csi"]["nodePublishSecretRef"] == {"name": "s", "namespace": "n"}
    ceph = next(each for each in JOBS["ceph"].manifests() if each["kind"] == "PersistentVolume")
    assert ceph["spec"]["csi"]["nodeStageSecretRef"] == {"name": "cephfs-secret", "namespace": "yanxu"}


def test_what_is_made_for_the_whole_cluster_has_a_name_that_no_other_namespace_makes() -> None:
    def volume(name: str, namespace: str) -> str:
        job = PaddleJob(name, "x", IMAGE, namespace=namespace, cephfs_volume=CephFSVolume("m:1"))
        return next(str(each["metadata"]["name"]) for each in job.manifests() if each["kind"] == "PersistentVolume")

    assert len({volume("c", "a-b"), volume("b-c", "a"), volume("c", "a"), volume("c", "")}) == 4
