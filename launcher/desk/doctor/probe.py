"""The doctor's findings from inside: two short-lived pods as jobs have them, on two nodes where there are two."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from launcher.contract import DATA, DOCTOR_LABEL, MANAGED_BY, NAME
from launcher.desk.config import datacenters
from launcher.desk.config.datacenters import Storage
from launcher.desk.doctor import checks, probe_findings
from launcher.desk.doctor.checks import Finding
from launcher.desk.errors import Problem, Refused
from launcher.desk.files import pod
from launcher.desk.files.paths import Remote
from launcher.desk.files.visit import had, registries, visit
from launcher.desk.jobs import lookup, saved_output
from launcher.desk.jobs.submit import gone, owned
from launcher.desk.session import Desk
from launcher.job import podspec
from launcher.kube import claims
from launcher.text import visible
from launcher.transfer.channel import Channel
from launcher.transfer.frames import Frame, frame_number

_Json = dict[str, Any]

WHAT = "the doctor's pod"
SEEN_WITHIN = 30  # seconds
NAMED_WITHIN = 45  # a DNS server may keep for 30 s an answer from before the second pod had an address
ADDRESSED_WITHIN = 10
_NONE = Storage(claim="none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One pod, and the agent in it that answers questions."""

    name: str
    node: str
    channel: Channel

    def ask(self, kind: str, **head: object) -> Frame:
        """Ask, and wait for the answer."""
        self.channel.put(kind, b"", **head)
        return self.channel.get("found")


def findings(desk: Desk) -> tuple[Finding, ...]:
    """Return what the pods saw; nothing of them is left, even after Ctrl-C."""
    image = desk.datacenter.agent_image
    if not image:
        return (probe_findings.no_image(desk.datacenter.name or "the kubeconfig's context"),)
    token = secrets.token_hex(4)
    try:
        with _probe(desk, token, 1) as first:
            alone = _alone(first, image, brings=not desk.datacenter.image)
            wrote = (_written(first),) if desk.datacenter.volume else ()
            shared = any(each.good for each in wrote) and not _for_one_alone(desk)
            return (*alone, *wrote, *_beside(desk, token, first, shared=shared))
    except Refused as refused:
        return (_refused(refused),)
    except Problem as problem:
        return (probe_findings.no_pod(image, str(problem)),)


def shards_seen(desk: Desk, name: str) -> Finding:
    """Return whether the shards of a job are as its trainers look for them."""
    gang = lookup.found(desk.api, name)
    output = saved_output.output(gang, desk.datacenter)
    job = output.path.rpartition("/")[0]
    with visit(desk, output, image=saved_output.agent_image(gang)) as there, there.once() as channel:
        top = _directories(channel, job)
        by_rank = [int(each) for each in top if _is_rank(each) and DATA in _directories(channel, f"{job}/{each}")]
        below = _directories(channel, f"{job}/{DATA}") if DATA in top else set()
        under_data = [int(each) for each in below if _is_rank(each)]
    return probe_findings.shards_finding(
        f"{output.top}/{job}", gang.lead.most, by_rank=by_rank, under_data=under_data
    )


def _refused(refused: Refused) -> Finding:
    """Return that there is no right to check from inside; raise any other refusal."""
    if refused.status != 403:
        raise refused
    return checks.unknown("pods", f"inside a pod: {refused.message}")


def _alone(first: Probe, image: str, *, brings: bool) -> tuple[Finding, ...]:
    machine = first.ask("machine")
    paddle, command = _told(machine, "paddle"), _told(machine, "command")
    return (
        probe_findings.brought(image) if brings else probe_findings.image(image, paddle=paddle, command=command),
        probe_findings.shm_seen(machine.number("shm")),
    )


def _written(first: Probe) -> Finding:
    wrote = first.ask("write")
    return probe_findings.write_finding(_told(wrote, "step"), _told(wrote, "why"))


def _beside(desk: Desk, token: str, first: Probe, *, shared: bool) -> tuple[Finding, ...]:
    """Return what a second pod sees of the first one."""
    try:
        with _name(desk, token, first), _probe(desk, token, 2, shared=shared) as second:
            seen = (_together(first, second),) if shared else ()
            return (*seen, _named(desk, second, token))
    except Refused as refused:
        return (_refused(refused),)
    except Problem as problem:
        return (probe_findings.no_second(str(problem)),)


