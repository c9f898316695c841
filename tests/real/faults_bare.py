"""The same faults with the bare command, Paddle's own launcher, for as long as anybody would watch."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from tests.real.faults_gang import DATA, FROZEN, PASSES
from tests.real.faults_table import Run
from tests.real.recommendation import NODES, make_data, told
from tests.support.lives import Life, Lives, shell
from tests.support.talking import free_port
from tests.support.waiting import wait_until

PROGRAM = Path(__file__).with_name("bare.py")
WATCHED = 60.0  # seconds after the fault
BOUND = 150.0  # for an undisturbed one, and for the pass of the fault
RANK = 1  # who suffers: not the first, whose log and code Paddle's launcher shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The launches of one training: one with all programs, or one a node."""

    lives: Lives
    launches: Sequence[Life]
    top: Path

    def program(self, role: str, rank: int) -> psutil.Process:
        """Return the pserver or the trainer of a rank."""
        for pid in self.lives.marked():
            with suppress(psutil.Error):
                environ = (process := psutil.Process(pid)).environ()
                if environ.get("TRAINING_ROLE") == role and _rank(environ) == rank:
                    return process
        raise AssertionError(f"there is no {role} {rank}")

    def errors(self) -> dict[int, float]:
        """Return the RMSE by pass, as the trainers told it, all the same."""
        found: dict[int, float] = {}
        for log in self.top.glob("log-*/workerlog.*"):
            found |= told(log.read_text())
        return dict(sorted(found.items()))

    def codes(self) -> tuple[int | None, ...]:
        """Return the launches' exit codes so far."""
        return tuple(each.process.poll() for each in self.launches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is done to such a job, in how many launches it has."""

    what: str
    deal: Callable[[Job], None]
    launches: int


def kill(role: str, job: Job) -> None:
    """Kill a program."""
    job.program(role, RANK).kill()


def freeze(job: Job) -> None:
    """Stop a node for a while."""
    node = _node(job)
    for process in node:
        process.suspend()
    time.sleep(FROZEN)
    for process in node:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def lose(job: Job) -> None:
    """Kill all of a node."""
    for process in _node(job):
        with suppress(psutil.NoSuchProcess):
            process.kill()


FAULTS = (
    Fault(what="one launch: trainer 1 is killed", deal=partial(kill, "TRAINER"), launches=1),
    Fault(what="one launch: pserver 1 is killed", deal=partial(kill, "PSERVER"), launches=1),
    Fault(what="three nodes: trainer 1 is killed", deal=partial(kill, "TRAINER"), launches=NODES),
    Fault(what="three nodes: pserver 1 is killed", deal=partial(kill, "PSERVER"), launches=NODES),
    Fault(what=f"three nodes: a node is frozen for {FROZEN:g} s", deal=freeze, launches=NODES),
    Fault(what="three nodes: a node is lost", deal=lose, launches=NODES),
)


def run(python: Path, top: Path, launches: int, fault: Fault | None = None, number: int = 0) -> Run:
    """Train until all launches have ended, or until nobody watches any longer, and return what was seen."""
    with _launched(python, top, launches) as job:
        begun = time.monotonic()
        if fault:
            done = top / "output" / f"pass-{number - 1:05}" / "done"
            wait_until(done.exists, BOUND)
            fault.deal(job)
            begun = time.monotonic()
        bound = WATCHED if fault else BOUND
        with suppress(AssertionError):
            wait_until(lambda: None not in job.codes(), bound)
        name = "one launch" if launches == 1 else "three nodes"
        return Run(
            what=fault.what if fault else f"{name}: none",
            number=number if fault else None,
            codes=job.codes(),
            errors=job.errors(),
            seconds=time.monotonic() - begun,
        )


@contextmanager
def _launched(python: Path, top: Path, launches: int) -> Iterator[Job]:
    data = make_data(top, *DATA)
    words = (f"--job={data}", f"--output={top / 'output'}", f"--store=127.0.0.1:{free_port()}", f"--passes={PASSES}")
    environ = {**os.environ, "PADDLE_NO_STAT": "1"}
    master = free_port()
    with Lives() as lives:
        try:
            yield Job(
                lives=lives,
                launches=[
                    lives.start(
                        *shell('log=$1; shift; exec "$@" >"$log"', top / f"said-{node}", python),
                        *_launch(top / f"log-{node}", node, launches, master),
                        *(str(PROGRAM), *words),
                        whole_env=environ,
                        launcher=(),
                    )
                    for node in range(launches)
                ],
                top=top,
            )
        finally:  # its own launches are marked as well as what they left
            for pid in lives.marked():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _launch(log: Path, node: int, launches: int, master: int) -> tuple[str, ...]:
    each = NODES // launches
    nodes = (f"--master=127.0.0.2:{master}", f"--nnodes={launches}", f"--host=127.0.0.{node + 2}")
    return (
        *("-m", "paddle.distributed.launch", "--run_mode=ps", f"--server_num={each}", f"--trainer_num={each}"),
        *(nodes if launches > 1 else ("--host=127.0.0.1",)),
        f"--log_dir={log}",
    )


def _rank(environ: dict[str, str]) -> int:
    if environ["TRAINING_ROLE"] == "TRAINER":
        return int(environ["PADDLE_TRAINER_ID"])
    endpoint = f"{environ['POD_IP']}:{environ['PADDLE_PORT']}"
    return environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",").index(endpoint)


def _node(job: Job) -> tuple[psutil.Process, ...]:
    launch = psutil.Process(job.launches[RANK].pid)
    return (launch, *launch.children(recursive=True))
