"""The desk: how long `paddlectl` takes for its help, and for `get jobs` among 500 jobs, beside kubectl in one run.

Against an API server without nodes (tests/grounds/api/control_plane): 500 suspended jobs, made by `PaddleJob`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

import pytest

from bench.lives import Ground
from bench.rows import Measure, Row, Values, in_turns, rows
from launcher.desk.config.datacenters import Datacenter
from launcher.desk.jobs.api_calls import PAGE, opened_api
from launcher.job import PaddleJob
from tests.grounds.api.control_plane import ControlPlane, control_plane

HELP_GOAL, GET_GOAL = 150, 1000
JOBS = 500
ROUNDS = 9
KUBECTL = "kubectl get jobs"


def desk(ground: Ground) -> tuple[Row, ...]:
    """Return how quickly the desk answers."""
    words = (sys.executable, "-m", "launcher.desk")
    bare = (sys.executable, "-c", "pass")
    environ = {**os.environ, "HOME": str(ground.directory)}
    measures: dict[str, Measure] = {
        "ours": lambda: ran((*words, "--help"), environ),
        "python alone": lambda: ran(bare, environ),
    }
    figures = in_turns(measures, ground.rounds(ROUNDS), ground.progress)
    help_row = Row(what="paddlectl --help", unit="ms", ours=None, against="", goal=HELP_GOAL)
    return (*rows(help_row, "ms", figures, ("python alone",)), *_jobs(ground, words, environ))


def _jobs(ground: Ground, words: Sequence[str], environ: Mapping[str, str]) -> tuple[Row, ...]:
    what = f"paddlectl get jobs among {JOBS} jobs"
    place = ground.directory / "plane"
    place.mkdir()
    try:
        with control_plane(place) as plane:
            fill(plane, ground)
            known = {**environ, "KUBECONFIG": str(plane.kubeconfig)}
            ours = (*words, "get", "jobs")
            if ran(ours, known)["lines"] != JOBS + 1:
                raise RuntimeError("not every job is listed")
            kubectl = (str(plane.kubectl_program), "get", "jobs")
            measures: dict[str, Measure] = {
                "ours": lambda: ran(ours, known),
                KUBECTL: lambda: ran(kubectl, known),
            }
            figures = in_turns(measures, ground.rounds(ROUNDS), ground.progress)
    except pytest.skip.Exception as skipped:
        return (Row(what=what, unit="ms", ours=None, against=KUBECTL, note=str(skipped)),)
    time_row = Row(what=what, unit="ms", ours=None, against="", goal=GET_GOAL)
    peak = Row(what=f"{what}: memory at the most ({PAGE} a page)", unit="MB", ours=None, against="")
    return (*rows(time_row, "ms", figures, (KUBECTL,)), *rows(peak, "peak", figures, (KUBECTL,)))


def fill(plane: ControlPlane, ground: Ground) -> None:
    """Make the jobs; suspended, so that there are no pods to make."""
    api = opened_api(Datacenter(), "", {"KUBECONFIG": str(plane.kubeconfig)}, lambda _: None)
    for number in range(JOBS):
        ground.progress(f"job {number} of {JOBS}")
        job = PaddleJob(job_name=f"job-{number}", entry_point="python train.py", runtime_image="repo/paddle:1")
        manifest = job.manifests()[0]
        manifest["spec"]["suspend"] = True
        api.create(manifest)


def ran(words: Sequence[str], environ: Mapping[str, str]) -> Values:
    """Run a command to its end, and return the milliseconds, its memory at the most, and the lines of its output."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(words, env=dict(environ), stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begun
        out.seek(0)
        lines = out.read().count(b"\n")
    if process.returncode:
        raise RuntimeError(f"{words} ended with {process.returncode}")
    return {"ms": seconds * 1e3, "peak": usage.ru_maxrss / 1024, "lines": float(lines)}
