"""The flags for the pods around the programs; a datacenter's `defaults:` have the same names.

No I/O here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from launcher.desk.arguments import flag, seconds, whole
from launcher.job.template.asked import MOST_RESTARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFlag:
    """A flag and the job's parameter that it sets: one value, or several where it may be given again."""

    name: str
    field: str
    metavar: str
    help: str
    reads: Callable[[str], object] = str
    several: bool = False


def pair(text: str) -> tuple[str, str]:
    """Return a name and its value; the message shows neither, which may be a secret."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError("expected NAME=VALUE, such as OMP_NUM_THREADS=2")
    return name, value


def listed(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas."""
    return tuple(filter(None, (each.strip() for each in text.split(","))))


def _pairs(name: str, field: str, help: str, metavar: str = "NAME=VALUE") -> PodFlag:
    return PodFlag(name=name, field=field, metavar=metavar, help=help, reads=pair, several=True)


POD_FLAGS = (
    _pairs("env", "env", "a variable of the programs and the launcher"),
    PodFlag(
        name="env-from", field="env_from", metavar="SECRET", several=True, help="each key of a Secret as a variable"
    ),
    _pairs("label", "labels", "a label of the Jobs and their pods"),
    _pairs("annotation", "annotations", "an annotation of the Jobs and their pods"),
    PodFlag(
        name="queue", field="queue", metavar="NAME", help="the LocalQueue of Kueue in which the job waits its turn"
    ),
    _pairs("selector", "selector", "only nodes with this label"),
    PodFlag(
        name="toleration",
        field="tolerations",
        metavar="TAINT",
        several=True,
        help="also nodes with this taint: KEY, KEY=VALUE or KEY=VALUE:NoSchedule",
    ),
    PodFlag(
        name="avoid",
        field="avoid",
        metavar="NODE",
        reads=listed,
        several=True,
        help="no node of this name: NODE[,NODE]",
    ),
    PodFlag(
        name="shm", field="shm", metavar="SIZE", help="the trainers' /dev/shm, part of their memory (half of it)"
    ),
    PodFlag(name="gpu-resource", field="gpu_resource", metavar="NAME", help="what -gpu counts (nvidia.com/gpu)"),
    PodFlag(
        name="serviceaccount", field="service_account", metavar="NAME", help="the pods' ServiceAccount (default)"
    ),
    PodFlag(name="priority", field="priority", metavar="NAME", help="the pods' PriorityClass"),
    PodFlag(
        name="keep", field="keep", metavar="TIME", reads=seconds, help="how long the job stays after its end (7d)"
    ),
    PodFlag(
        name="restarts",
        field="restarts",
        metavar="N",
        reads=whole(0, MOST_RESTARTS),
        help="how many times the gang begins again after a failure (3)",
    ),
    _pairs("secret-file", "secret_files", "a directory with a file for each key of a Secret", "SECRET=/DIRECTORY"),
)
OVERLAY = PodFlag(
    name="pod", field="pod", metavar="FILE", several=True, help="YAML with more of a pod, laid over its template last"
)
POD_FLAG_NAMES = (*(each.name for each in POD_FLAGS), OVERLAY.name)


def add(parser: argparse.ArgumentParser, but: Collection[str] = ()) -> None:
    """Add them, but for those whose names are taken."""
    group = parser.add_argument_group("the pods")
    for each in (*POD_FLAGS, OVERLAY):
        if each.name not in but:
            more: dict[str, object] = {"action": "append", "default": []} if each.several else {"default": None}
            flag(group, each.name, type=each.reads, metavar=each.metavar, help=each.help, **more)


def given_fields(
    given: argparse.Namespace, read: Callable[[str], Mapping[str, Any]], but: Collection[str] = ()
) -> dict[str, Any]:
    """Return the job's parameters that the flags set; `read` returns the overlay in a file."""
    found: dict[str, Any] = {}
    for each in POD_FLAGS:
        value = None if each.name in but else getattr(given, each.name.replace("-", "_"))
        if value not in (None, []):
            found[each.field] = _together(each, value)
    return {**found, "pod": tuple(map(read, given.pod))} if given.pod else found


def _together(each: PodFlag, value: Any) -> Any:  # noqa: ANN401  # whatever a flag reads
    if each.reads is pair:
        return dict(value)
    if each.reads is listed:
        return tuple(chain.from_iterable(value))
    return tuple(value) if each.several else value


def default_fields(said: Mapping[Any, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what a datacenter's `defaults:` set, and a sentence for each mistake in them."""
    found: dict[str, Any] = {}
    problems: list[str] = []
    for each in POD_FLAGS:
        if each.name in said:
            try:
                found[each.field] = _together(each, _read(each, said[each.name]))
            except argparse.ArgumentTypeError as error:
                problems.append(f"{each.name}: {error}")
    if OVERLAY.name in said:
        found["pod"] = (said[OVERLAY.name],)
        if not isinstance(said[OVERLAY.name], dict):
            problems.append("pod: expected metadata and spec of a Pod, such as {spec: {hostIPC: true}}")
    return found, problems


def _read(each: PodFlag, value: object) -> object:
    """Return a value as the flag reads it: names and values may also be a mapping, one of several stand alone."""
    if each.reads is pair and isinstance(value, dict):
        return [(str(name), _text(found)) for name, found in value.items()]
    if each.several:
        return [each.reads(_text(one)) for one in (value if isinstance(value, list) else [value])]
    return each.reads(_text(value))


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise argparse.ArgumentTypeError("expected text; put true and false in quotes")
    return str(value)
