"""Ten jobs that differ in all that a job can say, whose YAML is compared as text in tests/unit/job/golden.

python -m tests.support.golden_jobs      writes the texts anew: look at the difference before you keep it
"""

from __future__ import annotations

from pathlib import Path

from launcher.job import CephFSVolume, PaddleJob, Volume

GOLDEN = Path(__file__).parents[1] / "unit" / "job" / "golden"
IMAGE = "your-repo/paddle:mypaddle"
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
}


def text_of(name: str) -> str:
    """Return the text that is kept of a job."""
    return (GOLDEN / f"{name}.yaml").read_text()


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, job in JOBS.items():
        (GOLDEN / f"{name}.yaml").write_text(str(job))
