"""What is harder to do to a gang: freeze a pod, cut its network, and see who ran when.

    with gang(3, tmp_path, start=False) as g, networks(g) as nets:
        g.start()
        with nets.cut(1):
            ...

A network is a namespace with one end of a cable in it; the other ends lie in the namespace of a switch. All of it is
gone with the processes that hold the namespaces, whatever happens, and rules are in the pod's own namespace alone.
"""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.gangs import Gang
from tests.support.histories import TRAINER
from tests.support.launchers import Launcher
from tests.support.lives import CHILDREN, Life, Lives
from tests.support.waiting import wait_until

TICKING = (sys.executable, "-S", str(CHILDREN / "ticking.py"))
FREEZER = Path("/sys/fs/cgroup/freezer")
PAIR = struct.Struct("dd")
HOLDING = ("sleep", "600")


def last_run(g: Gang, generation: int) -> float:
    """Return when the last trainer of a generation ran."""
    return max(each.last for each in g.history() if (each.role, each.generation) == (TRAINER, generation))


def ticking(g: Gang) -> set[Path]:
    """Return the files of the trainers that were started so far."""
    return set((g.top / "ticks").glob("trainer-*"))


def last_tick(paths: Iterable[Path]) -> float:
    """Return when the last of these trainers ran."""
    return max(float(until) for path in paths for _, until in PAIR.iter_unpack(path.read_bytes()))


def await_ends(g: Gang, generation: int, *ranks: int) -> None:
    """Wait until the launchers of these ranks have ended their children of a generation."""
    g.wait(lambda: all(generation in _ended(g.launcher(rank)) for rank in ranks))


def _ended(launcher: Launcher) -> list[int]:
    return [event["generation"] for event in launcher.events("generation_ended")]


def stranger(g: Gang, place: int, *command: str, **environ: str) -> Life:
    """Start a quite different job where a launcher was; its program is nobody's here, and notes nothing."""
    work = g.top / f"stranger-{uuid.uuid4().hex}"
    work.mkdir()
    address = g.launcher(place).address
    env = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_WORKDIR": str(work), "JOB_NAME": "other", "POD_IP": address}
    return g.lives.start(*command, env={**env, **environ})


@dataclass(slots=True)
class Ice:
    """When a pod was frozen, and when it went on."""

    frozen: float = 0.0
    woken: float = 0.0


@contextmanager
def frozen(launcher: Launcher) -> Iterator[Ice]:
    """Stop every process of a pod at once for as long as the body runs, then let all go on at once."""
    if not os.access(FREEZER, os.W_OK):
        pytest.skip("this machine has no cgroup that freezes (v1), or this is not root")
    place = FREEZER / f"gang-{random.getrandbits(48):x}"  # no secret
    place.mkdir()
    try:
        for process in (psutil.Process(launcher.life.pid), *launcher.life.below()):
            (place / "cgroup.procs").write_text(str(process.pid))
        ice = Ice(frozen=time.monotonic())
        (place / "freezer.state").write_text("FROZEN")
        wait_until(lambda: (place / "freezer.state").read_text() == "FROZEN\n")
        try:
            yield ice
        finally:
            ice.woken = time.monotonic()
            launcher.wakings.append(ice.woken)
            (place / "freezer.state").write_text("THAWED")
    finally:
        for pid in (place / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError, OSError):
                (FREEZER / "cgroup.procs").write_text(pid)
        wait_until(lambda: _removed(place))


def _removed(place: Path) -> bool:
    try:
        place.rmdir()
    except OSError:
        return False
    return True


class Within(Lives):
    """Lives that begin in the network of their pod."""

    def __init__(self, lives: Lives, nets: Networks) -> None:
        self._inner = lives
        self._nets = nets

    def start(self, *command: str, env: Mapping[str, str] | None = None, **more: Any) -> Life:  # noqa: ANN401
        """Start a launcher in the network of its POD_IP."""
        before = (*self._nets.inside((env or {})["POD_IP"]), *more.pop("before", ()))
        return self._inner.start(*command, env=env, before=before, **more)


