"""A test that fails prints what its cluster knows of its namespace, and suites that cannot run say what they need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cluster.cluster import LOADER, NAMED
from tests.grounds.cluster import Ground

ROOT = Path(__file__).parents[2]
FAILS = """
from tests.cluster.pods import await_phase, pod

def test_that_fails(namespace, box):
    namespace.apply(pod("talker", "echo its last words; exit 3"))
    await_phase(namespace, "talker", "Failed")
    assert False
"""


def run_tests(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run tests in a process of their own."""
    around = {name: value for name, value in os.environ.items() if name != "NO_SKIPS"}
    argv = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words)
    return subprocess.run(
        argv, cwd=ROOT, env={**around, **environ}, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_failure_prints_pods_events_and_logs_of_its_namespace(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "test_fails.py").write_text(FAILS)
    loader = f"{sys.executable} -m tests.grounds.cluster load"
    plugins = ("-p", "tests.conftest", "-p", "tests.cluster.conftest")
    done = run_tests(*plugins, str(tmp_path), **{NAMED: str(ground.kubeconfig), LOADER: loader})
    assert done.returncode == 1, done.stdout
    for told in ("pod/talker", "Started container box", "Exit Code:    3", "its last words"):
        assert told in done.stdout


def test_what_cannot_run_is_told_last_with_what_would_make_it_run() -> None:
    done = run_tests("tests/cluster/test_jobs.py", "tests/unit/pod/data/test_links.py", **{NAMED: "/nowhere"})
    assert done.returncode == 0
    title, why, counts = [line for line in done.stdout.splitlines() if line][-3:]
    assert "what did not run, and why" in title
    assert why == f"tests/cluster, 3 tests: {NAMED} names /nowhere, and no such file is there"
    assert "3 skipped" in counts


def test_what_cannot_run_is_a_failure_where_skips_are_forbidden() -> None:
    done = run_tests("tests/cluster/test_jobs.py", NO_SKIPS="1", **{NAMED: "/nowhere"})
    assert done.returncode == 1
    assert "was skipped, and NO_SKIPS is set" in done.stdout
    assert "3 errors" in done.stdout.splitlines()[-1]
