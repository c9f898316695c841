"""A trainer that stands still behind a shell: the abort of the one is never the good end of the other."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.lives import Lives
from tests.support.talking import events, free_port

STANDS = f"{sys.executable} -S -c 'import time; time.sleep(100)'"
SHELLS = (f"{STANDS} | cat", f"{STANDS}; echo done", f"{STANDS} || true")


def test_it_fails_although_the_shell_ends_with_0(tmp_path: Path) -> None:
    with Lives() as lives:
        started = [lives.start("sh", "-c", line, env=environment(tmp_path / str(n))) for n, line in enumerate(SHELLS)]
        for life in started:
            assert life.end() == 134
            assert "trainer 0 stood still for 0.5 s" in life.err()
            assert [event["code"] for event in events(life, "child_exited")] == [134]


def environment(workdir: Path) -> dict[str, str]:
    workdir.mkdir()
    return {
        "LAUNCHER_RUNTIME": "env",
        "LAUNCHER_STALL_TIMEOUT": "0.5",
        "LAUNCHER_MAX_RESTARTS": "0",
        "LAUNCHER_STATUS_PORT": str(free_port()),
        "LAUNCHER_WORKDIR": str(workdir),
    }
