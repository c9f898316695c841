"""Many members of one gang in one process: real wire, real `Member`, a socket and an address for each, no children.

    python -m bench.swarm_members FIRST COUNT SIZE LEADER

Does what it reads (`stage N`: all but the last N have their data; `fail`: the last one's trainer fails), and writes
what all of its members have come to, and when. LEADER is the leader's status, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial

from launcher.contract import STATUS_PORT
from launcher.pod.descriptors import take_all
from launcher.pod.gang.protocol import codec, lease
from launcher.pod.gang.protocol.follower import MayRun, Orders
from launcher.pod.gang.protocol.member import Member, Order
from launcher.pod.gang.protocol.messages import Failure, Stage, Status, Who
from launcher.pod.gang.protocol.state import Limits, Recorded, Rules
from launcher.pod.gang.status import client
from launcher.pod.gang.status.client import Asking, Poller
from launcher.pod.gang.status.loop import BACKLOG
from launcher.pod.gang.status.members import page_of
from launcher.pod.gang.status.pages import Reply, sentence_reply
from launcher.pod.gang.status.peer_states import PeerStates
from launcher.pod.gang.status.publisher import Publisher
from launcher.pod.gang.status.rooms import rooms_for
from launcher.pod.gang.status.server import Asked, Patience, Server
from launcher.pod.settings.nouns import Role

FAULT = 17

Reached = Callable[[str], None]


def address_of(number: int) -> str:
    """Return a member's address: the leader's, number 0, is the first as text, too."""
    return "127.77.0.1" if number == 0 else f"127.77.{1 + number // 250}.{1 + number % 250}"


def addresses(size: int) -> list[str]:
    """Return all addresses in rank order."""
    return sorted(address_of(number) for number in range(size))


def rules_of(peer: float) -> Rules:
    """Return the rules of a real launcher with this peer time-out."""
    limits = lease.limits_of(peer=peer, join=600.0, rejoin=900.0)
    return Rules(limits=limits, restarts=3, grace=lease.grace(25.0, limits))


class Heard(PeerStates):
    """What a member heard, and when an answer first told of a failure."""

    def __init__(self, nudge: Callable[[], None], reached: Reached) -> None:
        super().__init__(nudge)
        self._reached = reached

    def answered(self, address: str, status: Status, sent: float) -> None:
        """Note it, before anything is decided on it."""
        if status.word and status.word.cause:
            self._reached("told of the fault")
        super().answered(address, status, sent)


class SwarmMember:
    """One member, on the loop that it shares."""

    def __init__(self, address: str, order: Order, leader: Status, reached: Reached) -> None:
        rules = rules_of(leader.peer_timeout)
        who = Who(role=Role.NODE, address=address, uid="", boot=secrets.token_hex(8))
        self._reached = reached
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Handle | None = None
        self.peers = Heard(self._soon, reached)
        self.member = Member(
            status=Status(who=who, gang=leader.gang, peers=leader.peers, peer_timeout=leader.peer_timeout, lone=True),
            rules=rules,
        )
        self.member.meet(order, who, rank=order.addresses.index(address), key="")
        self.publisher = Publisher(self.member.status, rules.limits, self.peers, lambda status: status)
        self.server = Server(
            self._answer, member=self.peers.member, rooms=rooms_for(len(order.addresses)), patience=Patience()
        )

    async def start(self) -> None:
        """Serve, and poll the leader."""
        address, leader = self.member.status.who.address, self.member.order.addresses[0]
        self.listener = await asyncio.start_server(self.server.meet, address, STATUS_PORT, backlog=BACKLOG)
        self.peers.keep([leader])
        limits: Limits = self.member.rules.limits
        asking = Asking(source=address, boot=self.member.status.who.boot, port=STATUS_PORT, wait=limits.wait)
        self.polling = asyncio.create_task(Poller(leader, asking, self.peers, _tell).run())
        self.look()

    def stage(self) -> None:
        """Have the data."""
        self.member.staged(None)
        self.look()

    def fail(self) -> None:
        """Have a trainer that fails."""
        who, number = self.member.status.who, self.member.status.ready
        self.member.fail(
            Failure(generation=number, code=FAULT, reason=f"the trainer exited with {FAULT}", address=who.address)
        )
        self.look()

    def look(self) -> None:
        """Decide until nothing follows any more, and publish."""
        before = None
        while self.member.status != before:
            before = self.member.status
            orders = self.member.look(time.monotonic(), self.peers.snapshot(), Recorded())
            self._act(orders)
        if self.publisher.take(self.member.status):
            self.publisher.wake()
        if self._woken:
            self._woken.cancel()
        self._woken = None
        if orders.until is not None:
            self._woken = self._loop.call_at(orders.until + 0.001, self.look)

    def _act(self, orders: Orders) -> None:
        word = self.member.word
        if word and word.stage is Stage.READYING:
            self._reached("told of the generation")
        if orders.end:
            if not (word and word.cause and word.cause.code == FAULT):
                sys.exit(f"{self.member.status.who.address} ended before there was a fault: {orders.end.reason}")
            self._reached("looked at the fault")
            self.member.rest()
        elif orders.ready and orders.run:
            self.member.report(children=True, serving=True, trained=False)
            if orders.run is MayRun.ALL:
                self._reached("training")

    def _soon(self) -> None:
        if self._woken:
            self._woken.cancel()
        self._woken = self._loop.call_soon(self.look)

    async def _answer(self, asked: Asked) -> Reply:
        return await self.publisher.answer(asked) if asked.path == "/status" else sentence_reply(404, "no page")


class Swarm:
    """All members here, and what they have come to."""

    def __init__(self, first: int, count: int, size: int, leader: Status) -> None:
        order = Order(addresses=tuple(addresses(size)), digest=leader.digest)
        self._counts: Counter[str] = Counter()
        self._seen: set[tuple[int, str]] = set()
        own = [address_of(number) for number in range(first, first + count)]
        self.members = [
            SwarmMember(each, order, leader, partial(self._reached, number)) for number, each in enumerate(own)
        ]

    def _reached(self, number: int, what: str) -> None:
        if (number, what) in self._seen:
            return
        self._seen.add((number, what))
        self._counts[what] += 1
        if self._counts[what] == len(self.members):
            _say(what)

    def do(self, line: str) -> None:
        """Do what was read."""
        word, _, number = line.strip().partition(" ")
        members = self.members[: len(self.members) - int(number or 0)]
        if word == "stage":
            for each in members:
                if not each.member.status.staged:
                    each.stage()
        elif word == "fail":
            self.members[-1].fail()
        _say(f"did {word}")


def _say(what: str) -> None:
    print(json.dumps({"what": what, "at": time.monotonic()}), flush=True)


def _tell(event: str, **facts: object) -> None:
    print(event, facts, file=sys.stderr, flush=True)


async def main() -> None:
    """Bring up the members, then do what is read until the end."""
    first, count, size, leader = sys.argv[1:]
    take_all()
    # Each pod reads the page of members once, with a processor of its own: hundreds of them here would stand still.
    setattr(client, "page_of", cache(page_of))  # noqa: B010  # another module's
    swarm = Swarm(int(first), int(count), int(size), codec.decode(leader.encode()))
    for each in swarm.members:
        await each.start()
    _say("up")
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        swarm.do(line.decode())


if __name__ == "__main__":
    asyncio.run(main())
