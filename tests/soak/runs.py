"""One run of the soak: a gang of real launchers, the faults of its plan, and what has to be so at its end."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil

from launcher.contract import pass_directory
from tests.soak.plans import (
    ALWAYS,
    DRAIN,
    EARLY_END,
    FREEZE,
    LAST_EXIT,
    LAST_STOP,
    LAUNCHER,
    LIE,
    LOSS,
    OVERLAP,
    PASSES,
    PODS,
    PSERVER,
    SHELL,
    STOP,
    STRANGER,
    TORN,
    TRAINER,
    Blow,
    Plan,
)  # fmt: skip
from tests.support.gangs import Gang, gang
from tests.support.hard_faults import frozen, stranger
from tests.support.launchers import Launcher
from tests.support.ledgers import unknown
from tests.support.lives import Life, shell
from tests.support.outcomes import DONE
from tests.support.script import BEHIND_A_SHELL, WORKER, Fault, expected

SECONDS = 0.1  # a pass, at the least
BUDGET = 30  # a busy machine makes losses of its own
BOUND = 90.0  # in which every run has its verdict
ALWAYS_CODE = 7
ALWAYS_BUDGET = 1
ENV = {"LAUNCHER_PEER_TIMEOUT": "3"}
PATIENT = {"LAUNCHER_GRACE": "8"}  # longer than anybody waits for a pod that is gone
SOON = 0.05
KILLED = (128 + signal.SIGKILL, -signal.SIGKILL, 1)  # the last is what some versions of `unshare` make of it
STOPPED = 128 + signal.SIGTERM


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a run: how often each kind of fault was had, how many restarts, how many seconds."""

    had: tuple[str, ...]
    restarts: int
    seconds: float
    unknown: float  # part of its members' seconds
    lost: bool  # whether a pod or its launcher was, or stood still


@dataclass(slots=True, kw_only=True)
class Blows:
    """The faults that are still to come, and what they leave to be done later."""

    g: Gang
    begun: float
    left: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    had: list[str] = field(default_factory=list)
    away: int = 0  # launchers that were killed and are to be started again
    gone: dict[int, set[int]] = field(
        default_factory=dict
    )  # the codes that launchers may end with before the verdict
    cold: set[int] = field(default_factory=set)  # the launchers that are frozen: nobody can kill them
    ices: ExitStack = field(default_factory=ExitStack)

    def deal(self, plan: Plan) -> None:
        """Deal each when its time comes, until all launchers have ended."""
        until = self.begun + BOUND
        waiting = [blow for blow in plan.blows if blow.kind in VERBS]
        while self.away or None in [each.code for each in self.g.places]:
            now = time.monotonic()
            assert now < until, f"no verdict within {BOUND:g} s"
            if waiting and (plan.early or self.g.trace("start", role="trainer")):
                self.left += [(now + blow.at, partial(self._blow, blow)) for blow in waiting]
                waiting = []
            for due in [each for each in self.left if each[0] <= now]:
                self.left.remove(due)
                due[1]()
            time.sleep(0.01)

    def _blow(self, blow: Blow) -> None:
        launcher = self.g.launcher(blow.place)
        if launcher.code is not None:
            return  # it has its verdict
        # What is sent to a process 1 that does not listen yet is lost.
        able = launcher.events() and id(launcher) not in self.cold
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if able and VERBS[blow.kind](self, launcher, blow):
                self.had.append(blow.kind)
                return
        self.left.append((time.monotonic() + SOON, partial(self._blow, blow)))

    def child(self, role: str, launcher: Launcher, _: Blow) -> bool:
        """Kill a program of a pod, if it has one at the moment."""
        for process in psutil.Process(launcher.life.pid).children():
            with suppress(psutil.Error):
                if process.environ().get("TRAINING_ROLE") == role:
                    process.kill()
                    return True
        return False

    def again(self, launcher: Launcher, blow: Blow) -> bool:
        """Kill a launcher, which is started again in the same pod."""
        self._goes(launcher, *KILLED)
        launcher.kill()
        launcher.life.process.wait(10)
        self.g.again(blow.place)
        return True

    def give_way(self, launcher: Launcher, blow: Blow) -> bool:
        """Kill a launcher; another job has its address, ends well, and then it is started again."""
        self._goes(launcher, *KILLED)
        launcher.kill()
        launcher.life.process.wait(10)
        self.away += 1
        self._back(stranger(self.g, blow.place, *shell("sleep 2")), blow)
        return True

    def _back(self, other: Life, blow: Blow) -> None:
        if other.process.poll() is None:
            self.left.append((time.monotonic() + SOON, partial(self._back, other, blow)))
        else:
            self.g.again(blow.place)
            self.away -= 1

    def lose(self, launcher: Launcher, blow: Blow) -> bool:
        """Kill a launcher, whose pod is replaced."""
        self._goes(launcher, *KILLED)
        launcher.kill()
        self.g.replace(blow.place)
        return True

    def stop(self, launcher: Launcher, blow: Blow) -> bool:
        """Delete a pod, which is replaced at once."""
        self._goes(launcher, STOPPED)
        launcher.send(signal.SIGTERM)
        self.g.replace(blow.place)
        return True

    def drain(self, launcher: Launcher, _: Blow) -> bool:
        """Delete two pods at once, the leader's and another, which are replaced at once."""
        leader, second = sorted(self.g.places, key=lambda each: each.address)[:2]
        both = (second if launcher is leader else launcher, leader)
        if any(not each.events() or each.code is not None or id(each) in self.cold for each in both):
            return False
        for each in both:
            self._goes(each, STOPPED)
            each.send(signal.SIGTERM)
        for each in both:
            self.g.replace(self.g.places.index(each))
        return True

    def freeze(self, launcher: Launcher, blow: Blow) -> bool:
        """Freeze a pod, and let it go on later."""
        held = ExitStack()
        held.enter_context(frozen(launcher))
        self.ices.push(held)
        self.cold.add(id(launcher))
        self.left.append((time.monotonic() + blow.lasts, partial(self._thaw, launcher, held)))
        return True

    def _thaw(self, launcher: Launcher, held: ExitStack) -> None:
        held.close()
        self.cold.discard(id(launcher))

    def _goes(self, launcher: Launcher, *codes: int) -> None:
        self.gone.setdefault(id(launcher), set()).update(codes)


