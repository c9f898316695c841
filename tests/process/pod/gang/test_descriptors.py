"""A leader's connections follow its gang, not the soft limit; beyond the hard one it is refused."""

from __future__ import annotations

import random
import sys
from contextlib import ExitStack

import pytest

from tests.support.launchers import STATUS_PORT
from tests.support.lives import Lives
from tests.support.statuses import Wire
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)

COUNT = 120
LIMITS = (sys.executable, "-c", "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))")


def environ(net: str, count: int) -> dict[str, str]:
    addresses = ",".join(f"{net}.{number}" for number in range(1, count + 1))
    return {"LAUNCHER_PEERS": f"static:{addresses}", "POD_IP": f"{net}.1", "LAUNCHER_RUNTIME": "env", "JOB_NAME": "j"}


@pytest.fixture
def net() -> str:
    return f"127.{random.randint(10, 250)}.{random.randint(0, 250)}"  # noqa: S311  # no secret


def test_every_member_has_a_place_where_only_the_soft_limit_is_low(net: str) -> None:
    with Lives() as lives, ExitStack() as stack:
        life = lives.start("true", env=environ(net, COUNT), before=("prlimit", "--nofile=100:4096"))
        wait_until(lambda: _listens(f"{net}.1"))
        for number in range(2, COUNT + 1):
            wire = stack.enter_context(Wire(f"{net}.1", STATUS_PORT, f"{net}.{number}"))
            wire.get(f"/status?boot=b{number}")
            code, headers, _ = wire.answer()
            assert code == 200
            wire.get(f"/status?boot=b{number}&wait=30&after={headers['launcher-news']}")
        with Wire(f"{net}.1", STATUS_PORT) as wire:
            wire.get("/healthz")
            assert wire.answer()[0] == 200
        assert "statuses_trouble" not in life.err()


def test_a_gang_that_the_hard_limit_cannot_hold_is_refused_with_both_numbers(net: str) -> None:
    with Lives() as lives:
        life = lives.start("true", env=environ(net, COUNT), before=("prlimit", "--nofile=100:400"))
        assert life.end() == 78
        assert (
            f"a gang of {COUNT} pods needs 544 open files in its leader, and this process may have 400: "
            in life.err()
        )
        assert "expected a hard limit (ulimit -Hn) of 544, or at most 48 pods" in life.err()


@pytest.mark.parametrize("process_one", [False, True])
def test_a_program_has_the_limits_that_the_launcher_was_given(net: str, process_one: bool) -> None:
    with Lives() as lives:
        life = lives.start(
            *LIMITS, env=environ(net, 1), before=("prlimit", "--nofile=500:4096"), process_one=process_one
        )
        assert life.line() == "500 4096"
        assert life.end() == 0


def _listens(address: str) -> bool:
    try:
        with Wire(address, STATUS_PORT):
            return True
    except OSError:
        return False
