"""The mark that a launcher puts on a directory that it staged: a random token, by which it is known again.

Neither inode nor path will do: a file system gives a freed inode to the next directory, and a user the same name.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from launcher.pod.data.copy import REFUSAL
from launcher.safefs.dirs import directory
from launcher.safefs.refusals import naming
from launcher.safefs.small_file import content

_ATTRIBUTE = "user.paddle-launcher.staged"
MARK_FILE = ".staged-by-paddle-launcher"  # in the directory, where its file system has no attributes
_LONGEST = 64
_REFUSED = (errno.ENOTSUP, errno.EPERM)  # by a file system without them, or by what stands before one


def mark(path: Path) -> str:
    """Mark a directory as staged, and return the token that is now on it."""
    token = secrets.token_hex(16)
    with naming(str(path), REFUSAL):
        try:
            os.setxattr(path, _ATTRIBUTE, token.encode(), follow_symlinks=False)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            (path / MARK_FILE).write_text(token)
    return token


def token_of(path: Path) -> str:
    """Return the token on a directory, nothing where there is none."""
    with naming(str(path), REFUSAL):
        try:
            return os.getxattr(path, _ATTRIBUTE, follow_symlinks=False).decode(errors="replace")
        except OSError as error:
            if error.errno not in (errno.ENODATA, *_REFUSED):
                raise
    with directory(path, REFUSAL, trusted=True) as at:
        return (content(at, MARK_FILE, _LONGEST) or b"").decode(errors="replace")
