"""Whether a program failed by itself, and as it did before: told by a digest, so that no line of a log is published.

No I/O here. Two failures are alike where the same program ended with the same code after the same last line; in the
line numbers, addresses and names of temporary files count as equal.
"""

from __future__ import annotations

import hashlib
import re
import signal

from launcher.contract import Code

_DIGITS = 16
# What differs from one start to the next though the failure is the same.
_CHANGING = re.compile(
    r"""\b0x[0-9a-f]+\b                              # an address
    | \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b # a UUID
    | \b(?=[a-f]*[0-9])[0-9a-f]{6,}\b                # a digest
    | \btmp[\w-]{6,}                                 # what tempfile makes
    | [-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?""",
    re.IGNORECASE | re.VERBOSE,
)
# Others end programs with these; the kernel's own KILL, for want of memory, is known by other signs.
_OF_OTHERS = frozenset(
    128 + signum for signum in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
)
# The launcher's own, which a program has where its launcher ended the generation, or where it ended well too soon.
_OF_LAUNCHERS = frozenset({Code.DONE, Code.JOIN, Code.GANG})


def proof_of(name: str, code: int, tail: str, *, starved: bool = False) -> str:
    """Return what a program's failure is known by again; nothing where it did not fail by itself.

    `starved`: the kernel killed it for want of memory. Without any output nothing tells two failures apart, and they
    are not taken for the same one.
    """
    line = _last_line(tail)
    if not line or code in _OF_LAUNCHERS or (code in _OF_OTHERS and not starved):
        return ""
    said = "\0".join((name, str(code), _CHANGING.sub("#", line)))
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:_DIGITS]


def _last_line(tail: str) -> str:
    """Return the last line of an output that has anything in it."""
    return next((line.strip() for line in reversed(tail.splitlines()) if line.strip()), "")
