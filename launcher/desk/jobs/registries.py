"""Pull secrets: credentials of private registries, as Kubernetes keeps them. Their passwords are never read back."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launcher import contract
from launcher.contract import MANAGED_BY, REGISTRY_LABEL, SERVER_ANNOTATION, USERNAME_ANNOTATION
from launcher.desk.errors import Mistyped, Problem, Refused
from launcher.kube import kinds

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api

_Json = dict[str, Any]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SERVER = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[-A-Za-z0-9._/]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A registry and who uses it."""

    name: str
    server: str
    username: str


def check_registry(registry: Registry) -> None:
    """Say what a registry cannot be called."""
    if not _NAME.fullmatch(registry.name):
        raise Mistyped(f"-name {registry.name!r}: expected lower-case letters, digits and -, 63 at most")
    if not SERVER.fullmatch(registry.server.removeprefix("https://")):
        raise Mistyped(f"-server {registry.server!r}: expected a host, such as registry.example.com:5000")
    if not registry.username or ":" in registry.username or not registry.username.isprintable():
        raise Mistyped(f"-username {registry.username!r}: expected the user's name at the registry, without a colon")


def _manifest(registry: Registry, password: str) -> _Json:
    """Return the Secret."""
    server = registry.server.removeprefix("https://").rstrip("/")
    token = base64.b64encode(f"{registry.username}:{password}".encode()).decode()
    auths = {"auths": {server: {"username": registry.username, "password": password, "auth": token}}}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {
            "name": registry.name,
            "labels": {MANAGED_BY: contract.NAME, REGISTRY_LABEL: registry.name},
            "annotations": {SERVER_ANNOTATION: server, USERNAME_ANNOTATION: registry.username},
        },
        "data": {".dockerconfigjson": base64.b64encode(json.dumps(auths).encode()).decode()},
    }


def saved(api: Api, registry: Registry, password: str) -> str:
    """Make the Secret, or renew our own of that name; return what was done."""
    made = _manifest(registry, password)
    try:
        api.create(made)
    except Refused as refused:
        if refused.status != 409:
            raise
        if registry.name not in {each.name for each in registries_listed(api)}:
            raise Problem(
                f"the Secret {registry.name} exists and is not a registry of paddlectl: choose another -name"
            ) from None
        api.patch("Secret", registry.name, {"metadata": made["metadata"], "data": made["data"]})
        return f"registry {registry.name} is renewed; jobs submitted from now on use it"
    return f"registry {registry.name} is saved: use it with `paddlectl submit -registry {registry.name}`"


def registries_listed(api: Api) -> Iterator[Registry]:
    """Yield the registries, by names and annotations: the secret parts are not requested."""
    for each in api.listed("Secret", f"{kinds.OURS},{REGISTRY_LABEL}", accept=kinds.NAMES_ALONE):
        notes = each["metadata"].get("annotations") or {}
        yield Registry(
            name=each["metadata"]["name"],
            server=notes.get(SERVER_ANNOTATION, ""),
            username=notes.get(USERNAME_ANNOTATION, ""),
        )


def registry_removed(api: Api, name: str) -> str:
    """Delete a registry, and return what was done."""
    names = [each.name for each in registries_listed(api)]
    if name in names:
        api.delete("Secret", name)
        return f"registry {name} is deleted"
    there = f"there is {', '.join(names)}" if names else "there are none"
    if not name:
        raise Mistyped(f"delete registry: expected the name of one: {there}")
    raise Problem(f"delete registry: {name} does not exist: {there}")
