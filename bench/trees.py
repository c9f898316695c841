"""Two trees of the launcher: this one, and a commit's, which lies beside it for as long as both are measured."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.lives import BUILD, Ground
from bench.processes import environment

ROOT = Path(__file__).parent.parent
WHERE = "import launcher, launcher.pod; print(launcher.__file__); print(launcher.pod.__file__)"


class NoTree(Exception):
    """A tree cannot be measured, for a reason that a sentence tells."""


def described(commit: str) -> str:
    """Return the short hash of a commit and its subject."""
    try:
        return _git("log", "-1", "--format=%h %s", f"{commit}^{{commit}}", "--")
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()[-1]
        raise NoTree(f"--against {commit}: {reason}: expected a commit of this repository, as HEAD~1") from None


@contextmanager
def unpacked(commit: str) -> Iterator[Path]:
    """Have the launcher of a commit, and nothing else of it, in a directory that is removed afterwards."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="against-", dir=BUILD) as directory:
        tree = Path(directory)
        _git("archive", f"--output={tree / 'launcher.tar'}", commit, "launcher")
        subprocess.run(("tar", "-xf", "launcher.tar"), cwd=tree, check=True)
        yield tree


def check_own(ground: Ground) -> None:
    """Refuse a tree whose Python finds another launcher than its own, as the one that is installed."""
    words = (sys.executable, "-c", WHERE)
    env = environment(ground.env)
    told = subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    for path in told.stdout.splitlines():
        if ground.tree is None or not Path(path).is_relative_to(ground.tree):
            raise NoTree(f"Python takes the launcher from {path}: expected it below {ground.tree}")


def _git(*words: str) -> str:
    told = subprocess.run(("git", "-C", str(ROOT), *words), capture_output=True, text=True, check=True)
    return told.stdout.strip()
