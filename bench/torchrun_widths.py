"""A gang of torch whose width changes beside torchrun's own elasticity: `python -m bench.torchrun_widths`.

Three pods of ours and three `torchrun --nnodes=2:3`, by turns, the defaults of both. A program notes when it has met
all others of its width, and its first one each step. One is told to stop, and comes again later.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.real import install
from tests.support.gangs import gang
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

ROUNDS = 3
LIMIT = 200.0
PORT = 29471
PROGRAM = """
import os, sys, time
import torch, torch.distributed as dist

def note(what):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(f"{what} {dist.get_world_size()} {dist.get_rank()} {time.monotonic():.3f}\\n")

dist.init_process_group("gloo")
one = torch.ones(1)
dist.all_reduce(one)
note("met")
while True:
    dist.all_reduce(one)
    if dist.get_rank() == 0:
        note("step")
    time.sleep(0.1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Three of one kind, begun: how one of them leaves and comes again, and where they note."""

    notes: Path
    leave: Callable[[], None]
    come: Callable[[], None]

    def noted(self, what: str) -> list[tuple[int, int, float]]:
        lines = [line.split() for line in whole_lines(self.notes)] if self.notes.exists() else []
        return [(int(width), int(rank), float(at)) for kind, width, rank, at in lines if kind == what]

    def met(self, width: int, since: float) -> tuple[float, float]:
        """Wait until so many have met since then; return how long that took, and for how long of it none trained."""

        def ranks() -> set[int]:
            return {rank for of, rank, at in self.noted("met") if of == width and at > since}

        wait_until(lambda: len(ranks()) == width, timeout=LIMIT, every=0.1)
        all_met = max(at for of, _, at in self.noted("met") if of == width and at > since)
        before = [at for _, _, at in self.noted("step") if at < all_met]
        return all_met - since, all_met - max(before, default=since)


@contextmanager
def ours(top: Path, python: Path) -> Iterator[Side]:
    """Three launchers, and an API server that shows them."""
    (top / "train.py").write_text(PROGRAM)
    env = {
        "LAUNCHER_RUNTIME": "torch", "LAUNCHER_MEMBERS": "2:3", "LAUNCHER_RESIZE": "now",
        "LAUNCHER_PEER_TIMEOUT": "15", "LAUNCHER_REJOIN_TIMEOUT": "900", "LAUNCHER_GRACE": "25",
        "CONF_PADDLE_GRADIENT_NUM": "", "NOTES": str(top / "notes"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = (str(python), str(top / "train.py"))
    with gang(3, top, api=True, process_one=True, command=command, env=env) as g:

        def leave() -> None:
            g.places[2].send(signal.SIGTERM)
            if g.api:
                g.api.remove(g.places[2].name)

        def come() -> None:
            g.start(2)

        yield Side(notes=top / "notes", leave=leave, come=come)
        for each in g.places:
            each.send(signal.SIGTERM)
        g.codes()


@contextmanager
def theirs(top: Path, python: Path) -> Iterator[Side]:
    """Three agents of torchrun; the first one has the rendezvous."""
    (top / "train.py").write_text(PROGRAM)
    agents: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        words = (
            *(str(python), "-m", "torch.distributed.run", "--nnodes=2:3", "--nproc-per-node=1", "--max-restarts=9"),
            *("--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{PORT}", "--rdzv-id=widths", str(top / "train.py")),
        )
        env = {**os.environ, "NOTES": str(top / "notes"), "OMP_NUM_THREADS": "1"}
        with (top / "said").open("ab") as said:
            agents.append(subprocess.Popen(words, env=env, stdout=said, stderr=said, start_new_session=True))

    start()
    wait_until(_listens, timeout=LIMIT)  # or another one would have the rendezvous, and take it away with it
    for _ in range(2):
        start()
    try:
        yield Side(notes=top / "notes", leave=lambda: agents[-1].send_signal(signal.SIGTERM), come=start)
    finally:
        for each in agents:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()


def _listens() -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", PORT), timeout=1):
        return True
    return False


def main() -> int:
    """Measure both by turns, and tell the table."""
    python = install.python(install.LARGE)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number in range(2 * ROUNDS):
        name, begun = (("ours", ours), ("torchrun", theirs))[number % 2]
        with tempfile.TemporaryDirectory(prefix="widths-") as place, begun(Path(place), python) as side:
            side.met(3, 0.0)
            time.sleep(1.0)
            for what, width, act in (("leaves", 2, side.leave), ("comes", 3, side.come)):
                since = time.monotonic()
                act()
                found.setdefault((what, name), []).append(side.met(width, since))
                print(what, name, found[what, name][-1], file=sys.stderr, flush=True)
                time.sleep(1.0)
    for (what, name), figures in sorted(found.items()):
        shown = (statistics.median(each) for each in zip(*figures, strict=True))
        print(f"one of three {what}, {name}: all train after {next(shown):.1f} s, of it none for {next(shown):.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
