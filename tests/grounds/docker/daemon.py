"""A Docker daemon of the tests' own: its socket, data, network and control groups are nobody else's.

It makes no firewall rules and no bridge of its own; containers meet in the networks that a test makes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.grounds.docker.machine import NotHere, cache, last_line, need, room
from tests.grounds.docker.remains import clear, processes_of
from tests.support.waiting import wait_until

START_LIMIT = 60.0
STOP_LIMIT = 30.0
ABANDONED = 600.0  # seconds after which a directory without processes is nobody's
ADDRESSES = "base=172.29.0.0/16,size=24"


@dataclass(frozen=True, slots=True, kw_only=True)
class Docker:
    """A daemon, and the words that are said to it."""

    directory: Path

    @property
    def group(self) -> str:
        """The name of the control group that its containers are in."""
        return f"paddle-launcher-{self.directory.name}"

    @property
    def env(self) -> dict[str, str]:
        """Return an environment in which `docker` and its like talk to this daemon."""
        theirs = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_CERT_PATH", "COMPOSE_")
        around = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
        return {**around, "DOCKER_HOST": f"unix://{self.directory}/docker.sock"}

    def run(self, *words: str, timeout: float = 120, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a program that talks to this daemon, and return how it ended."""
        env: Mapping[str, str] = {**self.env, **more}
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=timeout, check=False)

    def says(self, *words: str, timeout: float = 120) -> str:
        """Return what `docker` answers to some words, which it must understand."""
        done = self.run("docker", *words, timeout=timeout)
        assert done.returncode == 0, f"docker {' '.join(words)} ended with {done.returncode}: {done.stderr}"
        return done.stdout.strip()

    def build(self, image: str, context: Path, *, dockerfile: str = "", **arguments: str) -> None:
        """Build an image; a Dockerfile may be given as text."""
        words = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
        given = ["--file", "-"] if dockerfile else []
        argv = ("docker", "build", "--network", "host", *words, *given, "--tag", image, str(context))
        done = subprocess.run(
            argv, env=self.env, input=dockerfile, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, f"docker build of {image} failed:\n{done.stdout}{done.stderr}"


@contextmanager
def running() -> Iterator[Docker]:
    """Give a daemon for as long as the body runs, and leave nothing of it behind."""
    need(dockerd="docker.io", docker="docker.io", containerd="containerd", setpriv="util-linux")
    need(ip="iproute2", iptables_save="iptables")
    room(cache(), 2e9)
    _sweep()
    # Not below /tmp, which may be in memory, nor with a long name: sockets' paths are short.
    directory = Path(tempfile.mkdtemp(prefix="d-", dir=cache()))
    docker = Docker(directory=directory)
    started = _start(directory, docker.group)
    try:
        _wait(docker, started)
        yield docker
    finally:
        if started.poll() is None:
            _empty(docker)
        _stop(started)
        clear(directory, docker.group)


def _sweep() -> None:
    """Clear what a test run has left that was killed."""
    for directory in cache().glob("d-*"):
        if time.time() - directory.stat().st_mtime > ABANDONED and not any(processes_of(directory)):
            clear(directory, Docker(directory=directory).group)


def _start(directory: Path, group: str) -> subprocess.Popen[bytes]:
    (directory / "daemon.json").write_text("{}")  # the machine's own may say anything
    # Where the test run is killed, the daemon is told to end.
    argv = (
        *("setpriv", "--pdeathsig", "TERM", "--"),
        *("dockerd", "--config-file", f"{directory}/daemon.json", "--host", f"unix://{directory}/docker.sock"),
        *("--data-root", f"{directory}/data", "--exec-root", f"{directory}/run", "--pidfile", f"{directory}/pid"),
        *("--bridge", "none", "--iptables=false", "--ip-forward=false", "--userland-proxy=false"),
        *("--default-address-pool", ADDRESSES, "--cgroup-parent", f"/{group}"),
        *("--shutdown-timeout", "5", "--log-level", "warn"),
    )
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)


def _wait(docker: Docker, started: subprocess.Popen[bytes]) -> None:
    """Wait until the daemon answers."""

    def answers() -> bool:
        if started.poll() is not None:
            told = last_line((docker.directory / "log").read_text(errors="replace"))
            raise NotHere(f"dockerd ended with {started.returncode}: {told}")
        return docker.run("docker", "version").returncode == 0

    try:
        wait_until(answers, timeout=START_LIMIT, every=0.1)
    except AssertionError as error:
        # A client may be too new for the daemon that it is given.
        told = last_line(docker.run("docker", "version").stderr)
        raise NotHere(f"dockerd does not answer within {START_LIMIT:g} s: {told}") from error


def _empty(docker: Docker) -> None:
    """Remove the containers and networks."""
    containers = docker.run("docker", "ps", "--all", "--quiet", "--no-trunc").stdout.split()
    if containers:
        docker.run("docker", "rm", "--force", "--volumes", *containers)
    networks = docker.run("docker", "network", "ls", "--quiet", "--filter", "type=custom").stdout.split()
    if networks:
        docker.run("docker", "network", "rm", *networks)


def _stop(started: subprocess.Popen[bytes]) -> None:
    for number, limit in ((signal.SIGTERM, STOP_LIMIT), (signal.SIGKILL, 10.0)):
        if started.poll() is None:
            started.send_signal(number)
            try:
                started.wait(limit)
            except subprocess.TimeoutExpired:
                continue
