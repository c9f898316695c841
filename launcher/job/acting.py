"""Where a verb is done: by the desk in this Python, or in the launcher's own where this one lacks what it needs.

A runtime image has the training program's Python, of whatever version, and the launcher's with all its packages.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import cast

from launcher.contract import own_python
from launcher.job.problem import JobError
from launcher.job.values import unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from typing import IO, Any

    from launcher.job.paddlejob import JobByName

    Heed = Callable[[Any], object]


def inside(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether this is a process of a job: its launcher has set its role."""
    return bool(environ.get("TRAINING_ROLE") or environ.get("LAUNCHER_HERE"))


def act(verb: str, who: JobByName, own: str = "", heed: Heed | None = None, **options: Any) -> Any:  # noqa: ANN401  # as the desk's
    """Do a verb of the desk on a job, and return what the desk returns; `heed` gets what it says meanwhile."""
    own, heed = own or installed(), heed or (lambda _: None)
    if _here(verb, own):
        return here(verb, who, options, heed)
    asked = _there(own, verb, who, options)
    return asked if verb == "logs" else _heeded(asked, heed)


def here(verb: str, who: JobByName, options: Mapping[str, Any], heed: Heed) -> Any:  # noqa: ANN401  # as the desk's
    """Do it in this process."""
    from launcher.desk.jobs import control

    return control.for_python(verb, who, options, heed)


def installed(places: Sequence[str] = (own_python(), own_python(brought=True))) -> str:
    """Return the launcher's own Python, wherever it is here; where it is not, the place that it has in its images."""
    return next((path for path in places if os.access(path, os.X_OK)), places[0])


def _here(verb: str, own: str) -> bool:
    """Return whether this Python can do it; a JobError tells why no other can."""
    from importlib.util import find_spec

    if inside():
        name = os.environ.get("JOB_NAME") or "a job"
        raise JobError([f"{verb}: this process is part of {name}: call it outside of the job"])
    if sys.version_info >= (3, 11) and find_spec("kubernetes") and find_spec("launcher.desk"):
        return True
    if not os.access(own, os.X_OK):
        expected = f"Python 3.11 with paddle-launcher installed by pip, or an image with {own}"
        raise JobError([f"{verb}: this Python has no package kubernetes; expected {expected}"])
    return False


def _heeded(asked: Generator[Any, None, Any], heed: Heed) -> Any:  # noqa: ANN401  # as the desk's
    while True:
        try:
            heed(next(asked))
        except StopIteration as over:
            return over.value


def _there(own: str, verb: str, who: JobByName, options: Mapping[str, Any]) -> Generator[Any, None, Any]:
    """Do it in the launcher's own Python: yield what it says meanwhile, and return the result."""
    import json
    import subprocess

    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as answer:
        try:
            words = (own, "-I", "-m", "launcher.job")
            process = subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=(writing,))
        finally:
            os.close(writing)
        told: dict[str, Any] = {}
        try:
            _ask(
                cast("IO[bytes]", process.stdin),
                {"verb": verb, "job": asdict(who), "options": options, "answer": writing},
            )
            for line in answer:
                told = json.loads(line)
                if "said" in told:
                    yield unpacked(told["said"])
        except BaseException:  # nobody reads on
            process.terminate()
            raise
        finally:
            process.wait()
    if "problems" in told:
        raise JobError(told["problems"])
    if "ok" not in told:
        raise JobError([f"{verb}: {own} ended with {process.returncode} and no answer; its output is above"])
    return unpacked(told["ok"])


def _ask(stdin: IO[bytes], question: dict[str, Any]) -> None:
    import json

    with suppress(BrokenPipeError), stdin:
        stdin.write(json.dumps(question).encode())
