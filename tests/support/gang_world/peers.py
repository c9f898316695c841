"""How a simulated launcher asks its peers: one long poll at a time to each, which may hang, be late, or be lost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from launcher.pod.gang.protocol.messages import Status
from launcher.pod.gang.protocol.state import Heard

if TYPE_CHECKING:
    from tests.support.gang_world.launcher import Launcher

PATIENCE = 2.0  # for an answer, longer than a poll may wait for news
AGAIN = 0.5  # after a refusal


@dataclass(eq=False)
class Poll:
    """A question to a peer."""

    asker: Peers
    address: str
    sent: float
    after: Status | None


@dataclass(eq=False)
class Peers:
    """What one launcher asks, what it has heard, and who waits for its own news."""

    launcher: Launcher
    heard: dict[str, Heard] = field(default_factory=dict)
    polls: dict[str, Poll] = field(default_factory=dict)
    waiting: list[Poll] = field(default_factory=list)
    published: Status | None = None

    def of(self, address: str) -> Heard:
        return self.heard.get(address, Heard())

    def watch(self, addresses: frozenset[str]) -> None:
        for address in sorted(addresses - self.polls.keys()):
            world = self.launcher.world
            poll = Poll(asker=self, address=address, sent=world.now, after=self.of(address).status)
            self.polls[address] = poll
            world.request(poll)
            self.launcher.after(world.rules.limits.wait + PATIENCE, partial(self.give_up, poll))

    def give_up(self, poll: Poll) -> None:
        """Drop a question, also because its connection broke, and ask again."""
        if self.polls.get(poll.address) is poll:
            del self.polls[poll.address]
            self.watch(self.launcher.member.watched & {poll.address})

    def hear(self, poll: Poll, status: Status) -> None:
        """Take an answer, unless it comes too late."""
        if self.polls.get(poll.address) is poll:
            former = self.of(poll.address)
            self.heard[poll.address] = replace(former, status=status, sent=poll.sent, refused=False)
            self.give_up(poll)
            if former.refused or former.status != status:
                self.launcher.nudge()

    def refused(self, poll: Poll) -> None:
        """Nobody listens there: ask again after a while."""
        if self.polls.get(poll.address) is poll:
            former = self.of(poll.address)
            self.heard[poll.address] = replace(former, refused=True)
            self.launcher.after(AGAIN, lambda: self.give_up(poll))
            if not former.refused:
                self.launcher.nudge()

    def asked(self, poll: Poll) -> None:
        """Answer with what is news to the peer, at the latest after a while."""
        if poll.after != self.published:
            self._answer(poll)
        else:
            self.waiting.append(poll)
            self.launcher.after(self.launcher.world.rules.limits.wait, lambda: self._no_news(poll))

    def _no_news(self, poll: Poll) -> None:
        if poll in self.waiting:
            self.waiting.remove(poll)
            self._answer(poll)

    def publish(self, status: Status) -> bool:
        """Show a status; return whether it is another one."""
        if self.published == status:
            return False
        self.published = status
        waiting, self.waiting = self.waiting, []
        for poll in waiting:
            self._answer(poll)
        return True

    def _answer(self, poll: Poll) -> None:
        """Write an answer; that the connection is cut, or nobody waits at its other end, is not noticed."""
        launcher = self.launcher
        if self.published:
            address = poll.asker.launcher.pod.address
            self.heard[address] = replace(self.of(address), wrote=launcher.world.now)
            launcher.world.reply(launcher.pod, poll, self.published)
