"""Peers from the Kubernetes API: the pods under the job's label, one watch for each role, one fold over all."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import tenacity

from launcher.contract import NAME, NODES_LABEL, PSERVERS_LABEL, TRAINERS_LABEL
from launcher.kube import kinds, pod_json, rbac
from launcher.kube.account import DIRECTORY, Account
from launcher.kube.packaged import packaged_server
from launcher.kube.pod_json import Seen
from launcher.kube.refusals import ApiRefused, ApiUnreachable, KubeError, Unusable
from launcher.kube.transport import Transport
from launcher.kube.watch import Watch, WatchPatience
from launcher.pod.gang.protocol import lease
from launcher.pod.log import Tell
from launcher.pod.outcome import ApiError, Revoked, SettingsError
from launcher.pod.peers.addresses import local
from launcher.pod.peers.gather import Rosters, gather
from launcher.pod.peers.pod_state import Group, Hold, leaving_since
from launcher.pod.peers.roster import FoundPods, own_pod, settle
from launcher.pod.peers.seeking import Seeking
from launcher.pod.peers.sources import Source
from launcher.pod.settings.nouns import Role, Settings

# Nothing in such a request can get better by itself.
_HOPELESS = frozenset({400, 403, 405, 406, 415, 422})

# Half of each wait is fixed and half is luck: 0.1 to 0.2 s at first, 5 to 10 s at last. So many pods that lose
# the API together come back apart, and a server that fails at once is asked 8 times in 20 s, not 50,000.
BACK_OFF = tenacity.wait_exponential(multiplier=0.1, max=5) + tenacity.wait_random_exponential(multiplier=0.1, max=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiLimits:
    """Seconds: to connect, of silence on a connection, after which the server is to end a watch by itself, and
    after which a refusal is tried again while the gang runs.

    The silence that is borne is longer than a healthy watch lasts, so that a dead connection is noticed in a
    minute even where something on the way answers the kernel's keep-alive probes.
    """

    connect: float = 5.0
    silence: float = 55.0
    watch: int = 45
    again: float = 10.0


LIMITS = ApiLimits()


class PodApi:
    """The pods of the job's namespace, as this pod's account sees them."""

    def __init__(self, directory: Path, environ: Mapping[str, str], namespace: str, limits: ApiLimits) -> None:
        """Read the account in a directory; nothing is sent yet."""
        try:
            self.account = Account.read(directory, environ)
            self.transport = Transport(
                packaged_server(self.account.configuration, environ), agent=NAME, connect=limits.connect,
                silence=limits.silence,
            )  # fmt: skip
        except Unusable as error:
            raise ApiError(
                f"{error} Expected a service account in {directory}: set automountServiceAccountToken: true, "
                "or LAUNCHER_PEERS=dns:NAME, which needs none"
            ) from error
        self.namespace = namespace or _namespace(self.account)
        self.limits = limits

    def pods(
        self, selector: str, stop: threading.Event, trouble: Callable[[str], None]
    ) -> Iterator[tuple[Seen, ...]]:
        """Yield all pods under a selector, and again whenever one may have changed, until told to stop."""
        path = kinds.path("Pod", self.namespace)
        watch = Watch(
            transport=self.transport, path=path, selector=selector, read=pod_json.seen, seconds=self.limits.watch,
            cached=True,
        )  # fmt: skip

        def heed(error: BaseException, _attempt: int) -> None:
            if isinstance(error, ApiRefused) and error.status == 401:
                with suppress(Unusable):  # the next request meets it again, and says so
                    self.account.reload()
            trouble(str(error))

        with self._as_api_errors():
            yield from watch.changes(WatchPatience(passes=_passes, heed=heed, wait=BACK_OFF, stop=stop))

    def check_label(self, group: Group, own: str) -> None:
        """Refuse to wait for the pods of another job than this pod's own."""
        try:
            pod = self.transport.document("GET", kinds.path("Pod", self.namespace, own))
        except KubeError:
            return  # no pod of this name, as under hostNetwork; what is wrong with the API the watch will say
        name, _, value = group.selector.partition("=")
        label = pod_json.label(pod, name)
        if label != value:
            said = f"the label {name}={label}" if label is not None else f"no label {name}"
            variable = "JOB_NAME" if group.role is Role.NODE else "LAUNCHER_GANG"
            raise SettingsError([f"{variable}={value!r}: expected the job of this pod, {own}, which has {said}"])

    @contextmanager
    def _as_api_errors(self) -> Iterator[None]:
        """Turn the API's errors into those with the pod's exit code."""
        try:
            yield
        except ApiRefused as refused:
            if refused.status != 403:
                raise ApiError(str(refused)) from refused
            kind = Revoked if refused.before else ApiError
            raise kind(rbac.missing_right(refused.message, self.namespace)) from refused
        except KubeError as error:
            raise ApiError(str(error)) from error


