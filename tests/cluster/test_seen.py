"""What one sees of a job at night, on the real cluster under the restricted standard: stacks, top, page, goodput."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path

import pytest

from tests.cluster.files import HOME, put_package, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.training import await_state
from tests.cluster.volumes import Volume
from tests.support.desks import User
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

NAME = "stands-still"
# Rank 1 is in a read; the others wait for it. It goes on when somebody says so, and then fails once.
TRAINS = f"""\
import os, sys, time
from launcher import here

def read():
    while not os.path.exists("{HOME}/go"):
        time.sleep(0.05)  # the read

def meet(name):
    here.barrier(name)  # the wait

for number in range(here.resume()[0], 2):
    for step in range(10):
        with here.step():
            here.progress(pass_=number, step=step, loss=1.0 / (step + 1))
            time.sleep(0.02)
    print("pass", number, flush=True)
    with here.saving(number) as directory:
        if directory:
            open(directory + "/model", "w").write("model")
    if number == 0:
        read() if here.rank() == 1 else meet("end of pass 0")
        if here.rank() == 1:
            sys.exit(3)
"""
LINE = {
    words: number
    for number, line in enumerate(TRAINS.splitlines(), 1)
    for words in ("the read", "the wait")
    if words in line
}


@pytest.fixture
def me(namespace: Kubectl, claimed: Volume, tmp_path: Path) -> User:
    """A user with the shipped Role, and a program on the volume."""
    put_package(claimed, "package", {"train.py": TRAINS})
    return user_of(namespace, tmp_path)


def test_who_stands_where_is_seen_without_any_right_on_a_node(namespace: Kubectl, me: User, claimed: Volume) -> None:
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    submitted = me(
        "submit", "-jobname", NAME, "-runtime", "env", "-parallelism", "3", "-cpu", "100m", "-memory", "256Mi",
        "-entry", "/opt/launcher/bin/python train.py", f"{HOME}/package",
    )  # fmt: skip
    assert submitted.code == 0, submitted.err
    rows = wait_until(lambda: standing(me), timeout=90, every=1)
    assert [row["rank"] for row in rows] == [0, 1, 2]

    begun = time.monotonic()
    stacks = me("stacks", NAME)
    took = time.monotonic() - begun
    assert stacks.code == 0, stacks.err
    assert f"read at train.py:{LINE['the read']}" in stacks.out
    assert f"train.py:{LINE['the wait']}" in stacks.out
    print(f"stacks of three ranks by paddlectl: {took:.2f} s")

    with me.started("open", "-no-browser", NAME) as process:
        assert process.stdout
        with urllib.request.urlopen(process.stdout.readline().strip(), timeout=30) as answer:  # noqa: S310  # its own
            page = answer.read().decode()
    assert f"<h1>{NAME}</h1>" in page
    assert page.count("<tr") >= 3

    (claimed.path / "go").touch()
    await_state(namespace, "Complete", name=NAME)
    goodput = me("goodput", NAME, "-o", "json")
    assert goodput.code == 0, goodput.err
    assert f'"{NAME}"' in goodput.out


def standing(me: User) -> list[dict[str, object]]:
    """Return the rows of `top`, by their ranks, once all trainers have ended their first pass."""
    seen = me("top", NAME, "--once", "-o", "json")
    rows = sorted(json.loads(seen.out)["ranks"], key=lambda row: int(row["rank"])) if seen.code == 0 else []
    assert len(rows) == 3, seen
    assert all(row["step"] == 9 for row in rows), rows
    return rows
