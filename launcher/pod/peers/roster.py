"""Who belongs to the gang, and in which order: a fold over what was last seen of the pods.

No I/O here. A peer is a pod of *this* Job by its controller's UID, Running, with an address, not being deleted.
The number that is expected comes from settings, never from what is there.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from launcher.pod.outcome import SettingsError
from launcher.pod.peers.pod_state import Group, Hold, began, missing, newest_owner, still_ending
from launcher.pod.settings.nouns import Role, Width

if TYPE_CHECKING:
    from launcher.kube.pod_json import Seen

HOSTNAME_LIMIT = 63  # a longer pod name is cut to this where it becomes the host's


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A member of the gang."""

    address: str
    name: str = ""
    uid: str = ""
    index: int | None = None
    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The complete gang, dealt: the place in a tuple is the rank in that role.

    The key is the UID of the trainers' Job, or nothing where it is not known.
    """

    pservers: tuple[Peer, ...]
    trainers: tuple[Peer, ...]
    me: Peer
    role: Role
    key: str = ""

    @property
    def rank(self) -> int:
        """This pod's rank among its own."""
        return self._ranked(self.role).index(self.me)

    @property
    def met(self) -> str:
        """The key of the gang that was complete last."""
        return self.key

    @property
    def serves(self) -> bool:
        """Whether a pserver runs in this pod, if the runtime has any."""
        return self.role is not Role.TRAINER and self.me in self.pservers

    @property
    def slots(self) -> tuple[int, ...]:
        """The trainers' completion indexes by rank, nothing where one has none."""
        indexes = tuple(peer.index for peer in self.trainers if peer.index is not None)
        return indexes if len(indexes) == len(self.trainers) else ()

    @property
    def digest(self) -> str:
        """The same on every pod that sees the same gang in the same order."""
        lines = [f"pserver {peer.address} {peer.uid}" for peer in self.pservers]
        lines += [f"trainer {peer.address} {peer.uid}" for peer in self.trainers]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    @property
    def members(self) -> tuple[tuple[Role, Peer], ...]:
        """Every member with its role, in the gang's order, its leader first."""
        roles = (Role.NODE,) if self.role is Role.NODE else (Role.TRAINER, Role.PSERVER)
        return tuple((role, peer) for role in roles for peer in self._ranked(role))

    def narrowed(self, left_out: Collection[str], width: Width, pservers: int) -> Roster | Waiting:
        """Return those who take part: of the trainers that are not left out the first ones, or why that is none.

        The others are spares, and wait. Where pservers are with the trainers, so many are in the first pods.
        """
        there = [peer for peer in self.trainers if peer.address not in left_out]
        count = width.of(len(there))
        part = tuple(there[:count])
        if count < width.least:
            return self.awaiting_more(len(there), width)
        if self.role is not Role.PSERVER and self.me not in part:
            why = "the first pod does not hear it" if self.me.address in left_out else f"{count} take part"
            return Waiting(reason=f"this pod is a spare: {why}", key=self.key, met=self.key, spare=True)
        return replace(self, pservers=part[:pservers] if self.role is Role.NODE else self.pservers, trainers=part)

    def awaiting_more(self, there: int, width: Width) -> Waiting:
        """Return that so many trainers wait for more."""
        reason = f"{there} of {width.least} to {width.most} are there: waiting for more"
        return Waiting(reason=reason, key=self.key, met=self.key)

    def name_of(self, role: Role, peer: Peer) -> str:
        """Return a member's name for people: its role and rank, and where it is."""
        where = peer.address if peer.name in ("", peer.address) else f"{peer.address}, {peer.name}"
        return f"{role} {self._ranked(role).index(peer)} ({where})"

    def _ranked(self, role: Role) -> tuple[Peer, ...]:
        return self.pservers if role is Role.PSERVER else self.trainers


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Not complete: who is missing and why, in a sentence that changes only when something did.

    The key is the roster's, as soon as it is known. `succeeded` says that a pod of the trainers' Job ended with
    success: a launcher leaves with 0 only by a verdict of success, so that the training is over. `met` is the key of
    the gang that was complete last, `until` when a wait for an earlier Job's pods is over. A `spare` is not needed.
    """

    reason: str
    running: tuple[tuple[str, str], ...] = ()
    key: str = ""
    succeeded: bool = False
    met: str = ""
    until: float = math.inf
    spare: bool = False


FoundPods = Roster | Waiting
NONE_FOUND = Waiting(reason="")


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
    groups: Mapping[Role, Group],
    seen: Mapping[Role, Collection[Seen]],
    me: Seen | None,
    role: Role,
    job_uid: str,
    before: FoundPods = NONE_FOUND,
    hold: Hold | None = None,
) -> FoundPods:
    """Return the roster when every group is complete, else who is missing and why.

    `before` is what was found before: the trainers' Job stays known after its last live pod. Until the first roster
    `hold` says which pods of other Jobs are waited for.
    """
    own = job_uid or (me.owner if me else "")
    jobs = {each: own if each is role else newest_owner(seen[each]) for each in groups}
    trainers = [*groups][-1]
    jobs[trainers] = key = jobs[trainers] or before.key
    ours = {each: tuple(pod for pod in seen[each] if pod.owner == jobs[each] != "") for each in groups}
    others = {each: tuple(pod for pod in seen[each] if not pod.owner or pod.owner != jobs[each]) for each in groups}
    found: FoundPods = Waiting(reason="this pod is not listed yet under " + groups[role].selector)
    if me:
        found = _orphaned(me, job_uid) or _deal(groups, ours, others, role, me)
    if hold and not before.met:
        found = _held(found, [pod for each in others.values() for pod in each], hold)
    if isinstance(found, Roster):
        return replace(found, key=key)
    # A pserver's Job and its trainers' follow no order: a Job that is older may be the last run's, with its verdict.
    older = role is not trainers and began(seen[trainers], key) < began(seen[role], own)
    mine = role is trainers or key == before.met
    succeeded = mine and any(pod.phase == "Succeeded" for pod in ours[trainers])
    return replace(found, key="" if older and not before.met else key, succeeded=succeeded, met=before.met)


_APART = "expected one pod on each node (a hostPort, or anti-affinity), or no hostNetwork"


def _orphaned(me: Seen, job_uid: str) -> Waiting | None:
    if not (job_uid or me.owner):
        return Waiting(reason=f"this pod ({me.name}) has no controller: expected a Job that owns it")
    if job_uid and me.owner and job_uid != me.owner:
        problem = f"LAUNCHER_JOB_UID={job_uid!r}: expected this pod's Job, {me.owner} (not the pod's own UID)"
        raise SettingsError([problem])
    return None


def _deal(
    groups: Mapping[Role, Group],
    ours: Mapping[Role, Collection[Seen]],
    others: Mapping[Role, Collection[Seen]],
    role: Role,
    me: Seen,
) -> FoundPods:
    live = {each: [pod for pod in pods if pod.live] for each, pods in ours.items()}
    reasons = [
        missing(group, ours[each], others=len(others[each]))
        for each, group in groups.items()
        if not group.enough <= len(live[each]) <= group.expected or not _indexes_differ(live[each])
    ]
    if reasons:
        running = sorted((pod.phase, pod.address) for pods in live.values() for pod in pods)
        return Waiting(reason="; ".join(reasons), running=tuple(running))
    found = {each: ordered(_peer(pod) for pod in pods) for each, pods in live.items()}
    _refuse_shared(found)
    if _peer(me) not in found[role]:
        return Waiting(reason=f"this pod ({me.name}) is not Running with an address in the API yet")
    dealt = list(found.values())
    return Roster(pservers=dealt[0], trainers=dealt[-1], me=_peer(me), role=role)


def _held(found: FoundPods, others: Iterable[Seen], hold: Hold) -> FoundPods:
    """Return what was found, or that pods of other Jobs are waited for."""
    holding = [pod for pod in others if hold.holds(pod)]
    if not holding:
        return found
    reason, until = still_ending(holding), min(hold.until(pod) for pod in holding)
    if isinstance(found, Waiting):
        return replace(found, reason=f"{found.reason}; {reason}", until=until)
    running = tuple(sorted({("Running", peer.address) for _, peer in found.members}))
    return Waiting(reason=reason, running=running, until=until)


def _peer(pod: Seen) -> Peer:
    return Peer(address=pod.address, name=pod.name, uid=pod.uid, index=pod.index, node=pod.node)


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
