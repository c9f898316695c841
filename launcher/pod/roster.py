"""Who belongs to the gang, and in which order: a fold over what was last seen of the pods.

No I/O here. A peer is a pod of *this* Job by its controller's UID, Running, with an address, not being deleted.
The number that is expected comes from settings, never from what is there.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from launcher.pod.outcome import SettingsError
from launcher.pod.settings import Role

HOSTNAME_LIMIT = 63  # a longer pod name is cut to this where it becomes the host's
SHOWN = 5  # of many that are waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One pod as it was last seen."""

    name: str
    uid: str
    phase: str
    address: str = ""
    leaving: bool = False
    owner: str = ""
    created: str = ""
    hostname: str = ""
    index: int | None = None
    why: str = ""

    @property
    def live(self) -> bool:
        """Whether the pod can be a peer: running, reachable, not on its way out."""
        return self.phase == "Running" and bool(self.address) and not self.leaving

    @property
    def over(self) -> bool:
        """Whether nothing more is to come from the pod."""
        return self.leaving or self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One kind of pod that is waited for: how it is found, how many there must be, and who says so."""

    role: Role
    selector: str
    expected: int
    counted_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A member of the gang."""

    address: str
    name: str = ""
    uid: str = ""
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The complete gang, dealt: the place in a tuple is the rank in that role."""

    pservers: tuple[Peer, ...]
    trainers: tuple[Peer, ...]
    me: Peer
    role: Role

    @property
    def rank(self) -> int:
        """This pod's rank among its own."""
        return (self.pservers if self.role is Role.PSERVER else self.trainers).index(self.me)

    @property
    def digest(self) -> str:
        """The same on every pod that sees the same gang in the same order."""
        lines = [f"pserver {peer.address} {peer.uid}" for peer in self.pservers]
        lines += [f"trainer {peer.address} {peer.uid}" for peer in self.trainers]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Not complete yet: for whom, and why, in a sentence that changes only when something did."""

    reason: str
    running: tuple[tuple[str, str], ...] = ()


def ordered(peers: Iterable[Peer]) -> tuple[Peer, ...]:
    """Return the peers by rank: by completion index where every one has it, else by the text of the address.

    Text, as the first start_paddle sorted: 10.0.0.10 comes before 10.0.0.9, and existing jobs rely on it.
    """
    peers = tuple(peers)
    if all(peer.index is not None for peer in peers):
        return tuple(sorted(peers, key=lambda peer: (peer.index or 0, peer.address)))
    return tuple(sorted(peers, key=lambda peer: peer.address))


def own_pod(seen: Iterable[Seen], hostname: str, addresses: Collection[str]) -> Seen | None:
    """Return this process's own pod: the one named as the host, else the only one at an address of mine."""
    here = [pod for pod in seen if not pod.over]
    named = [pod for pod in here if hostname in (pod.name[:HOSTNAME_LIMIT].rstrip("-."), pod.name, pod.hostname)]
    placed = [pod for pod in here if pod.address and pod.address in addresses]
    both = [pod for pod in named if pod in placed]
    found = both or named or placed
    if len(found) > 1:
        names = ", ".join(sorted(pod.name for pod in found))
        raise SettingsError([f"cannot tell which pod this is: {names} {_shared(found)}; {_APART}"])
    return found[0] if found else None


