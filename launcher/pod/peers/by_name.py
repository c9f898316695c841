"""Peers by name: host names looked up, once a second, only while one is missing or the gang seeks a member.

And once more when somebody asks this launcher whom the gang does not know: at most once a second, whoever asks.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from launcher.pod.log import Tell
from launcher.pod.peers.addresses import Resolve, Resolved, local, lookups
from launcher.pod.peers.gather import Rosters, gather
from launcher.pod.peers.name_state import Own, PeerNames, roster_by_name
from launcher.pod.peers.roster import FoundPods, Roster, Waiting
from launcher.pod.peers.seeking import Seeking
from launcher.pod.settings.nouns import Role, Settings

EVERY = 1.0
_SHOWN = 5  # of many names


def by_name(
    places: Mapping[Role, PeerNames],
    settings: Settings,
    tell: Tell,
    seeking: Seeking,
    own: Own,
    *,
    resolve: Resolve = socket.getaddrinfo,
    every: float = EVERY,
    early: float = 0.0,
    witness: str = "",
    over: threading.Event | None = None,
) -> Rosters:
    """Yield the roster, or Waiting, at each change of the addresses; the first lookup waits `early` seconds.

    The witness is a name that always resolves: where it does not either, it is DNS that is waited for.
    """

    def settled(found: Mapping[str, Resolved]) -> FoundPods:
        reason = _no_dns(found.get(witness))
        known = Waiting(reason=reason) if reason else roster_by_name(places, found, settings.role, own)
        return replace(known, key=told_key(settings))

    def look(over: threading.Event, _trouble: object) -> Iterator[FoundPods]:
        over.wait(early)
        asked = partial(lookups, resolve=resolve, over=over)
        return _look(places, settled, asked, over, seeking, every, witness)

    for place in places.values():
        tell("peers_wanted", selector=_shown(place.names), desired=place.expected)
    try:
        yield from gather(
            {"names": look}, lambda known, _: known["names"], tell, seconds=settings.timing.join, over=over
        )
    finally:
        seeking.set()  # the thread that sleeps until a peer is missing must wake and see that it is over


def told_key(settings: Settings) -> str:
    """Return the key of a gang that is known by names: the UID of the trainers' Job where this pod was told it."""
    return "" if settings.role is Role.PSERVER else settings.job_uid


def mine(told: str, here: Callable[[], frozenset[str]] = local) -> Callable[[str], bool]:
    """Return the test for this pod's own address: POD_IP where it is told, else any that this machine has."""
    if told:
        return lambda address: address == told
    held = here()
    # The whole of 127.0.0.0/8 is every machine's own, though its interface shows but one address of it.
    return lambda address: address in held or address.startswith("127.")


def _look(
    places: Mapping[Role, PeerNames],
    settled: Callable[[Mapping[str, Resolved]], FoundPods],
    asked: Callable[[tuple[str, ...]], Iterable[tuple[str, Resolved]]],
    over: threading.Event,
    seeking: Seeking,
    every: float,
    witness: str,
) -> Iterator[FoundPods]:
    names = tuple(dict.fromkeys(name for place in places.values() for name in place.names))
    answers: dict[str, Resolved] = {}
    due, met = names, False
    while True:
        seeking.begin()
        answers.update(asked(due))
        if due != names and not over.is_set() and all(place.has_enough(answers) for place in places.values()):
            # What was found first may have been replaced while the last was waited for.
            answers.update(asked(names))
        answers.pop(witness, None)
        if witness and not any(answers[name].addresses for name in names):
            answers.update(asked((witness,)))
        if over.is_set():
            return
        yield (state := settled(answers))
        over.wait(every)  # whoever asks, and whatever is missing
        if isinstance(state, Roster) and not seeking.is_set():
            seeking.wait()
        met = met or isinstance(state, Roster)
        # A name may lead to a pod that is gone: a peer that is missing after the start may be behind any of them.
        due = names if met else _missing(places, answers) or names


def _no_dns(witness: Resolved | None) -> str:
    if witness is None or witness.addresses:
        return ""
    look = "`kubectl -n kube-system get pods -l k8s-app=kube-dns` shows its servers"
    return f"the cluster's DNS does not answer: {witness.why}, nor does any name of this job; {look}"


def _missing(places: Mapping[Role, PeerNames], found: Mapping[str, Resolved]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for place in places.values() for name in place.lacking(found)))


def _shown(names: tuple[str, ...]) -> str:
    return ",".join(names[:_SHOWN]) + (",..." if len(names) > _SHOWN else "")
