"""The rooms keep apart: what may import what."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(ROOT.glob("launcher/**/*.py"))

EFFECTS = {"kubernetes", "psutil", "subprocess", "socket", "asyncio", "time", "threading", "os", "shutil", "tenacity"}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "base", "common", "manager"}
# The one room whose programs are other people's: plain Python 3.8, nothing to install.
FOR_PROGRAMS = ("launcher.contract", "launcher.text", "launcher.here", "launcher.dataset")
SHARED = ("launcher.kube", "launcher.safefs", "launcher.transfer", "launcher.files")
# The doctor's probe, in a pod: whether the `paddle` that it found can train, and a program's environment there.
ASKED = {"launcher.transfer.agent_probe": {"launcher.pod.programs.v1_check", "launcher.pod.programs.die_with_parent"}}
PURITY = "No I/O here."  # in a module's docstring: the declaration that is held here
DESIGN = "| folder | modules | what it is | kind |"


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, *, types: bool = True) -> Iterator[str]:
    """Yield what a module imports; without `types` only what it imports when it runs."""
    tree = ast.parse(path.read_text())
    left: set[int] = set()
    for node in ast.walk(tree):
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            left.update(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if id(node) in left:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(imported: str, room: str) -> bool:
    return imported == room or imported.startswith(room + ".")


PURE = {name_of(path) for path in MODULES if PURITY in (ast.get_docstring(ast.parse(path.read_text())) or "")}


def test_purity_is_declared_in_one_way_and_often() -> None:
    spoken = {name_of(path) for path in MODULES if "No I/O" in path.read_text()}
    assert spoken == PURE
    assert len(PURE) > 90


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    name, imported = name_of(path), set(imports_of(path))
    tops = {each.split(".")[0] for each in imported}
    assert FORBIDDEN_NAMES.isdisjoint(name.split("."))
    if name in PURE:
        at_run_time = set(imports_of(path, types=False))
        assert EFFECTS.isdisjoint(each.split(".")[0] for each in at_run_time)
        ours = {each for each in at_run_time if within(each, "launcher")}
        assert [each for each in ours if not any(within(each, pure) for pure in PURE)] == []
    if within(name, "launcher.pod"):
        assert not any(within(each, "launcher.desk") for each in imported)
    if not within(name, "launcher.pod"):
        of_pods = {each.rpartition(".")[0] for each in imported if within(each, "launcher.pod")}
        assert of_pods <= ASKED.get(name, set())
    if any(within(name, room) for room in SHARED):  # pods have it, and desks
        assert not any(within(each, "launcher.desk") for each in imported)
    if any(within(name, room) for room in FOR_PROGRAMS):
        assert tops <= sys.stdlib_module_names | {"launcher"}
    if within(name, "launcher.transfer") or within(name, "launcher.files"):  # it runs at both ends
        assert tops <= sys.stdlib_module_names | {"launcher"}
    if name == "launcher":
        assert not imported


def test_only_the_main_pages_exit() -> None:
    exits = [
        name_of(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"sys.exit", "os._exit", "exit", "quit"}
    ]
    assert set(exits) <= {
        "launcher.bridge.failure",  # the last call of programs that train, examples among them
        "launcher.pod.__main__",
        "launcher.pod.programs.runtimes.xgboost_tracker",  # a program of its own
        "launcher.desk.__main__",
        "launcher.desk.local",
        "launcher.transfer.__main__",
        "launcher.inject.__main__",
        "launcher.report.__main__",
        "launcher.stacks.__main__",
        "launcher.dataset.__main__",
    }


def test_no_folder_has_more_modules_than_one_look_takes_in() -> None:
    folders = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert folders
    assert {folder.name for folder, modules in folders.items() if modules > 16} <= {"verbs", "dataset"}


def test_nothing_goes_through_a_shell() -> None:
    for path in MODULES:
        text = path.read_text()
        assert "shell=True" not in text
        assert "os.system" not in text
        assert "os.popen" not in text


def test_the_kubernetes_package_is_imported_in_one_room() -> None:
    users = {name_of(path) for path in MODULES if any(within(each, "kubernetes") for each in imports_of(path))}
    assert users
    assert all(within(name, "launcher.kube") for name in users)


def design_rows() -> list[tuple[str, set[str], str]]:
    """Return the folders of the design, each with its modules and what kind they are."""
    lines = (ROOT / "docs/design.md").read_text().splitlines()
    start = lines.index(DESIGN) + 2
    cells = [line.split("|")[1:5] for line in lines[start : lines.index("", start)]]
    return [(folder.strip(" `"), quoted(names), kind.strip()) for folder, names, _, kind in cells]


def quoted(text: str) -> set[str]:
    return set(re.findall("`([^`]+)`", text))


def test_every_module_has_its_place_in_the_design() -> None:
    """One row a folder, with the names of its modules."""
    rows = design_rows()
    told = {(folder, name) for folder, names, _ in rows for name in names}
    folders = [folder for folder, *_ in rows]
    assert len(folders) == len(set(folders))
    there = {(f"{path.parent.relative_to(ROOT)}/", path.name) for path in MODULES if path.name != "__init__.py"}
    assert told == there


@pytest.mark.parametrize(("folder", "names", "kind"), design_rows(), ids=[folder for folder, *_ in design_rows()])
def test_the_design_says_which_modules_are_pure(folder: str, names: set[str], kind: str) -> None:
    modules = {name.removesuffix(".py") for name in names}
    told = modules - quoted(kind) if kind.startswith("pure") else quoted(kind)
    assert told == {name for name in modules if folder.replace("/", ".") + name in PURE}


def test_the_main_page_of_a_pod_is_a_page() -> None:
    assert len((ROOT / "launcher/pod/__main__.py").read_text().splitlines()) < 100


def test_signals_are_blocked_before_the_launcher_is_imported() -> None:
    """A process 1 that has not blocked TERM loses it, and the kubelet sends it once."""
    before = []
    for statement in ast.parse((ROOT / "launcher/pod/__main__.py").read_text()).body:
        if "pthread_sigmask(signal.SIG_BLOCK" in ast.unparse(statement):
            break
        before.append(ast.unparse(statement))
    assert before[1:] == ["from __future__ import annotations", "import signal"]


# One shape, several modules: a table of modules calls each by the same name.
SHAPES = {
    "main": None,  # an entry point
    "run": None,  # a verb's, and what a module whose name says the rest does
    "arguments": "launcher.desk.verbs",
    "EXAMPLES": None,
    "plan": "launcher.pod.programs",
    "rosters": "launcher.pod.peers",
}
OLD_NAMES = {  # examples of 0.1.0 on a volume import them
    ("launcher.bridge.passes", "DONE"),
    ("launcher.bridge.failure", "DATA"),
    ("launcher.bridge.failure", "Failure"),
    ("launcher.dataset.problem", "Misuse"),
    ("launcher.dataset.uci_housing", "train"),  # Paddle's
}


def public_names(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        else:
            names = []
        yield from (name for name in names if not name.startswith("_") and name != "TYPE_CHECKING")


def test_a_public_name_is_defined_once() -> None:
    """`launcher.here` is copied by itself; its limits are a pod's, which `pod/gang/here/test_requests` compares."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        room = name_of(path)
        for name in public_names(path) if room != "launcher.here" else ():
            shape = SHAPES.get(name, "")
            if (room, name) not in OLD_NAMES and not (name in SHAPES and (shape is None or within(room, shape))):
                places.setdefault(name, []).append(room)
    assert {name: rooms for name, rooms in places.items() if len(set(rooms)) > 1} == {}
