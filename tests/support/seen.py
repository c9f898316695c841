"""A gang whose trainers count steps, and an API server that leads to its real launchers: what a desk sees of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.grounds.api.of_a_gang import GangApi, Place, api_of
from tests.support.desks import User
from tests.support.gangs import Gang, gang

# Each trainer makes steps until the test lets it end; rank 1 is slow, and fails where the test says so.
STEPS = """
import os, sys, time
sys.path.insert(0, {root!r})
from launcher import here

top, rank = os.path.dirname(os.environ["GANG_SCRIPT"]), here.rank()
first, step = here.resume()[0], 0
while not os.path.exists(f"{{top}}/go"):
    step += 1
    with here.step("data") as phase:
        phase("compute")
        time.sleep(0.06 if rank == 1 else 0.02)
    here.progress(first, step, loss=1 / step)
    print("step", step, "\\x1b[31mred\\x1b[0m", flush=True)
    if rank == 1 and os.path.exists(f"{{top}}/fail"):
        os.unlink(f"{{top}}/fail")
        sys.exit(7)
    if rank == 1 and os.path.exists(f"{{top}}/stay"):
        time.sleep(60)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The gang, the API around it, and who looks."""

    gang: Gang
    api: GangApi
    me: User


@contextmanager
def seen(count: int, top: Path, env: Mapping[str, str] | None = None) -> Iterator[Seen]:
    """Start a gang whose trainers make steps, and an API server that has its pods."""
    program = STEPS.format(root=str(Path(__file__).parents[2]))
    # A browser that starts takes both processors for seconds: no pod is lost for that.
    settings = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_PEER_TIMEOUT": "15", **(env or {})}
    with gang(count, top, command=(sys.executable, "-c", program), env=settings) as g:
        places = [
            Place(rank=rank, name=f"job-trainer-{rank}-x7k2p", address=g.address(rank), log=partial(log, g, rank))
            for rank in range(count)
        ]
        with api_of(top / "home", *places) as (api, me):
            yield Seen(gang=g, api=api, me=me)
        g.go()
        g.codes()


def log(g: Gang, rank: int) -> bytes:
    """Return what a pod has written: its trainer's lines, and the launcher's."""
    path = g.output / f"node_{rank}" / "train.log"
    return (path.read_bytes() if path.exists() else b"") + g.launcher(rank).life.err().encode()
