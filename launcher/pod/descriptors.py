"""How many open files the launcher may have: all that it is allowed, and its programs as many as it was given.

A leader holds a connection of each member, and containers begin with 1,024. A program that goes through every number
that it may have, as old ones do before they start another, would take minutes where a billion are allowed.
"""

from __future__ import annotations

import math
import resource
from contextlib import suppress
from functools import cache


@cache
def given() -> tuple[int, int]:
    """Return the soft and the hard limit that the launcher was started with; ask before they are changed."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def take_all() -> float:
    """Raise the soft limit to the hard one, and return it."""
    hard = given()[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return math.inf if hard == resource.RLIM_INFINITY else hard


def give_back(pid: int) -> None:
    """Let a program that was just started have what the launcher was given; at once, since it reads that early."""
    if resource.getrlimit(resource.RLIMIT_NOFILE) != given():
        with suppress(OSError):  # it has ended, or is another user's by now
            resource.prlimit(pid, resource.RLIMIT_NOFILE, given())
