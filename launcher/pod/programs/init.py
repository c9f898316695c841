"""A plain init: one command, its signals, its orphans, its exit code; nothing about jobs, nothing in between.

On a terminal the command gets the foreground, and a stop of it stops the launcher, as if no launcher were there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from launcher.pod.inbox import Halted, Inbox
from launcher.pod.programs import supervise
from launcher.pod.programs.policy import Cause, Child
from launcher.pod.programs.spawn import spawn
from launcher.pod.programs.supervise import Manners, signal_group
from launcher.pod.settings.nouns import Role


def run(command: Sequence[str], inbox: Inbox, *, grace: float) -> Cause:
    """Run a command and return why it ended."""
    terminal = _own_terminal()
    job = None if terminal is None else _TerminalJob(terminal)
    planned = [Child(name="the command", role=Role.TRAINER)]
    manners = Manners(stopping=(signal.SIGTERM,))  # Ctrl-C is the command's own affair
    if job:
        manners = replace(manners, halting=(), halted=job.halted, continued=job.take_foreground)

    def start(_child: Child) -> int:
        return job.start(command) if job else spawn(command, os.environ)

    cause = supervise.run(planned, start, inbox, grace=grace, manners=manners)
    if job:
        job.end()
    return cause


class _TerminalJob:
    """The command as a shell's job: a process group that gets the terminal when the launcher has it."""

    def __init__(self, terminal: int) -> None:
        self.terminal = terminal
        self.group = 0

    def start(self, command: Sequence[str]) -> int:
        self.group = spawn(command, os.environ, own_session=False)
        self._go_on()
        return self.group

    def take_foreground(self) -> None:
        with suppress(OSError):  # SIGTTOU is blocked, so that a process outside the foreground may do this
            if os.tcgetpgrp(self.terminal) == os.getpgrp():
                os.tcsetpgrp(self.terminal, self.group)

    def halted(self, event: Halted) -> None:
        """Stop with the command, until the shell continues both."""
        if event.pid == self.group:
            _stop_own_group(signal.SIGTSTP if event.signum == signal.SIGSTOP else event.signum)
            if event.signum != signal.SIGSTOP:
                self._go_on()

    def end(self) -> None:
        with suppress(OSError):
            if os.tcgetpgrp(self.terminal) == self.group:
                os.tcsetpgrp(self.terminal, os.getpgrp())

    def _go_on(self) -> None:
        self.take_foreground()
        signal_group(self.group, signal.SIGCONT)  # it may have asked for the terminal before it had it


def _stop_own_group(signum: int) -> None:
    """Stop as the terminal would have stopped the launcher, and the script or pipeline that it is part of.

    The kernel comes back at once where no process could continue it: process 1, or no shell with jobs above.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signum])
    os.killpg(0, signum)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signum])


def _own_terminal() -> int | None:
    """Return the terminal that controls this process, opened, wherever its standard files lead."""
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return None
