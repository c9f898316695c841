"""Starts a process as a child that cannot outlive the launcher; the only place that starts any."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from launcher.pod.descriptors import give_back
from launcher.pod.outcome import StartError
from launcher.pod.programs import die_with_parent

PR_SET_CHILD_SUBREAPER = 36
# Python ignores these from its start on; a child must find them as the launcher did.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def adopt_orphans() -> None:
    """Become the parent of every orphan below this process, as process 1 is by itself."""
    if os.getpid() != 1:
        import ctypes  # only here: 2 MB and 5 ms that process 1 does not need

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def spawn(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    files: Mapping[int, int] | None = None,
    own_session: bool = True,
) -> int:
    """Start a program in a session (else a process group) of its own and return its pid.

    `files` says which of the launcher's descriptors the child has as which; call it from the main thread only,
    since the tie to the parent is one to the parent's thread.
    """
    if not argv[0]:
        raise StartError(_why(argv[0], errno.ENOENT, env))
    actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in (files or {}).items()]
    place = {"setsid": True} if own_session else {"setpgroup": 0}
    env = die_with_parent.without_coercion(env)
    tied = os.getpid() != 1
    told, report = os.pipe()
    try:
        os.set_inheritable(report, tied)
        words = _tied(report, argv) if tied else list(argv)
        pid = os.posix_spawnp(
            words[0], words, env, file_actions=actions, setsigmask=[], setsigdef=IGNORED_BY_PYTHON, **place
        )
        give_back(pid)
        os.close(report)
        report = -1
        error = os.read(told, 16)
    except OSError as failure:
        raise StartError(_why(argv[0], failure.errno or 0, env)) from failure
    finally:
        os.close(told)
        if report >= 0:
            os.close(report)
    if error:
        raise StartError(_why(argv[0], int(error), env))
    return pid


def _tied(report: int, argv: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid()), str(report), *argv]


def _why(program: str, number: int, env: Mapping[str, str]) -> str:
    reason = os.strerror(number)
    if "/" in program:
        return f"cannot start {program!r}: {reason}; is it in the image, executable, and built for this machine?"
    return f"cannot start {program!r}: {reason} on PATH={env.get('PATH', '')}; is it in the image?"
