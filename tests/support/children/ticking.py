"""The programs of `worker.py`, each with a thread that writes when the process runs, as finely as it can.

A file a process in `ticks/`: named by role, generation, rank and pid; in it pairs of times on the monotonic clock,
from when until when it ran without a gap. They lie in shared memory, so that they are there after any death.
"""

import mmap
import os
import runpy
import struct
import sys
import threading
import time
from pathlib import Path

FIRST_PORT = 7164
PAIR = struct.Struct("dd")
PAIRS = 64
GAP = 0.4  # so long nobody waits for a core: it was stopped
PAUSE = float(os.environ.get("TICKING_PAUSE", "0.001"))


def begun() -> float:
    """Return when this process was made, before its interpreter ran; the kernel tells it in steps of 10 ms."""
    after_name = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[19]) + 1) / os.sysconf("SC_CLK_TCK")


def tick(pages: mmap.mmap, since: float) -> None:
    """Write the time again and again, for ever; a gap begins the next pair."""
    number, last = 0, time.monotonic()
    while number < PAIRS:
        now = time.monotonic()
        if now - last > GAP:
            number, since = number + 1, now
        PAIR.pack_into(pages, number * PAIR.size, since, now)
        last = now
        if PAUSE:
            time.sleep(PAUSE)


def main() -> None:
    """Tick beside the program."""
    role = os.environ.get("TRAINING_ROLE", "TRAINER").lower()
    generation = int(os.environ.get("PADDLE_PORT", FIRST_PORT)) - FIRST_PORT + 1
    room = Path(os.environ["GANG_SCRIPT"]).with_name("ticks")
    room.mkdir(exist_ok=True)
    path = room / f"{role}-{generation}-{os.environ['POD_IP']}-{time.monotonic_ns()}"
    path.write_bytes(bytes(PAIR.size * PAIRS))
    with path.open("r+b") as file:
        pages = mmap.mmap(file.fileno(), 0)
    threading.Thread(target=tick, args=(pages, begun()), daemon=True).start()
    runpy.run_path(str(Path(__file__).with_name("worker.py")), run_name="__main__")


sys.setswitchinterval(0.0005)
main()
