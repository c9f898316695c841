"""The control plane: etcd, the API server, the controllers and the scheduler, on a machine of their own."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.grounds.cluster import network
from tests.grounds.cluster.certificates import SERVER, Authority
from tests.grounds.cluster.machine import BIN, ETC, Machine
from tests.grounds.cluster.process import Process


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The programs of the control machine."""

    machine: Machine
    etcd: Process
    api_server: Process
    controllers: Process
    scheduler: Process

    @property
    def programs(self) -> tuple[Process, ...]:
        """All of them, in the order of their start."""
        return (self.etcd, self.api_server, self.controllers, self.scheduler)


def equip(machine: Machine, authority: Authority, directory: Path) -> ControlPlane:
    """Write the files of the control plane, and return its programs, not started yet."""
    etc = directory / "etc"
    serving = authority.issue(
        "kube-apiserver", network.CONTROL, network.API_SERVICE, "127.0.0.1", "kubernetes", "kubernetes.default",
        "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
    )  # fmt: skip
    to_kubelets = authority.issue("kube-apiserver-kubelet-client", group="system:masters")
    files = {
        "ca.crt": authority.certificate,
        "serving.crt": serving.certificate,
        "serving.key": serving.key,
        "to-kubelets.crt": to_kubelets.certificate,
        "to-kubelets.key": to_kubelets.key,
        "accounts.key": authority.issue("accounts").key,
        "controllers": authority.kubeconfig("system:kube-controller-manager").encode(),
        "scheduler": authority.kubeconfig("system:kube-scheduler").encode(),
    }
    for name, content in files.items():
        (etc / name).write_bytes(content)
    (etc / "accounts.key").chmod(0o600)

    def process(*words: str | Path) -> Process:
        return Process(machine=machine, words=words, log=directory / f"{Path(words[0]).name}.log")

    return ControlPlane(
        machine=machine,
        etcd=process(BIN / "etcd", "--data-dir", "/var/lib/etcd", "--unsafe-no-fsync", "--log-level", "warn"),
        api_server=process(*api_server_words()),
        controllers=process(*controllers_words()),
        scheduler=process(
            BIN / "kube-scheduler",
            "--kubeconfig",
            ETC / "scheduler",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
        ),
    )


def api_server_words() -> tuple[str | Path, ...]:
    """Return the API server's command."""
    return (
        BIN / "kube-apiserver",
        "--etcd-servers=http://127.0.0.1:2379",
        "--secure-port=6443",
        # It refuses to advertise a loopback address, and Services would not lead there.
        f"--advertise-address={network.CONTROL}",
        f"--client-ca-file={ETC / 'ca.crt'}",
        f"--tls-cert-file={ETC / 'serving.crt'}",
        f"--tls-private-key-file={ETC / 'serving.key'}",
        f"--kubelet-certificate-authority={ETC / 'ca.crt'}",
        f"--kubelet-client-certificate={ETC / 'to-kubelets.crt'}",
        f"--kubelet-client-key={ETC / 'to-kubelets.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={ETC / 'accounts.key'}",
        f"--service-account-signing-key-file={ETC / 'accounts.key'}",
        f"--service-cluster-ip-range={network.SERVICES}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--shutdown-delay-duration=0s",
        "--profiling=false",
    )


def controllers_words() -> tuple[str | Path, ...]:
    """Return the controller manager's command: a silent node is lost after 12 s, not 50."""
    return (
        BIN / "kube-controller-manager",
        "--kubeconfig", ETC / "controllers",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--root-ca-file={ETC / 'ca.crt'}",
        f"--service-account-private-key-file={ETC / 'accounts.key'}",
        "--use-service-account-credentials=true",
        "--node-monitor-period=2s",
        "--node-monitor-grace-period=12s",
        "--pvclaimbinder-sync-period=1s",  # a binding that meets another change is tried again only then
    )  # fmt: skip


def api_answers(authority: Authority) -> bool:
    """Return whether the API server says that it is ready."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    try:
        with urllib.request.urlopen(f"{SERVER}/readyz", context=context, timeout=5) as answer:  # noqa: S310  # https
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
