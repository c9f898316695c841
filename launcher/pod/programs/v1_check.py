"""Refuses a `paddle` that cannot train: the script in today's wheels prints a version and ends with 0, always.

A job on such an image would succeed without training. The file is read, never run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from launcher.pod.outcome import SettingsError

READ = 64 * 1024  # bytes: v1's own script has 6 KB
SHELL = re.compile(rb"#!\s*\S*/(?:env\s+(?:-\S+\s+)*)?(?:ba|da|k|z)?sh\b")
# v1's own names both commands; another may hand its words on to a program that knows them.
_COMMANDS = (re.compile(rb"\btrain\b"), re.compile(rb"\bpserver\b"))
HANDS_ON = re.compile(rb"^(?!.*<<<).*\$(?:@|\*|\{[@*])", re.MULTILINE)


def check_v1_command(environ: Mapping[str, str]) -> None:
    """Refuse the `paddle` on PATH if it cannot train; where there is none, its start will tell."""
    import shutil  # 4 ms of a start, and other runtimes have no such command

    path = shutil.which("paddle", path=environ.get("PATH"))
    if path and not can_train(_beginning(path)):
        raise SettingsError(
            [
                f"{path} cannot train: it is a shell script that knows neither `train` nor `pserver`, as in "
                "PaddlePaddle's wheels since 1.8, and would end with 0 at once; expected the `paddle` of "
                "launcher/bridge/bin first on PATH, as in the image's target with Paddle, or LAUNCHER_RUNTIME=fleet "
                "and a command after `--`"
            ]
        )


def can_train(beginning: bytes) -> bool:
    """Return whether a file may train, by its first bytes: only of a shell script can be told that it cannot."""
    if not SHELL.match(beginning):
        return True
    lines = b"\n".join(line for line in beginning.splitlines() if not line.lstrip().startswith(b"#"))
    return all(command.search(lines) for command in _COMMANDS) or HANDS_ON.search(lines) is not None


def _beginning(path: str) -> bytes:
    with suppress(OSError), Path(path).open("rb") as file:
        return file.read(READ)
    return b""
