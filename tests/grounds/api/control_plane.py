"""A Kubernetes without nodes: etcd, an API server and the controllers that desks meet, as ordinary processes.

Real in all that the desk asks for but what kubelets do: pods stay Pending until a test says what became of them. It
has ports and a directory of its own, so that it does not touch the cluster of tests/cluster.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.grounds.cluster.build import KUBE, cache
from tests.grounds.cluster.certificates import Authority
from tests.support.waiting import wait_until

Json = dict[str, Any]

CONTROLLERS = (
    "job-controller", "garbage-collector-controller", "serviceaccount-controller", "namespace-controller",
    "resourcequota-controller", "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """An API server, and whoever may do anything there."""

    directory: Path
    authority: Authority
    server: str
    kubectl_program: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "admin"

    @property
    def ca(self) -> Path:
        """The authority's certificate."""
        return self.directory / "ca.crt"

    def ask(self, method: str, path: str, body: Json | None = None, content: str = "application/json") -> Json:
        """Send a request as the administrator, and return the answer."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.load_cert_chain(self.directory / "admin.crt", self.directory / "admin.key")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, {"Content-Type": content}, method=method)  # noqa: S310  # https
        try:
            with urllib.request.urlopen(request, context=context, timeout=60) as answer:  # noqa: S310  # https
                found: Json = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode(errors='replace')}") from error

    def items(self, namespace: str, kind: str) -> list[Json]:
        """Return all objects of a kind in a namespace."""
        found: list[Json] = self.ask("GET", place_of(kind, namespace))["items"]
        return found

    def make(self, namespace: str, *manifests: Json) -> None:
        """Create objects."""
        for each in manifests:
            self.ask("POST", place_of(each["kind"], namespace), each)

    def delete(self, namespace: str, kind: str, name: str) -> None:
        """Delete an object."""
        self.ask("DELETE", f"{place_of(kind, namespace)}/{name}")

    def new_namespace(self, name: str) -> str:
        """Make a namespace, in which pods can be made."""
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        wait_until(lambda: self.items(name, "ServiceAccount"), timeout=30, every=0.05)
        return name

    def enforce(self, namespace: str, standard: str) -> None:
        """Have a pod security standard enforced."""
        labels = {"pod-security.kubernetes.io/enforce": standard}
        self.change(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}})

    def become(self, namespace: str, pod: str, status: Json) -> None:
        """Say what became of a pod, as its kubelet would."""
        self.change(f"{place_of('Pod', namespace)}/{pod}/status", {"status": status})

    def change(self, path: str, change: Json) -> None:
        """Change an object."""
        self.ask("PATCH", path, change, "application/merge-patch+json")


def place_of(kind: str, namespace: str) -> str:
    """Return where the API keeps a kind."""
    groups = {
        "Job": "/apis/batch/v1",
        "NetworkPolicy": "/apis/networking.k8s.io/v1",
        "Role": "/apis/rbac.authorization.k8s.io/v1",
        "RoleBinding": "/apis/rbac.authorization.k8s.io/v1",
    }
    plural = f"{kind.lower()}s".replace("ys", "ies")
    return f"{groups.get(kind, '/api/v1')}/namespaces/{namespace}/{plural}"


def need_binary() -> Path:
    """Return where the programs are; skip where they have not been built."""
    place = cache() / KUBE.digest
    if not place.exists():
        pytest.skip(
            "Kubernetes' programs are not built: `python -m tests.grounds.cluster build` does (minutes, once)"
        )
    return place


@contextmanager
def control_plane(directory: Path) -> Iterator[ControlPlane]:
    """Start one, ready for Jobs, and end it."""
    programs = need_binary()
    etcd, peers, api = (free_port() for _ in range(3))
    server = f"https://127.0.0.1:{api}"
    authority = Authority.made()
    equip(directory, authority, server)
    plane = ControlPlane(
        directory=directory, authority=authority, server=server, kubectl_program=programs / "kubectl"
    )
    with ExitStack() as started:
        started.enter_context(running(directory, etcd_words(programs, directory, etcd, peers)))
        started.enter_context(running(directory, api_server_words(programs, directory, etcd, api)))
        wait_until(lambda: answers(authority, server), timeout=60, every=0.05)
        started.enter_context(running(directory, controllers_words(programs, directory)))
        wait_until(lambda: plane.items("default", "ServiceAccount"), timeout=60, every=0.1)
        yield plane


def equip(directory: Path, authority: Authority, server: str) -> None:
    """Write everybody's credentials."""
    serving = authority.issue("kube-apiserver", "127.0.0.1")
    to_kubelets = authority.issue("kube-apiserver-kubelet-client", group="system:masters")
    admin = authority.issue("admin", group="system:masters")
    files = {
        "admin.crt": admin.certificate,
        "admin.key": admin.key,
        "ca.crt": authority.certificate,
        "serving.crt": serving.certificate,
        "serving.key": serving.key,
        "to-kubelets.crt": to_kubelets.certificate,
        "to-kubelets.key": to_kubelets.key,
        "accounts.key": authority.issue("accounts").key,
        "controllers": authority.kubeconfig("system:kube-controller-manager", server=server).encode(),
        "admin": authority.kubeconfig("admin", group="system:masters", server=server).encode(),
    }
    for name, content in files.items():
        (directory / name).write_bytes(content)
        (directory / name).chmod(0o600)


