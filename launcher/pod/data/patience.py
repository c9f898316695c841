"""Which trouble of a volume or disk may pass by itself, and how long it may take.

No I/O here.
"""

from __future__ import annotations

import errno

# As long as the complete passes are looked for: a server is started again in less.
STAGING_PATIENCE = 60.0
AGAIN_AFTER = 1.0
_PASSING = frozenset(
    [
        errno.EAGAIN,
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EIO,
        errno.ENETDOWN,
        errno.ENETRESET,
        errno.ENETUNREACH,
        errno.ENOTCONN,
        errno.EREMOTEIO,
        errno.ESHUTDOWN,
        errno.ESTALE,
        errno.ETIMEDOUT,
    ]
)


def trouble_may_pass(error: BaseException) -> bool:
    """Return whether a refusal is of the kind that another try may not meet: nothing is wrong with the files."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in _PASSING
