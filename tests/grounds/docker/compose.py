"""docker/docker-compose.yml as a project of a test's own, on a volume of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.grounds.docker.daemon import Docker
from tests.grounds.docker.images import LAUNCHER, ROOT
from tests.grounds.docker.machine import need
from tests.support import articles

FILE = ROOT / "docker" / "docker-compose.yml"
STAND_IN = ROOT / "examples" / "stand_in"
END_LIMIT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One container of the service `node`."""

    docker: Docker
    container: str

    @property
    def code(self) -> int:
        """The exit code, once it has ended."""
        return int(self.docker.says("wait", self.container, timeout=END_LIMIT))

    @property
    def state(self) -> Mapping[str, Any]:
        """What the daemon knows of it."""
        found: list[dict[str, Any]] = json.loads(self.docker.says("inspect", self.container))
        return found[0]

    @property
    def address(self) -> str:
        """Its address, while it runs."""
        networks = self.state["NetworkSettings"]["Networks"].values()
        return str(next(iter(networks))["IPAddress"])

    @property
    def events(self) -> list[dict[str, Any]]:
        """What its launcher has told so far."""
        return articles.events(self.log)

    @property
    def log(self) -> str:
        """All that was said in it: the children's words, and the launcher's after them."""
        said = self.docker.run("docker", "logs", self.container)
        return said.stdout + said.stderr

    def event(self, name: str) -> dict[str, Any]:
        """Return the last event of that name, nothing where there is none yet."""
        return next((event for event in reversed(self.events) if event["event"] == name), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The compose file with a name and a volume, by one of the two programs that read it."""

    docker: Docker
    program: tuple[str, ...]
    name: str
    jobs: Path
    example: Path
    image: str = LAUNCHER

    @property
    def output(self) -> Path:
        """Where logs and models come to be."""
        return self.jobs / "paddle-cluster-job" / "output"

    def up(self, nodes: int = 3, *words: str) -> tuple[Node, ...]:
        """Start the job and return its nodes, in the order of their numbers."""
        done = self.say("up", "--detach", *words, nodes=nodes)
        assert done.returncode == 0, f"up ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return self.nodes()

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes that there are, running or not."""
        mine = (f"label=com.docker.compose.project={self.name}", "label=com.docker.compose.service=node")
        filters = [word for each in mine for word in ("--filter", each)]
        shown = ("--format", '{{.Label "com.docker.compose.container-number"}} {{.ID}}')
        lines = self.docker.says("ps", "--all", "--no-trunc", *filters, *shown).splitlines()
        numbered = sorted((int(number), container) for number, container in (line.split() for line in lines))
        return tuple(Node(docker=self.docker, container=container) for _, container in numbered)

    def say(self, *words: str, nodes: int = 3) -> subprocess.CompletedProcess[str]:
        """Run the program on the compose file."""
        argv = (*self.program, "--project-name", self.name, "--file", str(FILE), *words)
        env = {"NODES": str(nodes), "IMAGE": self.image, "JOBS": str(self.jobs), "EXAMPLE": str(self.example)}
        return self.docker.run(*argv, timeout=120, **env)

    def play(self, train: str) -> None:
        """Put a `paddle` in the stand-in's place that serves as that one, and trains with a line of shell."""
        shutil.copytree(STAND_IN, self.example, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        paddle = self.example / "paddle"
        paddle.rename(paddle.with_name("honest"))
        serve = '[ "$1" = train ] || exec "${0%/*}/honest" "$@"'
        paddle.write_text(f"#!/bin/bash\n{serve}\necho training\n{train}\n")
        paddle.chmod(0o755)


@contextmanager
def projected(docker: Docker, program: tuple[str, ...], top: Path, image: str = LAUNCHER) -> Iterator[Project]:
    """Give a project, print its logs, which pytest shows where a test has failed, and take it down."""
    need_compose()
    name = re.sub(r"[^a-z0-9]+", "-", f"{top.name}-{program[0]}{len(program)}".lower())
    mine = Project(docker=docker, program=program, name=name, jobs=top / "jobs", example=top / "own", image=image)
    mine.jobs.mkdir()
    yield mine
    print(mine.say("logs", "--no-color", "--tail", "30").stdout)
    mine.say("down", "--timeout", "1", "--volumes")


def programs() -> list[tuple[str, ...]]:
    """Return the programs that read compose files: Debian's, and Docker's own plugin where it is installed."""
    plugin = ("docker", "compose")
    try:
        there = subprocess.run((*plugin, "version"), capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        there = False
    return [("docker-compose",), *([plugin] if there else [])]


def need_compose() -> None:
    """See that the first of them is there."""
    need(docker_compose="docker-compose")
