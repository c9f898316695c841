"""Starts a pod's children, watches them, and performs what `policy` returns, until nothing of them is left.

Each child leads a process group of its own, and signals go to the whole group.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from launcher.contract import Code
from launcher.pod.inbox import HALTING, STOPPING, Ended, Halted, Inbox, SignalCame
from launcher.pod.outcome import Outcome, StartError
from launcher.pod.programs import policy
from launcher.pod.programs.policy import ALONE, Cause, Child, Instructions, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How signals are taken: which ones end the children, and what follows when a child is stopped or continued.

    And `ended`: what a child's end counts as.

    A group without a shell above it in its session is not stopped by the terminal's own three: it is halted by force.
    """

    stopping: tuple[int, ...] = STOPPING
    halting: tuple[int, ...] = HALTING
    halted: Callable[[Halted], None] = lambda event: None
    continued: Callable[[], None] = lambda: None
    ended: Callable[[Child], Child] = lambda child: child


# Returns a child's pid, or 0 while its program is on its way; then a nudge follows.
Spawn = Callable[[Child], int]
# What a gang is told of the children: how they are, the failure of one, whether they were told to stop.
_Ask = Callable[[Sequence[Child], Outcome | None, bool], Instructions]


def run(
    planned: Sequence[Child],
    spawn: Spawn,
    inbox: Inbox,
    *,
    grace: float,
    manners: Manners | None = None,
    instructions: Instructions = ALONE,
    ask: _Ask = lambda _children, _failure, _told: ALONE,
) -> Cause:
    """Start the children as they may run and return why they ended, once nothing of them is left.

    `instructions` is what holds before the gang is asked for the first time.
    """
    manners = manners or Manners()
    stop: Cause | None = None
    children: tuple[Child, ...] = ()
    early: list[Ended] = []  # one of them may be a child whose pid is not known yet
    while True:
        step = policy.decide(children, stop, time.monotonic(), grace, instructions)
        before, instructions = instructions, ask(children, step.failure, stop is not None)
        if step.end:
            return step.end
        if (instructions.run, instructions.cause, instructions.check) != (before.run, before.cause, before.check):
            continue  # what is allowed now may be all that there is to do, as where a pod has no pserver
        if step.signals:
            children = _look(_perform(step, children))
            continue
        if step.cause is None:
            known = len(children)
            children = _start(planned[known:], spawn, children, instructions, early, manners)
            if any(not child.running for child in children[known:]):
                continue
        event = inbox.next(policy.soonest(step.until, instructions.until))
        if isinstance(event, SignalCame) and event.signum in manners.stopping:
            stop = stop or policy.stopped(event.signum, event.at)
        elif isinstance(event, SignalCame):
            _pass_on(event.signum, children, manners)
        elif isinstance(event, Halted):
            manners.halted(event)
        elif isinstance(event, Ended):
            children = _ended(event, children, manners)
            early.append(event)
        children = _look(children)


def sweep() -> None:
    """Kill what the children left behind in sessions of its own: the launcher has become its parent."""
    until = time.monotonic() + policy.KILL_PATIENCE
    while (left := _own_children()) and time.monotonic() < until:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.002)


def _own_children() -> list[int]:
    """Return every process whose parent is this one."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def _start(
    planned: Sequence[Child],
    spawn: Spawn,
    children: tuple[Child, ...],
    instructions: Instructions,
    early: list[Ended],
    manners: Manners,
) -> tuple[Child, ...]:
    """Start in order those that may run by now, each once the one before it has; after one that cannot be, no other.

    What has ended since the first of them was on its way is in `early`.
    """
    for child in planned:
        if child.role not in instructions.run:
            break
        try:
            pid = spawn(child)
        except StartError as error:
            now = time.monotonic()
            return (*children, replace(child, left=False, code=Code.CANNOT_START, ended=now, why=str(error)))
        if not pid:
            return children
        children = (*children, replace(child, pid=pid))
        for ended in early:
            children = _look(_ended(ended, children, manners))
    early.clear()
    return children


def _perform(step: Step, children: Sequence[Child]) -> tuple[Child, ...]:
    now = time.monotonic()
    for pid, signum in step.signals:
        signal_group(pid, signum)
        if signum == signal.SIGTERM:
            signal_group(pid, signal.SIGCONT)  # a stopped process would not hear it
    given = dict(step.signals)
    return tuple(
        replace(child, told=now)
        if given.get(child.pid) == signal.SIGTERM
        else replace(child, killed=now)
        if child.pid in given
        else child
        for child in children
    )


def _ended(event: Ended, children: Sequence[Child], manners: Manners) -> tuple[Child, ...]:
    """Return the children with one that ended; the process may also be an orphan that was none of them."""
    after = []
    for child in children:
        if child.pid == event.pid and child.running:
            child = manners.ended(replace(child, code=event.code, ended=event.at))
        after.append(child)
    return tuple(after)


def _look(children: Sequence[Child]) -> tuple[Child, ...]:
    """Return the children with a fresh look at what is left of those that ended."""
    return tuple(
        replace(child, left=_group_exists(child.pid)) if child.left and not child.running else child
        for child in children
    )


def _pass_on(signum: int, children: Sequence[Child], manners: Manners) -> None:
    """Give a signal to every child; what stops a job stops the launcher with it, as a shell above it expects."""
    left = [child.pid for child in children if child.left]
    if signum == signal.SIGCONT:
        manners.continued()
    _signal_all(left, signum)
    forced = [pid for pid in left if signum in manners.halting and _leaves_to_kernel(pid, signum)]
    if forced and os.getpid() != 1:  # the kernel lets none of the three stop a process 1
        _signal_all(forced, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)  # SIGCONT then arrives like any other signal


def _leaves_to_kernel(pid: int, signum: int) -> bool:
    """Return whether a process neither catches, nor ignores, nor blocks a signal."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    masks = [line.split()[1] for line in status.splitlines() if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]
    return not any(int(mask, 16) >> (signum - 1) & 1 for mask in masks)


def _signal_all(groups: Sequence[int], signum: int) -> None:
    for group in groups:
        signal_group(group, signum)


def signal_group(group: int, signum: int) -> None:
    """Give a signal to a process group; one that is gone, or no longer ours, is left alone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signum)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
