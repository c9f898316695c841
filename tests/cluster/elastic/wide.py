"""Jobs of ours whose width changes, as tests/cluster/test_elastic.py has them, for what is measured beside others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.files import put_package, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.test_elastic import NAME, TRAINS, await_width, elastic, told
from tests.cluster.volumes import Volume
from tests.support.desks import User
from tests.support.whole_lines import whole_lines

__all__ = ["NAME", "await_width", "made", "me", "restarts", "told", "wide"]


@pytest.fixture
def me(namespace: Kubectl, claimed: Volume, tmp_path: Path) -> User:
    """A user with the shipped Role, and a program on the volume."""
    put_package(claimed, "package", {"train.py": TRAINS})
    return user_of(namespace, tmp_path)


def made(me: User, *, most: int, **variables: str) -> list[dict[str, Any]]:
    """Return what a job of one to so many pods is made of, with these variables."""
    objects = elastic(me)
    (job,) = [each for each in objects if each["kind"] == "Job"]
    job["spec"].update(parallelism=most, completions=most, podReplacementPolicy="Failed")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    own = {"LAUNCHER_MEMBERS": f"1:{most}", "CONF_PADDLE_GRADIENT_NUM": str(most)}
    own.update(variables)
    kept = [each for each in container["env"] if each["name"] not in own]
    container["env"] = [*kept, *({"name": name, "value": value} for name, value in own.items())]
    return objects


def wide(kubectl: Kubectl, count: int, **more: object) -> None:
    """Change a Job's width."""
    width = {"spec": {"parallelism": count, "completions": count, **more}}
    kubectl("patch", "job", NAME, "--type=merge", "-p", json.dumps(width))


def restarts(claimed: Volume) -> int:
    """Return how many restarts the gang has spent, by what it noted."""
    (page,) = claimed.path.rglob("events.jsonl")
    made = [each for each in map(json.loads, whole_lines(page)) if each["event"] == "generation_made"]
    return int(made[-1]["restarts"])
