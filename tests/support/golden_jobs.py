"""Eleven jobs that differ in all that a job can say, and fifteen whose pods do: in tests/unit/job/golden as YAML.

python -m tests.support.golden_jobs      writes the texts anew: look at the difference before you keep it
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launcher.job import CephFSVolume, PaddleJob, Volume

GOLDEN = Path(__file__).parents[1] / "unit" / "job" / "golden"
IMAGE = "your-repo/paddle:mypaddle"
INIT = "your-repo/paddle-launcher-init:0.1.0"
CLAIM = Volume(mount_path="/home/jobpath", claim="mfs")
EFS = {"driver": "efs.csi.aws.com", "volumeHandle": "fs-0123456789abcdef0"}

JOBS = {
    # The seed's example, as it stands.
    "ceph": PaddleJob(
        pservers=3,
        runtime_image="yancey1989/paddle-job",
        job_name="paddle-job",
        namespace="yanxu",
        use_gpu=False,
        cpu_num=3,
        trainer_package_path="/example/word2vec",
        entry_point="python train.py",
        cephfs_volume=CephFSVolume(monitors_addr="172.19.32.166:6789"),
    ),
    "claim": PaddleJob(
        job_name="claim",
        runtime_image=IMAGE,
        entry_point="python train.py --batch=256",
        trainer_package_path="recommendation",
        volumes=(CLAIM,),
    ),
    "together": PaddleJob(
        job_name="together",
        runtime_image=IMAGE,
        entry_point="python train.py",
        trainer_package_path="recommendation",
        volumes=(CLAIM,),
        together=True,
        cpu_nums="500m",
        pscpu=0.25,
        memory="1Gi",
        psmemory="512Mi",
    ),
    "host-path": PaddleJob(
        job_name="host-path",
        runtime_image=IMAGE,
        entry_point="python train.py",
        trainer_package_path="recommendation",
        volumes=(Volume(mount_path="/home/jobpath", host_path="/home/work/mfs"),),
        restricted=False,
    ),
    "nfs": PaddleJob(
        job_name="nfs",
        runtime_image=IMAGE,
        entry_point="python train.py",
        trainer_package_path="/data/recommendation",
        volumes=(Volume(mount_path="/data", nfs="10.0.0.2:/exports/data", read_only=True), CLAIM),
        restricted=False,
    ),
    "csi": PaddleJob(
        job_name="csi",
        namespace="train",
        runtime_image=IMAGE,
        entry_point="python train.py",
        trainer_package_path="recommendation",
        volumes=(Volume(mount_path="/mnt/efs", csi=EFS), Volume(mount_path="/mnt/public", csi=EFS, read_only=True)),
        job_path="/mnt/efs/all/jobs",
    ),
    "gpu": PaddleJob(
        job_name="gpu",
        runtime_image=IMAGE,
        entry_point="python train.py",
        trainer_package_path="/example",
        gpu_nums=2,
        memory="16G",
        env={"NCCL_DEBUG": "INFO", "LAUNCHER_MAX_RESTARTS": "0"},
    ),
    # What a datacenter gives: a home whose path Paddle would not take, and what is everybody's to read.
    "registry": PaddleJob(
        job_name="registry",
        runtime_image="registry.example.com:5000/team/paddle:1.0",
        registry="team",
        entry_point="python 'my train.py' --name='a b' --price=$5",
        trainer_package_path="/pfs/dlnel/home/yanxu05@baidu.com/ctr_demo_package/",
        datacenter="dlnel",
        passes=1,
        volumes=(
            Volume(mount_path="/pfs/dlnel/home/yanxu05@baidu.com", claim="pfs", sub_path="home/yanxu05@baidu.com"),
            Volume(mount_path="/pfs/dlnel/public", claim="pfs", sub_path="public", read_only=True),
        ),
    ),
    "v1-topology": PaddleJob(
        job_name="v1-topology",
        runtime_image=IMAGE,
        topology="trainer_config.py",
        trainer_package_path="recommendation",
        passes=5,
        trainers=10,
        cpu_nums=2,
        psmemory="1000000K",
        volumes=(CLAIM,),
    ),
    "v1-entry": PaddleJob(
        job_name="v1-entry",
        runtime_image=IMAGE,
        entry_point="paddle train --config=conf/net.py --trainer_count=2",
        trainer_package_path="quick_start",
        use_gpu=True,
        trainers=1,
        volumes=(CLAIM,),
        together=True,
    ),
    # Trainers that may come and go beside pservers that stay.
    "elastic": PaddleJob(
        job_name="elastic",
        runtime_image=IMAGE,
        entry_point="python train.py",
        trainer_package_path="recommendation",
        volumes=(CLAIM,),
        members="2:5",
    ),
}


def _pod(name: str, **said: Any) -> PaddleJob:  # noqa: ANN401  # whatever a job takes
    """Return a job of torch whose pods are asked for in some way."""
    program = {"runtime_image": IMAGE, "entry_point": "python train.py", "runtime": "torch", "trainers": 2}
    return PaddleJob(**{"job_name": name, **program, **said})


PODS = {
    "pod-env": _pod("pod-env", env={"OMP_NUM_THREADS": "2", "PRICE": "$5"}, env_from=("wandb", "proxy")),
    "pod-labels": _pod(
        "pod-labels",
        labels={"team": "vision", "example.com/cost": "a-7"},
        annotations={"example.com/owner": "me, and you"},
    ),
    "pod-queue": _pod("pod-queue", queue="team-a", labels={"kueue.x-k8s.io/priority-class": "high"}),
    "pod-elastic": _pod(
        "pod-elastic", trainers=5, members="2:5", spares=1, restarts=5, queue="team-a", volumes=(CLAIM,)
    ),
    "pod-nodes": _pod(
        "pod-nodes",
        selector={"disk": "ssd", "topology.kubernetes.io/zone": "eu-1a"},
        tolerations=("nvidia.com/gpu", "dedicated=train:NoSchedule", "spot=:NoExecute"),
        avoid=("node-b", "node-c.example.com"),
    ),
    "pod-shm": _pod("pod-shm", memory="32Gi", shm="24Gi"),
    "pod-cards": _pod("pod-cards", gpu_nums=8, gpu_resource="amd.com/gpu", processes="gpu", memory="64Gi"),
    "pod-account": _pod("pod-account", service_account="trainer", priority="high", registry="team"),
    "pod-end": _pod("pod-end", keep=3600, restarts=0),
    "pod-secrets": _pod(
        "pod-secrets", secret_files={"gcp-key": "/secrets/gcp", "netrc": "/secrets/netrc"}, volumes=(CLAIM,)
    ),
    # A sidecar ends with the pod as an init container that is always restarted.
    "pod-sidecar": _pod(
        "pod-sidecar",
        pod={
            "metadata": {"annotations": {"prometheus.io/scrape": "true"}},
            "spec": {
                "initContainers": [
                    {
                        "name": "proxy",
                        "image": "proxy:1",
                        "restartPolicy": "Always",
                        "securityContext": {
                            "allowPrivilegeEscalation": False,
                            "capabilities": {"drop": ["ALL"]},
                        },
                    }
                ],
            },
        },
    ),
    "pod-spread": _pod(
        "pod-spread",
        pod={
            "spec": {
                "schedulerName": "volcano",
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "kubernetes.io/hostname",
                                "labelSelector": {"matchLabels": {"paddle-job": "pod-spread"}},
                            }
                        ]
                    }
                },
                "topologySpreadConstraints": [
                    {
                        "topologyKey": "topology.kubernetes.io/zone",
                        "maxSkew": 1,
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"paddle-job": "pod-spread"}},
                    }
                ],
                "tolerations": [{"key": "spot", "operator": "Exists"}],
            }
        },
    ),
    # Images without the launcher, which is brought into their pods: of one role, and of two with Paddle's v1.
    "pod-any-image": _pod(
        "pod-any-image",
        runtime_image="pytorch/pytorch",
        inject="always",
        launcher_image=INIT,
        here=True,
        gpu_nums=1,
        trainer_package_path="package",
        volumes=(CLAIM,),
    ),
    "pod-any-v1": _pod(
        "pod-any-v1",
        runtime_image="paddlepaddle/paddle:0.10.0",
        launcher_image=INIT,
        runtime="",
        entry_point="",
        topology="trainer_config.py",
        cpu_nums=2,
        pservers=1,
        trainer_package_path="package",
        volumes=(CLAIM,),
    ),
    # Both roles, two overlays: a part for each container, one for a volume, and one that takes a probe away.
    "pod-roles": _pod(
        "pod-roles",
        runtime="",
        pservers=1,
        pod=(
            {
                "spec": {
                    "containers": [
                        {"name": "trainer", "resources": {"limits": {"ephemeral-storage": "20Gi"}}},
                        {"name": "pserver", "env": [{"name": "GLOG_v", "value": "1"}]},
                    ],
                    "volumes": [{"name": "work", "emptyDir": {"sizeLimit": "20Gi"}}],
                }
            },
            {
                "spec": {
                    "securityContext": {"supplementalGroups": [2000]},
                    "containers": [
                        {"name": "trainer", "readinessProbe": {"$patch": "replace", "tcpSocket": {"port": "status"}}},
                        {"name": "trainer", "startupProbe": None},
                    ],
                }
            },
        ),
    ),
}


def text_of(name: str) -> str:
    """Return the text that is kept of a job."""
    return (GOLDEN / f"{name}.yaml").read_text()


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, job in {**JOBS, **PODS}.items():
        (GOLDEN / f"{name}.yaml").write_text(str(job))
