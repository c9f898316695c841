"""Become a program that dies with its parent: run as a script, between posix_spawn and the program itself.

Needed only where the launcher is not process 1: there the kernel ends everything with it. Imports almost
nothing, because it runs once for each child. Arguments: the parent's pid, a pipe for the error, the command.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Mapping

PR_SET_PDEATHSIG = 1
# Variables of loaders and Pythons that are a program's, not this interpreter's, as docker/starter.c renames them.
TAKEN_ASIDE = ("lD_", "gLIBC_TUNABLES", "pYTHON")


def main(parent: int, report: int, argv: list[str]) -> None:
    """Tie this process to its parent, then become the program; an errno goes to the pipe."""
    os.set_inheritable(report, False)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return  # it died before the tie was made
    _take_terminal(os.getpgid(parent))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # this interpreter ignores both
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], argv, given_back(without_coercion(os.environ)))  # argv, no shell
    except OSError as error:
        os.write(report, str(error.errno).encode())


def _take_terminal(holder: int) -> None:
    """Have the terminal from the start where the launcher's group has it; another session has none."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])  # so that a process outside the foreground may do this
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
        if os.tcgetpgrp(terminal) == holder:
            os.tcsetpgrp(terminal, os.getpgrp())
        os.close(terminal)
    except OSError:
        pass
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU])


def without_coercion(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the LC_CTYPE that Python gives itself in the C locale (PEP 538)."""
    with open("/proc/self/environ", "rb") as given:  # noqa: PTH123  # pathlib would take this script 10 ms
        itself = b"\0LC_CTYPE=" not in b"\0" + given.read()
    return {name: value for name, value in environ.items() if not (itself and name == "LC_CTYPE")}


def given_back(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with what docker/starter.c took aside, in its place and by its name again."""
    return {
        name[0].upper() + name[1:] if name.startswith(TAKEN_ASIDE) else name: value for name, value in environ.items()
    }


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
