"""Ends what a killed launcher leaves behind: run as a script, beside a launcher that is not process 1.

The parent-death signal reaches a program itself, not what a shell or a loader started below it. Argument: the word
that the programs carry in their environment. Standard input: a pipe that the launcher alone holds open, with a line
for each program, the pid by which it leads its session, and another one with a minus once it has ended. Imports
almost nothing, so that it is there soon, and small.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "LAUNCHER_LIFE"
KILL = 9  # the module `signal` would double the imports


def main(word: str) -> None:
    """Wait for the launcher's end, then kill until nothing of its programs is left that was not killed."""
    _let_go()
    sessions: set[int] = set()
    with open(0, "rb", buffering=0) as told:
        for line in told:
            pid = int(line)
            sessions = sessions | {pid} if pid > 0 else sessions - {-pid}
    killed: set[int] = set()
    while found := _left(sessions, f"\0{VARIABLE}={word}\0".encode()) - killed:
        for pid in found:
            _kill(pid)
        killed |= found


def _let_go() -> None:
    """Hold neither a directory nor a file that the launcher was given."""
    os.chdir("/")
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2:
            try:
                os.close(number)
            except OSError:
                pass  # the one by which the list was read


def _left(sessions: set[int], carried: bytes) -> set[int]:
    return {pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if _is_of(pid, sessions, carried)}


def _is_of(pid: int, sessions: set[int], carried: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            state, _, group, session = stat.read().rpartition(b")")[2].split()[:4]
        if state in (b"Z", b"X"):
            return False
        if not sessions.isdisjoint((int(group), int(session))):
            return True
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return carried in b"\0" + environ.read()
    except OSError:  # it ended, or belongs to another user
        return False


def _kill(pid: int) -> None:
    try:
        os.kill(pid, KILL)
    except OSError:
        pass


if __name__ == "__main__":
    main(sys.argv[1])
