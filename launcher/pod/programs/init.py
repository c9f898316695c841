"""A plain init: one command, its signals, its orphans, its exit code; nothing about jobs, nothing in between.

As if no launcher were there: the command gets each signal that the launcher was given, and has the terminal where the
launcher has it; what stops the command stops the launcher too, and the script or pipeline that it is part of.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from launcher.pod.inbox import Halted, Inbox
from launcher.pod.log import Tell
from launcher.pod.programs import processes, supervise
from launcher.pod.programs.policy import Cause, Child
from launcher.pod.programs.spawn import spawn
from launcher.pod.programs.supervise import Manners, signal_group
from launcher.pod.settings.nouns import Role

# What the command leaves in its group is told to end, and then has this long to do it.
_FAREWELL = 1.0


def run(command: Sequence[str], inbox: Inbox, tell: Tell, *, grace: float) -> Cause:
    """Run a command and return why it ended."""
    job = _Job(command)
    manners = Manners(
        stopping=(signal.SIGTERM,),  # Ctrl-C is the command's own affair
        telling=(signal.SIGTERM,),
        give=job.give,
        halted=job.halted,
        farewell=_FAREWELL,
        tell=tell,
    )
    planned = [Child(name="the command", role=Role.TRAINER)]
    cause = supervise.run(planned, job.start, inbox, grace=grace, manners=manners)
    job.end()
    return cause


class _Job:
    """The command as a shell's job: a process group in the launcher's session."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._terminal = _own_terminal()
        self._group = 0

    def start(self, _child: Child) -> int:
        self._group = spawn(self._command, os.environ, own_session=False)
        self._hand_over(os.getpgrp(), self._group)
        return self._group

    def give(self, signum: int, groups: Sequence[int]) -> None:
        if signum == signal.SIGCONT:
            self._hand_over(os.getpgrp(), self._group)
        for group in groups:
            signal_group(group, signum)

    def halted(self, event: Halted) -> None:
        """Stop as the command did, until a shell continues both; undo a stop that only the launcher made possible."""
        if event.pid != self._group or not processes.is_stopped(event.pid):
            return
        # It may ask for the terminal a moment before it has it.
        early = event.signum in (signal.SIGTTIN, signal.SIGTTOU) and self._hand_over(os.getpgrp(), self._group)
        if early or (event.signum != signal.SIGSTOP and not processes.can_be_continued()):
            signal_group(self._group, signal.SIGCONT)
        else:
            _stop_own_group(signal.SIGTSTP if event.signum == signal.SIGSTOP else event.signum)

    def end(self) -> None:
        self._hand_over(self._group, os.getpgrp())

    def _hand_over(self, holder: int, to: int) -> bool:
        """Give the terminal from one group to another, if the first has it; return whether the second has it now."""
        with suppress(OSError):  # SIGTTOU is blocked, so that a process outside the foreground may do this
            if os.tcgetpgrp(self._terminal) == holder:
                os.tcsetpgrp(self._terminal, to)
            return os.tcgetpgrp(self._terminal) == to
        return False


def _stop_own_group(signum: int) -> None:
    """Stop as the terminal would have stopped the launcher; the SIGCONT that ends it comes as any other signal."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signum])
    os.killpg(0, signum)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signum])


def _own_terminal() -> int:
    """Return the terminal that controls this process, opened, wherever its standard files lead; -1 without one."""
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return -1