def rosters(
    settings: Settings,
    tell: Tell,
    _seeking: Seeking,
    *,
    account: Path = DIRECTORY,
    environ: Mapping[str, str] = os.environ,
    hostname: Callable[[], str] = socket.gethostname,
    addresses: Callable[[], frozenset[str]] = local,
    limits: ApiLimits = LIMITS,
    over: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Rosters:
    """Yield the roster whenever the API shows every expected pod running, else who is missing.

    The first one waits until the pods of an earlier Job of the name have ended.
    """
    api = PodApi(account, environ, settings.namespace, limits)
    groups = wanted(settings)
    name = hostname()
    mine = frozenset({settings.address}) if settings.address else addresses()
    for group in groups.values():
        tell("peers_wanted", selector=group.selector, desired=group.expected)

    leaving: dict[str, float] = {}
    beyond = _beyond(settings)

    def fold(seen: Mapping[str, tuple[Seen, ...]], before: FoundPods) -> FoundPods:
        nonlocal leaving
        every = {role: seen[role] for role in groups}
        me, now = own_pod(every[settings.role], name, mine), clock()
        leaving = leaving_since(leaving, chain(*every.values()), now)
        hold = Hold(now=now, since=leaving, beyond=beyond)
        return settle(groups, every, me, settings.role, settings.job_uid, before, hold)

    def source(group: Group) -> Source[tuple[Seen, ...]]:
        own = name if group.role is settings.role else ""
        return lambda over, trouble: _watched(api, group, own, over, trouble)

    sources = {str(role): source(group) for role, group in groups.items()}
    try:
        yield from gather(
            sources, fold, tell, seconds=settings.timing.join, in_trouble=ApiError, again=limits.again, over=over,
            clock=clock,
        )  # fmt: skip
    finally:
        api.transport.hang_up()


def wanted(settings: Settings) -> dict[Role, Group]:
    """Return whom to wait for, pservers first."""
    least, most = settings.width.least, settings.width.most_pods
    if not settings.separated:
        selector = f"{NODES_LABEL}={settings.job}"
        return {Role.NODE: _group(Role.NODE, selector, most, settings.counted_by, least)}
    return {
        Role.PSERVER: _group(Role.PSERVER, f"{PSERVERS_LABEL}={settings.gang}", settings.pservers, "PSERVERS"),
        Role.TRAINER: _group(Role.TRAINER, f"{TRAINERS_LABEL}={settings.gang}", most, settings.counted_by, least),
    }


def _beyond(settings: Settings) -> float:
    """Return how long after its grace a pod's programs may run at most, where the record of runs looks on from there.

    A pod of a node that is gone stays listed as being deleted for ever.
    """
    timing = settings.timing
    limits = lease.limits_of(peer=timing.peer, join=timing.join, rejoin=timing.rejoin)
    return lease.strangers_until(0.0, limits) if settings.recorded else math.inf


def _group(role: Role, selector: str, expected: int, counted_by: str, least: int = 0) -> Group:
    return Group(role=role, selector=selector, expected=expected, counted_by=counted_by, least=least)


def _watched(
    api: PodApi, group: Group, own: str, over: threading.Event, trouble: Callable[[str], None]
) -> Iterator[tuple[Seen, ...]]:
    for seen in api.pods(group.selector, over, trouble):
        if own and all(pod.name != own for pod in seen):
            api.check_label(group, own)
        own = ""
        yield seen


def _namespace(account: Account) -> str:
    try:
        return account.namespace()
    except Unusable as error:
        raise SettingsError([f"JOB_NAMESPACE is not set, and {error}: set JOB_NAMESPACE"]) from error


def _passes(error: BaseException) -> bool:
    """Return whether trying again may help, also with a token: the kubelet takes a minute to renew it."""
    refused = isinstance(error, ApiRefused) and error.status not in _HOPELESS
    return refused or isinstance(error, (ApiUnreachable, Unusable))
