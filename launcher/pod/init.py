"""A plain init: one command, its signals, its orphans, its exit code; nothing about jobs, nothing in between.

On a terminal the command gets the foreground, and a stop of it stops the launcher, as if no launcher were there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from launcher.pod import supervise
from launcher.pod.inbox import Halted, Inbox
from launcher.pod.policy import Cause
from launcher.pod.settings import Role
from launcher.pod.spawn import spawn
from launcher.pod.supervise import Manners, Start, signal_group

TERMINAL = 0


def run(command: Sequence[str], inbox: Inbox, *, grace: float) -> Cause:
    """Run a command and return why it ended."""
    job = _TerminalJob() if _on_terminal() else None
    start = Start(
        name="the command",
        role=Role.TRAINER,
        spawn=lambda: job.start(command) if job else spawn(command, os.environ),
    )
    manners = Manners(stopping=(signal.SIGTERM,))  # Ctrl-C is the command's own affair
    if job:
        manners = Manners(stopping=(signal.SIGTERM,), halted=job.halted, continued=job.take_foreground)
    cause = supervise.run([start], inbox, grace=grace, manners=manners)
    if job:
        job.end()
    return cause


class _TerminalJob:
    """The command as a shell's job: a process group that gets the terminal when the launcher has it."""

    def __init__(self) -> None:
        self.group = 0

    def start(self, command: Sequence[str]) -> int:
        self.group = spawn(command, os.environ, own_session=False)
        self.take_foreground()
        return self.group

    def take_foreground(self) -> None:
        with suppress(OSError):  # SIGTTOU is blocked, so that a process outside the foreground may do this
            if os.tcgetpgrp(TERMINAL) == os.getpgrp():
                os.tcsetpgrp(TERMINAL, self.group)
        signal_group(self.group, signal.SIGCONT)  # it may have asked for the terminal before it had it

    def halted(self, event: Halted) -> None:
        """Stop with the command, until the shell continues both."""
        if event.pid != self.group:
            return
        if os.getpid() != 1:
            os.kill(os.getpid(), signal.SIGSTOP)
            self.take_foreground()
        elif event.signum != signal.SIGSTOP:
            signal_group(self.group, signal.SIGCONT)  # no shell is there to do it

    def end(self) -> None:
        with suppress(OSError):
            if os.tcgetpgrp(TERMINAL) == self.group:
                os.tcsetpgrp(TERMINAL, os.getpgrp())


def _on_terminal() -> bool:
    """Return whether standard input is the terminal that controls this process."""
    try:
        return os.tcgetpgrp(TERMINAL) > 0
    except OSError:
        return False
