"""The plain Jobs of k8s/ are those of the articles, value by value."""

from __future__ import annotations

from tests.support.manifests import Json, one

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
