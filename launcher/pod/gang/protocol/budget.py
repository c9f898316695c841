"""What a restart costs: how many are spent, which are given back, and when another one would not help.

No I/O here. A new pass gives one restart back, so that a long training outlives any number of losses, and a program
that comes nowhere does not. A program that fails three times in the same way at the same pass is not tried again.
"""

from __future__ import annotations

from dataclasses import replace

from launcher.pod.gang.protocol.messages import Failure, Generation

# So often the same program failed with the same code and the same last line, and no pass was completed in between.
ENOUGH = 3
# So many starts in a row ended as planned without a new pass: a gang that is moved on and on comes nowhere either.
MOST_LEFT = 3


def reached_by(*newest: int | None) -> int:
    """Return how many passes are complete, by the newest one that is seen; they count from 0."""
    return max((each + 1 for each in newest if each is not None), default=0)


def spent_by(last: Generation, reached: int) -> int:
    """Return how many restarts count as spent after a generation, when so many passes are complete."""
    return max(0, last.spent - max(0, reached - _reached(last)))


def following(last: Generation, cause: Failure, reached: int, *, planned: bool = False) -> Generation:
    """Return what the start after a generation counts: of restarts, of passes, of failures alike.

    `planned`: it trained, and ended as planned, for pods that came. This spends nothing, but each third time in a row
    without a new pass.
    """
    alike = _failures_alike(last, cause, reached)
    left = (last.left if reached <= _reached(last) else 0) + planned
    costs = not cause.told or left >= MOST_LEFT
    return replace(
        last,
        restarts=last.restarts + costs,
        left=0 if costs else left,
        regained=last.restarts - spent_by(last, reached),
        reached=max(_reached(last), reached),
        failing=alike[0],
        failed=alike[1],
        cause=cause.reason,
    )


def hopeless(cause: Failure, after: Generation) -> Failure | None:
    """Return what is said of a failure that another start would only repeat, or nothing.

    The line itself is not in the sentence, which anybody may read: the end of the log goes with it.
    """
    if after.failed < ENOUGH:
        return None
    where = f"after pass {after.reached - 1}" if after.reached else "before the first pass was complete"
    said = f"restarts would not help: {cause.reason}, for the third time {where} and with the same last line"
    return replace(cause, reason=f"{said}; correct the program or its data, and submit the job again")


def _reached(last: Generation) -> int:
    return max(last.reached, reached_by(last.resume))


def _failures_alike(last: Generation, cause: Failure, reached: int) -> tuple[str, int]:
    """Return the proof that came last, and how often in a row.

    What is no program's own failure (a loss, a stop) comes in between without being counted, and a new pass ends the
    row. A failure of an earlier generation than the last one was counted by another leader.
    """
    row = (last.failing, last.failed) if reached <= _reached(last) else ("", 0)
    if not cause.proof or cause.generation != last.number:
        return row
    return cause.proof, row[1] + 1 if cause.proof == row[0] else 1
