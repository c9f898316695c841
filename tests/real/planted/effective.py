"""A training with a fault each minute, by launchers and by a shell's loop: `python -m tests.real.planted.effective`.

Its passes are counted against the time that it took. The bare programs are each in the loop that a user has without a
launcher: started again when it ends, killed when its log has been silent for a while, from the newest whole pass.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine
from bench.framework_bare import SUBJECTS, Spot
from bench.table import columns, inserted
from launcher.contract import Spent
from tests.real import install
from tests.real.planted.lines import LINES
from tests.real.planted.plans import JAX, RANKS, ROOT
from tests.real.planted.runs import FOR_PROGRAMS, MEETING, SETTINGS, START, TURNS
from tests.support.gangs import gang
from tests.support.ledgers import unknown
from tests.support.lives import Lives
from tests.support.waiting import wait_until

PAGE = ROOT / "bench" / "diagnosis.md"
BEGIN, END = (
    "<!-- effective: written by `python -m tests.real.planted.effective --write` -->",
    "<!-- end of effective -->",
)
SECONDS, EVERY, SEED = 600.0, 60.0, 1300
PAUSE, PASS = 0.1, 4.6  # seconds: of a step, and of a pass of 40 of them on an idle machine
SILENT = 30  # seconds: a bare program whose log has had nothing new for so long is killed
ACTS = ("kill", "crash", "read", "frozen", "spin")
HEAD = ("", "passes", "faults", "s", "s a pass, undisturbed", "effective", "by the ledger", "unknown", "why not all")
# $1: the log; $2: the newest whole passes; the rest is the command.
LOOP = """
log=$1 passes=$2
shift 2
while :; do
    newest=$(ls -d "$passes"/pass-*/done 2>/dev/null | tail -n 1)
    if [ -n "$newest" ]; then
        number=${newest%/done} && number=${number##*pass-}
        export LAUNCHER_RESUME_DIR=${newest%/done} LAUNCHER_START_PASS=$((1$number - 100000 + 1))
    fi
    touch "$log"
    "$@" >>"$log" 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        sleep 1
        [ $(($(date +%s) - $(stat -c %Y "$log"))) -lt SILENT ] || kill -KILL $pid 2>/dev/null
    done
    wait $pid 2>/dev/null && exit 0
    sleep 1
done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What came of such a training: passes that were kept, faults, seconds, and when each pass was whole."""

    name: str
    wanted: int
    faults: int
    seconds: float
    done: tuple[float, ...]
    kept: float | None = None  # by the ledger
    unknown: float | None = None
    said: str = ""

    @property
    def passes(self) -> int:
        """How many are whole."""
        return len(self.done)

    @property
    def usual(self) -> float:
        """The seconds of a pass: the median between two, most of which nothing disturbed."""
        return statistics.median(after - before for before, after in zip(self.done, self.done[1:], strict=False))

    @property
    def cells(self) -> tuple[str, ...]:
        """Return its row."""
        return (
            self.name,
            f"{self.passes} of {self.wanted}",
            str(self.faults),
            f"{self.seconds:.0f}",
            f"{self.usual:.2f}",
            f"{self.passes * self.usual / self.seconds:.1%}",
            "" if self.kept is None else f"{self.kept:.1%}",
            "" if self.unknown is None else f"{self.unknown:.2%}",
            "" if self.passes == self.wanted else self.said or "it was ended: it took three times as long",
        )


def main() -> int:
    """Train both ways, print the table, and return whether ours came to its end."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.planted.effective", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="N", help=f"without faults, {SECONDS:g}")
    parser.add_argument(
        "--every", type=float, default=EVERY, metavar="N", help=f"seconds from fault to fault, {EVERY:g}"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="S", help=f"of the faults, {SEED} unless said")
    parser.add_argument("--write", action="store_true", help=f"put the table into bench/{PAGE.name}")
    asked = parser.parse_args()
    before = machine.busy()
    wanted = round(asked.seconds / PASS)
    clock = faults(asked.seed, asked.every, 6 * asked.seconds)
    found = [ours(clock, wanted, 3 * asked.seconds), bare(clock, wanted, 3 * asked.seconds)]
    where = f"{time.strftime('%Y-%m-%d')}: {machine.described()}; load {before:.1f} before; seed {asked.seed}."
    told = f"A fault each {asked.every:g} s, in turn by chance: {', '.join(ACTS)}."
    text = f"{where} {told}\n\n{columns(HEAD, [each.cells for each in found])}"
    print(text)
    if asked.write:
        PAGE.write_text(inserted(PAGE.read_text(), text, BEGIN, END))
    return 0 if found[0].passes == wanted else 1


