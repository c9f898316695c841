"""The children of one simulated launcher in one generation: a pserver that comes up, a trainer and its passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launcher.contract import Code
from launcher.pod.gang.protocol.follower import MayRun
from launcher.pod.gang.protocol.messages import Generation
from launcher.pod.settings.nouns import Role

if TYPE_CHECKING:
    from tests.support.gang_world.launcher import Launcher

PASSES = 8


@dataclass(eq=False)
class Children:
    """What runs here of a generation, and how far it is."""

    launcher: Launcher
    generation: Generation
    pserver: bool = False
    trainer: bool = False
    serving: bool = False
    trained: bool = False
    checked: bool = False
    stuck: bool = False  # its pserver is stopped, which nobody notices but who looks
    ending: bool = False

    @property
    def left(self) -> bool:
        return self.pserver or self.trainer

    @property
    def here(self) -> bool:
        return self.launcher.children is self and not self.ending

    def check(self) -> None:
        """Look at the pserver, now that every trainer is done."""
        if self.stuck and self.pserver:
            self.launcher.after(0.0, lambda: self.launcher.fail(Code.GANG) if self.here else None)
        elif not self.checked:
            self.checked = True
            self._report()

    def run(self, run: MayRun) -> None:
        """Start what may run and does not yet."""
        role = self.launcher.pod.role
        if run >= MayRun.PSERVERS and not (self.pserver or self.serving):
            self.pserver = role is not Role.TRAINER
            self._started(self.pserver)
            delay = self.launcher.world.some(0.1, 0.4) if self.pserver else 0.0
            self.launcher.after(delay, self._serve)
        if run is MayRun.ALL and not (self.trainer or self.trained):
            self.trainer = role is not Role.PSERVER
            self.trained = not self.trainer
            self._started(self.trainer)
            resume = self.generation.resume
            self._train(0 if resume is None else resume + 1)

    def _started(self, is_so: bool) -> None:
        if is_so:
            self.launcher.world.checks.started(self)
        self._report()

    def _report(self) -> None:
        checked = self.checked or (self.trained and not self.pserver)
        self.launcher.member.report(children=self.left, serving=self.serving, trained=self.trained, checked=checked)
        self.launcher.after(0.0, self.launcher.look)

    def _serve(self) -> None:
        if self.here:
            self.serving = True
            self.launcher.world.checks.serves(self)
            self._report()

    def _train(self, number: int) -> None:
        if self.trainer and number < PASSES:
            self.launcher.after(self.launcher.world.some(0.8, 1.2), lambda: self._pass(number))
        elif self.trainer:
            self.trainer, self.trained = False, True
            self.launcher.world.checks.trained(self)
            self._report()

    def _pass(self, number: int) -> None:
        if self.here:
            if self.launcher.boot == self.generation.members[-1].boot:
                self.launcher.world.volume.passes.add(number)
            self._train(number + 1)
