"""The network of a ground: one bridge in the control machine, a cable to each node, and one to the tests.

172.31.255.1     the control machine: API server, DNS
172.31.255.1N    node N (11, 12, 13)
172.31.255.254   the tests' end, a device that goes away with the control machine
10.244.N.0/24    the pods of node N
10.96.0.0/16     Services
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from tests.grounds.cluster.fault import Broken, NoGround
from tests.grounds.cluster.machine import Machine, run

CONTROL = "172.31.255.1"
TESTS = "172.31.255.254"
DEVICE = "plground"
BRIDGE = "ground0"
PODS = "10.244.0.0/16"
SERVICES = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"
DNS_SERVICE = "10.96.0.10"


def address(number: int) -> str:
    """Return the address of a node."""
    return f"172.31.255.{10 + number}"


def pods(number: int) -> str:
    """Return the addresses of a node's pods."""
    return f"10.244.{number}.0/24"


def check() -> None:
    """Say it when the ground's network is already somebody else's."""
    for link in json.loads(run("ip", "-json", "-4", "address")):
        for found in link["addr_info"]:
            if link["ifname"] != DEVICE and found["local"].startswith("172.31.255."):
                raise NoGround(
                    f"{link['ifname']} has {found['local']}, and 172.31.255.0/24 is the ground's network: "
                    "free it, or name a cluster with LAUNCHER_TEST_KUBECONFIG"
                )


def lay_bridge(control: Machine) -> None:
    """Make the bridge in the control machine, and the tests' cable to it."""
    control.network("link", "set", "lo", "up")
    control.network("link", "add", BRIDGE, "type", "bridge")
    control.network("address", "add", f"{CONTROL}/24", "dev", BRIDGE)
    control.network("link", "set", BRIDGE, "up")
    control.network("link", "add", "to-tests", "type", "veth", "peer", "name", DEVICE, "netns", str(os.getpid()))
    control.network("link", "set", "to-tests", "master", BRIDGE, "up")
    run("ip", "address", "add", f"{TESTS}/24", "dev", DEVICE)
    run("ip", "link", "set", DEVICE, "up")


def lay_cable(control: Machine, node: Machine, number: int, nodes: int) -> None:
    """Connect a node, and tell it the ways to all pods."""
    port = f"to-{node.name}"
    with suppress(Broken):  # left over where the node died a moment ago
        control.network("link", "delete", port)
    control.network("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(node.init))
    control.network("link", "set", port, "master", BRIDGE, "up")
    control.network("route", "replace", pods(number), "via", address(number))
    node.network("link", "set", "lo", "up")
    node.network("address", "add", f"{address(number)}/24", "dev", "eth0")
    node.network("link", "set", "eth0", "up")
    node.network("route", "add", "default", "via", CONTROL)  # or the kernel finds Services unreachable before NAT
    node.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    for other in range(1, nodes + 1):
        if other != number:
            node.network("route", "add", pods(other), "via", address(other))


def cut(control: Machine, node: str) -> None:
    """Pull a node's cable."""
    control.network("link", "set", f"to-{node}", "down")


def mend(control: Machine, node: str) -> None:
    """Put a node's cable back."""
    control.network("link", "set", f"to-{node}", "up")


def remove() -> None:
    """Take away the tests' end of the network, where it is still there."""
    with suppress(Broken):
        run("ip", "link", "delete", DEVICE)
