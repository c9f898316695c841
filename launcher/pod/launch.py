"""Runs a plan: each program with its pipe, its log and its words on stdout, under supervision, to one outcome."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from launcher.pod import supervise
from launcher.pod.events import Tell, masked
from launcher.pod.inbox import Inbox
from launcher.pod.lines import Lines
from launcher.pod.logfile import LogFile
from launcher.pod.outcome import Outcome, StartError
from launcher.pod.plan import Plan, Program
from launcher.pod.pump import Pump
from launcher.pod.settings import Settings
from launcher.pod.sink import Sink
from launcher.pod.spawn import spawn
from launcher.pod.supervise import Start

FLUSH = 2.0


def run(plan: Plan, settings: Settings, inbox: Inbox, out: Sink, tell: Tell) -> Outcome:
    """Run the programs until nothing of them is left, and return how that ended."""
    _enter(settings)
    prefixed = len(plan.programs) > 1 if settings.prefix is None else settings.prefix
    logs = {program.name: _log(program, settings, tell) for program in plan.programs}
    pumps = {program.name: _pump(program, logs[program.name], out, prefixed=prefixed) for program in plan.programs}
    starts = [
        Start(name=program.name, role=program.role, spawn=partial(_spawn, program, pumps[program.name], tell))
        for program in plan.programs
    ]
    cause = supervise.run(starts, inbox, grace=settings.timing.grace)
    for pump in pumps.values():
        pump.finish(FLUSH)
    for log in logs.values():
        if log and not log.flush(FLUSH):
            tell("log_file_unfinished", lost=log.lost, remedy="is the volume of the job's output answering?")
    tail = pumps[cause.culprit].tail if cause.culprit else b""
    return Outcome(code=cause.code, reason=cause.reason, tail=tail)


def _enter(settings: Settings) -> None:
    try:
        os.chdir(settings.workdir)
    except OSError as error:
        raise StartError(f"cannot enter LAUNCHER_WORKDIR={settings.workdir}: {error.strerror}") from error


def _log(program: Program, settings: Settings, tell: Tell) -> Sink | None:
    if settings.job_path is None:
        return None
    parts = (settings.job, "output", f"node_{program.rank}", program.log)
    return Sink(LogFile(settings.job_path, parts, tell).write, name=f"log {program.name}")


def _pump(program: Program, log: Sink | None, out: Sink, *, prefixed: bool) -> Pump:
    lines = Lines(f"[{program.name}] ".encode()) if prefixed else None
    return Pump(program.name, log=log.put if log else None, out=out.put, lines=lines)


def _spawn(program: Program, pump: Pump, tell: Tell) -> int:
    with Path(os.devnull).open("rb") as nothing:
        files = {0: nothing.fileno(), 1: pump.write_end, 2: pump.write_end}
        pid = spawn(program.argv, {**os.environ, **program.env}, files=files)
    pump.start()
    tell("child_started", child=program.name, pid=pid, argv=masked(program.argv))
    return pid
