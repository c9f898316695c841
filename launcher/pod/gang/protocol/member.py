"""One member of a gang: what it says of itself, what it keeps as a leader, and what it is to do next.

No I/O here. Time, news and the record's facts come in, a status and orders go out. So the whole protocol can be
driven through any order of events without a socket, a clock or a volume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat

from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.follower import MayRun, Orders, awaits_record, ended, follow, leased, renewals
from launcher.pod.gang.protocol.leader import due_again, lead
from launcher.pod.gang.protocol.leader_state import Lead
from launcher.pod.gang.protocol.lease import Fence
from launcher.pod.gang.protocol.messages import (
    Alarm,
    Failure,
    Generation,
    LeaderMessage,
    Marks,
    Phase,
    StackDigest,
    Stage,
    Status,
    Trainer,
    Who,
)
from launcher.pod.gang.protocol.planned import width
from launcher.pod.gang.protocol.state import Heard, Recorded, Rules, TrainerState, View
from launcher.pod.gang.protocol.trust import believed
from launcher.pod.outcome import Outcome
from launcher.pod.programs.policy import soonest


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The complete gang as this launcher sees it: the members' addresses, the leader's first, and their names."""

    addresses: tuple[str, ...]
    digest: str
    names: Mapping[str, str] = field(default_factory=dict)


NOBODY = Order(addresses=(), digest="")


