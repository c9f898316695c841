"""A controller of somebody else's as a plain process on the control machine, its webhooks asked by address.

with beside(ground, KUEUE):
    ...

Its definitions and webhooks are those of its module's manifests. Their Deployment, Services and roles have no part in
it: it is an administrator, and has a certificate of the ground's authority.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.grounds.cluster import Ground, NoGround, network
from tests.grounds.cluster.build import Module, built
from tests.grounds.cluster.process import Process
from tests.support.waiting import wait_until

Json = dict[str, Any]

DEFINITION = "CustomResourceDefinition"
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
# Kueue looks for its metrics' certificate at a path of its own: in a /etc that only it sees.
WITH_ETC: tuple[str, ...] = (
    "unshare",
    "--mount",
    "--",
    "sh",
    "-c",
    'mount --bind "$1" /etc && shift && exec "$@"',
    "sh",
)
METRICS = Path("kueue", "metrics", "certs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """A controller: what it is built of and told, and the API groups that its webhooks may see."""

    module: Module
    source: str  # the Go module that has its manifests
    settings: Mapping[str, Any]
    flags: tuple[str, ...]
    groups: frozenset[str]
    port: int  # of its webhooks; the next is its health's, the one after its metrics'
    refused: Json  # what its webhooks refuse
    refusal: str  # by which words

    @property
    def name(self) -> str:
        """Its program's name."""
        return self.module.names[0]

    def configuration(self, certificates: Path) -> Json:
        """Return its whole configuration."""
        return {
            **self.settings,
            "webhook": {"port": self.port, "certDir": str(certificates)},
            "health": {"healthProbeBindAddress": f":{self.port + 1}"},
            "metrics": {"bindAddress": f"127.0.0.1:{self.port + 2}"},
        }


@contextmanager
def beside(ground: Ground, controller: Controller, tell: Callable[[str], None] = print) -> Iterator[Process]:
    """Start a controller, and have it and all that it defines removed at the end."""
    binary = built(controller.module, tell) / controller.name
    kubectl = ground.kubectl
    wanted = manifests(kubectl, controller, ground.authority.certificate)
    definitions, webhooks = (
        [each for each in wanted if (each["kind"] in WEBHOOKS) is hooks] for hooks in (False, True)
    )
    process = equip(ground, controller, binary)
    try:
        create(kubectl, definitions)
        count = sum(each["kind"] == DEFINITION for each in definitions)
        wait_until(lambda: established(kubectl) >= count, timeout=30, every=0.1)
        process.start()
        process.await_ready(lambda: is_well(controller))
        create(kubectl, webhooks)
        wait_until(lambda: refuses(kubectl, controller), timeout=30, every=0.2)
        yield process
    finally:
        # The definitions' deletion needs the process: it takes away what holds their objects.
        delete(kubectl, webhooks)
        try:
            delete(kubectl, definitions)
        finally:
            process.stop()


def equip(ground: Ground, controller: Controller, binary: Path) -> Process:
    """Write the controller's files, and return it, not started yet."""
    directory = ground.directory / controller.name
    certificates, etc = directory / "certificates", directory / "etc"
    serving = ground.authority.issue(controller.name, "127.0.0.1")
    for place in (certificates, etc / METRICS):
        place.mkdir(parents=True, exist_ok=True)
        (place / "tls.crt").write_bytes(serving.certificate)
        (place / "tls.key").write_bytes(serving.key)
    kubeconfig, settings = directory / "kubeconfig", directory / "settings.json"
    kubeconfig.write_text(ground.authority.kubeconfig(controller.name, group="system:masters"))
    settings.write_text(json.dumps(controller.configuration(certificates), indent=1))
    words: tuple[str | Path, ...] = (binary, "--kubeconfig", kubeconfig, "--config", settings, *controller.flags)
    log = directory / f"{controller.name}.log"
    return Process(machine=ground.control.machine, words=(*WITH_ETC, etc, *words), log=log)


def manifests(kubectl: Kubectl, controller: Controller, authority: bytes) -> list[Json]:
    """Return the definitions and webhooks of the controller's own manifests, changed to be asked by address."""
    text = kubectl("kustomize", module_of(controller) / "config" / "default")
    bundle = base64.b64encode(authority).decode()

    def there(client: Json) -> Json:
        path = client["service"].get("path", "/")
        return {"url": f"https://127.0.0.1:{controller.port}{path}", "caBundle": bundle}

    made = [each for each in yaml.safe_load_all(text) if each["kind"] in (DEFINITION, "Namespace", *WEBHOOKS)]
    for each in made:
        if each["kind"] in WEBHOOKS:
            each["webhooks"] = [
                {**hook, "clientConfig": there(hook["clientConfig"])}
                for hook in each["webhooks"]
                if all(controller.groups.issuperset(rule["apiGroups"]) for rule in hook["rules"])
            ]
        elif conversion := each["spec"].get("conversion", {}).get("webhook") if "spec" in each else None:
            conversion["clientConfig"] = there(conversion["clientConfig"])
    return made


def module_of(controller: Controller) -> Path:
    """Return where Go keeps the module's files, fetched where they are not there."""
    environ = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    words = ("go", "mod", "download", "-json", controller.source)
    done = subprocess.run(
        words, cwd=controller.module.directory, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise NoGround(f"`{' '.join(words)}` failed: {done.stderr[-1000:]}{done.stdout[-1000:]}")
    return Path(json.loads(done.stdout)["Dir"])


def create(kubectl: Kubectl, objects: Iterable[Json]) -> None:
    """Create objects; what kubectl would keep of applied ones is too large for some."""
    text = "---\n".join(json.dumps(each) + "\n" for each in objects)
    kubectl("create", "--filename", "-", stdin=f"---\n{text}", timeout=120)


def established(kubectl: Kubectl) -> int:
    """Return how many definitions the API server serves."""
    found = (each["status"].get("conditions") or () for each in kubectl.items("customresourcedefinitions"))
    return sum(
        any((one["type"], one["status"]) == ("Established", "True") for one in conditions) for conditions in found
    )


def delete(kubectl: Kubectl, objects: Iterable[Json]) -> None:
    """Delete objects, and wait until they are gone."""
    text = "---\n".join(json.dumps(each) + "\n" for each in objects)
    kubectl("delete", "--ignore-not-found", "--timeout=60s", "--filename", "-", stdin=f"---\n{text}", timeout=120)


def is_well(controller: Controller) -> bool:
    """Return whether the controller says that it is ready, its webhooks among it."""
    address = f"http://{network.CONTROL}:{controller.port + 1}/readyz"
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def refuses(kubectl: Kubectl, controller: Controller) -> bool:
    """Return whether the API server asks the webhooks by now: it hears of new ones a moment later."""
    try:
        kubectl("create", "--dry-run=server", "--filename", "-", stdin=json.dumps(controller.refused))
    except KubectlFailed as error:
        if controller.refusal in str(error):
            return True
        raise
    return False
