"""Supervises a pserver and a trainer that both end well before the trainer's pid is told: tells what came out."""

import os
import time
from collections.abc import Sequence

from launcher.pod.inbox import Inbox
from launcher.pod.outcome import Outcome
from launcher.pod.programs import supervise
from launcher.pod.programs.policy import Cause, Child, Instructions
from launcher.pod.settings.nouns import Role

inbox = Inbox()
pids: dict[Role, int] = {}
asked: list[Role] = []


def spawn(child: Child) -> int:
    """Know the pserver's pid at once, and the trainer's at the third call, which the ends of both bring about."""
    asked.append(child.role)
    if child.role not in pids:
        pids[child.role] = os.posix_spawn("/bin/sh", ["sh", "-c", ":"], os.environ, setsid=True, setsigmask=[])
    return pids[child.role] if child.role is Role.PSERVER or asked.count(child.role) > 2 else 0


def ask(children: Sequence[Child], failure: Cause | None, _told: bool) -> Instructions:
    """Say, as a gang does, why it ends: a failure, or that the trainer is done."""
    done = any(child.role is Role.TRAINER and child.code == 0 for child in children)
    outcome = failure.outcome if failure else (Outcome(code=0, reason="done") if done else None)
    return Instructions(cause=Cause(at=time.monotonic(), outcome=outcome) if outcome else None)


both = [Child(name=str(role), role=role) for role in (Role.PSERVER, Role.TRAINER)]
print(supervise.run(both, spawn, inbox, grace=1, instructions=Instructions(), ask=ask).outcome.code)
