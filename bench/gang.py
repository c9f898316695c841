"""A gang of three pods on this machine: a trainer dies, who is told, when all train again; and how idle it is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.gang_peers import PADDLE, TORCHRUN, heard, peers
from bench.idle import so_far
from bench.lives import CHILD, Ground, as_process_one, job, where
from bench.processes import Bell, Life, bell, running
from bench.rows import Figure, Figures, Measure, Row, Values, rows

OWN_GOAL, OTHERS_GOAL, RESTART_GOAL = 10, 50, 250
ROUNDS = 12
PODS = 3
FALLS = 1  # the rank whose trainer dies
WINDOW = 10.0
SETTLED = 3.0
MOMENT = 0.2
ALONE = "the pserver alone"


def gang(ground: Ground) -> tuple[Row, ...]:
    """Return how soon a gang knows that a trainer died, how soon it trains again, and how often it wakes in peace."""
    leave = ground.directory / "leave"
    os.mkfifo(leave)
    with bell(ground.directory) as hung:
        ours: dict[str, Measure] = {
            "ours": lambda: _fallen(ground, hung, leave),
            ALONE: lambda: _alone(hung, leave),
        }
        figures = ground.in_turns(ours, peers(ground.directory, hung, leave, str(FALLS)), ROUNDS)
        quiet = _idle(ground, hung, leave)
    return (*_rows(ground, figures), *quiet)


def _rows(ground: Ground, figures: Figures) -> tuple[Row, ...]:
    named = f"{PODS} pods, {where(ground)}"
    own = Row(
        what=f"{named}: a trainer's death -> its pserver has TERM", unit="ms", ours=None, against="", goal=OWN_GOAL
    )
    others = Row(
        what=f"{named}: a trainer's death -> all programs of the other pods have TERM",
        unit="ms", ours=None, against="", goal=OTHERS_GOAL,
    )  # fmt: skip
    goal = round(RESTART_GOAL + figures[ALONE]["own"].median)
    again = Row(
        what=f"{named}: a trainer's death -> all trainers run again (goal: {RESTART_GOAL} ms + pserver's start)",
        unit="ms", ours=None, against="", goal=goal,
    )  # fmt: skip
    known = {name: figure for name, figure in figures.items() if name != ALONE}
    return (
        *rows(own, "own", {"ours": known["ours"]}, ()),
        *rows(others, "others", known, (TORCHRUN, PADDLE)),
        *rows(again, "again", known, (TORCHRUN,)),  # the other one ends the job
    )


def _fallen(ground: Ground, hung: Bell, leave: Path) -> Values:
    """Let a trainer die once all run, and return when each other program was told, and when all ran again."""
    hung.forget()
    with started(ground, (*CHILD, "crew", str(hung.path), str(leave), str(FALLS))):
        heard(hung, 2 * PODS)
        time.sleep(MOMENT)
        leave.write_text("\n")
        # The dead one's word, the others' that they are told, and all of them again.
        came = heard(hung, 1 + (2 * PODS - 1) + 2 * PODS)
        at = f"127.0.1.{FALLS + 1}"
        (died,) = came["died", "trainer", at]
        (own,) = came["told", "pserver", at]
        others = max(times[0] for (what, _, place), times in came.items() if what == "told" and place != at)
        again = max(times[-1] for (what, role, _), times in came.items() if (what, role) == ("up", "trainer"))
    return {"own": own - died, "others": others - died, "again": again - died}


def _alone(hung: Bell, leave: Path) -> Values:
    env = {"TRAINING_ROLE": "PSERVER", "POD_IP": "127.0.1.9", "PADDLE_PORT": "7164"}
    hung.forget()
    begun = time.monotonic()
    with running((*CHILD, "crew", str(hung.path), str(leave), str(FALLS)), env):
        ((up,),) = heard(hung, 1).values()
    return {"own": up - begun * 1e3}


def _idle(ground: Ground, hung: Bell, leave: Path) -> tuple[Row, ...]:
    ground.progress(f"{WINDOW:g} s of peace")
    hung.forget()
    with started(ground, (*CHILD, "crew", str(hung.path), str(leave), str(FALLS))) as lives:
        heard(hung, 2 * PODS)
        time.sleep(SETTLED)
        before = [so_far(life.pid) for life in lives]
        time.sleep(WINDOW)
        after = [so_far(life.pid) for life in lives]
    values = [{key: end[key] - begin[key] for key in end} for begin, end in zip(before, after, strict=True)]
    who = {"the leader": values[:1], "a member": values[1:]}
    return tuple(
        Row(
            what=f"{PODS} pods in peace, {name}: {what} in {WINDOW:g} s, the lease's polls among them",
            unit=unit, ours=Figure.of([each[key] for each in several]), against="",
        )
        for name, several in who.items()
        for key, unit, what in (("wakes", "", "wake-ups"), ("ms", "ms", "CPU"))
    )  # fmt: skip


@contextmanager
def started(ground: Ground, command: Sequence[str]) -> Iterator[list[Life]]:
    """Start three launchers with a fleet job's programs."""
    with ExitStack() as stack:
        lives = []
        for number in range(1, PODS + 1):
            work = ground.directory / f"work-{number}"
            work.mkdir(exist_ok=True)
            env = {
                **job(ground, runtime="fleet", pods=PODS),
                "LAUNCHER_WORKDIR": str(work),
                "POD_IP": f"127.0.1.{number}",
                "LAUNCHER_MAX_RESTARTS": "1",
                "CONF_PADDLE_GRADIENT_NUM": str(PODS),
            }
            lives.append(stack.enter_context(running((*as_process_one(ground), *ground.ours, "--", *command), env)))
        yield lives
