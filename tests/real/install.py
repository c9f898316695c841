"""The Python with Paddle that these tests train in, as `make demo` installs it.

python -m tests.real.install      installs it, unless it is there, and prints its path
"""

from __future__ import annotations

import sys
from pathlib import Path

from launcher.desk.rehearsal import paddle_env
from launcher.desk.rehearsal.paddle_env import NotHere as NotHere
from launcher.desk.terminal import ProgressLine


def python() -> Path:
    """Return it, installed if need be."""
    return paddle_env.python(ProgressLine(sys.stderr))


if __name__ == "__main__":
    try:
        print(python())
    except NotHere as error:
        sys.exit(str(error))
