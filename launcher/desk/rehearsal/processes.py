"""Runs the pods' processes: starts them, waits, and ends all when one failed or a signal asks to stop."""

from __future__ import annotations

import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType, TracebackType

from launcher.desk.rehearsal.rehearsal import RehearsalPod

REFRESH = 0.2
# How long the others have to find out by themselves that one has failed.
END_PATIENCE = 5.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedPod:
    """A pod that ended: its exit code, or 128+n where signal n ended it, and when."""

    pod: RehearsalPod
    code: int
    at: float


class Life:
    """One pod's process."""

    def __init__(self, pod: RehearsalPod) -> None:
        """Start it in a process group of its own: what Ctrl-C means to it is decided here, not by the terminal."""
        self.pod = pod
        with pod.stdout.open("wb") as out, pod.stderr.open("wb") as err:
            self._process = subprocess.Popen(
                pod.argv, env=pod.env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, process_group=0
            )

    @property
    def code(self) -> int | None:
        """The exit code, once there is one."""
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    def tell(self, signum: int) -> None:
        """Give the launcher a signal; it gives it to its children."""
        self._process.send_signal(signum)

    def kill(self) -> None:
        """End it without a word, and what it started with it."""
        self._process.kill()
        self._process.wait()


class Wake:
    """What wakes the waiting: a process that ended, or a signal that asks to stop, which is only noted."""

    def __init__(self) -> None:
        """Listen to nothing yet."""
        self.told: list[int] = []
        self._before: dict[int, object] = {}
        self._ear, self._mouth = socket.socketpair()
        self._ear.setblocking(False)
        self._mouth.setblocking(False)

    def __enter__(self) -> Wake:
        """Take the signals."""
        signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        for signum in (signal.SIGCHLD, *STOP_SIGNALS):
            if signum == signal.SIGHUP and signal.getsignal(signum) == signal.SIG_IGN:
                continue  # started by nohup
            self._before[signum] = signal.signal(signum, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Leave the signals as they were."""
        signal.set_wakeup_fd(-1)
        for signum, handler in self._before.items():
            signal.signal(signum, handler)  # type: ignore[arg-type]  # what signal.signal itself returned
        self._ear.close()
        self._mouth.close()

    def wait(self, seconds: float) -> None:
        """Wait until something happens, or for so long."""
        select.select([self._ear], [], [], seconds)
        with suppress(BlockingIOError):
            self._ear.recv(4096)

    def _note(self, signum: int, _frame: FrameType | None) -> None:
        if signum != signal.SIGCHLD:
            self.told.append(signum)


def run(pods: Sequence[RehearsalPod], show: Callable[[], None], say: Callable[[str], None]) -> tuple[EndedPod, ...]:
    """Run all pods and return them in the order in which they ended; `show` is called a few times a second."""
    lives: list[Life] = []
    ended: list[EndedPod] = []
    given: list[int] = []
    with Wake() as wake:
        try:
            lives.extend(Life(pod) for pod in pods)
            while len(ended) < len(pods):
                wake.wait(REFRESH)
                left = _left(lives, ended)
                ended += [
                    EndedPod(pod=life.pod, code=life.code, at=time.monotonic())
                    for life in left
                    if life.code is not None
                ]
                for signum, why in due_signals(ended, wake.told, given, time.monotonic()):
                    say(why)
                    given.append(signum)
                    for life in _left(lives, ended):
                        life.tell(signum)
                show()
        finally:
            for life in _left(lives, ended):
                life.kill()
    return tuple(ended)


def _left(lives: Sequence[Life], ended: Sequence[EndedPod]) -> list[Life]:
    gone = [each.pod for each in ended]
    return [life for life in lives if life.pod not in gone]


def due_signals(
    ended: Sequence[EndedPod], told: Sequence[int], given: Sequence[int], now: float
) -> list[tuple[signal.Signals, str]]:
    """Return the signals that the pods are to get now, each once, and why."""
    failed = next((each for each in ended if each.code), None)
    if len(told) > 1 and signal.SIGKILL not in given:
        return [(signal.SIGKILL, "a second signal: the pods are killed")]
    if given:
        return []
    if told:
        return [(signal.SIGTERM, f"{signal.Signals(told[0]).name}: stopping the pods (a second signal kills them)")]
    if failed and now >= failed.at + END_PATIENCE:
        why = f"{failed.pod.address} ended with {failed.code} {END_PATIENCE:.0f} s ago: stopping the others"
        return [(signal.SIGTERM, why)]
    return []
