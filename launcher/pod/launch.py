"""Runs a plan: each program with its pipe, its log and its words on stdout, under supervision, to one outcome."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from launcher.pod import supervise
from launcher.pod.events import Tell
from launcher.pod.inbox import Inbox
from launcher.pod.lines import Lines
from launcher.pod.logfile import Log, LogFile
from launcher.pod.masking import masked
from launcher.pod.outcome import Outcome
from launcher.pod.plan import Plan, Program
from launcher.pod.policy import Child, exit_code
from launcher.pod.pump import Pump
from launcher.pod.settings import Settings
from launcher.pod.sink import Sink
from launcher.pod.spawn import spawn
from launcher.pod.supervise import Manners, Start

# How long the children's last words may take at most, while something still takes them: the kubelet kills 30 s after
# it told to stop, and the children may have had 25 of them.
FLUSH = 10.0
FLUSH_WHEN_STOPPED = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A program's output on its way: the pipe, and the log file where the job has a directory."""

    program: Program
    pump: Pump
    log: Log | None


def run(plan: Plan, settings: Settings, inbox: Inbox, out: Sink, tell: Tell) -> Outcome:
    """Run the programs until nothing of them is left, and return how that ended."""
    voices = _voices(plan, settings, out, tell)
    starts = [_start(voice, tell) for voice in voices]
    manners = Manners(ended=partial(_tell_end, tell))
    cause = supervise.run(starts, inbox, grace=settings.timing.grace, manners=manners)
    _finish(voices, out, tell, time.monotonic() + (FLUSH if cause.culprit or not cause.code else FLUSH_WHEN_STOPPED))
    tails = {voice.program.name: voice.pump.tail for voice in voices}
    return Outcome(code=cause.code, reason=cause.reason, tail=tails.get(cause.culprit, b""))


def _voices(plan: Plan, settings: Settings, out: Sink, tell: Tell) -> tuple[Voice, ...]:
    alone = len(plan.programs) == 1
    prefixed = not alone if settings.prefix is None else settings.prefix
    voices = []
    for program in plan.programs:
        log = _log(program, settings, tell)
        lines = None if alone and not prefixed else Lines(f"[{program.name}] ".encode() if prefixed else b"")
        pump = Pump(program.name, log=log.put if log else None, out=out.put, lines=lines)
        voices.append(Voice(program=program, pump=pump, log=log))
    return tuple(voices)


def _finish(voices: Sequence[Voice], out: Sink, tell: Tell, until: float) -> None:
    for voice in voices:
        voice.pump.finish(until)
    for voice in voices:
        if voice.log:
            voice.log.finish(until)
    if not out.flush(until):
        tell("stdout_unfinished", bytes_lost=out.lost + out.waiting, remedy="does its reader still read?")


def _log(program: Program, settings: Settings, tell: Tell) -> Log | None:
    if settings.job_path is None:
        return None
    parts = (settings.job, "output", f"node_{program.rank}", program.log)
    return Log(LogFile(settings.job_path, parts, tell), tell)


def _start(voice: Voice, tell: Tell) -> Start:
    return Start(name=voice.program.name, role=voice.program.role, spawn=partial(_spawn, voice, tell))


def _spawn(voice: Voice, tell: Tell) -> int:
    program, pump = voice.program, voice.pump
    with Path(os.devnull).open("rb") as nothing:
        files = {0: nothing.fileno(), 1: pump.write_end, 2: pump.write_end}
        pid = spawn(program.argv, {**os.environ, **program.env}, files=files)
    pump.start()
    tell("child_started", child=program.name, pid=pid, argv=masked(program.argv))
    return pid


def _tell_end(tell: Tell, child: Child) -> None:
    tell("child_exited", child=child.name, code=exit_code(child.code or 0), told_to_end=child.told is not None)
