"""One run: a real gang of three with its planted fault, with no settings but those that every run has."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher.contract import EVENTS, RECORD, SERVER_LOG, STACKS, TRAIN_LOG, node_directory
from tests.real import install
from tests.real.planted.ground import Ground, ground
from tests.real.planted.judge import Judged, Truth, judged, told
from tests.real.planted.plans import NO_STEP, PACE, RANKS, RECOMMENDATION, STALL, Plan
from tests.real.planted.tables import Result
from tests.real.recommendation import ROOT, make_data
from tests.support.gangs import Gang, gang
from tests.support.ledgers import unknown
from tests.support.lives import WITNESS, Life

START = Path(__file__).with_name("start.py")
BOUND = 300.0


def time_outs(after: Mapping[str, float]) -> dict[str, str]:
    """Return the settings that say what has to be over."""
    return {
        "LAUNCHER_STALL_TIMEOUT": f"{after[STALL]:g}",
        "LAUNCHER_PROGRESS_TIMEOUT": f"{after[NO_STEP]:g}",
    }


# The ordinary settings of somebody who wants to be told; they are the same for every fault.
AFTER = {STALL: 10.0, NO_STEP: 15.0, PACE: 50.0, "": 0.0}
SETTINGS = {
    **time_outs(AFTER),
    "LAUNCHER_NAN": "fail",
    "LAUNCHER_PEER_TIMEOUT": "15",
    "LAUNCHER_JOIN_TIMEOUT": "150",
    "LAUNCHER_REJOIN_TIMEOUT": "60",
    "LAUNCHER_GRACE": "5",
}
QUICK = {**AFTER, STALL: 3.0, NO_STEP: 4.0}  # where programs start in a second
FOR_PROGRAMS = {"PYTHONPATH": f"{WITNESS}:{ROOT}", "OMP_NUM_THREADS": "1", "PADDLE_NO_STAT": "1"}
DATA = ("--ratings=24000", "--users=400", "--movies=300")
MEETING, TURNS = 13_000, 800  # no two runs one after the other meet at the same ports


def run(plan: Plan, top: Path, after: Mapping[str, float] = AFTER) -> Result:
    """Let a gang suffer its fault, and return whether it was told truly."""
    begun = time.monotonic()
    with ground(top, plan.program.memory) as place, _quietly(top):
        room = _planned(plan, top, place)
        with gang(
            RANKS, top, command=_command(plan), env={**_environ(plan, room), **time_outs(after)}, enter=place.enter
        ) as g:
            codes = set(g.codes(BOUND))
            _keep(g)
            assert len(codes) == 1, f"not one verdict: {codes}"
            found = _judged(plan, room, g, after[plan.fault.after])
            message = g.places[0].message()
            uncounted = unknown(g)
    return Result(
        plan=plan,
        judged=found,
        code=codes.pop(),
        message=message,
        unknown=uncounted,
        seconds=time.monotonic() - begun,
    )


def _keep(g: Gang) -> None:
    """Keep what was told, whose volume goes with the gang, for whoever looks into a run that was not right."""
    (g.top / "story").write_text(g.story())
    for path in (g.output / EVENTS, *g.output.glob("node_*/*.log")):
        if path.exists():
            shutil.copy(path, g.top / f"{path.parent.name}-{path.name}")


def _judged(plan: Plan, room: Path, g: Gang, after: float) -> Judged:
    truths = [_truth(json.loads(path.read_text()), plan) for path in sorted(room.glob("truth-*"))]
    assert truths, "the fault was not suffered"
    story = [*g.events(), *(event for each in g.places for event in each.events())]
    return judged(truths, told(story), _looks(g, truths), after)


def _truth(facts: Mapping[str, Any], plan: Plan) -> Truth:
    line = facts["line"] if plan.at_line else ""
    return Truth(at=facts["at"], role=facts["role"], rank=facts["rank"], line=line)


def _looks(g: Gang, truths: Sequence[Truth]) -> dict[str, str]:
    """Return what was kept of where programs stood, and of those that have the fault what they said."""
    found = {str(path): path for path in (g.output / RECORD).glob(f"*/{STACKS}/**/*") if path.is_file()}
    for truth in truths:
        name = SERVER_LOG if truth.role == "pserver" else TRAIN_LOG
        found[truth.name] = g.output / node_directory(truth.rank) / name
    said = {f"stdout of {truth.name}": _said(g.launcher(truth.rank).life) for truth in truths}
    return {**{name: path.read_text(errors="replace") for name, path in found.items() if path.exists()}, **said}


def _said(life: Life) -> str:
    return life.process.stdout.read().decode(errors="replace") if life.process.stdout else ""


def _planned(plan: Plan, top: Path, place: Ground) -> Path:
    """Write the plan for the programs, and make their data; return the directory where they note the truth."""
    room = top / "planted"
    room.mkdir()
    facts = {
        "fault": plan.act,
        "role": plan.role,
        "ranks": plan.ranks,
        "at": plan.at,
        "lines": plan.lines,
        "pause": plan.pause,
        "slow_disk": str(place.slow),
        "steps": plan.steps,
    }
    (room / "plan.json").write_text(json.dumps(facts))
    if plan.program is RECOMMENDATION:
        make_data(top, *DATA)
    return room


def _command(plan: Plan) -> tuple[str, ...]:
    program = plan.program
    python = str(install.python(program.environment)) if program.environment else sys.executable
    flags = ("--passes=5",) if program is RECOMMENDATION else ()
    return (python, str(START), str(program.path), *flags)


def _environ(plan: Plan, room: Path) -> dict[str, str]:
    port = MEETING + 20 * random.randrange(TURNS)  # noqa: S311  # no secret
    return {
        **SETTINGS,
        **FOR_PROGRAMS,
        "LAUNCHER_RUNTIME": plan.program.runtime,
        "LAUNCHER_PORTS": str(port),
        "PLANTED": str(room / "plan.json"),
    }


@contextlib.contextmanager
def _quietly(top: Path) -> Iterator[None]:
    with (top / "said").open("w") as said, contextlib.redirect_stdout(said):
        yield
