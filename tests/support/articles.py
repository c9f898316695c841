"""What the articles' Job makes of a pod, on whichever ground: both command lines, and a log that can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tests.support.manifests import Json
from tests.support.pods import JOB

PSERVER = (
    "paddle pserver --nics=eth0 --port=7164 --ports_num=2 --ports_num_for_sparse=2 --num_gradient_servers=3 "
    "--comment=paddle_process_by_paddle"
)
TRAINER = (
    "paddle train --nics=eth0 --port=7164 --ports_num=2 --comment=paddle_process_by_paddle --pservers={pservers} "
    "--num_gradient_servers=3 --ports_num_for_sparse=2 --local=0 --trainer_count={threads} --dot_period=10 "
    "--log_period=50 --num_passes=10 --saving_period=1 --use_gpu=0 --config=./trainer_config.py --trainer_id={rank} "
    "--save_dir=/home/jobpath/paddle-cluster-job/output"
)
OUTPUT = {
    "events.jsonl",
    *(f"node_{rank}/{name}.log" for rank in range(3) for name in ("server", "train")),
    *(
        f"pass-{number:05}/{name}"
        for number in range(10)
        for name in ("done", "___embedding_0__.w0", "___embedding_1__.w0")
    ),
}
CHILDS = re.compile(r"\[(pserver|trainer)( \d+)?\] ")
OURS = "start_paddle: "


def record(key: str) -> set[str]:
    """Return the files that a gang of one generation keeps of itself and of its run, where its pods know the UID."""
    own = ("gen-1.json", "now", "verdict.json", "run-number", "counter-0", "counter-1", "rest")
    runs = f".launcher/{JOB}.runs"
    return {f".launcher/{key}/{name}" for name in own} | {f"{runs}/now", f"{runs}/run-1.json"}


def commands(rank: int, pservers: Sequence[str], threads: int = 4) -> dict[str, list[str]]:
    """Return the words of both children of a pod, in the order of the alphabet: flags may come in any."""
    trainer = TRAINER.format(rank=rank, pservers=",".join(pservers), threads=threads)
    return {"pserver": sorted(PSERVER.split()), "trainer": sorted(trainer.split())}


def started(log: str) -> dict[str, list[str]]:
    """Return the words of the children that a launcher told to have started."""
    children = [event for event in events(log) if event["event"] == "child_started"]
    return {event["child"].partition(" ")[0]: sorted(event["argv"]) for event in children}


def events(log: str) -> list[Json]:
    """Return the events in a log."""
    return [json.loads(line) for line in log.splitlines() if line.startswith('{"timestamp"')]


def unreadable(log: str) -> list[str]:
    """Return what is neither an event, nor the launcher's word, nor a child's with its prefix, nor a whole line."""
    odd = [line for line in log.splitlines() if not (CHILDS.match(line) or line.startswith(OURS) or is_event(line))]
    return odd if log.endswith("\n") else [*odd, "the last line has no end"]


def is_event(line: str) -> bool:
    """Return whether a line is an event, whole."""
    try:
        found = json.loads(line)
    except ValueError:
        return False
    return isinstance(found, dict) and {"timestamp", "event"} <= found.keys()
