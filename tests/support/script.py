"""What the programs of a gang are to do and to suffer (`children/worker.py` obeys), and what they told."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.support.lives import CHILDREN, shell
from tests.support.whole_lines import whole_lines

# Not -I: a Python that stands still is told by its environment to write its stacks.
WORKER = (sys.executable, "-S", str(CHILDREN / "worker.py"))
BEHIND_A_SHELL = shell('"$@"; exit $?', *WORKER)


@dataclass(frozen=True, slots=True)
class Fault:
    """What a program is to suffer, and where: any rank, in any generation unless said, `times` times (0: always).

    Places: `start`; a trainer's `pass N`, `save N` and `saved N` (rank 0), `end`; a pserver's `serving`, and `pass N`
    as soon as a trainer asks it in that pass; after the last one trainers ask once more where that is somebody's
    place, and end whatever comes of it. What: `exit CODE`, `fail WORDS` (its last line; it exits with 3), `kill`,
    `hang`, `stop`, `deaf` (to TERM, from then on), `wait NAME` (until the test says `g.go(NAME)`), `helper` (leaves a
    process behind), `allocate MB`; for `save N` alone `torn` and `undone`; to be found in the histories `double RUN`
    (a process notes that it is of this run, or of the next generation) and `lie CODE` (a program notes this end).
    Several at one place come one after the other. Generations are told by the pserver's port, so that after six they
    count anew.
    """

    at: str
    do: str
    rank: int | None = None
    role: str = "trainer"
    generation: int | None = None
    times: int = 1


def write(top: Path, faults: Sequence[Fault], *, passes: int, seconds: float) -> None:
    """Write the script for the programs that start from now on; what was suffered of an earlier one is forgotten."""
    new = top / "script.json.new"
    new.write_text(json.dumps({"passes": passes, "seconds": seconds, "faults": [asdict(fault) for fault in faults]}))
    new.rename(top / "script.json")
    for had in top.glob("had-*"):
        had.unlink()


def told(top: Path, facts: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return the lines that the programs told so far and that have these facts."""
    every = [json.loads(line) for line in whole_lines(top / "trace")]
    return [line for line in every if all(line.get(key) == value for key, value in facts.items())]


def expected(passes: int, trainers: int) -> str:
    """Return what an undisturbed training of so many passes comes to."""
    state = "nothing"
    for number in range(passes):
        state = hashlib.sha256(f"{state}/{number}/{trainers}".encode()).hexdigest()
    return state
