"""A gang of torch whose width changes beside torchrun's own elasticity: `python -m bench.torchrun_widths`.

Three pods of ours and three `torchrun --nnodes=2:3`, by turns, the defaults of both; and of torchrun also with a
store of its own for each start. A program notes when it has met all others of its width, and its first one each step.
One is told to stop, and comes again later.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.framework_table import spread
from bench.machine import busy, described
from tests.cluster.elastic.page import put
from tests.real import install
from tests.support.gangs import gang
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

ROUNDS = 3
LIMIT = 120.0
# From the second start on the agents of torch 2.15 go on with the first one's store, and nobody writes its address
# again, for which a newcomer waits. With this each start has a store of its own.
APART = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
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
            g.hide(g.places[2])

        def come() -> None:
            g.start(2)

        yield Side(notes=top / "notes", leave=leave, come=come)
        for each in g.places:
            each.send(signal.SIGTERM)
        g.codes()


@contextmanager
def theirs(top: Path, python: Path, *, apart: bool) -> Iterator[Side]:
    """Three agents of torchrun; the first one has the rendezvous."""
    (top / "train.py").write_text(PROGRAM)
    agents: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        words = (
            *(str(python), "-m", "torch.distributed.run", "--nnodes=2:3", "--nproc-per-node=1", "--max-restarts=9"),
            *("--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{PORT}", "--rdzv-id=widths", str(top / "train.py")),
        )
        own = {"NOTES": str(top / "notes"), "OMP_NUM_THREADS": "1", "TMPDIR": str(top), APART: str(int(apart))}
        with (top / "said").open("ab") as said:
            agents.append(
                subprocess.Popen(words, env={**os.environ, **own}, stdout=said, stderr=said, start_new_session=True)
            )

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


Took = tuple[float, float] | None  # until all train, and for how long of it none did; nothing where they never did
SIDES: dict[str, Callable[[Path, Path], AbstractContextManager[Side]]] = {
    "ours": ours,
    f"torchrun, `{APART}=1`": partial(theirs, apart=True),
    "torchrun": partial(theirs, apart=False),
}


def played(begin: Callable[[Path, Path], AbstractContextManager[Side]], python: Path) -> Sequence[Took]:
    """Let one of three leave, and come again if the others train by then; return what each took."""
    with (
        tempfile.TemporaryDirectory(prefix="widths-") as place,
        (Path(place) / "told").open("w") as told,
        redirect_stdout(told),  # what pytest shows where a test fails
        begin(Path(place), python) as side,
    ):
        side.met(3, 0.0)
        time.sleep(1.0)
        found: list[Took] = []
        for width, act in ((2, side.leave), (3, side.come)):
            since = time.monotonic()
            act()
            try:
                found.append(side.met(width, since))
            except AssertionError:  # never within the limit: nothing can come after it
                found.append(None)
                break
            time.sleep(1.0)
        return found


def rows(found: Mapping[str, Sequence[Sequence[Took]]]) -> Iterator[str]:
    """Say of each side what both changes took; the second one is not tried where the first never ended."""
    changes_told = "one of three leaves -> two train | of it nobody trained | it comes again -> three train"
    yield f"| within {LIMIT:.0f} s | {changes_told} | of it nobody trained |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, tries in found.items():
        changes = [tried(tries, change) for change in range(2)]
        cells = [spread([took and took[which] for took in change]) for change in changes for which in range(2)]
        yield f"| {name} | {' | '.join(cells)} |"


def ratios(found: Mapping[str, Sequence[Sequence[Took]]]) -> Iterator[str]:
    """Say what ours takes beside what each of the others does, where that came to an end."""
    ours, *others = found
    for other in others:
        told = []
        for change, what in enumerate(("one leaves", "one comes")):
            mine, its = ([took[0] for took in tried(found[side], change) if took] for side in (ours, other))
            if mine and its:
                told.append(f"{statistics.median(mine) / statistics.median(its):.2f} where {what}")
        yield f"Ours beside {other}: {', '.join(told) or '-'}."


def tried(tries: Sequence[Sequence[Took]], change: int) -> list[Took]:
    """Return what one of the changes took, each time that it was tried."""
    return [each[change] for each in tries if len(each) > change]


def main(words: Sequence[str]) -> int:
    """Measure all by turns, and tell the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.torchrun_widths", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into bench/elastic.md")
    asked = parser.parse_args(words)
    python = install.python(install.LARGE)
    found: dict[str, list[Sequence[Took]]] = {name: [] for name in SIDES}
    for _ in range(ROUNDS):
        for name, begin in SIDES.items():
            found[name].append(played(begin, python))
            print(name, found[name][-1], file=sys.stderr, flush=True)
    machine = f"torch {_version(python)}; {described()}; load {busy():.0f}."
    table = "\n".join((*rows(found), "", *ratios(found), machine))
    print(table)
    if asked.write:
        put("torchrun", table)
    return 0


def _version(python: Path) -> str:
    words = (str(python), "-c", "import torch; print(torch.__version__)")
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
