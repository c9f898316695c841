"""Runs a plan as the gang wants it: each program with its output, under supervision, until all have ended."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from launcher.contract import Code, Spent
from launcher.pod.console import Console
from launcher.pod.gang.here.service import HereService
from launcher.pod.gang.membership import Membership
from launcher.pod.gang.protocol.state import ChildrenState, TrainerState
from launcher.pod.inbox import Inbox
from launcher.pod.outcome import Outcome, StartError
from launcher.pod.output import wiring
from launcher.pod.output.proof import proof_of
from launcher.pod.output.wiring import ProgramOutput
from launcher.pod.programs import policy, processes, pserver_check, supervise
from launcher.pod.programs.memory import Memory, RecentMemory, explain, whom
from launcher.pod.programs.plan import Plan, Program, importing, stackable
from launcher.pod.programs.policy import Cause, Child, Instructions, exit_code, soonest
from launcher.pod.programs.ports import Knocker, check_free
from launcher.pod.programs.runtimes import missing_module, torch_error
from launcher.pod.programs.runtimes.frameworks import ERROR_FILE
from launcher.pod.programs.spawn import Guardian, Start
from launcher.pod.programs.stacks.files import StackFiles
from launcher.pod.programs.stacks.taker import StackTaker
from launcher.pod.programs.supervise import Manners, left_over, sweep
from launcher.pod.programs.watching.pace import PaceWatch
from launcher.pod.programs.watching.stall import StallWatch
from launcher.pod.programs.watching.watch import ProgramWatch
from launcher.pod.settings.masking import masked
from launcher.pod.settings.nouns import Role, Settings

# How long the children's last words may take at most, while something still takes them: the kubelet kills 30 s after
# it told to stop, and the children may have had 25 of them.
FLUSH = 10.0
FLUSH_WHEN_STOPPED = 2.0
IMPORTABLE = Path(__file__).parents[2] / "importable"
STACKABLE = Path(__file__).parents[2] / "stackable"
SLOW = 5.0  # a start that takes longer is told of
UNGUARDED = "the launcher's guardian was killed: without it programs could outlive the launcher"


def run(plan: Plan, settings: Settings, inbox: Inbox, story: Console, gang: Membership, heading: str) -> Cause:
    """Run the programs until nothing of them is left, and return why they ended."""
    helpers = processes.descendants()  # that the entrypoint started, as a mount or a refresher of tokens
    outputs = wiring.outputs_of(plan, settings, story.out, story.tell, heading)
    programs = Programs(
        plan=plan,
        outputs=outputs,
        watch=_watch(plan, settings, inbox, gang, outputs),
        guardian=Guardian(),
        inbox=inbox,
        gang=gang,
        story=story,
        patience=settings.timing.join,
        importable=settings.importable,
        stacks=gang.stack_files,
        notice=settings.notice,
    )
    planned = [Child(name=program.name, role=program.role) for program in plan.programs]
    manners = Manners(tell=story.tell, ended=programs.ended)
    cause = supervise.run(
        planned,
        programs.spawn,
        inbox,
        grace=settings.timing.grace,
        manners=manners,
        instructions=gang.instructions,
        ask=programs.ask,
    )
    programs.close()
    until = time.monotonic() + (FLUSH_WHEN_STOPPED if cause.told else FLUSH)
    inbox.back_by(until)
    left = partial(left_over, helpers)
    sweep(left, story.tell)
    wiring.finish(tuple(outputs.values()), story.out, story.tell, until)
    if not cause.told:
        gang.outlast(left)
    return cause


def _watch(
    plan: Plan, settings: Settings, inbox: Inbox, gang: Membership, outputs: Mapping[str, ProgramOutput]
) -> ProgramWatch:
    """Return what watches the programs of a plan."""

    def here(name: str) -> HereService:
        return gang.heres[outputs[name].program.local]

    timing, patience = settings.timing, gang.patience_with_waits
    return ProgramWatch(
        generation=gang.generation,
        ranks={program.name: program.rank for program in plan.programs if not program.title},
        stall=StallWatch(
            timeout=timing.stall, patience=patience, written=lambda name: outputs[name].pump.total, here=here
        ),
        pace=PaceWatch(timeout=timing.progress, nan_fails=settings.nan_fails, here=here),
        taker=StackTaker(gang.stack_files or StackFiles(), inbox.nudge),
        say=lambda name, lines: outputs[name].pump.say(lines),
        save=gang.keep_stacks,
    )


@dataclass(slots=True, kw_only=True)
class Programs:
    """The programs of one generation here, and what the gang is told of them."""

    plan: Plan
    outputs: dict[str, ProgramOutput]
    watch: ProgramWatch
    guardian: Guardian
    inbox: Inbox
    gang: Membership
    story: Console
    patience: float  # of a start
    importable: bool  # whether programs may import what is ours
    stacks: StackFiles | None  # where programs write their frames, None where they are not to be asked
    starting: dict[str, Start] = field(default_factory=dict)
    memory: RecentMemory = field(default_factory=lambda: RecentMemory.begin(time.monotonic()))
    knocker: Knocker | None = None
    notice: int | None = None  # the signal that tells the trainers that all end soon, until it was given

    def spawn(self, child: Child) -> int:
        """Return a program's pid, 0 while its start has not come back; raise where it does not come in time."""
        start = self.starting.get(child.name)
        if start is None:
            start = self.starting[child.name] = self._begin(child)
            self.inbox.nudge()  # the time that it may take is looked at before it is known
        pid, late = start.result(), time.monotonic() - start.begun
        if pid:
            self._begun(child, pid)
        elif late >= self.patience:
            silent = f"has not answered for {self.patience:g} s (LAUNCHER_JOIN_TIMEOUT)"
            raise StartError(f"cannot start {child.name}: {self._volume(child.name)} {silent}")
        return pid

    def ask(self, children: Sequence[Child], failed: Cause | None, told: bool) -> Instructions:
        """Return what the gang wants of the children, after telling it how they are."""
        now = time.monotonic()
        self.memory = self.memory.again(now)
        until = soonest(self.watch.look(children, now), self._overdue(now), self.memory.due)
        failure = failed.outcome if failed else None
        if self.guardian.gone:
            failure = failure or Outcome(code=Code.GANG, reason=UNGUARDED)
        state = replace(self._state(children, failure, told=told), proof=failed.proof if failed else "")
        instructions = self.gang.ask(self._checked(state, children))
        self.watch.take(instructions.look, children)
        self._notice(instructions, children)
        if failure or told or instructions.cause:
            self._drop()
        if instructions.cause:
            self.watch.abort(children)
        return replace(instructions, until=soonest(instructions.until, until))

    def ended(self, child: Child) -> Child:
        """Tell a child's end; return it with all that is known of it: where it stood still, what killed it."""
        self.guardian.forget(child.pid)
        child = self.watch.stall.judged(child)
        code, told = exit_code(child.code or 0), child.told is not None
        self.story.tell("child_exited", child=child.name, code=code, told_to_end=told)
        if not policy.may_have_failed(child):
            return child
        tail = self.outputs[child.name].tail()
        why = self.watch.stall.reasons.get(child.name) or self._reason_of(child, tail)
        victim = whom(child.code, several=len(self.plan.trainers) > 1)
        if killed := explain(self.memory.older, Memory.now(), victim=victim):
            why = f"{why}: {killed}"
        return replace(child, why=why, tail=tail, proof=proof_of(child.name, code, tail, starved=bool(killed)))

    def _reason_of(self, child: Child, tail: str) -> str:
        """Return the reason of a failure by the child's code, and by what its framework or its Python told of it."""
        program, said = self.outputs[child.name].program, ""
        if told := program.env.get(ERROR_FILE):
            with suppress(OSError):
                said = torch_error.cause(Path(told).read_bytes())
        said = said or missing_module.missing_words(tail, _python_of(program))
        return f"{policy.reason_of(child)}: {said}" if said else policy.reason_of(child)

    def _checked(self, state: ChildrenState, children: Sequence[Child]) -> ChildrenState:
        """Return the state with the pserver looked at, if every trainer is done; there may be none to look at."""
        pserver = next((child for child in children if child.role is Role.PSERVER), None)
        if pserver is None:
            return replace(state, checked=state.trained)
        if not self.gang.instructions.check:
            return state
        found = pserver_check.look_at(pserver)
        return replace(state, checked=found.well, failure=state.failure or found.failure)

    def _notice(self, instructions: Instructions, children: Sequence[Child]) -> None:
        """Give the trainers their notice, once, where all end soon and they are to be told by a signal."""
        if self.notice is None or instructions.leaving is None:
            return
        for child in children:
            if child.role is not Role.PSERVER and child.running and child.pid:
                supervise.signal_group(child.pid, self.notice)
        self.notice = None

    def close(self) -> None:
        """End what is here beside the programs."""
        self._drop()
        self.guardian.close()
        if self.knocker:
            self.knocker.close()

    def _drop(self) -> None:
        self.gang.waits("")
        for start in self.starting.values():
            start.drop()
        self.starting.clear()

    def _begin(self, child: Child) -> Start:
        program = self.outputs[child.name].program
        serves = program.role is Role.PSERVER
        check_free(self.gang.address, program)
        _prepare(program)
        more = {} if serves else {**self.watch.stall.environment, **self.gang.heres[program.local].environment()}
        env = {**program.defaults, **os.environ, **more, **program.env, **self.guardian.environment}
        if self.importable:
            env = importing(env, str(IMPORTABLE))
        if self.stacks and not program.title and (asked := self.stacks.environment(program.role, program.rank)):
            env = stackable(env, str(STACKABLE)) | dict(asked)
        output = self.outputs[child.name].pump.write_end
        return Start(program.argv, env, output, self.guardian.watch, self.inbox.nudge)

    def _begun(self, child: Child, pid: int) -> None:
        program, pump = self.outputs[child.name].program, self.outputs[child.name].pump
        del self.starting[child.name]
        pump.start()
        if program.role is Role.PSERVER:
            self.knocker = Knocker(self.gang.address, program.ports, self.inbox.nudge)
        self.story.started(program.name, pid, pump)
        self.story.tell("child_started", child=program.name, pid=pid, argv=masked(program.argv))
        if [program] == [*self.plan.trainers[-1:]]:
            self.gang.seconds.are(Spent.OPEN)  # nothing else may happen before it ends

    def _overdue(self, now: float) -> float | None:
        """Tell of a start that takes long; return when to look at it again."""
        for name, start in self.starting.items():
            if now < start.begun + SLOW:
                return start.begun + min(SLOW, self.patience)
            self.gang.waits(f"{name} has not started: {self._volume(name)} does not answer")
            return start.begun + self.patience
        self.gang.waits("")
        return None

    def _volume(self, name: str) -> str:
        return f"the volume with {self.outputs[name].program.argv[0]!r}"

    def _state(self, children: Sequence[Child], failure: Outcome | None, *, told: bool) -> ChildrenState:
        may = self.gang.instructions.run
        planned = {program.role for program in self.plan.programs}
        begun = {child.name: child for child in children if child.role is Role.TRAINER}
        trainers = tuple(self._trainer(each.name, begun.get(each.name)) for each in self.plan.trainers)
        return ChildrenState(
            left=any(child.left for child in children),
            serving=self.knocker is not None and self.knocker.open
            if Role.PSERVER in planned
            else Role.PSERVER in may,
            trained=Role.TRAINER in may and all(trainer.done for trainer in trainers),
            failure=failure,
            told=told,
            trainers=trainers,
            begun=len(begun) == len(trainers),
            alarms=self.watch.alarms,
            looked=self.watch.looked,
            standing=self.watch.standing,
        )

    def _trainer(self, name: str, child: Child | None) -> TrainerState:
        """Return how one is that may not have been started yet."""
        done = child is not None and policy.trained((child,), self.gang.instructions.leaving)
        return TrainerState(done=done, waits=self.watch.stall.waits.get(name, ()))


def _python_of(program: Program) -> str | None:
    """Return the Python that runs a program, where its first word names one."""
    first = program.argv[0]
    return shutil.which(first) if Path(first).name.startswith("python") else None


def _prepare(program: Program) -> None:
    """Write a program's files, and remove what one of an earlier generation said of its failure."""
    try:
        if told := program.env.get(ERROR_FILE):
            Path(told).unlink(missing_ok=True)
        for name, text in program.files.items():
            Path(name).write_text(text)
    except OSError as error:
        raise StartError(f"cannot prepare {program.name}: {error}; expected a directory to write in") from error
