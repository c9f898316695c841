"""A trainer whose model does not follow from how many train: a chain over the numbers of its steps.

RESIZED says how it trains: `asks` (by `here.leaving()` in each step), `saves` (by `here.saving` alone), or `alone`
(rank 0 writes its passes itself, and nobody waits for anybody). It ends after the step whose number is in `last`,
which a test writes beside GANG_SCRIPT when it has seen enough.
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).with_name("witness")))

import sitecustomize  # type: ignore[import-not-found]  # the witness, before anything that can fail

from launcher import here

HOW = os.environ["RESIZED"]
TOP = Path(os.environ["GANG_SCRIPT"]).parent
OUTPUT = Path(os.environ["JOB_PATH"], os.environ["JOB_NAME"], "output")
ME = {"rank": here.rank(), "of": here.trainers(), "generation": sitecustomize.generation()}
SECONDS = 0.05  # a step
EVERY = 10  # steps are a pass, where nobody is told to save an earlier one


def tell(what: str, **facts: object) -> None:
    """Add a line to what all programs of the gang tell the test."""
    line = {"at": time.monotonic(), "what": what, "address": os.environ["POD_IP"], **ME, **facts}
    with (TOP / "trace").open("ab", buffering=0) as trace:
        trace.write(json.dumps(line).encode() + b"\n")


def last() -> float:
    """Return the number of the last step, which nobody knows before the test has said it."""
    try:
        return int((TOP / "last").read_text())
    except OSError:
        return float("inf")


def after(state: str, step: int) -> str:
    """Return the model after one more step."""
    return hashlib.sha256(f"{state}/{step}".encode()).hexdigest()


def save(number: int, step: int, state: str) -> int:
    """Save a pass, and return the number of the next."""
    model = f"{step} {state}"
    if HOW == "alone":
        if here.rank() == 0:
            directory = OUTPUT / f"pass-{number:05}"
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "model").write_text(model)
            (directory / "done").write_text(json.dumps({"files": {"model": len(model)}}))
        return number + 1
    with here.saving(number, position=step) as where:
        if where:
            Path(where, "model").write_text(model)
    return number + 1


def train() -> None:
    """Train from where the launcher says to the last step."""
    number, directory = here.resume()
    found = Path(directory, "model").read_text().split() if directory else ["0", "nothing"]
    step, state = int(found[0]), found[1]
    tell("start", number=number, step=step, data=sorted(path.name for path in Path("data").iterdir()))
    while step < last():
        left = here.leaving() if HOW == "asks" else None
        if left:
            tell("left", step=step, seconds=left[0], why=left[1])
            number = save(number, step, state)
            tell("returned", step=step)
        step += 1
        if HOW != "alone":
            here.barrier(f"step {step}")
        time.sleep(SECONDS)
        state = after(state, step)
        tell("step", step=step)
        if step % EVERY == 0:
            number = save(number, step, state)
    tell("end", step=step, state=state)


train()
