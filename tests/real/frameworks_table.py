"""All six examples of frameworks, alone and on three nodes, as a table: `python -m tests.real.frameworks_table`.

torch and TensorFlow come in an environment of their own, which tests do not make: 7 GB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import machine
from bench.table import columns, inserted
from tests.real import install
from tests.real.frameworks import ALL, NODES, PASSES, Example, Run, alone, local

PAGE = Path(__file__).parents[2] / "bench" / "frameworks.md"
BEGIN, END = "<!-- trained: written by `python -m tests.real.frameworks_table --write` -->", "<!-- end of trained -->"
HEAD = (
    "framework", "five runs alone", "three nodes at most", "alone", "three nodes", "one killed", "goes on", "held",
    "s alone", "s three", "s killed",
)  # fmt: skip
PACKAGES = {
    "torch": "torch",
    "jax": "jax",
    "paddle": "paddlepaddle",
    "xgboost": "xgboost-cpu",
    "lightgbm": "lightgbm",
    "tensorflow": "tensorflow-cpu",
}
KILLED = (1, 2, 3)  # the rank, in which pass, in which step
PORT = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """An example's three runs."""

    example: Example
    version: str
    alone: Run
    three: Run
    killed: Run

    @property
    def held(self) -> bool:
        """Whether all came to their end, each with what one process learns, the last after one start more."""
        runs = (self.alone, self.three, self.killed)
        whole = all(run.code == 0 and len(run.passes) == PASSES and run.last <= self.example.worst for run in runs)
        return whole and len(self.killed.again) == 1 and not self.three.again

    @property
    def cells(self) -> tuple[str, ...]:
        """Return its row."""
        five = f"{min(self.example.alone):.4f} to {max(self.example.alone):.4f}"
        runs = (self.alone, self.three, self.killed)
        again = "; ".join(each.partition(":")[0].removeprefix("all started again ") for each in self.killed.again)
        learned = (f"{self.example.worst:.4f}", *(f"{run.last:.4f}" for run in runs))
        held = "yes" if self.held else "NO"
        return (
            f"{self.example.runtime} {self.version}",
            five,
            *learned,
            again,
            held,
            *(f"{run.seconds:.1f}" for run in runs),
        )


def trained(example: Example, python: Path) -> Trained:
    """Run it three times."""
    with tempfile.TemporaryDirectory(prefix="frameworks-") as top:
        return Trained(
            example=example,
            version=_version(python, PACKAGES[example.runtime]),
            alone=alone(example, python, Path(top, "alone")),
            three=local(example, python, Path(top, "three"), port=PORT),
            killed=local(example, python, Path(top, "killed"), port=PORT, killed=KILLED),
        )


def main() -> int:
    """Run all, print the table, and return whether every training was as it has to be."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.frameworks_table", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into bench/frameworks.md if all is well")
    asked = parser.parse_args()
    before = machine.busy()
    found = []
    for example in ALL:
        try:
            python = install.python(example.environment)
        except install.NotHere as error:
            print(f"not here: {example.folder}: {error}", file=sys.stderr)
            continue
        print(f"{example.folder}: alone, on {NODES} nodes, and with one killed", file=sys.stderr, flush=True)
        found.append(trained(example, python))
        if not found[-1].held:
            print(*(run.said for run in (found[-1].alone, found[-1].three, found[-1].killed)), file=sys.stderr)
    where = f"{time.strftime('%Y-%m-%d')}: {machine.described()}; load {before:.1f} before."
    text = f"{where}\n\n{columns(HEAD, [each.cells for each in found])}"
    print(text)
    good = len(found) == len(ALL) and all(each.held for each in found)
    if asked.write and good:
        PAGE.write_text(inserted(PAGE.read_text(), text, BEGIN, END))
    return 0 if all(each.held for each in found) else 1


def _version(python: Path, package: str) -> str:
    words = (
        str(python),
        "-c",
        "import sys; from importlib.metadata import version; print(version(sys.argv[1]))",
        package,
    )
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
