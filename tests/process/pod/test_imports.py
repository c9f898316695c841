"""What a pod's launcher imports in a whole life: nothing that is only the desk's, wherever it is installed."""

from __future__ import annotations

import sys
import urllib.request
from importlib.machinery import PathFinder
from pathlib import Path

from tests.support.lives import Lives
from tests.support.talking import Job, free_port

# Ends a life by noting what it has imported by then.
NOTING = """
import os, runpy, sys
leave, place = os._exit, sys.argv.pop(1)

def note(code):
    with open(place, "w") as file:
        file.write("\\n".join(name for name, module in sys.modules.items() if module))
    leave(code)

os._exit = note
runpy.run_module("launcher.pod", run_name="__main__", alter_sys=True)
"""
OF_THE_DESK = ("rich", "pygments", "markdown_it", "launcher.desk")


def test_a_pod_never_imports_what_draws_the_desk_s_tables(tmp_path: Path) -> None:
    """structlog would: where it finds rich it makes tracebacks with it."""
    # Not by find_spec: a log that was used in this process has kept rich from being imported.
    assert PathFinder.find_spec("rich"), "nothing is shown where it is not installed"
    noted, port = tmp_path / "noted", free_port()
    with Lives() as lives:
        lives.launcher = (sys.executable, "-c", NOTING, str(noted), "--")
        life = Job(lives, tmp_path).start("say(b'up\\n'); wait_for('go')", LAUNCHER_STATUS_PORT=str(port))
        assert life.line() == "up"
        for page in ("metrics", "gang", "readyz", ""):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
                assert answer.status == 200
        (tmp_path / "work" / "go").touch()
        assert life.end() == 0
    found = noted.read_text().splitlines()
    assert {"structlog", "prometheus_client", "launcher.report.page"} <= set(found)
    assert [name for name in found if name.startswith(OF_THE_DESK)] == []
