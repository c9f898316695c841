"""Brings the launcher into a pod whose image has none: `python -m launcher.inject [DIRECTORY [FILE...]]`.

It copies the tree that it runs from, and starts the copy once: what the pod's own container could tell nobody, since
nothing of ours would run there, is told here; where it cannot be brought whole, nothing of it is left. The files are
for pods whose `/` is read-only: they mount them there.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from launcher.contract import BROUGHT, Code
from launcher.safefs.refusals import Refusal, SystemRefused

_NOEXEC = "is mounted noexec: expected a volume on which programs may be started, such as an emptyDir"
_ITSELF = "is where this launcher runs from: name another directory"
_PROCESSOR = "expected the launcher for a {0}: build its image there, or choose nodes by the label kubernetes.io/arch"
_REFUSED = Refusal(advice={errno.ENOEXEC: _PROCESSOR.format(os.uname().machine)})


def main(words: Sequence[str], *, source: Path = Path(sys.prefix)) -> int:
    """Copy, start, and say what came of it; return the exit code."""
    target = Path(words[0] if words else BROUGHT)
    try:
        if why := _unfit(source, target):
            return _refuse(Code.CANNOT_START, why)
        taken = _copied(source, target)
        _make_files(words[1:])
    except SystemRefused as error:
        _remove(source, target)
        return _refuse(Code.SHARD, str(error))
    if why := _wrong(target):
        _remove(source, target)
        return _refuse(Code.CANNOT_START, why)
    sys.stderr.write(f"launcher.inject: the launcher is in {target}, {taken / 1e6:.0f} MB\n")
    return Code.DONE


def _unfit(source: Path, target: Path) -> str:
    """Return why a directory cannot have a launcher, nothing where it can."""
    try:
        if target.samefile(source):
            return f"{target} {_ITSELF}"
        return f"{target} {_NOEXEC}" if os.statvfs(target).f_flag & os.ST_NOEXEC else ""
    except OSError as error:
        raise _REFUSED.of(str(target), error) from error


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
            raise _REFUSED.of(str(below), error) from error
    return taken


def _make_files(paths: Sequence[str]) -> None:
    """Make files that may be there already."""
    for path in paths:
        try:
            Path(path).touch()
        except OSError as error:
            raise _REFUSED.of(path, error) from error


def _remove(source: Path, target: Path) -> None:
    """Remove what was copied so far: a full disk has its room again, and nobody takes half of it for the launcher."""
    for directory, _, names in os.walk(source, topdown=False):
        below = target / Path(directory).relative_to(source)
        with suppress(OSError):
            for name in names:
                (below / name).unlink(missing_ok=True)
            if below != target:
                below.rmdir()


def _wrong(target: Path) -> str:
    """Return why the copy does not start, nothing where it does."""
    words = (str(target / "bin" / "python"), "-I", "-m", "launcher.pod", "--version")
    try:
        started = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(_REFUSED.of(words[0], error))
    said = (started.stderr or started.stdout).strip()
    return f"{words[0]} ended with {started.returncode}: {said}" if started.returncode else ""


def _refuse(code: int, sentence: str) -> int:
    sys.stderr.write(f"launcher.inject: {sentence}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
