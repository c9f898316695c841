"""What a pod runs: Paddle's v1 command line, or a program on Paddle's parameter servers.

No I/O here. No shell anywhere: an entry is split into words as a shell would, and they stay words.
"""

from __future__ import annotations

import re
import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from launcher.job.description import Job

V1 = ("paddle", "train")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
# Whole words that join commands, a `;` at a word's end, redirections at its beginning, and what is replaced anywhere.
_OF_SHELL = re.compile(r"^(?:&&|\|\|?|\|&|;|&)$|;$|^[0-9]*&?[<>].*|\$[A-Za-z_({].*|`.*")


def words(entry: str) -> tuple[str, ...]:
    """Return an entry's words; a ValueError tells of a quote that is not closed."""
    return tuple(shlex.split(entry))


def of_shell(entry: str) -> str:
    """Return the first thing that only a shell would understand, outside of quotes; as words it would do nothing."""
    bare = _QUOTED.sub("q", entry)
    for word in bare.split():
        if found := _OF_SHELL.search(word):
            return found.group()
    return ""


def is_v1(job: Job) -> bool:
    """Return whether `paddle train` is meant: it is said, or there is a config file for it."""
    return bool(job.topology) or words(job.entry_point)[:2] == V1


def command(job: Job, serves: bool) -> tuple[str, ...]:
    """Return a container's words; a v1 pserver takes none of the trainer's flags."""
    if not is_v1(job):
        return ("start_paddle", "--", *words(job.entry_point))
    return ("/root/start.sh", *(() if serves else _flags(job)))


def _flags(job: Job) -> tuple[str, ...]:
    """Return the flags after start.sh's own: of a flag given twice Paddle takes the last."""
    own = (f"--config=./{job.topology}",) if job.topology else ()
    passes = (f"--num_passes={job.passes}",) if job.passes is not None else ()
    gpus = ("--use_gpu=1",) if job.gpu_nums else ()
    return (*own, *passes, *gpus, *words(job.entry_point)[2:])
