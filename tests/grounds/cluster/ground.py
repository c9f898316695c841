"""A Kubernetes on this machine: a control machine and nodes, all made of namespaces.

with Ground.start(nodes=3) as ground:
    ground.kubectl("get", "nodes")
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.grounds.cluster import cgroups, control_plane, dns, images, network, node, packages, state
from tests.grounds.cluster.build import DNS, KUBE, built
from tests.grounds.cluster.certificates import Authority
from tests.grounds.cluster.control_plane import ControlPlane, api_answers
from tests.grounds.cluster.machine import BIN, Machine, boot
from tests.grounds.cluster.node import Node
from tests.grounds.cluster.process import Process


@dataclass(slots=True, kw_only=True)
class Ground:
    """The cluster, from its machines up."""

    directory: Path
    binaries: Path
    authority: Authority
    control: ControlPlane
    dns: Process
    kubectl: Kubectl
    size: int
    nodes: list[Node] = field(default_factory=list)

    @classmethod
    @contextmanager
    def start(cls, *, nodes: int = 3, tell: Callable[[str], None] = print) -> Iterator[Ground]:
        """Build what is not built, start a cluster of so many nodes, and leave nothing of it behind."""
        packages.check()
        binaries, dns_binary = built(KUBE, tell), built(DNS, tell)
        with state.owned() as directory:
            ground = lay(directory, binaries, dns_binary, nodes)
            try:
                for number in range(1, nodes + 1):
                    ground.nodes.append(ground.prepare(number))
                ground.start_all()
                yield ground
            finally:
                ground.end()

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; it works from this machine."""
        return self.kubectl.kubeconfig

    @property
    def api_server(self) -> Process:
        """The API server, to be stopped and started; by TERM it takes 10 s to let its watchers go, by KILL none."""
        return self.control.api_server

    def node(self, number: int) -> Node:
        """Return a node; the first is 1."""
        return self.nodes[number - 1]

    def load_image(self, archive: Path) -> None:
        """Import an image's archive on every node."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda each: each.load(archive), self.nodes))

    def await_api(self, timeout: float = 60) -> None:
        """Wait until the API server is ready."""
        self.api_server.await_ready(lambda: api_answers(self.authority), timeout)

    @contextmanager
    def without_api(self) -> Iterator[None]:
        """Have no API server for as long as the body runs, and all that ask it back at work soon after."""
        self.api_server.stop(signal.SIGKILL)
        try:
            yield
        finally:
            self.api_server.start()
            self.await_api()
            # What has met no server asks again after up to a minute: that is Kubernetes' patience, nothing of ours.
            for program in self.clients:
                program.stop(signal.SIGKILL)
                program.start()
            for each in self.nodes:
                each.kubelet.await_ready(partial(knows_its_pods, self.kubectl, each.name))

    @property
    def clients(self) -> tuple[Process, ...]:
        """The programs that ask the API server."""
        agents = [each.programs[name] for each in self.nodes for name in ("kubelet", "kube-proxy")]
        return (self.control.controllers, self.control.scheduler, self.dns, *agents)

    def prepare(self, number: int) -> Node:
        """Make a node's machine and its files."""
        directory = self.directory / f"node-{number}"
        (directory / "etc").mkdir(parents=True)
        node.equip(number, directory, self.authority, cgroups.make(f"node-{number}"))
        return Node(number=number, raised=self.raise_machine, directory=directory, machine=self.raise_machine(number))

    def raise_machine(self, number: int) -> Machine:
        """Boot the machine of a node and connect it."""
        name = f"node-{number}"
        with boot(name, self.directory / name, {BIN: self.binaries}).kept() as machine:
            state.record(self.directory, machine)
            network.lay_cable(self.control.machine, machine, number, self.size)
        return machine

    def cut(self, number: int) -> None:
        """Pull a node's cable: its pods go on, alone."""
        network.cut(self.control.machine, self.node(number).name)

    def mend(self, number: int) -> None:
        """Put a node's cable back."""
        network.mend(self.control.machine, self.node(number).name)

    def start_all(self) -> None:
        """Start every program, in the order of their needs, and wait until all nodes are ready."""
        self.control.etcd.start()
        self.control.api_server.start()
        for each in self.nodes:
            each.start_runtime()
        images.pause(self.directory / "pause.tar")
        self.await_api()
        self.control.controllers.start()
        self.control.scheduler.start()
        self.dns.start()
        with ThreadPoolExecutor() as pool:
            list(pool.map(Node.start_agents, self.nodes))
            self.kubectl("wait", "--for=create", "namespace/kube-system", "--timeout=30s")
            self.kubectl.within("kube-system").apply(*dns.manifests())
        for each in self.nodes:
            each.kubelet.await_ready(partial(ready, self.kubectl, each.name))

    def end(self) -> None:
        """End every machine: whatever runs in them goes with them."""
        for each in self.nodes:
            each.stop()
        self.control.machine.end()
        for program in (*self.control.programs, self.dns):
            program.reap()


def lay(directory: Path, binaries: Path, dns_binary: Path, nodes: int) -> Ground:
    """Boot the control machine, with its network and its files."""
    authority = Authority.made()
    place = directory / "control"
    with boot("control", place, {BIN: binaries, dns.BIN: dns_binary}).kept() as machine:
        state.record(directory, machine)
        network.lay_bridge(machine)
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(authority.kubeconfig("ground:admin", group="system:masters"))
    return Ground(
        directory=directory,
        binaries=binaries,
        authority=authority,
        control=control_plane.equip(machine, authority, place),
        dns=dns.equip(machine, authority, place),
        kubectl=Kubectl(program=binaries / "kubectl", kubeconfig=kubeconfig),
        size=nodes,
    )


def ready(kubectl: Kubectl, name: str) -> bool:
    """Return whether a node says that it is ready."""
    path = '{.items[?(@.metadata.name=="%s")].status.conditions[?(@.type=="Ready")].status}' % name  # noqa: UP031
    return kubectl("get", "nodes", "--output", f"jsonpath={path}") == "True"


def knows_its_pods(kubectl: Kubectl, name: str) -> bool:
    """Return whether a node's kubelet answers, and knows of every pod that the API has there: else it has no logs."""
    try:
        found = json.loads(kubectl("get", "--raw", f"/api/v1/nodes/{name}/proxy/pods"))["items"] or []
    except KubectlFailed:
        return False
    there = kubectl.items("pods", "--all-namespaces", "--field-selector", f"spec.nodeName={name}")
    return {pod["metadata"]["uid"] for pod in there} <= {pod["metadata"]["uid"] for pod in found}
