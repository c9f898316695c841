"""Meets as a program of TensorFlow 2.21.0 does, without it: a function is named like the one that it follows.

Written from tensorflow/python/distribute/cluster_resolver/tfconfig_cluster_resolver.py, multi_worker_util.py and
collective_all_reduce_strategy.py, all below tensorflow/python/distribute.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any


def load_tf_config() -> dict[str, Any]:
    """tfconfig_cluster_resolver.py, _load_tf_config."""
    found: dict[str, Any] = json.loads(os.environ.get("TF_CONFIG", "{}"))
    return found


def cluster_spec() -> dict[str, list[str]]:
    """tfconfig_cluster_resolver.py, TFConfigClusterResolver.cluster_spec."""
    found: dict[str, list[str]] = load_tf_config().get("cluster", {})
    return found


def task() -> tuple[str, int]:
    """tfconfig_cluster_resolver.py, TFConfigClusterResolver.task_type and task_id."""
    told = load_tf_config().get("task", {})
    return str(told["type"]), int(told["index"])


def id_in_cluster(kind: str, index: int) -> int:
    """multi_worker_util.py, id_in_cluster: a chief comes before all workers."""
    if kind not in ("chief", "worker"):
        raise ValueError(f"There is no id for task_type {kind!r}")
    return 0 if kind == "chief" else index + len(cluster_spec().get("chief", []))


def initialize_multi_worker() -> tuple[int, list[int]]:
    """collective_all_reduce_strategy.py, _initialize_multi_worker: a server for each, at 0.0.0.0 and its port."""
    kind, index = task()
    own = id_in_cluster(kind, index)
    addresses = [*cluster_spec().get("chief", []), *cluster_spec()["worker"]]
    with socket.create_server(("0.0.0.0", port_of(addresses[own]))) as server:
        others = [connected(address) for address in addresses]
        for each in others:
            each.sendall(f"{own}\n".encode())
        came = [server.accept()[0] for _ in addresses]
        return own, sorted(int(each.makefile().readline()) for each in came)


def port_of(address: str) -> int:
    """Return the port, which stands after the last colon."""
    return int(address.rpartition(":")[2])


def connected(address: str) -> socket.socket:
    """gRPC's channel: it tries until the server is there, or the coordination service gives up."""
    until = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection((address.rpartition(":")[0].strip("[]"), port_of(address)), timeout=60)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


if __name__ == "__main__":
    mine, all_of_them = initialize_multi_worker()
    print(f"worker {mine}: met {all_of_them}", flush=True)
