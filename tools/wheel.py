"""`make wheel`: the wheel in a directory, the same bytes from the same sources, and beside it what it needs.

Time, umask and what earlier builds left have no part in the bytes: they are made of a fresh copy of the sources.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tools import sbom

ROOT = Path(__file__).parents[1]
DIRECTORIES = ("launcher", "examples/recommendation", "examples/stand_in")
FILES = ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE")
LOCK = ROOT / "requirements.lock"
EPOCH = "315532800"  # the beginning of 1980, before which a zip knows no time
PIP = ("pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index")


def main(words: Sequence[str]) -> int:
    """Make both in the directory that is named, and say what they are."""
    if len(words) != 1:
        print("usage: python -m tools.wheel DIRECTORY", file=sys.stderr)
        return 2
    target = Path(words[0])
    for old in target.glob("paddle_launcher-*"):  # another version's is not to lie beside this one's
        old.unlink()
    wheel = build(target)
    bill = wheel.with_suffix(".cdx.json")
    bill.write_text(sbom.text(wheel.name, wheel.read_bytes(), LOCK.read_text()))
    for path in (wheel, bill):
        print(f"{path} ({path.stat().st_size / 1e3:.0f} kB)")
    return 0


def build(target: Path, *, root: Path = ROOT) -> Path:
    """Build the wheel of a checkout in a directory, and return its path."""
    env = {"SOURCE_DATE_EPOCH": EPOCH, **os.environ}
    with TemporaryDirectory() as top, TemporaryDirectory() as made:
        _copy(root, Path(top))
        words = (sys.executable, "-m", *PIP, "--wheel-dir", made, top)
        subprocess.run(words, check=True, env=env, umask=0o022)
        (wheel,) = Path(made).glob("*.whl")
        target.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, target))


def _copy(root: Path, top: Path) -> None:
    """Copy the sources with the two modes that there are: of a program, and of all else."""
    ours = shutil.ignore_patterns("__pycache__", ".*")
    for name in DIRECTORIES:
        shutil.copytree(root / name, top / name, ignore=ours)
    for name in FILES:
        shutil.copy(root / name, top)
    for path in top.rglob("*"):
        path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
