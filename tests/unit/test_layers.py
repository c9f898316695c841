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
    "launcher.dataset.arguments",
    "launcher.dataset.chunks",
    "launcher.dataset.dealing",
    "launcher.dataset.lines",
    "launcher.dataset.manifest",
    "launcher.dataset.problem",
    "launcher.dataset.ratings",
    "launcher.dataset.snappy",
    "launcher.kube.refusals",
    "launcher.desk.arguments",
    "launcher.desk.doctor.checks",
    "launcher.desk.rehearsal.curve",
    "launcher.desk.config.datacenters",
    "launcher.desk.rehearsal.example",
    "launcher.kube.kinds",
    "launcher.desk.jobs.log_position",
    "launcher.desk.doctor.probe_findings",
    "launcher.desk.errors",
    "launcher.desk.files.frames",
    "launcher.desk.rehearsal.rehearsal",
    "launcher.desk.jobs.job_state",
    "launcher.desk.rehearsal.show",
    "launcher.desk.jobs.tables",
    "launcher.transfer.counting",
    "launcher.transfer.frames",
    "launcher.transfer.problem",
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
    "launcher.pod.settings.arguments",
    "launcher.pod.settings.conflicts",
    "launcher.kube.pod_json",
    "launcher.kube.rbac",
    "launcher.pod.gang.here.requests",
    "launcher.pod.gang.protocol.lease",
    "launcher.pod.gang.protocol.follower",
    "launcher.pod.gang.protocol.barriers",
    "launcher.pod.gang.protocol.leader_state",
    "launcher.pod.gang.protocol.leader",
    "launcher.pod.gang.protocol.member",
    "launcher.pod.gang.protocol.reasons",
    "launcher.pod.gang.status.pages",
    "launcher.pod.gang.protocol.sealing",
    "launcher.pod.gang.here.session",
    "launcher.pod.gang.protocol.state",
    "launcher.pod.gang.protocol.codec",
    "launcher.pod.gang.protocol.messages",
    "launcher.pod.output.lines",
    "launcher.pod.settings.masking",
    "launcher.pod.outcome",
    "launcher.pod.programs.plan",
    "launcher.pod.programs.policy",
    "launcher.pod.settings.reader",
    "launcher.pod.peers.roster",
    "launcher.pod.programs.runtimes",
    "launcher.pod.programs.runtimes.env",
    "launcher.pod.programs.runtimes.fleet",
    "launcher.pod.programs.runtimes.v1",
    "launcher.pod.peers.pod_state",
    "launcher.pod.settings.nouns",
    "launcher.pod.data.layout",
    "launcher.pod.data.links",
    "launcher.pod.data.marker",
    "launcher.pod.programs.stall_rule",
    "launcher.pod.settings.help",
    "launcher.pod.settings.variables",
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
        "launcher.desk.rehearsal.local",
        "launcher.transfer.__main__",
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
    pod = {"launcher.kube.account", "launcher.kube.transport"}
    assert users <= pod | {"launcher.kube.kubeconfig", "launcher.desk.jobs.api_calls"}


def test_signals_are_blocked_before_the_launcher_is_imported() -> None:
    """A process 1 that has not blocked TERM loses it, and the kubelet sends it once."""
    before = []
    for statement in ast.parse((ROOT / "launcher/pod/__main__.py").read_text()).body:
        if "pthread_sigmask(signal.SIG_BLOCK" in ast.unparse(statement):
            break
        before.append(ast.unparse(statement))
    assert before[1:] == ["from __future__ import annotations", "import signal"]
