"""Every fault of a gang once, for real, and what came of it as one table: `python -m tests.process.faults`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.outcomes import TABLE

TESTS = Path(__file__).parent


def main() -> int:
    """Run the tests, print the table, and return pytest's exit code."""
    with tempfile.TemporaryDirectory() as room:
        notes = Path(room, "notes")
        notes.touch()
        files = sorted(str(path) for path in (TESTS / "pod" / "gang").glob("test_*.py"))
        argv = [sys.executable, "-m", "pytest", "-q", *files, *sys.argv[1:]]
        code = subprocess.run(argv, env={**os.environ, TABLE: str(notes)}, stdout=sys.stderr, check=False).returncode
        print(table([json.loads(line) for line in notes.read_text().splitlines()]))
    return code


def table(notes: list[dict[str, str]]) -> str:
    """Return the notes as a table in Markdown."""
    lines = [f"| {note['fault']} | {note['happened']} | {float(note['seconds']):.2f} |" for note in notes]
    return "\n".join(["| fault | what happened | seconds |", "| --- | --- | ---: |", *lines])


if __name__ == "__main__":
    sys.exit(main())
