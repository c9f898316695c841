"""Notes, from inside a program of a gang, that it runs: a line at its begin, one every 20 ms, and one at its end.

Python imports this by its name, where PYTHONPATH has this folder; a program without `site` imports it itself. Each
line is one `write` to the end of the file GANG_HISTORY, which all programs of a test's gangs share, and which
`tests/support/histories.py` reads. What is noted follows from what a launcher gives to any program. Python 3.8 and
nothing to install: it runs in Paddle's environment, and in containers.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from pathlib import Path

EVERY = 0.02
FIRST_PORT = 7164
FIRST_HERE = "GANG_WITNESSED"  # a program that a program starts is its helper
GIVEN = "PADDLE_INIT_NUM_GRADIENT_SERVERS"  # to each program; a launcher itself has it not


class Witness:
    """One file, one program, and whether it has told its end."""

    def __init__(self) -> None:
        """Open the file, and find out who this is."""
        self._file = os.open(os.environ["GANG_HISTORY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        where = (os.environ["GANG_RUN"], generation(), role(), rank(), os.environ[GIVEN], os.environ["POD_IP"])
        self._me = " ".join(map(str, (*where, boot(), process(os.getpid()))))
        self._pid = os.getpid()
        self.code = 0

    def tell(self, what: str) -> None:
        """Write one line."""
        os.write(self._file, f"{self._me} {time.monotonic():.6f} {what}\n".encode())

    def beat(self) -> None:
        """Tell that it runs, until it does not."""
        while True:
            time.sleep(EVERY)
            self.tell("runs")

    def end(self) -> None:
        """Tell the end once; a fork of this process has none to tell."""
        if os.getpid() == self._pid:
            self.tell(f"ends {self.code}")
            self._pid = 0


def stat(pid: int | str) -> list[str]:
    """Return what the kernel says of a process after its name: state, parent, and so on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def process(pid: int | str) -> str:
    """Return a name that no other process has, in whatever namespace, for as long as the machine runs."""
    return f"{Path('/proc/self/ns/pid').stat().st_ino}.{pid}.{stat(pid)[19]}"


def boot() -> str:
    """Return the launcher's name: it is the parent of the first of this session, also where that is a shell."""
    try:
        return process(stat(os.getsid(0))[1])
    except OSError:
        return "gone"


def role() -> str:
    """Return pserver, trainer or helper."""
    if os.environ.get(FIRST_HERE):
        return "helper"
    v1 = b"pserver" in Path("/proc/self/cmdline").read_bytes().split(b"\0")
    return "pserver" if v1 else os.environ.get("TRAINING_ROLE", "trainer").lower()


def rank() -> int:
    """Return its number; a pserver alone in its pod has that of its address."""
    if "TRAINER_ID" in os.environ:
        return int(os.environ["TRAINER_ID"])
    return os.environ["PADDLE_INIT_PSERVERS"].split(",").index(os.environ["POD_IP"])


def generation() -> int:
    """Return its generation: by a fleet's port, which counts to six, or by the record, made before any start."""
    if "PADDLE_PORT" in os.environ:
        return int(os.environ["PADDLE_PORT"]) - FIRST_PORT + 1
    made = Path(os.environ["JOB_PATH"], os.environ["JOB_NAME"], "output", ".launcher", os.environ["GANG_RUN"])
    return max([int(path.stem[4:]) for path in made.glob("gen-*.json")], default=0)


def begin() -> Witness:
    """Tell the begin, then on a thread that it runs, then the end, however the program chooses to end itself."""
    witness = Witness()
    os.environ[FIRST_HERE] = "1"
    leave, leave_now, told = sys.exit, os._exit, sys.excepthook

    def exit_(code: object = 0) -> None:
        witness.code = code if isinstance(code, int) else int(code is not None)
        leave(code)  # type: ignore[arg-type]  # as it was called

    def exit_now(code: int) -> None:
        witness.code = code
        witness.end()
        leave_now(code)

    def failed(*error: object) -> None:
        witness.code = 1
        told(*error)  # type: ignore[arg-type]

    sys.exit, os._exit, sys.excepthook = exit_, exit_now, failed  # type: ignore[assignment]
    atexit.register(witness.end)
    witness.tell("begins")
    threading.Thread(target=witness.beat, name="witness", daemon=True).start()
    return witness


if os.environ.get("GANG_HISTORY") and GIVEN in os.environ:
    WITNESS = begin()
if __name__ == "__main__":
    signal.pause()
