"""A scripted Kubernetes API server on loopback, and a mount namespace in which its service account lies where
a pod has it: nothing on the machine itself changes.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme

from bench.lives import Ground, job
from bench.processes import AS_PROCESS_ONE, Unheard
from tests.grounds.api.scripted import ApiServer, serving
from tests.support.pods import JOB

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
LAY_OUT = """
mount -t tmpfs none "$(readlink -f /var/run)" && mkdir -p "$1" && cp "$2"/* "$1" && echo ready && exec sleep 3600
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The API server, the variables that lead to it, and the words that put a program into a pod of it."""

    api: ApiServer
    env: Mapping[str, str]
    inside: tuple[str, ...]

    def pod(self, ground: Ground, address: str, pods: int) -> dict[str, str]:
        """Return the settings of one of so many pods."""
        own = {"JOB_NAME": JOB, "LAUNCHER_PEERS": "kubernetes", "CONF_PADDLE_GRADIENT_NUM": str(pods)}
        settings = {**job(ground), **own, **self.env, "POD_IP": address}
        del settings["JOB_PATH"]  # nothing is staged and no log kept: meeting is what is measured
        return settings


@contextmanager
def cluster(ground: Ground) -> Iterator[Cluster]:
    """Serve for as long as the body runs; only root may."""
    authority = trustme.CA()
    account = ground.directory / "account"
    account.mkdir()
    with ExitStack() as stack:
        api = stack.enter_context(contextmanager(serving)(ApiServer(), authority))
        env = api.environ(account, authority)
        holder = stack.enter_context(_namespace(account))
        inside = ("nsenter", f"--mount=/proc/{holder}/ns/mnt", "--", *AS_PROCESS_ONE)
        yield Cluster(api=api, env=env, inside=inside)


@contextmanager
def _namespace(account: Path) -> Iterator[int]:
    argv = ("unshare", "--mount", "--", "sh", "-c", LAY_OUT, "sh", ACCOUNT, str(account))
    holder = subprocess.Popen(argv, stdout=subprocess.PIPE)
    try:
        if holder.stdout is None or not holder.stdout.readline():
            raise Unheard("a mount namespace could not be made")
        yield holder.pid
    finally:
        holder.kill()
        holder.communicate()
