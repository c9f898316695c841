"""Starts a pod's children, watches them, and performs what `policy` returns, until nothing of them is left.

Each child leads a process group of its own, and signals go to the whole group.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from launcher.contract import Code
from launcher.pod.inbox import HALTING, STOPPING, Ended, Halted, Inbox, InboxEvent, SignalCame
from launcher.pod.log import Tell
from launcher.pod.outcome import StartError
from launcher.pod.programs import policy, processes
from launcher.pod.programs.policy import ALONE, Cause, Child, Instructions, Step
from launcher.pod.programs.processes import Process


def give_to_sessions(signum: int, groups: Sequence[int]) -> None:
    """Give a signal to groups that are sessions of their own; what stops a job stops the launcher with it.

    The kernel lets none of the terminal's three stop such a group: it is halted by force. Nor a process 1.
    """
    for group in groups:
        signal_group(group, signum)
    forced = [group for group in groups if signum in HALTING and _leaves_to_kernel(group, signum)]
    if forced and os.getpid() != 1:
        for group in forced:
            signal_group(group, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)  # SIGCONT then arrives like any other signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """What stops the children, what tells them to end, how they get any other signal, and what follows an event.

    `halted`: a process was stopped. `ended`: a child ended; it returns what that counts as. What a child leaves in
    its group is told to end, and killed after `farewell`, if there is any; otherwise it is killed at once.
    """

    stopping: tuple[int, ...] = STOPPING
    telling: tuple[int, ...] = (signal.SIGTERM, signal.SIGCONT)  # a stopped process would not hear the first alone
    give: Callable[[int, Sequence[int]], None] = give_to_sessions
    halted: Callable[[Halted], None] = lambda event: None
    farewell: float = 0.0
    tell: Tell = lambda event, **facts: None
    ended: Callable[[Child], Child] = lambda child: child


# Returns a child's pid, or 0 while its program is on its way; then a nudge follows.
Spawn = Callable[[Child], int]
# What a gang is told of the children: how they are, the failure of one, whether they were told to stop.
_Ask = Callable[[Sequence[Child], Cause | None, bool], Instructions]


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
    under_way = False  # whether there is such a one: it may have ended well, whatever the others did meanwhile
    while True:
        step = policy.decide(children, stop, time.monotonic(), grace, instructions)
        before, instructions = instructions, ask(children, step.failure, stop is not None)
        if step.end:
            return step.end
        if (instructions.run, instructions.cause, instructions.check) != (before.run, before.cause, before.check):
            continue  # what is allowed now may be all that there is to do, as where a pod has no pserver
        if step.signals:
            children = _look(_perform(step, children, inbox, manners))
            continue
        ahead = step.cause is not None and step.cause.at > time.monotonic()
        if step.cause is None or (ahead and under_way):
            known = len(children)
            wanted = planned[known:] if step.cause is None else planned[known : known + 1]
            children, under_way = _start(wanted, spawn, children, instructions, early, manners)
            if any(not child.running for child in children[known:]):
                continue
        event = inbox.next(policy.soonest(step.until, instructions.until))
        if isinstance(event, SignalCame) and event.signum in manners.stopping:
            stop = stop or policy.stopped(event.signum, event.at, window=instructions.window, grace=grace)
        elif isinstance(event, Ended):
            children = _ended(event, children, manners)
            early.append(event)
        else:
            _pass_on(event, children, manners)
        children = _look(children)


def _pass_on(event: InboxEvent | None, children: Sequence[Child], manners: Manners) -> None:
    """Give the children a signal that does not stop the launcher, and tell of a child that stands still."""
    if isinstance(event, SignalCame):
        manners.give(event.signum, [child.pid for child in children if child.left])
    elif isinstance(event, Halted):
        manners.halted(event)


def sweep(still: Callable[[], list[Process]], tell: Tell) -> None:
    """Kill what was left behind, and name it."""
    left = still()
    if left:
        tell("left_behind", **processes.told_of(left))
    until = time.monotonic() + policy.KILL_PATIENCE
    while left and time.monotonic() < until:
        for each in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each.pid, signal.SIGKILL)
        time.sleep(0.002)
        left = still()


def left_over(spared: Collection[Process]) -> list[Process]:
    """Return what the children left behind: all that lives below the launcher but the helpers of its entrypoint.

    The launcher has become the parent of what is in sessions of its own. The helpers were there before, or are in the
    launcher's own session: a child cannot come back into it.
    """
    keys, own = {each.key for each in spared}, os.getsid(0)
    return processes.descendants(lambda each: each.session == own or each.key in keys)


def _start(
    planned: Sequence[Child],
    spawn: Spawn,
    children: tuple[Child, ...],
    instructions: Instructions,
    early: list[Ended],
    manners: Manners,
) -> tuple[tuple[Child, ...], bool]:
    """Start in order those that may run by now, each once the one before it has; after one that cannot be, no other.

    What has ended since the first of them was on its way is in `early`. Return also whether one is still on its way.
    """
    for child in planned:
        if child.role not in instructions.run:
            break
        try:
            pid = spawn(child)
        except StartError as error:
            now = time.monotonic()
            failed = replace(child, left=False, code=Code.CANNOT_START, ended=now, why=str(error))
            return (*children, failed), False
        if not pid:
            return children, True
        children = (*children, replace(child, pid=pid))
        for ended in early:
            children = _look(_ended(ended, children, manners))
    early.clear()
    return children, False


def _perform(step: Step, children: Sequence[Child], inbox: Inbox, manners: Manners) -> tuple[Child, ...]:
    by_pid = {child.pid: child for child in children}
    for pid, signum in step.signals:
        if signum == signal.SIGKILL and not by_pid[pid].running:
            _see_off(by_pid[pid], inbox, manners)
        for each in manners.telling if signum == signal.SIGTERM else (signum,):
            signal_group(pid, each)
    return policy.signalled(children, step, time.monotonic())


def _see_off(child: Child, inbox: Inbox, manners: Manners) -> None:
    """Name what a child left behind, and let it end by itself; after a TERM it had the grace for that."""
    left = processes.in_group(child.pid)
    if left:
        manners.tell("left_behind", child=child.name, **processes.told_of(left))
    if left and manners.farewell and child.told is None:
        signal_group(child.pid, signal.SIGTERM)
        until = time.monotonic() + manners.farewell
        while _group_exists(child.pid) and time.monotonic() < until:
            inbox.next(until)


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


def _leaves_to_kernel(pid: int, signum: int) -> bool:
    """Return whether a process neither catches, nor ignores, nor blocks a signal."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    masks = [line.split()[1] for line in status.splitlines() if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]
    return not any(int(mask, 16) >> (signum - 1) & 1 for mask in masks)
