"""`paddlectl top` of real launchers: once as text and as values, and on a terminal, through a restart."""

from __future__ import annotations

import ast
import json
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launcher.contract import own_python
from tests.support.desks import User
from tests.support.seen import Seen, seen
from tests.support.terminals import Typist
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def gang_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with seen(2, tmp_path_factory.mktemp("seen")) as found:
        yield found


@pytest.fixture
def two(gang_of_two: Seen) -> Seen:
    """The gang as it trains, whatever the test before did with the API."""
    gang_of_two.api.begin_anew()
    wait_until(lambda: all(steps(gang_of_two, rank) > 3 for rank in (0, 1)), timeout=40)
    return gang_of_two


def steps(found: Seen, rank: int) -> int:
    status = found.gang.launcher(rank).status()
    return int(status["marks"]["progress"].get("step", 0)) if status else 0


def typist(me: User, *words: str) -> Typist:
    return Typist(me.words("top", *words), **me.environ(TERM="xterm-256color"))


def test_once_it_is_a_table_with_the_slow_rank_first(two: Seen) -> None:
    said = two.me("top", "--once", "job")
    assert (said.code, said.err) == (0, "")
    head, names, *rows = said.out.splitlines()
    assert re.match(r"job job: Running, training, generation \d, \d restart", head)
    assert names.split()[:9] == ["RANK", "POD", "NODE", "PHASE", "PASS", "STEP", "PACE", "SKEW", "CPU"]
    assert [row.split()[:4] for row in rows] == [
        ["trainer", str(rank), f"job-trainer-{rank}-x7k2p", "node-a"] for rank in (1, 0)
    ]
    assert all(re.search(r"training.* 0 +\d+ +[\d.]+/s +[\d.]+ +\d\.\d\d +\d+Mi +step \d+ \?\[31mred\?\[0m", each)
               for each in rows)  # fmt: skip


def test_as_values_it_tells_what_each_rank_does_and_how_fast(two: Seen) -> None:
    def told() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(two.me("top", "job", "--once", "-o", "json").out)
        return found if all((each["step"] or 0) > 3 for each in found["ranks"]) else {}

    found = wait_until(told, timeout=20)  # the leader knows a step of another pod a poll later than its launcher
    assert (found["job"], found["stage"], found["generation"]) == ("job", "training", found["restarts"] + 1)
    slow, fast = found["ranks"]
    assert (slow["rank"], fast["rank"]) == (1, 0)
    assert slow["skew"] > 1.2 > fast["skew"] == 1.0
    assert 5 < slow["pace"] < fast["pace"] < 51
    for each in (slow, fast):
        assert each["memory"] > 1 << 20
        assert 0 <= each["cpu"] < 4


def test_on_a_terminal_it_is_renewed_through_a_restart_until_q(two: Seen) -> None:
    now = two.gang.launcher(0).status()["known"]
    with typist(two.me, "job") as at:
        assert at.sees(f", generation {now}", 20)
        assert at.sees("job-trainer-1-x7k2p", 5)
        (two.gang.top / "fail").touch()
        assert at.sees(f"generation {now + 1}, {now} restart", 40)
        at.types("q")
        assert at.sees("\x1b[?1049l", 10), "the screen before it is there again"
        assert at._process.wait(10) == 0


def test_ctrl_c_ends_it_as_it_ends_every_command(two: Seen) -> None:
    with typist(two.me, "job") as at:
        assert at.sees(", generation ", 20)
        at.types("\x03")
        assert at.sees("\x1b[?1049l", 10)
        assert at._process.wait(10) == 128 + signal.SIGINT


def test_while_the_api_is_away_it_says_so_and_asks_again(two: Seen) -> None:
    with typist(two.me, "job") as at:
        assert at.sees(", generation ", 20)
        two.api.away = 500
        assert at.sees("asking again", 20)
        two.api.away = 0
        assert at.sees(", generation ", 20)


def test_once_the_job_is_over_it_ends_and_says_how(two: Seen) -> None:
    with typist(two.me, "job") as at:
        assert at.sees(", generation ", 20)
        two.api.ended = "Complete"
        two.api.pods = [replace(each, phase="Succeeded") for each in two.api.pods]
        assert at.sees("job job: Complete", 20)
        assert at._process.wait(10) == 0


def test_where_the_network_keeps_the_api_server_out_the_pods_and_their_last_lines_are_shown(two: Seen) -> None:
    two.api.hidden = True
    said = two.me("top", "--once", "job")
    assert said.code == 0
    assert said.err == (
        "its leader could not be asked, neither through the API server (pods/proxy) nor from a pod (pods/exec)\n"
    )
    head, _, *rows = said.out.splitlines()
    assert head == "job job: Running"
    assert all(re.search(r"Running +- +- .* step \d+ \?\[31mred\?\[0m$", each) for each in rows), rows


@pytest.mark.parametrize("python", [own_python(), own_python(brought=True)])
def test_where_a_program_can_be_run_in_a_pod_that_asks_in_the_api_servers_place(two: Seen, python: str) -> None:
    two.api.hidden, two.api.pythons = True, (python,)
    before = len(two.api.run)
    said = two.me("top", "--once", "-o", "json", "job")
    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    assert [row["rank"] for row in found["ranks"]] == [1, 0]
    assert all(row["memory"] > 1 << 20 and row["pace"] > 1 for row in found["ranks"])
    assert [command[0] for command in two.api.run[before:]] == [python], "once for the whole command"


def test_without_rich_a_table_that_moves_names_what_to_install_and_once_works(two: Seen, tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "rich"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ModuleNotFoundError(name='rich')\n")
    assert two.me("top", "--once", "job", PYTHONPATH=str(absent.parent)).code == 0
    with Typist(two.me.words("top", "job"), **two.me.environ(PYTHONPATH=str(absent.parent))) as at:
        assert at.sees("needs the package rich, which is not installed: `pip install rich`, or", 20)
        assert at.sees("`paddlectl top --once job`", 5)
        assert at._process.wait(10) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("top", "job"), "standard output is no terminal: expected --once"),
        (("top", "-o", "json", "job"), "-o: expected --once with it"),
        (("top",), "expected job"),
    ],
)
def test_wrong_usage_is_a_sentence(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    said = User(home=tmp_path)(*words)
    assert (said.code, told in said.err) == (2, True), said.err


def test_a_job_that_is_not_there_is_told(two: Seen) -> None:
    two.api.gone = True
    said = two.me("top", "--once", "job")
    assert (said.code, "there is no job job in the namespace team" in said.err) == (1, True)


def test_only_the_table_that_moves_imports_rich() -> None:
    def imported(path: Path) -> set[str]:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        return {name.split(".")[0] for name in names}

    users = {path.name for path in ROOT.glob("launcher/**/*.py") if "rich" in imported(path)}
    assert users == {"drawn.py"}
