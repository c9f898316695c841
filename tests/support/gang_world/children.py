"""The children of one simulated launcher in one generation: `policy` decides on them as it does in `supervise`."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from launcher.contract import Code
from launcher.pod.gang.here.requests import Answer, Barrier
from launcher.pod.gang.protocol import follower, lease
from launcher.pod.gang.protocol.messages import Alarm, Failure, Generation, StackDigest, Trouble, Wait
from launcher.pod.gang.protocol.state import TrainerState
from launcher.pod.outcome import Outcome
from launcher.pod.output.proof import proof_of
from launcher.pod.programs import policy
from launcher.pod.programs.policy import Cause, Child, Instructions, Step, soonest
from launcher.pod.programs.watching import stall_rule
from launcher.pod.programs.watching.stall_rule import Sample, StallState
from launcher.pod.settings.nouns import Role
from tests.support.gang_world.programs import Program, training

if TYPE_CHECKING:
    from tests.support.gang_world.launcher import Launcher

ENDING = 0.05  # what a program takes that obeys
COLLECTED = 0.01  # from a program's end to its launcher's knowledge


@dataclass(eq=False)
class Children:
    """What runs here of a generation, and what is known and wanted of it."""

    launcher: Launcher
    generation: Generation
    instructions: Instructions = field(init=False)
    planned: tuple[Child, ...] = field(init=False)
    known: tuple[Child, ...] = ()
    programs: dict[int, Program] = field(default_factory=dict)
    stop: Cause | None = None
    serving: bool = False
    stall: StallState | None = None
    done: int = 0  # steps of the trainer, each of which is a sign of life
    alarms: tuple[Alarm, ...] = ()
    asked: int = 0  # the last look for which the stacks are taken, or were
    looked: int = 0  # and the last one for which they are told
    speechless: bool = False  # nothing can take the stacks here

    def __post_init__(self) -> None:
        serves = self.launcher.boot in self.launcher.world.servers(self.generation)
        trains = self.launcher.pod.role is not Role.PSERVER
        roles = [role for role, wanted in ((Role.PSERVER, serves), (Role.TRAINER, trains)) if wanted]
        self.planned = tuple(Child(name=role, role=role) for role in roles)
        self.instructions = Instructions(run=frozenset(), grace=self.launcher.world.rules.grace)

    @property
    def running(self) -> bool:
        return any(program.alive for program in self.programs.values())

    @property
    def rank(self) -> int:
        """The rank of the trainer here."""
        trainers = [who.boot for who in self.generation.members if who.role is not Role.PSERVER]
        return trainers.index(self.launcher.boot)

    def of(self, role: Role) -> Program | None:
        """Return the program of a role, if it lives."""
        return next((each for each in self.programs.values() if each.role is role and each.alive), None)

    def turn(self) -> None:
        """Decide and perform until nothing follows any more."""
        world = self.launcher.world
        while True:
            step = policy.decide(self.known, self.stop, world.now, world.stop_grace, self.instructions)
            before, self.instructions = self.instructions, self._ask(step.failure)
            after = self.instructions
            if step.end:
                self.launcher.settle(step.end)
                return
            if (after.run, after.cause, after.check) != (before.run, before.cause, before.check):
                continue
            if step.signals:
                self._perform(step)
                continue
            if step.cause is None:
                self._start()
            self.launcher.wake_at(soonest(step.until, after.until))
            return

    def told(self) -> None:
        """Be told to stop."""
        world, window = self.launcher.world, self.instructions.window
        self.stop = self.stop or policy.stopped(signal.SIGTERM, world.now, window=window, grace=world.stop_grace)
        self.turn()

    def alarm(self, code: int, *, speechless: bool) -> None:
        """Find something out of the trainer, which ends the generation if there is a code."""
        kind = Trouble.STALLED if code else Trouble.NO_STEP
        alarm = Alarm(
            number=len(self.alarms) + 1,
            generation=self.generation.number,
            kind=kind,
            rank=self.rank,
            reason=f"ALARM {code}",
            code=code,
        )
        self.alarms, self.speechless = (*self.alarms, alarm), speechless
        self.turn()

    def _take(self, look: int) -> None:
        if self.launcher.children is self:
            self.looked = look
            self.launcher.look()

    def answer(self, answers: Mapping[int, Answer]) -> None:
        """Have the programs go on that have got their answers."""
        for pid, answer in answers.items():
            program = self.programs[pid]
            program.answer = answer.get("ok")
            self.launcher.checks.hold("misuse" not in answer, f"a sound program is refused: {answer}")
            if isinstance(program.asked, Barrier):
                self.launcher.checks.passed(self, program.asked.name)
            self.launcher.after(0.0, partial(self._go_on, program))

    def fails(self, program: Program, code: int, said: str) -> None:
        """Have a program fail by itself, with these last words."""
        program.said = said
        self.exits(program, code)

    def exits(self, program: Program, code: int) -> None:
        """End a program; its launcher hears of it a moment later."""
        if program.alive:
            program.alive = False
            self.launcher.after(COLLECTED, partial(self._collect, program.pid, code))

    def _ask(self, failed: Cause | None) -> Instructions:
        """Tell the gang how the children are, and return what it wants, as `Membership` does."""
        launcher, now = self.launcher, self.launcher.world.now
        waits, due = self._waits(now)
        trained = self._trained()
        checked, found = self._checked(trained=trained)
        if failure := failed.outcome if failed else found:
            number, proof = launcher.member.status.ready, failed.proof if failed else ""
            failure = Failure(generation=number, code=failure.code, reason=failure.reason, proof=proof)
            launcher.member.fail(failure)
        if self.stop and not launcher.verdict:
            launcher.note_stop(first=self.instructions.cause is None and failure is None)
        left = any(child.left for child in self.known)
        serving, trainers = self._serving(), (TrainerState(done=trained, waits=waits),)
        launcher.member.report(
            children=left,
            serving=serving,
            trained=trained,
            checked=checked,
            trainers=trainers,
            alarms=self.alarms,
            looked=self.looked,
            standing=(StackDigest(role=Role.TRAINER, rank=0, digest=launcher.boot),) if self.looked else (),
        )
        instructions = follower.instructed(self.instructions, launcher.decide(), now)
        if instructions.look > self.asked and not self.speechless:
            self.asked = instructions.look
            launcher.after(launcher.world.some(0.01, 0.5), partial(self._take, self.asked))
        return replace(instructions, until=soonest(instructions.until, due))

    def _serving(self) -> bool:
        return self.serving if self.planned[0].role is Role.PSERVER else Role.PSERVER in self.instructions.run

    def _trained(self) -> bool:
        awaited = self.planned[-1].role is Role.TRAINER
        there = not awaited or any(child.role is Role.TRAINER for child in self.known)
        return (
            Role.TRAINER in self.instructions.run and there and policy.trained(self.known, self.instructions.leaving)
        )

    def _checked(self, *, trained: bool) -> tuple[bool, Outcome | None]:
        """Look at the pserver, if every trainer is done: what the kernel says of it now."""
        pserver = next((child for child in self.known if child.role is Role.PSERVER), None)
        if pserver is None or not self.instructions.check:
            return trained and pserver is None, None
        program = self.programs[pserver.pid]
        if pserver.running and program.alive and program.stuck:
            return False, Outcome(code=Code.GANG, reason="a pserver was found stopped")
        well = program.alive if pserver.running else pserver.code == 0 and pserver.told is None
        if well:
            self.launcher.checks.found_well(self)
        return well, None

    def _waits(self, now: float) -> tuple[tuple[Wait, ...], float | None]:
        """Return what the trainer has done nothing but wait for, and when to look again, as `StallWatch` does."""
        waits, patience = self.launcher.session.waits, lease.patience_with_waits(self.launcher.world.rules.limits)
        if not waits:
            return (), None
        if self.stall is None or now >= stall_rule.stall_due(self.stall, patience):
            sample = Sample(output=self.done, cpu=0.0, waits=waits)
            before = self.stall
            self.stall = (
                stall_rule.observe(before, sample, now, patience) if before else stall_rule.begin(sample, now)
            )
        still = self.stall.alive.waits == waits and stall_rule.stalled(self.stall, patience)
        return waits if still else (), stall_rule.stall_due(self.stall, patience)

    def _perform(self, step: Step) -> None:
        world = self.launcher.world
        for pid, signum in step.signals:
            program = self.programs[pid]
            if signum == signal.SIGKILL:
                self.exits(program, -signum)
            elif not program.deaf:
                self.launcher.after(ENDING, partial(self.exits, program, 0))
        self.known = policy.signalled(self.known, step, world.now)

    def _start(self) -> None:
        """Start in order those that may run by now."""
        world = self.launcher.world
        for child in self.planned[len(self.known) :]:
            if child.role not in self.instructions.run:
                break
            world.count += 1
            program = Program(role=child.role, pid=world.count, deaf=world.stubborn and world.random.random() < 0.5)
            self.known = (*self.known, replace(child, pid=program.pid))
            self.programs[program.pid] = program
            self.launcher.checks.started(self, program)
            if child.role is Role.PSERVER:
                self.launcher.after(world.some(0.1, 0.4), partial(self._serve, program))
            else:
                program.script = training(program, self)
                self.launcher.after(0.0, partial(self._go_on, program))
            self.launcher.nudge()

    def _serve(self, program: Program) -> None:
        if program.alive and self.launcher.children is self:
            self.serving = True
            self.launcher.checks.serves(self)
            self.launcher.look()

    def _go_on(self, program: Program) -> None:
        """Have a trainer do its next step."""
        if not program.alive or self.launcher.children is not self:
            return
        self.done += 1
        step = next(program.script, None)
        if step is None:
            self.exits(program, 0)
        elif isinstance(step, float):
            self.launcher.after(step, partial(self._go_on, program))
        else:
            program.asked = step
            if isinstance(step, Barrier):
                self.launcher.checks.came(self, step.name)
            self.answer(self.launcher.session.ask(program.pid, step))
            self.launcher.nudge()

    def _collect(self, pid: int, code: int) -> None:
        if self.launcher.children is not self:
            return
        self.known = tuple(self._ended(child, code) if child.pid == pid else child for child in self.known)
        trainers = [child for child in self.known if child.pid == pid and child.role is Role.TRAINER]
        if trainers and policy.trained(trainers, self.instructions.leaving) and not self.programs[pid].left:
            self.launcher.checks.trained(self)
        self.launcher.session.gone(pid)
        self.turn()

    def _ended(self, child: Child, code: int) -> Child:
        """Return a child that has ended, with what is known of it then."""
        program, world = self.programs[child.pid], self.launcher.world
        ended = replace(child, code=code, ended=world.now, left=False)
        if not policy.may_have_failed(ended):
            return ended
        rank = self.rank if child.role is Role.TRAINER else self.launcher.rank
        proof = proof_of(f"{child.role} {rank}", policy.exit_code(code), program.said)
        self.launcher.checks.failed(self, proof)
        return replace(ended, proof=proof)
