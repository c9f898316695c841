"""A machine made of namespaces: its own processes, mounts, host name and network, and one process to end it by.

Whatever is started or mounted in it ends with its first process, and that one ends when the process that
started the ground does, however that ends: the kernel does the clearing up.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.grounds.cluster.fault import Broken, NoGround

BIN = Path("/run/ground/bin")
ETC = Path("/run/ground/etc")
# The kubelet insists on these and would change them for the whole machine: it gets copies of its own.
TUNABLES = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One running machine; `init` is its first process, as seen from outside."""

    name: str
    holder: subprocess.Popen[bytes]
    init: int

    def words(self, *words: str | Path) -> tuple[str, ...]:
        """Return the command that runs a command inside."""
        return (*inside(self.init), *map(str, words))

    def run(self, *words: str | Path, timeout: float = 30) -> str:
        """Run a command inside to its end, and return what it said."""
        return run(*self.words(*words), timeout=timeout)

    def network(self, *words: str) -> None:
        """Run `ip` on the machine's network, but with process ids as they are outside."""
        run("nsenter", "--target", str(self.init), "--net", "--", "ip", *words)

    @contextmanager
    def kept(self) -> Iterator[Machine]:
        """End the machine where the body fails."""
        try:
            yield self
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the machine and everything in it, and wait until it has ended."""
        if self.holder.poll() is None:
            psutil.Process(self.init).kill()
        self.holder.wait(timeout=30)


def inside(init: int) -> tuple[str, ...]:
    """Return the words that go before a command to run it in the machine of this first process."""
    return ("nsenter", "--target", str(init), "--mount", "--net", "--uts", "--ipc", "--pid", "--")


def run(*words: str | Path, timeout: float = 30) -> str:
    """Run a command to its end, and return what it said."""
    done = subprocess.run(tuple(map(str, words)), capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode:
        raise Broken(f"`{' '.join(map(str, words))}` ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def boot(name: str, directory: Path, places: Mapping[Path, Path]) -> Machine:
    """Start a machine with files of its own below a directory, that sees these places (inside -> outside)."""
    for part in ("etc", "lib", "log"):
        (directory / part).mkdir(parents=True, exist_ok=True)
    spaces = ("--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
    # The parent-death signal comes when the *thread* that started the child ends: boot on the main thread only.
    words = ("setpriv", "--pdeathsig", "KILL", "unshare", *spaces, "catatonit", "-P")
    with (directory / "machine.log").open("ab") as log:
        holder = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    machine = Machine(name=name, holder=holder, init=first_process(holder))
    with machine.kept():
        machine.run("hostname", name)
        lay_out(machine, directory, {ETC: directory / "etc", **places})
    return machine


def first_process(holder: subprocess.Popen[bytes]) -> int:
    """Wait until the first process of the machine is there and has its mounts, and return its id."""
    deadline = time.monotonic() + 10
    while holder.poll() is None and time.monotonic() < deadline:
        for child in psutil.Process(holder.pid).children():
            if child.name() == "catatonit":
                return child.pid
        time.sleep(0.005)
    holder.kill()
    raise NoGround(f"no namespaces are to be had here (`unshare` ended with {holder.wait()}): the ground needs them")


def lay_out(machine: Machine, directory: Path, places: Mapping[Path, Path]) -> None:
    """Make the mounts of a machine; they are seen by nobody else."""
    machine.run("mount", "--make-rshared", "/")
    machine.run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    machine.run("mkdir", "-p", "/run/lock", "/run/netns", *places)
    for inside, outside in places.items():
        machine.run("mount", "--bind", outside, inside)
    for tunable, value in TUNABLES.items():
        copy = directory / "tunables" / tunable
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(value + "\n")
        machine.run("mount", "--bind", copy, Path("/proc/sys", tunable))
    machine.run("mount", "--bind", directory / "log", "/var/log")
    machine.run("mount", "--bind", directory / "lib", "/var/lib")
