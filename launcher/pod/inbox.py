"""Everything that can wake the pod's main thread: signals, the ends of children, the results of errands.

All signals are blocked before any other thread starts; one thread takes them and hands them over. The main
thread alone waits for processes, its own or not: as process 1 it is the parent of every orphan.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from launcher.pod.outcome import Stopped

# What asks a job to stop: the kubelet and docker send the first, a terminal the second.
STOPPING = (signal.SIGTERM, signal.SIGINT)
# What a terminal, or a shell, stops a job with; a process group without a shell above it ignores these three.
HALTING = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class SignalCame:
    """A signal came."""

    signum: int
    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A process ended: its exit code, or minus the signal that ended it."""

    pid: int
    code: int
    at: float


@dataclass(frozen=True, slots=True)
class Halted:
    """A process was stopped, as by Ctrl-Z; it can be continued."""

    pid: int
    signum: int


@dataclass(frozen=True, slots=True)
class Returned:
    """An errand came back, with a result or an error."""

    result: object = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Nudged:
    """Something that is looked at may have changed."""


InboxEvent = SignalCame | Ended | Halted | Returned | Nudged


class Inbox:
    """The main thread's one place to wait."""

    def __init__(self) -> None:
        """Block every signal; call it before any thread is started."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored by a careless parent, it would swallow exit codes
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        # Without children to pass them to, these end a launcher as they would any process; not under nohup.
        ends = (*STOPPING, signal.SIGHUP, signal.SIGQUIT)
        self._ending = tuple(each for each in ends if signal.getsignal(each) is not signal.SIG_IGN)
        self._arrived: queue.SimpleQueue[int | Halted | Returned | Nudged] = queue.SimpleQueue()
        self._nudged = False
        self._back_by: float | None = time.monotonic()  # None while the main thread is here
        self._ended: deque[InboxEvent] = deque()
        self._ignored: tuple[int, ...] = ()  # what does nothing here
        threading.Thread(target=self._take_signals, name="signals", daemon=True).start()

    def next(self, until: float | None = None) -> InboxEvent | None:
        """Return the next event, or None once the monotonic clock passes `until`."""
        self._back_by = None
        try:
            return self._next(until)
        finally:
            self._back_by = time.monotonic()

    def ignore(self, *signums: int) -> None:
        """Have signals do nothing here, nor in what is started from now on: a program may take them all the same."""
        for signum in signums:
            signal.signal(signum, signal.SIG_IGN)
        self._ignored = signums

    def back_by(self, when: float) -> None:
        """Say that the main thread has something to do that takes until then at most."""
        self._back_by = when

    def away(self, now: float) -> float:
        """Return for how long the main thread has been away, or too long: it stands still; any thread may ask."""
        back_by = self._back_by
        return 0.0 if back_by is None else max(0.0, now - back_by)

    def _next(self, until: float | None) -> InboxEvent | None:
        while not self._ended:
            wait = None if until is None else max(0.0, until - time.monotonic())
            try:
                arrived = self._arrived.get(timeout=wait)
            except queue.Empty:
                return None
            if isinstance(arrived, Nudged):
                self._nudged = False
            if isinstance(arrived, Halted | Returned | Nudged):
                return arrived
            if arrived != signal.SIGCHLD:
                return SignalCame(arrived, time.monotonic())
            self._reap()
        return self._ended.popleft()

    def nudge(self) -> None:
        """Wake the main thread, from any other; many nudges are one."""
        if not self._nudged:
            self._nudged = True
            self._arrived.put(Nudged())

    def errand(
        self, doing: str, work: Callable[[], _Result], look: Callable[[], float | None] = lambda: None
    ) -> _Result:
        """Return what a blocking step returns; it runs on its own thread, so that a signal to stop ends the wait.

        Meanwhile `look` is called after each event and when the time comes that it returned last.
        """
        threading.Thread(target=self._run, args=(work,), name=doing, daemon=True).start()
        while True:
            match self.wait(doing, look()):
                case Returned(error=None, result=result):
                    return result  # type: ignore[return-value]  # the only errand under way is this one
                case Returned(error=error) if error:
                    raise error

    def wait(self, doing: str, until: float | None = None) -> InboxEvent | None:
        """Return the next event while no children run: a signal to stop ends the wait."""
        event = self.next(until)
        match event:
            case SignalCame(signum) if signum in self._ending:
                raise Stopped(signum, doing)
            case SignalCame(signum) if signum in HALTING:
                os.kill(os.getpid(), signal.SIGSTOP)
        return event

    def _run(self, work: Callable[[], object]) -> None:
        try:
            self._arrived.put(Returned(result=work()))
        except BaseException as error:
            self._arrived.put(Returned(error=error))

    def _take_signals(self) -> None:
        every = signal.valid_signals()
        while True:
            info = signal.sigwaitinfo(every)
            if info.si_signo in self._ignored:
                continue  # what is blocked comes, also where it is ignored
            self._arrived.put(info.si_signo)

    def _reap(self) -> None:
        """Collect every process that ended: one SIGCHLD may stand for thousands."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self._arrived.put(Halted(pid, os.WSTOPSIG(status)))  # behind a SIGCONT that came since
            else:
                self._ended.append(Ended(pid, os.waitstatus_to_exitcode(status), time.monotonic()))
