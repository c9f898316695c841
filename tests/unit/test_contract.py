"""What rooms agree on is written once: no literal of the contract stands anywhere else in the launcher."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from launcher import contract, here
from launcher.contract import Code
from launcher.pod.gang.protocol.planned.new_pass import SAVED
from launcher.safefs.small_file import LIMIT

ROOT = Path(__file__).parents[2]
MODULES = [path for path in sorted(ROOT.glob("launcher/**/*.py")) if path.stem != "contract"]
CODES = {code for name, code in vars(Code).items() if name.isupper() and code}
NUMBERS = CODES | {contract.STATUS_PORT, contract.PSERVER_PORT, contract.USER}
# Found inside longer texts as well, where they cannot mean anything else.
ANYWHERE = re.compile(
    r"paddle-launcher/|managed-by|paddle-job-|job-completion-index|job-name=|events\.jsonl|manifest\.json|verdict\.json"
    r"|\b(train|server)\.log|\bnode_[{*\d]|\bpass-[{*%\d]|output/|/opt/launcher|\b7170\b|\b7164\b|\b10001\b|A-Za-z0-9_\./-\]\+"
)
# Words that are in use for other things as well: whole texts, and where they stand for something else.
WORDS = {word for name, word in vars(contract).items() if name.isupper() and isinstance(word, str)}
FOR_USERS = {"EXAMPLES", "USAGE", "HELP", "ONCE", "ADVICE"}  # texts with examples in them
COPIED = "OUTPUT, PASS, DONE"  # in `launcher.here`, which imports nothing: compared below
PREFIXES = (contract.PASS_PREFIX, contract.NODE_PREFIX, contract.RUN_PREFIX, "gen-")
ELSEWHERE = {
    "data": {
        "launcher.transfer",  # a frame
        "launcher.bridge.config",  # a parameter of a config's functions
        "launcher.dataset.arguments",  # a choice on the command line
        "launcher.dataset.workspace",
        "launcher.desk.jobs.registries",  # a Secret's field
        "launcher.job.package.carried",  # a ConfigMap's
        "launcher.here",  # a phase of a step
    },
    "done": {
        "launcher.transfer",
        "launcher.desk.files",
        "launcher.desk.doctor.probe",
        "launcher.report.timeline",  # words under a drawing
    },
    "failed": {"launcher.transfer", "launcher.report.timeline", "launcher.desk.jobs"},
    "joining": {"launcher.pod.__main__"},  # what the launcher itself is at
    "node": {
        "launcher.desk.jobs.describe",
        "launcher.desk.live",
        "launcher.pod.gang.status",
        "launcher.pod.gang.store",
        "launcher.report.forms",
    },  # the name of a machine
    "now": {"launcher.pod.settings.nouns"},  # when more take part
    "output": {"launcher.desk.verbs", "launcher.report.__main__"},  # a flag, an argument
    "over": {"launcher.transfer", "launcher.desk.doctor.probe"},
    "paddle-launcher": {"launcher.desk.rehearsal.python_env", "launcher.pod.settings.help"},  # the package
    "pserver": {"launcher.bridge.__main__", "launcher.pod.programs.runtimes.v1"},  # Paddle's command
    "staging": {"launcher.pod.__main__", "launcher.pod.data.copy"},  # ... and an event
    "stopped": {
        "launcher.bridge.engine",  # a barrier
        "launcher.pod.gang.protocol.blame",
        "launcher.pod.programs.stacks",  # a process, by the kernel
        "launcher.report.timeline",
    },
    "trained": {"launcher.bridge.engine"},
    "training": {"launcher.pod.__main__", "launcher.report.timeline"},
}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def constants(path: Path) -> tuple[tuple[int, object], ...]:
    """Return line and value of every constant, those in f-strings included, docstrings and examples apart."""
    return tuple(_constants(path))


def _constants(path: Path) -> Iterator[tuple[int, object]]:
    tree = ast.parse(path.read_text())
    apart = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            apart.add(id(node.value))
        if isinstance(node, ast.Assign) and _assigned(node) in {*FOR_USERS, COPIED}:
            apart.update(map(id, ast.walk(node.value)))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            apart.update(map(id, node.values))
            yield (
                node.lineno,
                "".join(str(each.value) if isinstance(each, ast.Constant) else "{" for each in node.values),
            )
        elif isinstance(node, ast.Constant) and id(node) not in apart:
            yield node.lineno, node.value


def _assigned(node: ast.Assign) -> str:
    return ast.unparse(node.targets[0]).strip("()")


def test_what_here_writes_on_the_volume_has_the_launchers_names() -> None:
    assert (here.OUTPUT, here.PASS.format(3), here.DONE) == (
        contract.OUTPUT,
        contract.pass_directory(3),
        contract.DONE_FILE,
    )
    assert here.ALL_OF_DONE == LIMIT


def test_the_barrier_behind_which_a_pass_is_complete_is_the_one_that_a_leader_knows() -> None:
    assert here.COMPLETE.format(7).startswith(SAVED)


def is_said_again(name: str, value: object) -> bool:
    if isinstance(value, int):
        return value in NUMBERS
    if not isinstance(value, str):
        return False
    if value in WORDS:
        return not any(name == room or name.startswith(f"{room}.") for room in ELSEWHERE.get(value, ()))
    return ANYWHERE.search(value) is not None or value.startswith(tuple(f"{each}{{" for each in PREFIXES))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_literal_of_the_contract_stands_elsewhere(path: Path) -> None:
    assert [f"{line}: {value!r}" for line, value in constants(path) if is_said_again(name_of(path), value)] == []


@pytest.mark.parametrize("word", sorted(ELSEWHERE))
def test_each_exception_is_needed(word: str) -> None:
    users = {name_of(path) for path in MODULES if any(value == word for _, value in constants(path))}
    assert [
        room for room in ELSEWHERE[word] if not any(user == room or user.startswith(f"{room}.") for user in users)
    ] == []


@pytest.mark.parametrize("name", ["contract", "text", "here"])
def test_what_training_programs_share_is_python_3_8_and_imports_nothing_of_ours(name: str) -> None:
    text = (ROOT / f"launcher/{name}.py").read_text()
    tree = ast.parse(text, feature_version=(3, 8))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    ours = [ast.unparse(node) for node in imported if "launcher" in ast.unparse(node)]
    assert ours == []
    if name == "contract":
        assert [ast.unparse(node) for node in imported] == ["from __future__ import annotations"]


def test_each_path_that_bash_leaves_alone_is_plain() -> None:
    assert all(map(contract.is_plain, ("/home/jobpath/a-b_c.d", "x", "A9")))
    assert not any(map(contract.is_plain, ("", "a b", "a\n", "$HOME", "ä", "a;b", "٣")))


def test_the_programs_image_has_all_that_its_part_of_the_launcher_imports() -> None:
    """The Paddle image copies a part into the programs' own Python; what only a function imports is left out here."""
    parts = re.search(r"for part in __init__\.py (.+); do", (ROOT / "docker/install_paddle.sh").read_text())
    assert parts
    there = {f"launcher.{part.removesuffix('.py')}" for part in parts[1].split()}
    inside = [path for path in MODULES if any(name_of(path).startswith(each) for each in there)]
    assert {name_of(path) for path in inside} >= {"launcher.bridge.failure", "launcher.dataset.writing"}
    for path in inside:
        for node in ast.parse(path.read_text(), feature_version=(3, 8)).body:
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("launcher"):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                assert all(any(f"{name}.".startswith(f"{each}.") for each in there) for name in names), path
