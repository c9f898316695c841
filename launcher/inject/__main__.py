"""Brings the launcher into a pod whose image has none: `python -m launcher.inject [DIRECTORY [FILE...]]`.

It copies the tree that it runs from, and starts the copy once: what the pod's own container could tell nobody, since
nothing of ours would run there, is told here. The files are for pods whose `/` is read-only: they mount them there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from launcher.contract import BROUGHT, Code
from launcher.safefs.refusals import PLAIN, SystemRefused

_NOEXEC = "is mounted noexec: expected a volume on which programs may be started, such as an emptyDir"


def main(words: Sequence[str], *, source: Path = Path(sys.prefix)) -> int:
    """Copy, start, and say what came of it; return the exit code."""
    target = Path(words[0] if words else BROUGHT)
    try:
        taken = _copied(source, target)
        _make_files(words[1:])
    except SystemRefused as error:
        return _refuse(Code.SHARD, str(error))
    if why := _wrong(target):
        return _refuse(Code.CANNOT_START, why)
    sys.stderr.write(f"launcher.inject: the launcher is in {target}, {taken / 1e6:.0f} MB\n")
    return Code.DONE


def _copied(source: Path, target: Path) -> int:
    """Copy a tree, with the rights of its files whatever the umask; return its bytes."""
    taken = 0
    for directory, _, names in os.walk(source):
        below = target / Path(directory).relative_to(source)
        try:
            if below != target:  # which is the volume's own, and may be another user's
                below.mkdir(exist_ok=True)
                below.chmod(0o755)
            for name in names:
                below = target / Path(directory, name).relative_to(source)
                shutil.copy2(Path(directory, name), below)
                taken += below.stat().st_size
        except OSError as error:
            raise PLAIN.of(str(below), error) from error
    return taken


def _make_files(paths: Sequence[str]) -> None:
    """Make files that may be there already."""
    for path in paths:
        try:
            Path(path).touch()
        except OSError as error:
            raise PLAIN.of(path, error) from error


def _wrong(target: Path) -> str:
    """Return why the copy does not start, nothing where it does."""
    words = (str(target / "bin" / "python"), "-I", "-m", "launcher.pod", "--version")
    if os.statvfs(target).f_flag & os.ST_NOEXEC:
        return f"{target} {_NOEXEC}"
    try:
        started = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(PLAIN.of(words[0], error))
    said = (started.stderr or started.stdout).strip()
    return f"{words[0]} ended with {started.returncode}: {said}" if started.returncode else ""


def _refuse(code: int, sentence: str) -> int:
    sys.stderr.write(f"launcher.inject: {sentence}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
