"""Runs a shell for each exit code and each deadly signal, one supervision after the other; tells what came out.

With arguments they are the words of a program that does what ender.py does, instead of the shell.
"""

import os
import signal
import sys

from launcher.pod.inbox import Inbox
from launcher.pod.programs import supervise
from launcher.pod.programs.policy import Child
from launcher.pod.settings.nouns import Role

HARMLESS = {"SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"}
inbox = Inbox()


def outcome(what: str, number: int) -> int:
    kill = f"exit {number}" if what == "exit" else f"kill -{number} $$"
    argv = [*sys.argv[1:], what, str(number)] if sys.argv[1:] else ["/bin/sh", "-c", f"ulimit -c 0; {kill}"]

    def spawn(_child: Child) -> int:
        default = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
        return os.posix_spawn(argv[0], argv, os.environ, setsid=True, setsigmask=[], setsigdef=default)

    shell = Child(name="shell", role=Role.TRAINER)
    return supervise.run([shell], spawn, inbox, grace=1).outcome.code


for code in range(256):
    print("exit", code, outcome("exit", code))
for number in sorted(signal.valid_signals()):
    if not (isinstance(number, signal.Signals) and number.name in HARMLESS):
        print("death", int(number), outcome("death", int(number)))
