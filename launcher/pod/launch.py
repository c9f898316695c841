"""Runs a plan: each program with its pipe, its log and its words on stdout, under supervision, to one outcome."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

from launcher.pod import supervise
from launcher.pod.events import Tell, masked
from launcher.pod.inbox import Inbox
from launcher.pod.lines import Lines
from launcher.pod.logfile import Log, LogFile
from launcher.pod.outcome import Outcome, StartError
from launcher.pod.plan import Plan, Program
from launcher.pod.pump import Pump
from launcher.pod.settings import Settings
from launcher.pod.sink import Sink
from launcher.pod.spawn import spawn
from launcher.pod.supervise import Start

# How long the children's last words may take at most, while something still takes them: the kubelet kills 30 s after
# it told to stop, and the children may have had 25 of them.
FLUSH = 10.0
FLUSH_WHEN_STOPPED = 3.0


def run(plan: Plan, settings: Settings, inbox: Inbox, out: Sink, tell: Tell) -> Outcome:
    """Run the programs until nothing of them is left, and return how that ended."""
    _enter(settings)
    alone = len(plan.programs) == 1
    prefixed = not alone if settings.prefix is None else settings.prefix
    logs = {program.name: _log(program, settings, tell) for program in plan.programs}
    pumps = {
        program.name: _pump(program, logs[program.name], out, prefixed=prefixed, alone=alone)
        for program in plan.programs
    }
    starts = [
        Start(name=program.name, role=program.role, spawn=partial(_spawn, program, pumps[program.name], tell))
        for program in plan.programs
    ]
    cause = supervise.run(starts, inbox, grace=settings.timing.grace)
    until = time.monotonic() + (FLUSH if cause.culprit or not cause.code else FLUSH_WHEN_STOPPED)
    for pump in pumps.values():
        pump.finish(until)
    for log in logs.values():
        if log:
            log.finish(until)
    if not out.flush(until):
        tell("stdout_unfinished", bytes_lost=out.lost + out.waiting, remedy="does its reader still read?")
    tail = pumps[cause.culprit].tail if cause.culprit else b""
    return Outcome(code=cause.code, reason=cause.reason, tail=tail)


def _enter(settings: Settings) -> None:
    try:
        os.chdir(settings.workdir)
    except OSError as error:
        raise StartError(f"cannot enter LAUNCHER_WORKDIR={settings.workdir}: {error.strerror}") from error


def _log(program: Program, settings: Settings, tell: Tell) -> Log | None:
    if settings.job_path is None:
        return None
    parts = (settings.job, "output", f"node_{program.rank}", program.log)
    return Log(LogFile(settings.job_path, parts, tell), tell)


def _pump(program: Program, log: Log | None, out: Sink, *, prefixed: bool, alone: bool) -> Pump:
    lines = None if alone and not prefixed else Lines(f"[{program.name}] ".encode() if prefixed else b"")
    return Pump(program.name, log=log.put if log else None, out=out.put, lines=lines)


def _spawn(program: Program, pump: Pump, tell: Tell) -> int:
    with Path(os.devnull).open("rb") as nothing:
        files = {0: nothing.fileno(), 1: pump.write_end, 2: pump.write_end}
        pid = spawn(program.argv, {**os.environ, **program.env}, files=files)
    pump.start()
    tell("child_started", child=program.name, pid=pid, argv=masked(program.argv))
    return pid
