"""The one directory that a ground lives in, the lock on it, and the clearing of what a killed ground left."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.grounds.cluster import cgroups, network
from tests.grounds.cluster.build import cache
from tests.grounds.cluster.fault import NoGround
from tests.grounds.cluster.machine import Machine

# The device and the cgroups are the machine's, whichever cache the ground has its files in.
LOCK = Path("/run/lock/paddle-launcher-ground.lock")


@contextmanager
def owned() -> Iterator[Path]:
    """Own the ground's directory, new and empty; clear everything at the end, and what a killed owner left before."""
    directory = cache() / "ground"
    for place in (directory, LOCK):
        place.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NoGround(
                f"another ground is up on this machine ({lock.name} is locked): wait, or end it"
            ) from error
        clear(directory)
        network.check()
        directory.mkdir(mode=0o700)
        try:
            yield directory
        finally:
            keep_logs(directory)
            clear(directory)


def record(directory: Path, machine: Machine) -> None:
    """Write down a machine that was made, so that a later owner of the directory can end it."""
    with (directory / "machines").open("a") as machines:
        machines.write(f"{machine.name} {machine.init} {psutil.Process(machine.init).create_time()}\n")


def clear(directory: Path) -> None:
    """End the machines that are written down, and remove whatever a ground makes outside of them."""
    for _, process in alive(directory):
        with suppress(psutil.NoSuchProcess):
            process.kill()
        psutil.wait_procs([process], timeout=30)
    network.remove()
    cgroups.remove()
    if directory.exists():
        shutil.rmtree(directory)


def alive(directory: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Return the machines that are written down and live, with their first processes."""
    machines = directory / "machines"
    for line in machines.read_text().splitlines() if machines.exists() else ():
        name, init, begun = line.split()
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(int(init))
            if process.create_time() == float(begun):  # else the number is somebody else's by now
                yield name, process


def keep_logs(directory: Path) -> None:
    """Keep the programs' logs for whoever wants to know why, in place of those of the ground before."""
    logs = directory.with_name("logs")
    shutil.rmtree(logs, ignore_errors=True)
    for log in directory.glob("*/*.log"):
        kept = logs / log.relative_to(directory)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, kept)
