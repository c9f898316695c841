"""A part of a pod laid over a template, as Kubernetes' strategic merge does it: lists by the key of their elements.

No I/O here. The keys are those that the types of k8s.io/api 0.34 have for a PodSpec. Three things are done as they
are meant: tolerations and envFrom are added to, where Kubernetes replaces them; a volume's source and a variable's
value take the place of the old one, where Kubernetes would have both, and refuse them; and a container that is called
`trainer` or `pserver` is for the pods that have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launcher.contract import PSERVER, TRAINER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

MERGE_KEYS = {
    "containers": "name",
    "env": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
ADDED_TO = ("envFrom", "tolerations")
ONE_OF = ("env", "volumes")  # of whose elements only one field beside the name may be there
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_HOST = "kubernetes.io/hostname"  # a node's label: its name
_PATCH = "$patch"
_DELETE, _REPLACE = "delete", "replace"
_PLAIN = (str, int, float, bool)


class WrongOverlay(ValueError):
    """It cannot be laid over the template; the message names the place in it."""


def for_role(overlay: Mapping[str, Any], role: str) -> Json:
    """Return an overlay without the containers of the other role's pods, and without what names its own kind."""
    found = {key: value for key, value in overlay.items() if key not in ("apiVersion", "kind")}
    other, spec = TRAINER if role == PSERVER else PSERVER, found.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    if isinstance(spec, Mapping) and isinstance(containers, (list, tuple)):
        meant = [each for each in containers if not (isinstance(each, Mapping) and each.get("name") == other)]
        found["spec"] = {**spec, "containers": meant}
    return found


def merged(base: Mapping[str, Any], over: Mapping[Any, Any], at: str = "pod") -> Json:
    """Return a template with an overlay merged into it; neither is changed."""
    found = dict(base)
    for key, value in over.items():
        if not isinstance(key, str) or key.startswith("$"):
            expected = "expected a field's name; of directives $patch: delete and $patch: replace"
            raise WrongOverlay(f"{at} has {key!r}: {expected}")
        _put(found, key, value, f"{at}.{key}")
    return found


def avoiding(template: Json, nodes: Sequence[str]) -> Json:
    """Return a template of pods that come to none of these nodes, whatever else an overlay asks of them.

    A pod may come to a node that fits one of several terms, so that each of them is to leave these nodes out.
    """
    if not nodes:
        return template
    affinity = template["spec"].get("affinity", {})
    try:
        of_node = affinity.get("nodeAffinity", {})
        required = of_node.get(_REQUIRED, {})
        terms = [_term(each, nodes) for each in required.get("nodeSelectorTerms", ())] or [_term(None, nodes)]
    except (AttributeError, TypeError):
        raise WrongOverlay("pod.spec.affinity is no NodeAffinity as Kubernetes has it: expected its fields") from None
    required = {**required, "nodeSelectorTerms": terms}
    affinity = {**affinity, "nodeAffinity": {**of_node, _REQUIRED: required}}
    return {**template, "spec": {**template["spec"], "affinity": affinity}}


def _term(given: Json | None, nodes: Sequence[str]) -> Json:
    """Return a term that leaves these nodes out; an empty one fits no node, and stays so."""
    if given == {}:
        return {}
    ours = {"key": _HOST, "operator": "NotIn", "values": [*nodes]}
    given = given or {}
    return {**given, "matchExpressions": [*given.get("matchExpressions", ()), ours]}


def _put(found: Json, key: str, value: object, at: str) -> None:
    """Put one field's value over what is there; null takes it away."""
    there = found.get(key)
    if value is None or (isinstance(value, Mapping) and value.get(_PATCH) == _DELETE):
        found.pop(key, None)
    elif _kind(value) != _kind(there) and there is not None:
        raise WrongOverlay(f"{at} is {_kind(value)}: expected {_kind(there)}")
    elif isinstance(value, Mapping):
        replaced = value.get(_PATCH) == _REPLACE
        rest = {name: each for name, each in value.items() if not (replaced and name == _PATCH)}
        found[key] = merged(there if isinstance(there, Mapping) and not replaced else {}, rest, at)
    elif isinstance(value, (list, tuple)):
        found[key] = _list(key, tuple(there or ()), value, at)
    elif isinstance(value, _PLAIN):
        found[key] = value
    else:
        raise WrongOverlay(f"{at} is {value!r}: expected what JSON has; put it in quotes")


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else "a single value"


def _list(key: str, there: tuple[Any, ...], over: list[Any] | tuple[Any, ...], at: str) -> list[Any]:
    if key in MERGE_KEYS:
        return _by_key(key, there, over, at)
    made: Json = {}
    for number, each in enumerate(over):
        _put(made, str(number), each, f"{at}[{number}]")
    new = list(made.values())
    return [*there, *(each for each in new if each not in there)] if key in ADDED_TO else new


def _by_key(key: str, there: tuple[Any, ...], over: list[Any] | tuple[Any, ...], at: str) -> list[Any]:
    """Return the elements that were there, changed where the overlay has the same, and then its new ones."""
    name = MERGE_KEYS[key]
    found: Json = {each[name]: each for each in there}
    for number, each in enumerate(over):
        where = f"{at}[{number}]"
        if not isinstance(each, Mapping) or not isinstance(each.get(name), (str, int)):
            raise WrongOverlay(f"{where} has no {name}: expected it, as such elements are merged by their {name}")
        own = each[name]
        if key in ONE_OF and own in found and len(each) > 1:
            found[own] = {field: value for field, value in found[own].items() if field in each}
        _put(found, own, each, f"{at}[{own}]")
    return list(found.values())
