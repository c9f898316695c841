"""Where a verb is done: by the desk in this Python, or in the launcher's own where this one lacks what it needs.

A runtime image has the training program's Python, of whatever version, and the launcher's with all its packages.
"""

from __future__ import annotations

import os
import sys

from launcher.contract import PYTHON
from launcher.job.problem import JobError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from launcher.job.description import Job


def inside(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether this is a process of a job: its launcher has set its role."""
    return bool(environ.get("TRAINING_ROLE") or environ.get("LAUNCHER_HERE"))


def act(verb: str, job: Job, own: str = PYTHON, **options: Any) -> Any:  # noqa: ANN401  # as the desk's
    """Do a verb of the desk on a job, and return what the desk returns."""
    from importlib.util import find_spec

    if inside():
        name = os.environ.get("JOB_NAME") or "a job"
        raise JobError([f"{verb}: this process is part of {name}: call it outside of the job"])
    if sys.version_info >= (3, 11) and find_spec("kubernetes") and find_spec("launcher.desk"):
        return here(verb, job, options)
    if not os.access(own, os.X_OK):
        expected = f"Python 3.11 with paddle-launcher installed by pip, or an image with {own}"
        raise JobError([f"{verb}: this Python has no package kubernetes; expected {expected}"])
    return _there(own, verb, job, options)


def here(verb: str, job: Job, options: Mapping[str, Any]) -> Any:  # noqa: ANN401  # as the desk's
    """Do it in this process."""
    from launcher.desk.jobs import control, submit

    if verb in control.WITH_JOB:
        return control.WITH_JOB[verb](job, **options)
    return control.BY_NAME[verb](job.job_name, submit.desk_of(job), **options)


def _there(own: str, verb: str, job: Job, options: Mapping[str, Any]) -> Any:  # noqa: ANN401  # as the desk's
    """Do it in the launcher's own Python, whose words are this one's, and whose answer comes by a pipe."""
    import json
    import subprocess
    from dataclasses import asdict

    reading, writing = os.pipe()
    question = {"verb": verb, "job": asdict(job), "options": options, "answer": writing}
    with os.fdopen(reading, encoding="utf-8") as answer:
        try:
            words = (own, "-I", "-m", "launcher.job")
            process = subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=(writing,))
        finally:
            os.close(writing)
        process.communicate(json.dumps(question).encode())
        text = answer.read()
    if not text:
        raise JobError([f"{verb}: {own} ended with {process.returncode} and no answer; its output is above"])
    told = json.loads(text)
    if "problems" in told:
        raise JobError(told["problems"])
    return told["ok"]