VERBS: dict[str, Callable[[Blows, Launcher, Blow], bool]] = {
    TRAINER: lambda blows, launcher, blow: blows.child("TRAINER", launcher, blow),
    PSERVER: lambda blows, launcher, blow: blows.child("PSERVER", launcher, blow),
    LAUNCHER: Blows.again,
    SHELL: Blows.again,
    STRANGER: Blows.give_way,
    LOSS: Blows.lose,
    STOP: Blows.stop,
    DRAIN: Blows.drain,
    FREEZE: Blows.freeze,
}


def run(plan: Plan, top: Path) -> Result:
    """Let a gang suffer a plan, and hold all that has to be so."""
    begun = time.monotonic()
    budget = BUDGET if plan.hopeless is None else ALWAYS_BUDGET
    env = {**ENV, **(PATIENT if plan.has(DRAIN) else {}), "LAUNCHER_MAX_RESTARTS": str(budget)}
    faults = [fault for blow in plan.blows for fault in _of_programs(blow)]
    command, one = (BEHIND_A_SHELL, False) if plan.has(SHELL) else (WORKER, True)
    with gang(
        PODS, top, passes=PASSES, seconds=SECONDS, faults=faults, api=True, process_one=one, env=env, command=command
    ) as g:
        blows = Blows(g=g, begun=begun)
        with blows.ices:
            blows.deal(plan)
            _check(g, plan, blows)
        own = [kind for kind, does in DOES.items() for _ in g.trace("fault", do=does)]
        had = (*blows.had, *own, *[ALWAYS] * (plan.hopeless is not None))
        restarts = max((event["generation"] for event in g.events("generation_made")), default=1) - 1
        lost = not LOSSES.isdisjoint(blows.had)
        uncounted = unknown(g) or 0.0
        assert lost or uncounted < LITTLE, f"{uncounted:.1%} of all seconds are unknown, and no pod was lost"
    return Result(had=had, restarts=restarts, seconds=time.monotonic() - begun, unknown=uncounted, lost=lost)


# After these nobody counts for a while.
LOSSES = frozenset((LAUNCHER, SHELL, STRANGER, LOSS, STOP, DRAIN, FREEZE))
LITTLE = 0.01  # of all seconds may be unknown where no pod was lost
# What the faults of programs are called in the trace.
DOES = {TORN: "torn", EARLY_END: "exit 0", LAST_EXIT: "exit 1", LAST_STOP: "stop"}


def _of_programs(blow: Blow) -> tuple[Fault, ...]:
    if blow.kind == TORN:  # and who wrote it dies, or nobody would come back to it
        return (Fault(f"save {blow.number}", "torn"), Fault(f"saved {blow.number}", "kill"))
    if blow.kind == EARLY_END:
        return (Fault(f"pass {blow.number}", DOES[EARLY_END], rank=blow.place),)
    if blow.kind in (LAST_EXIT, LAST_STOP):
        return (Fault(f"pass {PASSES}", DOES[blow.kind], rank=blow.place, role="pserver"),)
    if blow.kind == DRAIN:
        return (Fault("start", "deaf", times=0),)
    if blow.kind == OVERLAP:
        return (Fault(f"pass {blow.number}", "double", rank=blow.place),)
    if blow.kind == LIE:
        return (Fault("end", f"lie {ALWAYS_CODE}", rank=blow.place),)
    if blow.kind == ALWAYS:
        return (Fault(f"pass {blow.number}", f"exit {ALWAYS_CODE}", rank=blow.place, times=0),)
    return ()


def _check(g: Gang, plan: Plan, blows: Blows) -> None:
    code, message = g.verdict()
    if plan.hopeless is None:
        assert (code, message) == (0, DONE), f"not done: {code}, {message}"
        assert g.result() == expected(PASSES, PODS)
        newest = g.output / pass_directory(PASSES - 1)
        assert (newest / "model").read_text() == expected(PASSES, PODS), "the last checkpoint is another one"
    else:
        truth = f"trainer {plan.hopeless} exited with {ALWAYS_CODE}"
        assert (code, truth in message) == (ALWAYS_CODE, True), f"not the truth: {code}, {message}"
    for each in g.all:
        if each not in g.places:
            g.wait(lambda each=each: each.code is not None)  # type: ignore[misc]  # bound now
            assert each.code in {code, *blows.gone.get(id(each), ())}, f"{each.name} ended with {each.code}"
