"""A job that is scaled while it trains: the others go on, and who comes takes part after the next pass."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from tests.cluster.files import HOME, put_package, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.training import await_state
from tests.cluster.volumes import Volume
from tests.support.desks import User
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

NAME = "as-wide-as-can-be"
# It trains until somebody says that it is enough; trainer 0 alone looks, since two may see it in different passes.
# Each pass tells how many train.
TRAINS = f"""\
import os, time
from launcher import here

number = here.resume()[0]
while True:
    here.barrier("pass %d" % number)
    time.sleep(0.3)
    with here.saving(number) as directory:
        if directory:
            open(directory + "/model", "w").write("model")
            print("pass", number, "by", here.trainers(), flush=True)
            with open("{HOME}/told", "a") as told:
                told.write("%d %d\\n" % (number, here.trainers()))
    number += 1
    if here.rank() == 0:
        here.share("enough %d" % number, str(os.path.exists("{HOME}/enough")))
    if here.get("enough %d" % number, rank=0) == "True":
        break
"""


@pytest.fixture
def me(namespace: Kubectl, claimed: Volume, tmp_path: Path) -> User:
    """A user with the shipped Role, and a program on the volume."""
    put_package(claimed, "package", {"train.py": TRAINS})
    return user_of(namespace, tmp_path)


def elastic(me: User) -> list[dict[str, Any]]:
    """Return what a job's submit sends."""
    submit = me(
        "submit", "-dry-run", "-jobname", NAME, "-runtime", "env", "-members", "1:3", "-cpu", "100m",
        "-memory", "256Mi", "-env", "LAUNCHER_SETTLE=2", "-restarts", "0",
        "-entry", "/opt/launcher/bin/python train.py", f"{HOME}/package",
    )  # fmt: skip
    assert submit.code == 0, submit.err
    return list(yaml.safe_load_all(submit.out))


def told(claimed: Volume) -> list[tuple[int, int]]:
    """Return each pass, and by how many it was made."""
    try:
        lines = (claimed.path / "told").read_text().splitlines()
    except FileNotFoundError:
        return []
    return [(int(number), int(count)) for number, count in map(str.split, lines)]


def await_width(claimed: Volume, wide: int, after: int = 0) -> None:
    """Wait until a pass was made by so many, after so many passes."""
    wait_until(lambda: [by for _, by in told(claimed)[after:]][-1:] == [wide], timeout=90, every=0.2)


def test_a_job_goes_from_three_to_one_to_two_and_spends_no_restart(
    namespace: Kubectl, me: User, claimed: Volume
) -> None:
    def scale(wide: int) -> None:
        said = me("scale", NAME, str(wide))
        assert said.code == 0, said.err

    namespace.apply(*elastic(me))
    await_width(claimed, 3)
    scale(1)
    await_width(claimed, 1)
    scale(2)
    wait_until(lambda: " 2 of 1 to 3 pods, each with" in me("describe", NAME).out, timeout=30, every=0.5)
    await_width(claimed, 2)
    (claimed.path / "enough").touch()
    await_state(namespace, "Complete", name=NAME)
    numbers = [number for number, _ in told(claimed)]
    again = [number for number, after in itertools.pairwise(numbers) if after <= number]
    assert len(again) <= 2, f"more than the pass that was going on was made again: {told(claimed)}"


def test_a_program_that_fails_for_good_ends_the_job_at_once_and_what_it_wrote_is_kept(me: User) -> None:
    """The verdict of all is one pod's code: no pod is made anew to read it, and none is waited for."""
    fails = "/opt/launcher/bin/python -c 'import sys; print(\"so be it\"); sys.exit(3)'"
    said = me(
        "submit", "-jobname", NAME, "-runtime", "env", "-members", "1:3", "-cpu", "100m", "-memory", "256Mi",
        "-env", "LAUNCHER_SETTLE=2", "-restarts", "0", "-entry", fails,
    )  # fmt: skip
    assert said.code == 0, said.err
    waited = me("wait", NAME, "--timeout", "60s", timeout=90)
    assert (waited.code, "exited with 3" in waited.err) == (1, True), waited.err
    page = me("describe", NAME).out
    assert "failed; Failed: PodFailurePolicy: " in page, page
    assert "exited with 3" in page.partition("last words of ")[2]
    wait_until(lambda: "so be it" in me("logs", NAME).out, timeout=60, every=1)