@dataclass(slots=True)
class Networks:
    """A switch, and a cable to it for each pod."""

    g: Gang
    switch: int
    pods: dict[str, int] = field(default_factory=dict)

    def inside(self, address: str) -> tuple[str, ...]:
        """Return the words that start a program in a pod's network."""
        return ("nsenter", f"--net=/proc/{self.pods[address]}/ns/net", "--")

    def masquerade(self, place: int, source: str) -> None:
        """Have what a pod connects to see another source address than the pod's, as behind a node or a sidecar."""
        inside = self.inside(self.g.address(place))
        _run(*inside, "ip", "address", "add", f"{source}/24", "dev", "eth0")
        rule = ("-t", "nat", "-A", "POSTROUTING", "-o", "eth0", "-p", "tcp", "-j", "SNAT", "--to-source", source)
        _run(*inside, "iptables", "-w", *rule)

    @contextmanager
    def cut(self, place: int, *chains: str) -> Iterator[float]:
        """Let nothing through to a pod and from it, or one way only (INPUT: to it, OUTPUT: from it)."""
        address = self.g.launcher(place).address
        for chain in chains or ("INPUT", "OUTPUT"):
            self._rule("-A", address, chain)
        try:
            yield time.monotonic()
        finally:
            for chain in chains or ("INPUT", "OUTPUT"):
                self._rule("-D", address, chain)

    def _rule(self, verb: str, address: str, chain: str) -> None:
        _run(
            *self.inside(address),
            "iptables",
            "-w",
            verb,
            chain,
            "-i" if chain == "INPUT" else "-o",
            "eth0",
            "-j",
            "DROP",
        )


@contextmanager
def networks(g: Gang) -> Iterator[Networks]:
    """Give each place of a gang that has not begun a network of its own, all joined by a switch."""
    with ExitStack() as stack:
        try:
            nets = Networks(g, stack.enter_context(_namespace()))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network can be made here: {error.stderr}")
        g.net = f"198.18.{random.randint(0, 250)}"  # noqa: S311  # for tests of networks, by RFC 2544
        _in(nets.switch, "ip", "link", "add", "switch", "type", "bridge")
        _in(nets.switch, "ip", "link", "set", "switch", "up")
        here = f"gang{nets.switch}"
        _run("ip", "link", "add", here, "type", "veth", "peer", "name", "test", "netns", str(nets.switch))
        stack.callback(_run, "ip", "link", "del", here)
        _in(nets.switch, "ip", "link", "set", "test", "master", "switch", "up")
        _run("ip", "address", "add", f"{g.net}.254/24", "dev", here)
        _run("ip", "link", "set", here, "up")
        for place in range(g.count):
            nets.pods[g.address(place)] = _cable(nets.switch, stack.enter_context(_namespace()), g.address(place))
        g.lives = Within(g.lives, nets)
        yield nets


def _cable(switch: int, pod: int, address: str) -> int:
    end = f"v{address.rpartition('.')[2]}"
    _in(pod, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", end, "netns", str(switch))
    _in(switch, "ip", "link", "set", end, "master", "switch", "up")
    _in(pod, "ip", "address", "add", f"{address}/24", "dev", "eth0")
    _in(pod, "ip", "link", "set", "eth0", "up")
    _in(pod, "ip", "link", "set", "lo", "up")
    return pod


@contextmanager
def _namespace() -> Iterator[int]:
    """Hold a network namespace, by the process that it is given away as."""
    holder = subprocess.Popen(["unshare", "--net", "--", *HOLDING])
    try:
        wait_until(lambda: Path(f"/proc/{holder.pid}/comm").read_text().strip() == HOLDING[0])
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()


def _in(namespace: int, *words: str) -> None:
    _run("nsenter", f"--net=/proc/{namespace}/ns/net", "--", *words)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=20)