def faults(seed: int, every: float, until: float) -> list[tuple[float, int, str, int]]:
    """Return a fault for each so many seconds: when, whose, what, at which line."""
    dice = random.Random(seed)  # noqa: S311  # no secret
    whole = int(until / every)
    return [
        (every * number, dice.randrange(RANKS), dice.choice(ACTS), dice.randrange(len(LINES)))
        for number in range(1, whole + 1)
    ]


def ours(clock: Sequence[object], wanted: int, bound: float) -> Effect:
    """Train under three launchers."""
    with tempfile.TemporaryDirectory(prefix="effective-") as directory:
        top = Path(directory)
        port = MEETING + 20 * random.randrange(TURNS)  # noqa: S311
        env = {**SETTINGS, **FOR_PROGRAMS, "LAUNCHER_RUNTIME": "jax", "LAUNCHER_PORTS": str(port)}
        env["PLANTED"] = str(_planned(top, clock, wanted))
        begun = time.monotonic()
        with (
            (top / "said").open("w") as said,
            redirect_stdout(said),
            gang(RANKS, top, command=_command(), env=env) as g,
        ):
            with suppress(AssertionError):
                g.codes(bound)
            seconds = time.monotonic() - begun
            return Effect(
                name="under launchers",
                wanted=wanted,
                faults=_had(top),
                seconds=seconds,
                kept=_kept(g.events()),
                unknown=unknown(g),
                done=_done(g.output),
                said=g.places[0].message().partition("\n")[0],
            )


def bare(clock: Sequence[object], wanted: int, bound: float) -> Effect:
    """Train in three shells' loops."""
    with tempfile.TemporaryDirectory(prefix="effective-") as directory:
        top = Path(directory)
        plan = _planned(top, clock, wanted)
        begun = time.monotonic()
        with (top / "said").open("w") as said, redirect_stdout(said), _loops(top, plan) as loops:
            with suppress(AssertionError):
                wait_until(lambda: all(each.poll() is not None for each in loops), bound, every=0.2)
            seconds = time.monotonic() - begun
            done = _done(top / "rank-0" / "output")
            return Effect(name="in a shell's loop", wanted=wanted, faults=_had(top), seconds=seconds, done=done)


@contextmanager
def _loops(top: Path, plan: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    subject = next(each for each in SUBJECTS if each.example.folder == JAX.name)
    port = MEETING + 20 * random.randrange(TURNS)  # noqa: S311
    net = f"127.{random.randint(10, 250)}.{random.randint(0, 250)}"  # noqa: S311
    with Lives() as lives:
        started = []
        try:
            for rank in range(RANKS):
                spot = Spot(rank=rank, net=net, port=port, program=_command())
                argv, more = subject.bare(spot)
                own = {
                    "TRAINER_ID": str(rank),
                    "TRAINERS": str(RANKS),
                    "JOB_PATH": str(top),
                    "JOB_NAME": f"rank-{rank}",
                }
                env = {**os.environ, **FOR_PROGRAMS, "PYTHONPATH": str(ROOT), **own, **more, "PLANTED": str(plan)}
                words = ("/bin/bash", "-c", LOOP.replace("SILENT", str(SILENT)), "loop", str(top / f"log-{rank}"))
                life = lives.start(str(top / "rank-0" / "output"), *argv, whole_env=env, launcher=words)
                started.append(life.process)
            yield started
        finally:
            for pid in lives.marked():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _command() -> tuple[str, ...]:
    return (str(install.python(install.FRAMEWORKS)), str(START), str(JAX.path))


def _planned(top: Path, clock: Sequence[object], wanted: int) -> Path:
    room = top / "planted"
    room.mkdir()
    facts = {
        "fault": "none",
        "role": "trainer",
        "ranks": [],
        "at": [0, 0],
        "lines": [],
        "slow_disk": "",
        "steps": True,
    }
    (room / "plan.json").write_text(json.dumps({**facts, "pause": PAUSE, "passes": wanted, "clock": clock}))
    return room / "plan.json"


def _had(top: Path) -> int:
    return len(list((top / "planted").glob("had-*")))


def _done(output: Path) -> tuple[float, ...]:
    return tuple(sorted(path.stat().st_mtime for path in output.glob("pass-*/done")))


def _kept(told: Sequence[dict[str, Any]]) -> float | None:
    """Return the part of all launchers' seconds that was training kept."""
    members = {
        each["boot"]: each["seconds"] for event in told if event["event"] == "ledger" for each in event["members"]
    }
    every = sum(sum(seconds.values()) for seconds in members.values())
    return sum(seconds.get(Spent.KEPT, 0.0) for seconds in members.values()) / every if every else None


if __name__ == "__main__":
    sys.exit(main())