def settle(
    groups: Mapping[Role, Group], seen: Mapping[Role, Collection[Seen]], me: Seen | None, role: Role, job_uid: str
) -> Roster | Waiting:
    """Return the roster when every group is complete, else for whom to wait and why."""
    if me is None:
        return Waiting(reason="this pod is not listed yet under " + groups[role].selector)
    if not (job_uid or me.owner):
        return Waiting(reason=f"this pod ({me.name}) has no controller: expected it to be made by a Job")
    if job_uid and me.owner and job_uid != me.owner:
        problem = f"LAUNCHER_JOB_UID={job_uid!r}: expected this pod's Job, {me.owner} (not the pod's own UID)"
        raise SettingsError([problem])
    found: dict[Role, tuple[Peer, ...]] = {}
    reasons, running = [], []
    for key, group in groups.items():
        owner = (job_uid or me.owner) if key is role else newest_owner(seen[key])
        ours = [pod for pod in seen[key] if owner and pod.owner == owner]
        live = [pod for pod in ours if pod.live]
        running += [(pod.phase, pod.address) for pod in live]
        if len(live) == group.expected and _indexes_differ(live):
            found[key] = ordered(_peer(pod) for pod in live)
        else:
            reasons.append(_missing(group, ours, live, others=len(seen[key]) - len(ours)))
    if reasons:
        return Waiting(reason="; ".join(reasons), running=tuple(sorted(running)))
    _refuse_shared(found)
    if _peer(me) not in found[role]:
        return Waiting(reason=f"this pod ({me.name}) is not Running with an address in the API yet")
    first, last = next(iter(found.values())), list(found.values())[-1]
    return Roster(pservers=first, trainers=last, me=_peer(me), role=role)


def newest_owner(seen: Iterable[Seen]) -> str:
    """Return the UID of the newest Job that still has a pod to come or running; a Job is as old as its oldest pod."""
    here: set[str] = set()
    began: dict[str, str] = {}
    for pod in seen:
        began[pod.owner] = min(began.get(pod.owner, pod.created), pod.created)
        if pod.owner and not pod.over:
            here.add(pod.owner)
    return max(here, key=lambda owner: (began[owner], owner), default="")


_APART = "expected one pod to a node (a hostPort, or anti-affinity), or no hostNetwork"


def _peer(pod: Seen) -> Peer:
    return Peer(address=pod.address, name=pod.name, uid=pod.uid, index=pod.index)


def _shared(pods: Collection[Seen]) -> str:
    addresses = sorted({pod.address or "no address" for pod in pods})
    return f"are all at {addresses[0]}" if len(addresses) == 1 else "all go by this host's name"


def _refuse_shared(found: Mapping[Role, Collection[Peer]]) -> None:
    for peers in found.values():
        for address, times in Counter(peer.address for peer in peers).items():
            if times > 1:
                names = ", ".join(sorted(peer.name for peer in peers if peer.address == address))
                raise SettingsError([f"{names} share the address {address}; {_APART}"])


def _indexes_differ(live: Collection[Seen]) -> bool:
    indexes = [pod.index for pod in live if pod.index is not None]
    return len(set(indexes)) == len(indexes)


def _missing(group: Group, ours: Collection[Seen], live: Collection[Seen], *, others: int) -> str:
    here = [pod for pod in ours if not pod.over]
    count = f"{len(live)} of {group.expected} {_KIND[group.role]} are running"
    if len(live) > group.expected:
        names = ", ".join(sorted(pod.name for pod in live))
        return (
            f"{len(live)} {_KIND[group.role]} are running, {group.expected} expected: waiting for one to go ({names})"
        )
    if len(live) == group.expected:
        return f"{count}, two of them with one completion index: waiting for the old one to go"
    why = [f"{pod.name} {_why(pod)}" for pod in sorted(ours, key=lambda pod: (pod.over, pod.name)) if not pod.live]
    if len(why) > SHOWN:
        why[SHOWN:] = [f"and {len(why) - SHOWN} more"]
    if len(here) < group.expected:
        why.append(f"{len(here)} pods exist, {group.expected} expected by {group.counted_by}")
    if others:
        why.append(f"{others} more have the label and are another Job's")
    return f"{count}: " + "; ".join(why)


def _why(pod: Seen) -> str:
    state = pod.why or "is " + pod.phase
    return f"does not count any more ({state})" if pod.over else state


_KIND = {Role.NODE: "pods", Role.PSERVER: "pservers", Role.TRAINER: "trainers"}
