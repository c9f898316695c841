"""The ground is a real cluster: nodes, pods, network, names, logs, and parts of it that can be lost."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.cluster.pods import LABELS, address, await_phase, job, phase, pod, spec
from tests.grounds.cluster import Ground
from tests.grounds.cluster.ground import ready
from tests.support.waiting import wait_until

NODES = ("node-1", "node-2", "node-3")
pytestmark = pytest.mark.usefixtures("box")


def test_three_nodes_are_ready(ground: Ground) -> None:
    found = {node["metadata"]["name"]: node for node in ground.kubectl.items("nodes")}
    assert tuple(sorted(found)) == NODES
    assert all(ready(ground.kubectl, name) for name in NODES)
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in found.values()} == {"v1.34.2"}


@pytest.mark.usefixtures("ground")
def test_pods_of_all_nodes_reach_each_other(namespace: Kubectl) -> None:
    namespace.apply(
        *(pod(f"on-{name}", "echo here > /tmp/index.html; httpd -f -p 8080 -h /tmp", node=name) for name in NODES)
    )
    for name in NODES:
        await_phase(namespace, f"on-{name}", "Running")
    for name in NODES:
        for other in NODES:
            url = f"http://{address(namespace, f'on-{other}')}:8080/"
            assert namespace("exec", f"on-{name}", "--", "wget", "-q", "-O", "-", url) == "here\n"


@pytest.mark.usefixtures("ground")
def test_a_pod_asks_the_api_by_its_service_with_its_own_token(namespace: Kubectl) -> None:
    """kubectl in the pod verifies the server with the mounted CA, and is known by the mounted token."""
    binaries = {"name": "bin", "hostPath": {"path": "/run/ground/bin"}}
    mount = {"volumeMounts": [{"name": "bin", "mountPath": "/ground", "readOnly": True}]}
    script = "/ground/kubectl auth whoami; /ground/kubectl get pods --output name; true"
    namespace.apply(pod("asks", script, container=mount, volumes=[binaries]))
    await_phase(namespace, "asks", "Succeeded")
    said = namespace("logs", "asks")
    who = f"system:serviceaccount:{namespace.namespace}:default"
    assert who in said
    assert f'User "{who}" cannot list resource "pods"' in said


def test_logs_and_exec_work(namespace: Kubectl) -> None:
    namespace.apply(pod("talks", "echo said; sleep 600"))
    await_phase(namespace, "talks", "Running")
    wait_until(lambda: namespace("logs", "talks") == "said\n")
    assert namespace("exec", "talks", "--", "echo", "asked") == "asked\n"
    with pytest.raises(KubectlFailed, match="exit code 7"):
        namespace("exec", "talks", "--", "sh", "-c", "exit 7")


def test_a_failed_pod_of_a_job_is_replaced(namespace: Kubectl) -> None:
    namespace.apply(job("fails", spec("exit 3"), backoffLimit=1))

    def check() -> None:
        status = namespace.get("job", "fails")["status"]
        assert status.get("failed") == 2
        assert [condition["reason"] for condition in status["conditions"] if condition["type"] == "Failed"]

    wait_until(check, timeout=60, every=0.5)
    assert len(namespace.items("pods", "--selector", "job-name=fails")) == 2


def test_names_of_pods_services_and_nothing_resolve_as_in_a_cluster(namespace: Kubectl) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "peers"},
        "spec": {"clusterIP": "None", "selector": LABELS, "publishNotReadyAddresses": True},
    }
    template = spec("echo here > /tmp/index.html; httpd -f -p 8080 -h /tmp", subdomain="peers")
    shape = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    namespace.apply(service, job("pair", template, **shape), pod("asks", "sleep 600"))
    await_phase(namespace, "asks", "Running")

    def fetch() -> str:
        try:
            return namespace("exec", "asks", "--", "wget", "-q", "-O", "-", "http://pair-1.peers:8080/")
        except KubectlFailed:
            return ""

    wait_until(
        lambda: fetch() == "here\n", timeout=45, every=0.5
    )  # a name that was not there is cached for 5 s or more
    with pytest.raises(KubectlFailed, match="NXDOMAIN"):
        namespace("exec", "asks", "--", "nslookup", "nowhere.example")


@pytest.mark.usefixtures("ground")
def test_a_host_port_spreads_pods_over_the_nodes(namespace: Kubectl) -> None:
    port = {"ports": [{"containerPort": 7164, "hostPort": 7164}]}
    template = spec("echo here > /tmp/index.html; httpd -f -p 7164 -h /tmp", container=port)
    namespace.apply(job("spread", template, completions=4, parallelism=4))

    def check() -> None:
        pods = namespace.items("pods")
        running = [one["spec"]["nodeName"] for one in pods if one["status"]["phase"] == "Running"]
        assert sorted(running) == list(NODES)
        assert [one["status"]["phase"] for one in pods].count("Pending") == 1

    wait_until(check, timeout=60, every=0.3)


def test_a_silent_kubelet_and_a_lost_node_are_not_ready_until_they_are_back(
    ground: Ground, namespace: Kubectl
) -> None:
    """The lost node's pods are given up, the silent one's stay."""
    namespace.apply(pod("lost", "sleep 600", node="node-2"), pod("stays", "sleep 600", node="node-3", tolerations=[]))
    await_phase(namespace, "lost", "Running")
    await_phase(namespace, "stays", "Running")
    ground.node(2).stop()
    ground.node(3).kubelet.stop()
    try:
        wait_until(lambda: not any(ready(ground.kubectl, name) for name in NODES[1:]), timeout=40, every=0.3)
        leaving = ("get", "pod", "lost", "--output", "jsonpath={.metadata.deletionTimestamp}")
        wait_until(lambda: namespace(*leaving), timeout=40, every=0.3)
    finally:
        ground.node(3).kubelet.start()
        ground.node(2).start()
        wait_until(lambda: all(ready(ground.kubectl, name) for name in NODES), timeout=60, every=0.3)
    namespace.apply(pod("again", "exit 0", node="node-2"))
    await_phase(namespace, "again", "Succeeded")
    assert phase(namespace, "stays") == "Running"


def test_a_cut_node_goes_on_alone_until_its_cable_is_back(ground: Ground, namespace: Kubectl) -> None:
    namespace.apply(pod("alone", "while sleep 0.1; do date +%s; done", node="node-1"))
    await_phase(namespace, "alone", "Running")
    ground.cut(1)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            namespace("exec", "alone", "--", "true", timeout=3)
    finally:
        ground.mend(1)
    wait_until(lambda: namespace("exec", "alone", "--", "echo", "here") == "here\n")
    seconds = [int(line) for line in namespace("logs", "alone").split()]
    assert set(range(seconds[0], seconds[-1])) <= set(seconds)


def test_pods_go_on_while_the_api_server_is_away(ground: Ground, namespace: Kubectl) -> None:
    namespace.apply(pod("goes-on", "while sleep 0.2; do echo on; done"))
    await_phase(namespace, "goes-on", "Running")
    ground.api_server.stop(signal.SIGKILL)
    try:
        with pytest.raises(KubectlFailed, match="refused"):
            namespace("get", "pods")
    finally:
        ground.api_server.start()
        ground.await_api()
    assert phase(namespace, "goes-on") == "Running"
    before = namespace("logs", "goes-on").count("on")
    wait_until(lambda: namespace("logs", "goes-on").count("on") > before + 5, timeout=20)
