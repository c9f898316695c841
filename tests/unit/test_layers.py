"""The rooms keep apart: what may import what."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(ROOT.glob("launcher/**/*.py"))

PURE = {
    "launcher.bridge.network",
    "launcher.dataset.asking",
    "launcher.dataset.chunks",
    "launcher.dataset.dealing",
    "launcher.dataset.lines",
    "launcher.dataset.manifest",
    "launcher.dataset.problem",
    "launcher.dataset.ratings",
    "launcher.dataset.snappy",
    "launcher.desk.access",
    "launcher.desk.arguments",
    "launcher.desk.checks",
    "launcher.desk.curve",
    "launcher.desk.datacenters",
    "launcher.desk.example",
    "launcher.desk.kinds",
    "launcher.desk.marks",
    "launcher.desk.probed",
    "launcher.desk.problem",
    "launcher.desk.pfs.websocket",
    "launcher.desk.rehearsal",
    "launcher.desk.seen",
    "launcher.desk.showing",
    "launcher.desk.tables",
    "launcher.files.counting",
    "launcher.files.frames",
    "launcher.files.problem",
    "launcher.job.checking",
    "launcher.job.description",
    "launcher.job.entry",
    "launcher.job.environment",
    "launcher.job.manifests",
    "launcher.job.names",
    "launcher.job.places",
    "launcher.job.pods",
    "launcher.job.problem",
    "launcher.job.quantities",
    "launcher.job.text",
    "launcher.job.volumes",
    "launcher.pod.arguments",
    "launcher.pod.contradictions",
    "launcher.pod.discovery.podjson",
    "launcher.pod.discovery.rights",
    "launcher.pod.gang.asking",
    "launcher.pod.gang.fencing",
    "launcher.pod.gang.following",
    "launcher.pod.gang.gathering",
    "launcher.pod.gang.lead",
    "launcher.pod.gang.leading",
    "launcher.pod.gang.member",
    "launcher.pod.gang.missing",
    "launcher.pod.gang.pages",
    "launcher.pod.gang.sealing",
    "launcher.pod.gang.sheet",
    "launcher.pod.gang.views",
    "launcher.pod.gang.wire",
    "launcher.pod.gang.words",
    "launcher.pod.lines",
    "launcher.pod.masking",
    "launcher.pod.outcome",
    "launcher.pod.plan",
    "launcher.pod.policy",
    "launcher.pod.reading",
    "launcher.pod.roster",
    "launcher.pod.runtimes",
    "launcher.pod.runtimes.env",
    "launcher.pod.runtimes.fleet",
    "launcher.pod.runtimes.v1",
    "launcher.pod.seen",
    "launcher.pod.settings",
    "launcher.pod.staging.layout",
    "launcher.pod.staging.links",
    "launcher.pod.staging.marker",
    "launcher.pod.stillness",
    "launcher.pod.usage",
    "launcher.pod.variables",
    "launcher.report.curves",
    "launcher.report.events",
    "launcher.report.forms",
    "launcher.report.lanes",
    "launcher.report.markup",
    "launcher.report.page",
    "launcher.report.reading",
    "launcher.report.runs",
    "launcher.report.scale",
    "launcher.report.seats",
    "launcher.report.sentence",
    "launcher.report.series",
    "launcher.report.story",
    "launcher.report.style",
    "launcher.report.timeline",
    "launcher.report.visible",
}
EFFECTS = {"kubernetes", "psutil", "subprocess", "socket", "asyncio", "time", "threading", "os", "shutil", "tenacity"}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "base", "common", "manager"}
# The one room whose programs are other people's: plain Python 3.8, nothing to install.
FOR_PROGRAMS = ("launcher.here", "launcher.dataset")


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(imported: str, room: str) -> bool:
    return imported == room or imported.startswith(room + ".")


def test_every_pure_module_is_there() -> None:
    assert {name_of(path) for path in MODULES} >= PURE


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    name, imported = name_of(path), set(imports_of(path))
    tops = {each.split(".")[0] for each in imported}
    assert FORBIDDEN_NAMES.isdisjoint(name.split("."))
    if name in PURE:
        assert EFFECTS.isdisjoint(tops)
        ours = {each for each in imported if within(each, "launcher")}
        assert all(any(within(each, pure) for pure in PURE) for each in ours)
    if within(name, "launcher.pod"):
        assert not any(within(each, "launcher.desk") for each in imported)
    if within(name, "launcher.desk") or within(name, "launcher.job") or within(name, "launcher.dataset"):
        assert not any(within(each, "launcher.pod") for each in imported)
    if any(within(name, room) for room in FOR_PROGRAMS):
        assert tops <= sys.stdlib_module_names | {"launcher"}
    if within(name, "launcher.files"):  # it runs at both ends
        assert tops <= sys.stdlib_module_names | {"launcher"}
        assert not any(within(each, "launcher.desk") for each in imported)
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
        "launcher.desk.__main__",
        "launcher.desk.local",
        "launcher.files.__main__",
        "launcher.report.__main__",
        "launcher.dataset.__main__",
    }


def test_nothing_goes_through_a_shell() -> None:
    for path in MODULES:
        text = path.read_text()
        assert "shell=True" not in text
        assert "os.system" not in text
        assert "os.popen" not in text


def test_the_kubernetes_package_is_imported_only_where_the_api_is_used() -> None:
    users = {name_of(path) for path in MODULES if any(within(each, "kubernetes") for each in imports_of(path))}
    pod = {"launcher.pod.discovery.account", "launcher.pod.discovery.api"}
    assert users <= pod | {"launcher.desk.credentials", "launcher.desk.api"}


def test_signals_are_blocked_before_the_launcher_is_imported() -> None:
    """A process 1 that has not blocked TERM loses it, and the kubelet sends it once."""
    before = []
    for statement in ast.parse((ROOT / "launcher/pod/__main__.py").read_text()).body:
        if "pthread_sigmask(signal.SIG_BLOCK" in ast.unparse(statement):
            break
        before.append(ast.unparse(statement))
    assert before[1:] == ["from __future__ import annotations", "import signal"]
