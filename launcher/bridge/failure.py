"""The end of a training program that cannot continue: one sentence, and an exit code for the launcher."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from launcher import here
from launcher.contract import Code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

BAD_DATA = Code.DATA  # bad data, NaN in the cost, a torn pass: not worth a restart
CANNOT_START = Code.CANNOT_START
STORAGE = Code.SHARD
GENERATION_ENDED = Code.JOIN  # the gang's doing; the launcher knows why, and whether another generation follows
SETTINGS = Code.SETTINGS
DATA = BAD_DATA  # its name in 0.1.0, whose examples stand on users' volumes


class TrainingFailure(Exception):
    """Training cannot continue; the sentence names the fact and the expectation."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


Failure = TrainingFailure  # its name in 0.1.0, too


def code_of(program: Callable[[], None]) -> int:
    """Run a program, print the sentence of a failure, and return the exit code."""
    try:
        program()
    except TrainingFailure as failure:
        sys.stderr.write(f"{failure}\n")
        return failure.code
    except here.GenerationEnded as ended:
        sys.stderr.write(f"{ended}\n")
        return GENERATION_ENDED
    return 0


def leave(code: int) -> NoReturn:
    """End the process with a code; the last call of a program that trains.

    After a failure it ends at once: Paddle's threads still run, and most of the time they crash an interpreter that
    clears up around them. The launcher would then see SIGSEGV, and restart a training that cannot succeed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)
    sys.exit(code)
