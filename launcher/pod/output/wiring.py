"""A program's output on its way: the pipe, its log file where the job has a directory, and its words on stdout."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from launcher.contract import OUTPUT, node_directory
from launcher.pod.log import Tell
from launcher.pod.output.lines import Lines
from launcher.pod.output.log_file import Log, LogFile
from launcher.pod.output.pump import Pump
from launcher.pod.output.sink import Sink
from launcher.pod.programs.plan import Plan, Program
from launcher.pod.settings.nouns import Settings

# Seconds to read what a child wrote just before it ended: a millisecond or two, on a node that is not overrun.
LAST_LINES = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOutput:
    """A program's output: its pipe, and its log where the job has a volume."""

    program: Program
    pump: Pump
    log: Log | None

    def tail(self) -> str:
        """Return its last lines, those included that are still in the pipe."""
        self.pump.settle(time.monotonic() + LAST_LINES)
        return self.pump.tail.decode(errors="replace")


def outputs_of(plan: Plan, settings: Settings, out: Sink, tell: Tell, heading: str) -> dict[str, ProgramOutput]:
    """Return the output of each program, by its name; `heading` is a line that its log begins with, or nothing."""
    alone = len(plan.programs) == 1
    prefixed = not alone if settings.prefix is None else settings.prefix
    found = {}
    for program in plan.programs:
        log = _log(plan, program, settings, tell)
        if log and heading:
            log.put(heading.encode(errors="replace") + b"\n")
        lines = None if alone and not prefixed else Lines(f"[{program.name}] ".encode() if prefixed else b"")
        pump = Pump(program.name, log=log.put if log else None, out=out.put, lines=lines)
        found[program.name] = ProgramOutput(program=program, pump=pump, log=log)
    return found


def finish(outputs: Sequence[ProgramOutput], out: Sink, tell: Tell, until: float) -> None:
    """Write out what the pipes and the log files still hold."""
    for output in outputs:
        output.pump.finish(until)
    for output in outputs:
        if output.log:
            output.log.finish(until)
    if not out.flush(until):
        tell(
            "stdout_unfinished",
            bytes_lost=out.lost + out.waiting,
            remedy="check the program that reads the pod's output",
        )


def _log(plan: Plan, program: Program, settings: Settings, tell: Tell) -> Log | None:
    if settings.job_path is None:
        return None
    parts = (settings.job, OUTPUT, node_directory(plan.node), program.log)
    return Log(LogFile(settings.job_path, parts, tell), tell)
