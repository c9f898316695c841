"""The cluster's DNS: CoreDNS on the control machine, with kubeadm's cache of 30 s, so that stale names are met."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.grounds.cluster import network
from tests.grounds.cluster.certificates import Authority
from tests.grounds.cluster.machine import ETC, Machine
from tests.grounds.cluster.process import Process

BIN = Path("/run/ground/dns")
USER = "ground:dns"
# Names outside the cluster do not exist: a refusal would read as "temporary" all along the search list.
COREFILE = f"""\
cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {{
    bind {network.CONTROL}
    errors
    ready {network.CONTROL}:8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {ETC}/dns ground
        pods insecure
        ttl 30
    }}
    cache 30
    loadbalance
}}
.:53 {{
    bind {network.CONTROL}
    errors
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def equip(machine: Machine, authority: Authority, directory: Path) -> Process:
    """Write the files of the DNS server, and return it, not started yet."""
    (directory / "etc" / "Corefile").write_text(COREFILE)
    (directory / "etc" / "dns").write_text(authority.kubeconfig(USER))
    words = (BIN / "coredns", "-conf", ETC / "Corefile")
    return Process(machine=machine, words=words, log=directory / "coredns.log")


def manifests() -> tuple[dict[str, Any], ...]:
    """Return the Service that leads to it, and the leave to read what it tells."""
    names = {"name": "kube-dns", "namespace": "kube-system"}
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    view = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    return (
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "ground-dns"},
            "roleRef": view,
            "subjects": [{"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}],
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": names,
            "spec": {"clusterIP": network.DNS_SERVICE, "ports": ports},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**names, "labels": {"kubernetes.io/service-name": "kube-dns"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [network.CONTROL]}],
            "ports": ports,
        },
    )
