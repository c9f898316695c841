"""Starts processes that cannot outlive the launcher; the only place that starts any.

exec waits for the volume that a program lies on. A plain init has nothing else to do meanwhile; the launcher of a job
has, and leaves exec to a thread.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from launcher.pod.descriptors import give_back
from launcher.pod.outcome import StartError
from launcher.pod.programs import abandoned, die_with_parent, guardian
from launcher.pod.settings.masking import hidden

PR_SET_CHILD_SUBREAPER = 36
# Python ignores these from its start on; a child must find them as the launcher did.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# From <spawn.h>, the same in glibc and musl; what both keep has 336 bytes at most, a set of signals 128.
SPAWN_SETSIGDEF, SPAWN_SETSIGMASK, SPAWN_SETSID = 0x04, 0x08, 0x80
SPAWN_BYTES = 512


def give_back_variables(environ: MutableMapping[str, str] = os.environ) -> None:
    """Have the environment as this pod was given it, where the launcher's own starter took some of it aside."""
    given = die_with_parent.given_back(environ)
    if given.keys() != environ.keys():
        environ.clear()
        environ.update(given)


def adopt_orphans() -> None:
    """Become the parent of every orphan below this process, as process 1 is by itself."""
    if os.getpid() != 1:
        import ctypes  # only here: 2 MB and 5 ms that a plain init does not need as process 1

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def spawn(argv: Sequence[str], env: Mapping[str, str], *, own_session: bool = True) -> int:
    """Start a program in a session (else a process group) of its own; return its pid once exec is done.

    Call it from the main thread only, since the tie to the parent is one to the parent's thread.
    """
    _refuse_nothing(argv)
    place: dict[str, Any] = {"setsid": True} if own_session else {"setpgroup": 0}
    env = die_with_parent.without_coercion(env)
    if os.getpid() != 1:
        return _executed(*_tied(argv, env, place), argv)
    try:
        return _posix_spawn(argv, env, place)
    except OSError as failure:
        raise _refused(argv, failure.errno or 0) from failure


class Guardian:
    """Ends what this launcher's programs leave when it is killed; with a process 1 all ends without one.

    The programs are to have its `environment`.
    """

    def __init__(self) -> None:
        """Start it; it waits for the end of the pipe."""
        self.environment: Mapping[str, str] = {}
        self._pid, self._pipe = 0, -1
        if os.getpid() == 1:
            return
        self.environment = {guardian.VARIABLE: (word := abandoned.own_word())}
        env = {name: value for name, value in os.environ.items() if name != guardian.VARIABLE}  # it is no program
        read, self._pipe = os.pipe()
        files = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            *((os.POSIX_SPAWN_OPEN, theirs, os.devnull, os.O_WRONLY, 0) for theirs in (1, 2)),
        ]
        script = [sys.executable, "-I", "-S", guardian.__file__, word]
        every = signal.valid_signals()
        try:
            self._pid = os.posix_spawn(script[0], script, env, file_actions=files, setsid=True, setsigmask=every)
        except OSError as failure:
            raise _refused(script, failure.errno or 0) from failure
        finally:
            os.close(read)

    @property
    def gone(self) -> bool:
        """Whether it has been ended by others."""
        if self._pipe < 0:
            return False
        poll = select.poll()
        poll.register(self._pipe, 0)
        return bool(poll.poll(0))

    def watch(self, pid: int) -> None:
        """Have the session of a program ended with this launcher."""
        self._tell(pid)

    def forget(self, pid: int) -> None:
        """Have it ended no more: the program has, and its number may become another's."""
        self._tell(-pid)

    def close(self) -> None:
        """End it: there is nothing left to guard."""
        if self._pipe >= 0:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
            os.close(self._pipe)
            self._pipe = -1

    def _tell(self, number: int) -> None:
        if self._pipe >= 0:
            with suppress(BrokenPipeError):  # which is seen by whoever asks whether it is gone
                os.write(self._pipe, b"%d\n" % number)


