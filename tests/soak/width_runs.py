"""One run of the soak of widths: a gang of real launchers, who comes and goes, and what has to be so at its end."""

from __future__ import annotations

import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.runs import BOUND, BUDGET, KILLED, STOPPED
from tests.soak.width_checks import Change, changes, costs_wrong, ranks_wrong, shards_wrong, steps_wrong, undisturbed
from tests.soak.width_plans import AGAIN, ASKS, DARK, LOSSES, Turn, WidthPlan
from tests.support.gangs import Gang, gang
from tests.support.histories import TRAINER
from tests.support.launchers import Launcher
from tests.support.lives import CHILDREN
from tests.support.outcomes import DONE
from tests.support.pods import JOB
from tests.support.volume import lay_out

COMMAND = (sys.executable, "-S", str(CHILDREN / "resized.py"))
MORE = 50  # steps, from when it is known which is the last
DARK_FOR = 5.0  # seconds after the last turn no pod is shown any more that nobody hears
ENV = {
    "LAUNCHER_RUNTIME": "env",
    "LAUNCHER_SETTLE": "1",
    "LAUNCHER_SHRINK_AFTER": "2",
    "LAUNCHER_PEER_TIMEOUT": "3",
    "LAUNCHER_MAX_RESTARTS": str(BUDGET),
    "CONF_PADDLE_GRADIENT_NUM": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthResult:
    """What came of a run: which turns it had, its changes, and how long it took."""

    seed: int
    had: tuple[str, ...]
    changes: tuple[Change, ...]
    restarts: int
    seconds: float


@dataclass(slots=True, kw_only=True)
class Pods:
    """The pods of a Job, by their slots; those that nobody hears and that are shown; and those that are ending."""

    g: Gang
    until: float
    here: dict[int, Launcher] = field(default_factory=dict)
    dark: dict[int, Launcher] = field(default_factory=dict)
    ending: list[Launcher] = field(default_factory=list)
    may: dict[int, set[int]] = field(default_factory=lambda: defaultdict(lambda: {0}))  # which codes, by id
    had: list[str] = field(default_factory=list)

    def begin(self, slots: Sequence[int]) -> None:
        """Start the first pods."""
        self.g.start(*slots)
        self.here = dict(zip(slots, self.g.places, strict=True))

    def wait(self, check: Callable[[], object], until: float | None = None) -> None:
        """Wait until this is so or that time has come, and hide who has ended meanwhile."""
        while not check() and (until is None or time.monotonic() < until):
            assert time.monotonic() < self.until, f"no end within {BOUND:g} s"
            self._hide_ended()
            time.sleep(0.01)

    def take(self, turn: Turn) -> None:
        """Let a turn happen, to those who have not ended."""
        goers = [(slot, self.here[slot]) for slot in turn.goes]
        for _, each in goers:  # what is sent to a process 1 that does not listen yet is lost
            self.wait(lambda each=each: each.events() or each.code is not None)  # type: ignore[misc]  # bound now
        if turn.goes and all(each.code is not None for _, each in goers):
            return  # they have their verdict
        self.had.append(turn.kind)
        for slot, each in goers:
            LOSES.get(turn.kind, Pods.tell)(self, slot, each, turn)
        self.wait(lambda: False, time.monotonic() + turn.lasts)
        for slot in turn.comes:
            self.come(slot, turn)

    def come(self, slot: int, turn: Turn | None = None) -> None:
        """Let a pod come, or a launcher again in its pod."""
        if turn and turn.kind == AGAIN:
            self.here[slot] = self.g.again(self.g.places.index(self.here[slot]))
            return
        if slot in self.dark:
            self.g.hide(self.dark.pop(slot))
        self.here[slot] = self.g.join(slot)

    def tell(self, slot: int, each: Launcher, turn: Turn) -> None:
        """Tell a pod to stop, as its deletion does."""
        self.may[id(each)].add(STOPPED)
        self._gone(slot)
        with suppress(ProcessLookupError):
            each.send(signal.SIGTERM)
        if turn.lingers:
            self.g.fade(slot, each)
            self.ending.append(each)
        else:
            self.g.hide(each)

    def lose(self, slot: int, each: Launcher, turn: Turn) -> None:
        """Kill a launcher, and all with it; whether its pod is shown is the turn's kind."""
        self.may[id(each)].update(KILLED)
        with suppress(ProcessLookupError):
            each.kill()
        each.life.process.wait(10)
        if turn.kind == AGAIN:
            return
        self._gone(slot)
        if turn.kind == DARK:
            self.dark[slot] = each
        else:
            self.g.hide(each)

    def lighten(self) -> None:
        """Show no pod any more that nobody hears."""
        while self.dark:
            self.g.hide(self.dark.popitem()[1])

    def over(self) -> bool:
        """Return whether all launchers that were left have ended."""
        return bool(self.g.places) and None not in [each.code for each in self.g.places]

    def _gone(self, slot: int) -> None:
        self.g.places.remove(self.here.pop(slot))

    def _hide_ended(self) -> None:
        for each in [each for each in self.ending if each.code is not None]:
            self.ending.remove(each)
            self.g.hide(each)


LOSES: Mapping[str, Callable[[Pods, int, Launcher, Turn], None]] = dict.fromkeys(LOSSES, Pods.lose)


def run_widths(plan: WidthPlan, top: Path) -> WidthResult:
    """Let a gang's width change as a plan says, and hold all that has to be so."""
    begun = time.monotonic()
    lay_out(top / "volume" / JOB, {f"data/{each}/part-{each}": f"{each}" for each in range(plan.shards)})
    with gang(
        plan.slots,
        top,
        api=not plan.dns,
        names=plan.dns,
        process_one=True,
        indexed=plan.indexed,
        start=False,
        command=COMMAND,
        env=_env(plan),
    ) as g:
        pods = Pods(g=g, until=begun + BOUND)
        pods.begin(plan.first)
        _turn(g, plan, pods)
        _check(g, plan, pods)
    return WidthResult(
        seed=plan.seed,
        had=tuple(pods.had),
        changes=_changes(g, plan),
        restarts=max(each["restarts"] for each in g.events("generation_made")),
        seconds=time.monotonic() - begun,
    )


def _env(plan: WidthPlan) -> dict[str, str]:
    settings = {
        "MEMBERS": f"{plan.least}:{plan.most}",
        "UNIT": plan.unit,
        "SPARES": plan.spares,
        "RESIZE": plan.resize,
        "GRACE": plan.grace,
    }
    return {**ENV, **{f"LAUNCHER_{name}": str(value) for name, value in settings.items()}, "RESIZED": plan.program}


def _turn(g: Gang, plan: WidthPlan, pods: Pods) -> None:
    """Let all turns happen, then let there be enough, and wait for the end."""
    if not plan.early and len(plan.first) >= plan.begins:
        pods.wait(lambda: g.trace("start"))
    for number, turn in enumerate(plan.turns, start=1):
        pods.wait(lambda: False, time.monotonic() + turn.after)
        if plan.races and number == len(plan.turns):
            _say_last(g, MORE // 5)
        pods.take(turn)
    enough = plan.least + -plan.least % plan.unit if g.events("generation_made") else plan.begins
    empty = [slot for slot in range(plan.slots) if slot not in pods.here]
    for slot in empty[: max(0, max(enough, plan.last) - len(pods.here))]:
        pods.come(slot)
    _say_last(g, MORE)
    pods.wait(pods.over, time.monotonic() + DARK_FOR)
    pods.lighten()
    pods.wait(pods.over)
    pods.wait(lambda: all(each.code is not None for each in g.all))


def _say_last(g: Gang, more: int) -> None:
    """Say which step is the last one: so many after those that were made."""
    if (g.top / "last").exists():
        return
    made = max((each["step"] for each in g.trace("step")), default=0)
    (g.top / "last.new").write_text(str(made + more))
    (g.top / "last.new").rename(g.top / "last")


def _changes(g: Gang, plan: WidthPlan) -> tuple[Change, ...]:
    return tuple(changes(g.events("generation_made"), g.trace("step"), asked=plan.program == ASKS))


def _check(g: Gang, plan: WidthPlan, pods: Pods) -> None:
    code, message = g.verdict()
    assert (code, message) == (0, DONE), f"not done: {code}, {message}"
    for each in g.all:
        assert each.code in pods.may[id(each)], f"{each.name} ended with {each.code}"
    steps = int((g.top / "last").read_text())
    assert {each["state"] for each in g.trace("end")} == {undisturbed(steps)}, "another model than undisturbed"
    made, lives = g.events("generation_made"), [life for life in g.history() if life.role == TRAINER]
    wrong = [*ranks_wrong(made, lives, plan), *shards_wrong(g.trace("start"), plan), *costs_wrong(made, plan)]
    wrong += steps_wrong(_changes(g, plan), plan)
    assert not wrong, "\n".join(wrong)