def etcd_words(programs: Path, directory: Path, port: int, peers: int) -> tuple[str, ...]:
    """Return etcd's command."""
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    return (
        str(programs / "etcd"), "--data-dir", str(directory / "etcd-data"), "--unsafe-no-fsync",
        "--log-level", "warn",
        "--listen-client-urls", client, "--advertise-client-urls", client,
        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
    )  # fmt: skip


def api_server_words(programs: Path, directory: Path, etcd: int, port: int) -> tuple[str, ...]:
    """Return the API server's command."""
    return (
        str(programs / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        # It refuses a loopback address here, and nobody uses it: the documentation's own.
        "--advertise-address=192.0.2.1",
        "--endpoint-reconciler-type=none",
        f"--client-ca-file={directory / 'ca.crt'}",
        f"--tls-cert-file={directory / 'serving.crt'}",
        f"--tls-private-key-file={directory / 'serving.key'}",
        f"--kubelet-certificate-authority={directory / 'ca.crt'}",
        f"--kubelet-client-certificate={directory / 'to-kubelets.crt'}",
        f"--kubelet-client-key={directory / 'to-kubelets.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={directory / 'accounts.key'}",
        f"--service-account-signing-key-file={directory / 'accounts.key'}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=RBAC",
        "--shutdown-delay-duration=0s",
        "--profiling=false",
    )


def controllers_words(programs: Path, directory: Path) -> tuple[str, ...]:
    """Return the controller manager's command."""
    return (
        str(programs / "kube-controller-manager"),
        "--kubeconfig", str(directory / "controllers"),
        "--leader-elect=false",
        "--secure-port=0",
        f"--root-ca-file={directory / 'ca.crt'}",
        f"--service-account-private-key-file={directory / 'accounts.key'}",
        "--use-service-account-credentials=true",
        f"--controllers={','.join(CONTROLLERS)}",
    )  # fmt: skip


@contextmanager
def running(directory: Path, words: Sequence[str]) -> Iterator[None]:
    """Run a program for as long as the body does."""
    with (directory / f"{Path(words[0]).name}.log").open("wb") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env={"PATH": os.environ["PATH"]}
        )
    try:
        yield
    finally:
        process.send_signal(signal.SIGKILL)  # nothing of it is kept
        process.wait(timeout=30)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def answers(authority: Authority, server: str) -> bool:
    """Return whether the API server says that it is ready."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    try:
        with urllib.request.urlopen(f"{server}/readyz", context=context, timeout=5) as answer:  # noqa: S310  # https
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