@dataclass(slots=True, kw_only=True)
class Member:
    """What one launcher knows of its gang; `look` is asked whenever something may have changed."""

    status: Status
    rules: Rules
    order: Order = NOBODY
    newest: Order = NOBODY  # that there would be now: while it is engaged it keeps its own
    listed: Mapping[str, float] = field(
        default_factory=dict
    )  # trainers' pods by rank, and since when; where it varies
    lead: Lead = field(default_factory=Lead)
    last: Generation | None = None  # that this member took part in
    fence: Fence = field(default_factory=Fence)
    rival: tuple[str, ...] = ()  # the leader of a later gang, that has replaced this one
    run: MayRun = MayRun.NOTHING
    begun: int = 0  # the last generation of which it may have run a program
    renewed: Mapping[str, float] = field(default_factory=dict)  # its lease: by boot, when it was renewed last
    looked: float | None = None
    heard: Mapping[str, Heard] = field(default_factory=dict)  # at the last look, without what strangers say
    awaits_record: bool = False  # of a generation that it would take part in
    wanted: int = 0  # looks at all stacks that the desk has asked for here

    @property
    def led(self) -> bool:
        """Whether this member led the last generation that it took part in."""
        return self.last is not None and self.last.members[0].boot == self.status.who.boot

    @property
    def leads(self) -> bool:
        """Whether this member is the first of the complete order."""
        return self.order.addresses[:1] == (self.status.who.address,)

    @property
    def watched(self) -> frozenset[str]:
        """Whose statuses it needs: as leader those of all, else the leader's; and of those it led, or that led it."""
        own = self.status.who.address
        wanted = set(self.order.addresses if self.leads else self.order.addresses[:1])
        wanted.update(self.rival)
        wanted.update((*self.newest.addresses, *self.listed) if self.leads else self._before_me)
        if self.last:
            wanted.update(who.address for who in (self.last.members if self.led else self.last.members[:1]))
        return frozenset(wanted - {own})

    @property
    def _before_me(self) -> Sequence[str]:
        """Which listed pods it hears: those up to the first that is there, or all where it is the first itself."""
        for place, address in enumerate(self.listed):
            if address == self.status.who.address:
                return tuple(self.listed)
            if address not in self.status.left_out:
                return tuple(self.listed)[: place + 1]
        return tuple(self.listed)

    @property
    def counter(self) -> int | None:
        """Which of its run's counters this member moves: the leader's, or the second's, while programs may run."""
        first = [who.boot for who in self.last.members[:2]] if self.last else []
        if self.status.who.boot not in first:
            return None
        running = self.status.ready or self.status.children or (self.led and not self.status.quiet)
        return first.index(self.status.who.boot) if running else None

    @property
    def rested(self) -> int:
        """The number of the generation that it led, once nothing of it runs; else 0."""
        return self.last.number if self.last and self.led and self.counter is None else 0

    @property
    def taking_part(self) -> Generation:
        """The generation that it is ready for."""
        if self.last is None:
            raise RuntimeError("a member that is ready has taken part in something")
        return self.last

    @property
    def engaged(self) -> bool:
        """Whether it is in a generation, or about to give the verdict, and so does not take another order."""
        return bool(self.status.ready or self.status.children or self.lead.sealing)

    def meet(self, order: Order, who: Who, *, rank: int | None, key: str) -> None:
        """Take the complete order, or NOBODY while it is incomplete; not while engaged."""
        if self.lead.sealing:  # those whom it led hear the verdict from it, also when one of them is gone
            return
        self.order = order
        self.status = replace(
            self.status,
            who=who,
            rank=rank,
            key=key or self.status.key,
            digest=order.digest,
            staged=False,
            surveyed=False,
        )

    def lists(self, trainers: Sequence[str], now: float) -> None:
        """Take which trainers' pods are listed now, in the order of their ranks."""
        self.listed = {address: self.listed.get(address, now) for address in trainers}

    def disband(self) -> None:
        """Drop the order: a pod is missing."""
        if self.order != NOBODY:
            self.meet(NOBODY, self.status.who, rank=self.status.rank, key=self.status.key)

    def mark(self, marks: Sequence[Marks], staged_bytes: int, looked_at: int) -> None:
        """Say what the trainers here said, and how far staging is."""
        pairs = zip(self.status.trainers, marks, strict=True)
        told = [Trainer.saying(its, trainer.waits, trainer.trained) for trainer, its in pairs]
        self._say(staged_bytes=staged_bytes, looked_at=looked_at, **Status.fields_of(told))

    @property
    def word(self) -> LeaderMessage | None:
        """The leader's word as it was heard last."""
        if self.leads or not self.order.addresses:
            return self.status.word
        status = self.heard.get(self.order.addresses[0], Heard()).status
        return status.word if status else None

    @property
    def calm(self) -> bool:
        """Whether no program runs in the gang, by the leader's word: all have ended, or none was started yet.

        The second is for a member that takes its order anew while the others get ready: it has to look again.
        """
        word = self.word
        return word is not None and (word.calm or word.stage is Stage.READYING)

    def answers_for(self, record: Recorded) -> bool:
        """Return whether programs of those whom this member led may still run, on its answers alone.

        Once it is overtaken it answers no more: they end with their lease.
        """
        last = self.last
        return self.led and not self.status.quiet and last is not None and record.highest <= last.number

    def waited_for(self, now: float) -> bool:
        """Return whether a member of this leader's generation may still have to hear the verdict, or end."""
        for who in self.last.members if self.last else ():
            known = self.heard.get(who.address, Heard())
            status = known.status
            here = known.is_of(who.boot) and not known.refused
            silent = lease.silent(known, now, self.rules.limits)
            if here and not silent and status and (status.ready or status.phase not in (Phase.DONE, Phase.FAILED)):
                return True
        return False

    def furnished(self) -> None:
        """Say that the data for this order is there."""
        self.status = replace(self.status, staged=True)

    def staged(self, passes: tuple[int, ...] | None) -> None:
        """Say that the data for this order is there, and which complete passes are seen."""
        self.status = replace(self.status, staged=True, surveyed=True, passes=passes)

    def fail(self, failure: Failure) -> None:
        """Say what went wrong here; the first failure of a generation stands."""
        if self.status.failure is None or self.status.failure.generation != failure.generation:
            self.status = replace(self.status, failure=failure)

    def stop(self, *, first: bool = True) -> None:
        """Say that this launcher was told to stop, and in which generation, if nothing had ended that before.

        That may be one which it has made, or is about to, and that nobody has begun.
        """
        made = self.lead.tried if self.leads and self.lead.tried > self.status.known else 0
        stopped = ((self.status.ready or made) if first else 0) or self.status.stopped
        self.status = replace(self.status, stopping=True, stopped=stopped)

    def report(
        self,
        *,
        children: bool,
        serving: bool,
        trained: bool,
        checked: bool = False,
        trainers: Sequence[TrainerState] = (),
        alarms: tuple[Alarm, ...] = (),
        looked: int = 0,
        standing: tuple[StackDigest, ...] = (),
    ) -> None:
        """Say how the children of this generation are; of trainers that nothing is told of there are none yet."""
        number = self.status.ready
        pairs = zip(self.status.trainers, chain(trainers, repeat(TrainerState())), strict=False)
        told = [Trainer.saying(each.marks, state.waits, number if state.done else 0) for each, state in pairs]
        self._say(
            children=number if children else 0,
            serving=number if serving else 0,
            trained=number if trained else 0,
            checked=number if checked else 0,
            alarms=alarms,
            looked=looked,
            standing=standing,
            **Status.fields_of(told),
        )

    def rest(self) -> None:
        """Say that nothing of this generation runs here any more."""
        self.run = MayRun.NOTHING
        self.report(children=False, serving=False, trained=False)
        self.status = replace(self.status, ready=0, staged=False, surveyed=False)

    def hear(self, heard: Mapping[str, Heard]) -> None:
        """Take what the peers said by now, without what strangers say."""
        self.heard = believed(heard, self.status)

    def look(self, now: float, heard: Mapping[str, Heard], record: Recorded) -> Orders:
        """Return what to do now; `status` is then the one to publish."""
        self.hear(heard)
        view = self._view(now, record)
        asleep = self.looked is not None and now > lease.lost_at(self.looked, self.rules.limits)
        self.looked = now
        self.fence = self._fence(view)
        word = None
        until = self.fence.until if self.fence.until > now else None
        left_out = width.pods_left_out(self.listed, view, self.rules)
        self._say(quiet=until is None, left_out=left_out.addresses)
        until = soonest(until, left_out.due)
        if view.leads:
            view = replace(view, mine=self.status)
            self.lead = lead(self.lead, view, self.rules)
            self.rival = (record.latest.members[0].address,) if self.lead.rival and record.latest else ()
            word = self.lead.word
            until = soonest(until, due_again(self.lead, view, self.rules))
        self._say(word=word)
        view = replace(view, mine=self.status)
        hangs_on = self.taking_part.members[: None if self.led else 1] if self.status.ready else ()
        self.renewed = renewals(hangs_on, self.renewed, view)
        orders = follow(leased(hangs_on, self.renewed, view), self.rules)
        if asleep and self.status.ready:  # another gang may have begun: kill first, then think
            ends = None if orders.verdict else ended("this pod was suspended for too long")
            orders = Orders(end=ends, verdict=orders.verdict, kill=True)
        self.awaits_record = not orders.ready and awaits_record(self.word, view, self.rules)
        self._obey(orders, view)
        return replace(orders, until=soonest(until, orders.until))

    def _say(self, **news: object) -> None:
        """Change the status where that says anything new: most looks change nothing, and a copy is most of a look."""
        if any(getattr(self.status, name) != fact for name, fact in news.items()):
            self.status = replace(self.status, **news)  # type: ignore[arg-type]

    def _obey(self, orders: Orders, view: View) -> None:
        if orders.ready and not self.status.ready:
            leader = view.of(self.order.addresses[0]).status
            self.last = leader.word.generation if leader and leader.word else None
            self.fence = Fence()
            ready = orders.ready
            restarts, regained = (self.last.restarts, self.last.regained) if self.last else (0, 0)
            self.status = replace(
                self.status, ready=ready, known=ready, restarts=restarts, regained=regained, failure=None
            )
        self.run = orders.run
        if self.run > MayRun.NOTHING:
            self.begun = self.status.ready
        word = self.word
        if word and word.cause and word.cause.told and word.number == self.status.known:
            self._say(stopped=word.number)
        self._say(phase=_phase(self.status, self.run, orders.verdict))

    def _fence(self, view: View) -> Fence:
        """Return until when a member of the last generation may still run, as far as this member must know."""
        if self.last is None or self.status.ready:
            return Fence()
        if self.led:
            return lease.leaders(self.last, self.fence, view, self.rules.limits)
        return lease.members(self.last, self.fence, view, self.rules.limits)

    def _view(self, now: float, record: Recorded) -> View:
        return View(
            now=now,
            mine=self.status,
            order=self.order.addresses,
            names=self.order.names,
            heard=self.heard,
            record=record,
            newest=self.newest.addresses,
            newest_digest=self.newest.digest,
            listed=tuple(self.listed),
            begun=self.begun,
            wanted=self.wanted,
        )


def _phase(status: Status, run: MayRun, verdict: Outcome | None) -> Phase:
    cases = (
        (status.stopping, Phase.STOPPED),
        (verdict is not None and verdict.code == 0, Phase.DONE),
        (verdict is not None or status.failure is not None, Phase.FAILED),
        (bool(status.trained), Phase.TRAINED),
        (run is MayRun.ALL, Phase.TRAINING),
        (bool(status.ready), Phase.SERVING),
        (bool(status.digest), Phase.STAGING),
    )
    return next((phase for is_so, phase in cases if is_so), Phase.JOINING)