def _for_one_alone(desk: Desk) -> bool:
    """Return whether a second pod could wait for the volume without end."""
    claim = desk.datacenter.volume.claim if desk.datacenter.volume else ""
    try:
        return bool(claim and claims.only_for(desk.api.get("PersistentVolumeClaim", claim)))
    except Refused:  # no right to look
        return False


def _together(first: Probe, second: Probe) -> Finding:
    saw = second.ask("look", seconds=SEEN_WITHIN)
    return probe_findings.together(
        (first.node, second.node),
        seen=saw.flag("seen"),
        milliseconds=saw.number("milliseconds"),
        excluded=saw.flag("excluded"),
        within=SEEN_WITHIN,
    )


def _named(desk: Desk, second: Probe, token: str) -> Finding:
    host = _called(token)
    _await_address(desk, second)
    found = second.ask("resolve", host=host, count=2, seconds=NAMED_WITHIN)
    return probe_findings.name_finding(
        host,
        found.number("addresses"),
        wanted=2,
        why=_told(found, "why"),
        milliseconds=found.number("milliseconds"),
    )


def _await_address(desk: Desk, probe: Probe) -> None:
    """Wait until the API knows a pod's address: its agent may have answered before."""
    until = time.monotonic() + ADDRESSED_WITHIN
    while not desk.api.get("Pod", probe.name)["status"].get("podIP") and time.monotonic() < until:
        time.sleep(0.2)


@contextmanager
def _probe(desk: Desk, token: str, count: int, *, shared: bool = True) -> Iterator[Probe]:
    """Create a pod with an agent in it, which has the volume if it can be shared, and remove it afterwards."""
    storage = desk.datacenter.volume if shared else None
    made = probe_manifest(
        f"{_called(token)}-{count}", desk.datacenter.agent_image, storage, pair=token,
        restricted=datacenters.restricted(desk.datacenter), registries=registries(desk),
    )  # fmt: skip
    place = Remote(top=WHAT, path="", storage=storage or _NONE, read_only=False, inside=True)
    with had(desk, made, place, what=WHAT) as there, there.once() as channel:
        node = desk.api.get("Pod", there.name)["spec"].get("nodeName", "")
        channel.put("probe", directory=f".{_called(token)}")
        yield Probe(name=there.name, node=node, channel=channel)
        channel.put("over")
        channel.get("done")


@contextmanager
def _name(desk: Desk, token: str, first: Probe) -> Iterator[None]:
    """Have a headless Service; if the desk is killed, it is removed with the first pod."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _called(token), "labels": {MANAGED_BY: NAME}},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {DOCTOR_LABEL: token}},
    }
    try:
        desk.api.create(owned(service, desk.api.get("Pod", first.name)))
        yield
    finally:
        gone(desk.api, "Service", _called(token))


def probe_manifest(
    name: str, image: str, storage: Storage | None, *, pair: str, restricted: bool, registries: tuple[str, ...]
) -> _Json:
    """Return a pod with what jobs' pods have, not on the node of the other one if another can be had."""
    made = pod.files_pod(name, image, storage, read_only=False, restricted=restricted, registries=registries)
    made["metadata"]["labels"][DOCTOR_LABEL] = pair
    spec = made["spec"]
    spec["volumes"].append(podspec.shm(str(probe_findings.SHM_ASKED)))
    spec["containers"][0]["volumeMounts"].append({"name": "shm", "mountPath": podspec.SHM})
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {DOCTOR_LABEL: pair}}}
    preferred = [{"weight": 100, "podAffinityTerm": apart}]
    spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return made


def _called(token: str) -> str:
    return f"paddlectl-doctor-{token}"


def _directories(channel: Channel, path: str) -> set[str]:
    """Return the names of the directories in one."""
    found = set()
    channel.put("list", path=path)
    while (frame := channel.get("listed", "done")).kind == "listed":
        found |= {
            str(name) for name, kind, size, _ in frame.rows("rows", 4) if kind == "d" and frame_number(size) >= 0
        }
    return found


def _is_rank(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 7


def _told(frame: Frame, name: str) -> str:
    """Return a text that an image's own programs may have written."""
    return visible(frame.text(name), 200)
