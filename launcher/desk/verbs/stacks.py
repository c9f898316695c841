"""`paddlectl stacks`: where all programs of a job stand at this moment, and who differs."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import Any

from launcher.contract import own_python
from launcher.desk.arguments import flag, of_one_job
from launcher.desk.errors import Problem, Refused
from launcher.desk.jobs import answers, lookup
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.live.asking import firsts
from launcher.desk.live.standing import standing_page
from launcher.desk.session import Desk
from launcher.text import one_line
from launcher.transfer.problem import Broken

EXAMPLES = """\
  paddlectl stacks my-job                 who stands where, and a stack of each place
  paddlectl stacks -full my-job           the stacks of all programs
  paddlectl stacks -o json my-job"""
_LONGEST = 400  # characters of what a pod says

_Json = dict[str, Any]


def arguments(parser: ArgumentParser) -> None:
    """Add which job, and how much of it."""
    of_one_job(parser)
    flag(parser, "full", action="store_true", help="the stacks of all programs, not one of each place")
    flag(parser, "o", "output", choices=("json", "yaml"), default="", help="as values")


def run(given: Namespace, desk: Desk) -> int:
    """Have all launchers take the stacks of their programs, and show them by where they stand."""
    told = _told(desk, given.job, everything=given.full)
    if given.o:
        desk.terminal.out(answers.values_text(told, given.o))
        return 0
    if not told.get("programs"):
        waits = f": {one_line(told['waiting'], _LONGEST)}" if told.get("waiting") else ""
        raise Problem(
            f"no program of job {given.job} trains at the moment, it is {told.get('stage', 'beginning')}{waits}"
        )
    if not told.get("asks", True):
        desk.terminal.note("LAUNCHER_STACKS is off in this job: what follows is the kernel's view of its programs")
    desk.terminal.out(standing_page(told, everything=given.full))
    return 0


def _told(desk: Desk, name: str, *, everything: bool) -> _Json:
    """Return what the leader's pod says of a look at all programs."""
    gang = lookup.found(desk.api, name)
    if gang.over:
        raise Problem(f"{gang.told()}: none of its programs runs")
    pods = lookup.gang_pods(desk.api, name)
    brought = bool(gang.lead.spec.get("launcher"))
    told: _Json = {}
    for pod in _leaders_first(pods):
        told = _asked(desk, pod, everything=everything, brought=brought)
        if "programs" in told:
            return told
        if led := next((each for each in pods if each.address and each.address == told.get("leader")), None):
            return _asked(desk, led, everything=everything, brought=brought)
    if told.get("problem"):
        raise Problem(one_line(told["problem"], _LONGEST))
    raise Problem(f"no pod of job {name} leads its gang yet: `paddlectl describe {name}` says what it waits for")


def _leaders_first(pods: tuple[KubePod, ...]) -> list[KubePod]:
    first = firsts(pods)
    running = [pod for pod in pods if pod.phase == "Running" and pod.begun and pod not in first]
    return [*first, *running[:1]]


def _asked(desk: Desk, pod: KubePod, *, everything: bool, brought: bool) -> _Json:
    """Run the agent in a pod, by the launcher's own Python, wherever it is there."""
    words = ("-I", "-m", "launcher.stacks", *(("--all",) if everything else ()))
    problem = ""
    for python in (own_python(brought=brought), own_python(brought=not brought)):
        try:
            return _said_by(desk, pod, (python, *words))
        except Refused as refused:
            raise refused.about(
                "a program cannot be run in the leader's pod (pods/exec), which asks its launcher"
            ) from None
        except (Broken, ValueError) as error:
            problem = problem or str(error)
    raise Problem(f"pod {pod.name} does not tell where its programs stand: {one_line(problem, _LONGEST)}")


def _said_by(desk: Desk, pod: KubePod, command: tuple[str, ...]) -> _Json:
    from launcher.desk.files.exec_socket import dialed  # only here: it brings what speaks through a WebSocket

    with closing(dialed(desk.api, pod.name, pod.container, command)) as wire:
        said = b""
        while not said.endswith(b"\n"):
            block = wire.receive()
            if not block:
                raise Broken(wire.words.decode(errors="replace") or "it says nothing")
            said += block
    found = json.loads(said)
    if not isinstance(found, dict):
        raise Broken("it answers with something else")
    return found
