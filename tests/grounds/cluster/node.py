"""A node: containerd, kubelet and kube-proxy on a machine of their own, with pods on a bridge of their own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.grounds.cluster import network
from tests.grounds.cluster.certificates import Authority
from tests.grounds.cluster.fault import Broken
from tests.grounds.cluster.images import PAUSE
from tests.grounds.cluster.machine import BIN, ETC, Machine, inside
from tests.grounds.cluster.packages import PLUGINS
from tests.grounds.cluster.process import Process

CONTAINERD = """\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Without CAP_SYS_RESOURCE runc cannot lower the score, and says only "can't get final child's PID from pipe".
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{etc}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""
CTR = ("ctr", "--namespace", "k8s.io")


@dataclass(slots=True, kw_only=True)
class Node:
    """One node. What is started again is made anew by `raised`, the ground's way to make a machine of this number."""

    number: int
    raised: Callable[[int], Machine]
    directory: Path
    machine: Machine
    programs: dict[str, Process] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name in the cluster."""
        return f"node-{self.number}"

    @property
    def address(self) -> str:
        """The node's address."""
        return network.address(self.number)

    @property
    def kubelet(self) -> Process:
        """The kubelet: stopped by itself it leaves the pods running, unseen."""
        return self.programs["kubelet"]

    def start_runtime(self) -> None:
        """Start containerd alone, which needs no API server, and give it the pods' pause image."""
        self.programs = {words[0]: self._process(*words) for words in commands(self.name, self.address)}
        self.programs["containerd"].start()

    def start_agents(self) -> None:
        """Start what speaks with the API server."""
        self.programs["containerd"].await_ready(self._serves)
        self.load(self.directory.parent / "pause.tar")
        self.programs["kubelet"].start()
        self.programs["kube-proxy"].start()

    def stop(self) -> None:
        """Lose the whole node at once, as if its power went: pods, runtime, network."""
        self.machine.end()
        for process in self.programs.values():
            process.reap()

    def start(self) -> None:
        """Start a lost node again, with the disk that it had."""
        self.machine = self.raised(self.number)
        self.start_runtime()
        self.start_agents()

    def load(self, archive: Path) -> None:
        """Import an image's archive."""
        load(self.machine.init, archive)

    def _serves(self) -> bool:
        words = self.machine.words("ctr", "--connect-timeout", "1s", "version")
        return subprocess.run(words, capture_output=True, timeout=30, check=False).returncode == 0

    def _process(self, *words: str | Path) -> Process:
        program = BIN / words[0] if words[0] != "containerd" else words[0]
        return Process(machine=self.machine, words=(program, *words[1:]), log=self.directory / f"{words[0]}.log")


def load(init: int, archive: Path) -> None:
    """Import an image's archive on the machine of this first process."""
    with archive.open("rb") as source:
        words = (*inside(init), *CTR, "images", "import", "-")
        done = subprocess.run(words, stdin=source, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise Broken(f"{archive} cannot be imported: {done.stderr.strip()[-1000:]}")


def commands(name: str, address: str) -> tuple[tuple[str, ...], ...]:
    """Return the commands of a node's programs."""
    return (
        ("containerd", "--config", str(ETC / "containerd.toml"), "--log-level", "warn"),
        (
            "kubelet", "--config", str(ETC / "kubelet.json"), "--kubeconfig", str(ETC / "kubelet"),
            "--hostname-override", name, "--node-ip", address, "--node-labels", f"ground.test/node={name}",
        ),
        ("kube-proxy", "--config", str(ETC / "kube-proxy.json")),
    )  # fmt: skip


def equip(number: int, directory: Path, authority: Authority, cgroup: str) -> None:
    """Write the files of a node."""
    name, address = f"node-{number}", network.address(number)
    etc = directory / "etc"
    (etc / "cni").mkdir(parents=True, exist_ok=True)
    serving = authority.issue(name, address, name)
    files = {
        "ca.crt": authority.certificate,
        "serving.crt": serving.certificate,
        "serving.key": serving.key,
        "kubelet": authority.kubeconfig(f"system:node:{name}", group="system:nodes").encode(),
        "kube-proxy": authority.kubeconfig("system:kube-proxy").encode(),
        "kubelet.json": json.dumps(kubelet(cgroup), indent=1).encode(),
        "kube-proxy.json": json.dumps(proxy(name), indent=1).encode(),
        "containerd.toml": CONTAINERD.format(pause=PAUSE, plugins=PLUGINS, etc=ETC).encode(),
        "cni/10-ground.conflist": json.dumps(pod_network(number), indent=1).encode(),
    }
    for file, content in files.items():
        (etc / file).write_bytes(content)


def kubelet(cgroup: str) -> dict[str, object]:
    """Return the kubelet's configuration."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": str(ETC / "ca.crt")}},
        "tlsCertFile": str(ETC / "serving.crt"),
        "tlsPrivateKeyFile": str(ETC / "serving.key"),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,  # or each kubelet would clean up the others' pods
        "failSwapOn": False,
        "oomScoreAdj": 0,
        "volumePluginDir": "/var/lib/kubelet/plugins-of-volumes",
        "resolvConf": "",
        "clusterDNS": [network.DNS_SERVICE],
        "clusterDomain": "cluster.local",
        "imageGCHighThresholdPercent": 100,  # nothing could be pulled again
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
        "syncFrequency": "10s",  # how long a Secret's new content may take into the pods
        "nodeStatusUpdateFrequency": "2s",
        "nodeLeaseDurationSeconds": 8,  # renewed every 2 s: the controllers wait 12
    }


def proxy(name: str) -> dict[str, object]:
    """Return kube-proxy's configuration; connection tracking stays as the machine has it."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(ETC / "kube-proxy")},
        "hostnameOverride": name,
        "mode": "iptables",
        "clusterCIDR": network.PODS,
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def pod_network(number: int) -> dict[str, object]:
    """Return the configuration of the pods' network on a node."""
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": network.pods(number)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    return {
        "cniVersion": "1.0.0",
        "name": "ground",
        "plugins": [
            {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipam": addresses},
            {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True},
        ],
    }
