"""Peers from the Kubernetes API: the pods under the job's label, one watch for each role, one fold over all."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from launcher.contract import NODES_LABEL, PSERVERS_LABEL, TRAINERS_LABEL
from launcher.kube import pod_json
from launcher.kube.account import DIRECTORY, Account, Trouble
from launcher.kube.transport import Api, Limits
from launcher.kube.watch import pods
from launcher.pod.log import Tell
from launcher.pod.outcome import ApiError, SettingsError
from launcher.pod.peers import machine
from launcher.pod.peers.gather import Found, Rosters, gather
from launcher.pod.peers.pod_state import Group, Seen
from launcher.pod.peers.roster import own_pod, settle
from launcher.pod.peers.sources import Source
from launcher.pod.settings.nouns import Role, Settings

LIMITS = Limits()


def rosters(
    settings: Settings,
    tell: Tell,
    _seeking: threading.Event,
    *,
    account: Path = DIRECTORY,
    environ: Mapping[str, str] = os.environ,
    hostname: Callable[[], str] = socket.gethostname,
    addresses: Callable[[], frozenset[str]] = machine.addresses,
    limits: Limits = LIMITS,
    over: threading.Event | None = None,
) -> Rosters:
    """Yield the roster whenever the API shows every expected pod running, else for whom it waits."""
    api = Api.of(Account.read(account, environ), settings.namespace, limits)
    groups = wanted(settings)
    name = hostname()
    mine = frozenset({settings.address}) if settings.address else addresses()
    for group in groups.values():
        tell("peers_wanted", selector=group.selector, desired=group.expected)

    def fold(seen: Mapping[str, tuple[Seen, ...]], before: str) -> Found:
        every = {role: seen[role] for role in groups}
        me = own_pod(every[settings.role], name, mine)
        return settle(groups, every, me, settings.role, settings.job_uid, before)

    def source(group: Group) -> Source[tuple[Seen, ...]]:
        own = name if group.role is settings.role else ""
        return lambda over, trouble: _watched(api, group, own, over, trouble)

    sources = {str(role): source(group) for role, group in groups.items()}
    try:
        yield from gather(
            sources, fold, tell, seconds=settings.timing.join, deaf=ApiError, again=limits.again, over=over
        )
    finally:
        api.hang_up()


def wanted(settings: Settings) -> dict[Role, Group]:
    """Return whom to wait for, pservers first."""
    if not settings.separated:
        selector = f"{NODES_LABEL}={settings.job}"
        return {Role.NODE: _group(Role.NODE, selector, settings.trainers, settings.counted_by)}
    return {
        Role.PSERVER: _group(Role.PSERVER, f"{PSERVERS_LABEL}={settings.gang}", settings.pservers, "PSERVERS"),
        Role.TRAINER: _group(Role.TRAINER, f"{TRAINERS_LABEL}={settings.gang}", settings.trainers, "TRAINERS"),
    }


def _group(role: Role, selector: str, expected: int, counted_by: str) -> Group:
    return Group(role=role, selector=selector, expected=expected, counted_by=counted_by)


def _watched(
    api: Api, group: Group, own: str, over: threading.Event, trouble: Callable[[str], None]
) -> Iterator[tuple[Seen, ...]]:
    for seen in pods(api, group.selector, over, trouble):
        if own and all(pod.name != own for pod in seen):
            _check_label(api, group, own)
        own = ""
        yield seen


def _check_label(api: Api, group: Group, own: str) -> None:
    """Refuse to wait for ever for the pods of another job than this pod's own."""
    try:
        pod = api.document(f"{api.pods_path}/{quote(own, safe='')}", {})
    except (Trouble, ApiError):
        return  # no pod of this name, as under hostNetwork; what is wrong with the API the watch will say
    name, _, value = group.selector.partition("=")
    label = pod_json.label(pod, name)
    if label != value:
        said = f"the label {name}={label}" if label is not None else f"no label {name}"
        variable = "JOB_NAME" if group.role is Role.NODE else "LAUNCHER_GANG"
        raise SettingsError([f"{variable}={value!r}: expected the job of this pod, {own}, which has {said}"])