class Start:
    """A program on its way into a session of its own: its output goes to a descriptor, its input is empty.

    Make it on the main thread only, since the tie to the parent is one to the parent's thread.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        output: int,
        watch: Callable[[int], None] = lambda pid: None,
        nudge: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin; `watch` is called once there is a process that may outlive this one, `nudge` once a result."""
        _refuse_nothing(argv)
        self.begun = time.monotonic()
        self._pid = 0
        self._error: Exception | None = None
        self._dropped = False
        env = die_with_parent.without_coercion(env)
        if os.getpid() == 1:
            execute = partial(_spawn_aside, argv, env, output)
        else:
            files = [
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                *((os.POSIX_SPAWN_DUP2, output, theirs) for theirs in (1, 2)),
            ]
            pid, told = _tied(argv, env, {"setsid": True, "file_actions": files})
            watch(pid)
            execute = partial(_executed, pid, told, argv)
        threading.Thread(target=self._run, args=(execute, nudge), name="exec", daemon=True).start()

    def result(self) -> int:
        """Return the pid once exec is done, until then 0; raise why it cannot be done."""
        if self._error:
            raise self._error
        return self._pid

    def drop(self) -> None:
        """Want it no more: once exec is done it is killed; until then it is the caller's to sweep."""
        self._dropped = True
        self._kill_dropped()

    def _run(self, execute: Callable[[], int], nudge: Callable[[], None]) -> None:
        try:
            self._pid = execute()
        except Exception as error:
            self._error = error
        self._kill_dropped()
        nudge()

    def _kill_dropped(self) -> None:
        if self._dropped and self._pid:
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)


def _tied(argv: Sequence[str], env: Mapping[str, str], more: Mapping[str, Any]) -> tuple[int, int]:
    """Start the script that dies with this thread and becomes the program; return its pid, and where it reports."""
    told, report = os.pipe()
    try:
        os.set_inheritable(report, True)
        script = [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid()), str(report)]
        pid = _posix_spawn([*script, *argv], env, more)
    except OSError as failure:
        os.close(told)
        raise _refused(argv, failure.errno or 0) from failure
    finally:
        os.close(report)
    return pid, told


def _executed(pid: int, told: int, argv: Sequence[str]) -> int:
    """Return the pid once the script has become the program, which closes its report."""
    with open(told, "rb", buffering=0) as report:
        error = report.read(16)
    if error:
        raise _refused(argv, int(error))
    return pid


def _posix_spawn(words: Sequence[str], env: Mapping[str, str], more: Mapping[str, Any]) -> int:
    pid = os.posix_spawnp(words[0], tuple(words), env, setsigmask=[], setsigdef=IGNORED_BY_PYTHON, **more)
    give_back(pid)
    return pid


def _spawn_aside(argv: Sequence[str], env: Mapping[str, str], output: int) -> int:
    """Start a program while other threads go on: os.posix_spawn keeps the interpreter's lock until exec is done."""
    import ctypes

    libc = ctypes.CDLL(None)
    files, how, mask, default = (ctypes.create_string_buffer(SPAWN_BYTES) for _ in range(4))
    libc.posix_spawn_file_actions_init(files)
    libc.posix_spawn_file_actions_addopen(files, 0, os.fsencode(os.devnull), os.O_RDONLY, 0)
    for theirs in (1, 2):
        libc.posix_spawn_file_actions_adddup2(files, output, theirs)
    libc.sigemptyset(mask)
    libc.sigemptyset(default)
    for signum in IGNORED_BY_PYTHON:
        libc.sigaddset(default, signum)
    libc.posix_spawnattr_init(how)
    libc.posix_spawnattr_setflags(how, SPAWN_SETSIGDEF | SPAWN_SETSIGMASK | SPAWN_SETSID)
    libc.posix_spawnattr_setsigmask(how, mask)
    libc.posix_spawnattr_setsigdefault(how, default)
    words = [os.fsencode(word) for word in argv]
    pairs = [os.fsencode(f"{name}={value}") for name, value in env.items()]
    pid = ctypes.c_int()
    arrays = [(ctypes.c_char_p * (len(texts) + 1))(*texts) for texts in (words, pairs)]
    if error := libc.posix_spawnp(ctypes.byref(pid), words[0], files, how, *arrays):
        raise _refused(argv, error)
    libc.posix_spawn_file_actions_destroy(files)
    give_back(pid.value)
    return pid.value


def _refuse_nothing(argv: Sequence[str]) -> None:
    if not argv[0]:  # for a search along PATH a directory has that name
        raise _refused(argv, errno.ENOENT)


def _refused(argv: Sequence[str], number: int) -> StartError:
    program, reason = hidden(argv[0]), os.strerror(number)
    where = "" if "/" in program else " on PATH"
    what = "is it in the image, executable, and built for this machine?" if not where else "is it in the image?"
    return StartError(f"cannot start {program!r}: {reason}{where}; {what}")
