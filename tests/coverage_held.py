"""Holds the coverage: all branches of the pure modules, nine tenths of the rest.

Run after `coverage combine`; prints what is missing and fails where it is too much.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from coverage import Coverage

from tests.unit.test_layers import PURE, name_of

REST = 90.0


def main() -> int:
    coverage = Coverage()
    coverage.load()
    target = Path("build/coverage.json")
    target.parent.mkdir(exist_ok=True)
    coverage.json_report(outfile=str(target))
    coverage.report(file=(table := io.StringIO()))
    report = json.loads(target.read_text())
    pure: list[str] = []
    covered = wanted = 0
    for path, entry in report["files"].items():
        facts = entry["summary"]
        if name_of(Path.cwd() / path) in PURE:
            if facts["percent_covered"] < 100:
                pure.append(f"{path}: {facts['percent_covered']:.1f} %, a pure module is held at 100 %")
            continue
        covered += facts["covered_lines"] + facts["covered_branches"]
        wanted += facts["num_statements"] + facts["num_branches"]
    rest = 100 * covered / wanted
    print(table.getvalue())
    print(f"pure modules: {len(pure)} below 100 % of branches; the rest: {rest:.1f} %, held at {REST:g} %")
    for line in pure:
        print(line)
    return 1 if pure or rest < REST else 0


if __name__ == "__main__":
    sys.exit(main())
