"""For how many pods a claim is at a time, by what it says itself.

No I/O here.
"""

from __future__ import annotations

from launcher.kube.objects import Object, mapping

_SHARED = ("ReadWriteMany", "ReadOnlyMany", "RWX")
_ONE_POD = "ReadWriteOncePod"


def modes(claim: Object) -> tuple[str, ...]:
    """Return its access modes."""
    found = mapping(claim, "spec").get("accessModes")
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


def only_for(claim: Object) -> str:
    """Return what alone can have it at a time, nothing where all nodes can, or nothing is said."""
    found = modes(claim)
    if not found or set(found) & set(_SHARED):
        return ""
    return "one pod" if set(found) == {_ONE_POD} else "one node"
