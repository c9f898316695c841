"""Makes the ground for a rehearsal: a directory of its own, the example's files, data in shards, ports that are free.

Nothing is ever removed that an earlier rehearsal did not make.
"""

from __future__ import annotations

import errno
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from launcher.contract import Code
from launcher.desk.errors import Problem
from launcher.desk.rehearsal.example import MAKER, Example
from launcher.desk.rehearsal.rehearsal import Rehearsal, RehearsalPod
from launcher.job.package.reading import stays_here

MARKER = ".paddle-launcher-demo"
LAUNCHER = Path(__file__).parents[2]


class NotReady(Problem):
    """The rehearsal cannot begin; the exit code is the launcher's own for that."""

    code = Code.SETTINGS


def check_example(example: Example) -> None:
    """Refuse to begin where the example is not."""
    missing = [name for name in example.needed if not (example.directory / name).is_file()]
    if missing:
        remedy = (
            "the examples that the package has: install it again with `pip install --force-reinstall paddle-launcher`"
            if example.own
            else "the program's package"
        )
        raise NotReady(f"{example.directory} does not contain {' and '.join(missing)}: expected {remedy}")


def examples(package: Path = LAUNCHER) -> Path:
    """Return where the examples are: a wheel has them in the package, a checkout beside it."""
    inside = package / "examples"
    return inside if inside.is_dir() else package.parent / "examples"


def check_ports(
    addresses: Sequence[str],
    ports: Sequence[int],
    *,
    listen: Callable[[tuple[str, int]], socket.socket] = socket.create_server,
) -> None:
    """Refuse a port that is taken: the pserver's own word on it would come late and short."""
    for address in addresses:
        for port in ports:
            try:
                listen((address, port)).close()
            except OSError as error:
                raise NotReady(_why_not(address, port, error)) from error


def meeting(blocks: Sequence[range]) -> int:
    """Return the first port of a block of which nothing was used for a minute, of the first block if there is none.

    So long the kernel keeps a connection that was closed, and XGBoost and LightGBM cannot open its port again.
    """
    return next((block[0] for block in blocks if all(map(_unused, block))), blocks[0][0])


def _unused(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))  # without SO_REUSEADDR, as those two
        except (OSError, OverflowError):
            return False
    return True


def _why_not(address: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{address}:{port} is in use by another program: choose other ports, as `paddlectl local --port 8164`"
    if error.errno == errno.EACCES:
        return f"{address}:{port} may not be opened by this user: choose a port of 1024 or more with --port"
    return f"{address}:{port} cannot be opened: {error.strerror}; on Linux, all of 127.0.0.0/8 is the machine itself"


def check_directory(directory: Path) -> None:
    """Refuse a directory with anything in it that no rehearsal made."""
    if directory.exists() and not _is_ours(directory):
        raise NotReady(
            f"{directory} contains files that no rehearsal made: nothing was changed; "
            "choose an empty or a new one with --directory"
        )


def clear(directory: Path, *, keep: bool) -> None:
    """Make the directory anew; the last rehearsal's is removed, or moved aside."""
    try:
        check_directory(directory)
        if keep and directory.exists():
            directory.rename(_aside(directory))
        if directory.exists():
            shutil.rmtree(directory)
        directory.mkdir(parents=True)
        (directory / MARKER).write_text("Made by `paddlectl local`, which may remove this directory.\n")
    except OSError as error:
        raise NotReady(f"{directory} cannot be made again: {error.strerror} ({error.filename})") from error


def _is_ours(directory: Path) -> bool:
    return directory.is_dir() and ((directory / MARKER).is_file() or not any(directory.iterdir()))


def _aside(directory: Path) -> Path:
    number = 1
    while (aside := directory.with_name(f"{directory.name}.{number}")).exists():
        number += 1
    return aside


def furnish(rehearsal: Rehearsal, pods: Sequence[RehearsalPod]) -> None:
    """Lay out the volume as the seeds have it, and a directory for each pod; an example makes its data, too."""
    for pod in pods:
        pod.workdir.mkdir(parents=True)
    if rehearsal.example.imports_us:
        rehearsal.library.mkdir()
        (rehearsal.library / LAUNCHER.name).symlink_to(LAUNCHER)
    if rehearsal.example.own:
        _furnish_example(rehearsal)
    else:
        _copy(rehearsal.example.directory, rehearsal.config_dir)


def _copy(package: Path, target: Path) -> None:
    """Copy a package as `submit` does, without what rehearsals have made in it."""
    stays = stays_here(str(package))

    def made_here(at: str, names: list[str]) -> list[str]:
        found = [Path(at, name) for name in names]
        return [
            each.name
            for each in found
            if (each / MARKER).is_file() or stays(str(each.relative_to(package)), each.is_dir())
        ]

    try:
        shutil.copytree(package, target, symlinks=True, ignore=made_here)
    except (OSError, shutil.Error) as error:
        why = error.strerror or f"{len(error.args[0])} files of it cannot be read" if error.args else "unknown"
        raise NotReady(f"{package} cannot be copied to {target}: {why}") from error


def _furnish_example(rehearsal: Rehearsal) -> None:
    """Bring an example's own files, and a shard of its data for each pod."""
    example = rehearsal.example
    rehearsal.config_dir.mkdir(parents=True)
    for path in example.directory.glob(example.own):
        shutil.copy(path, rehearsal.config_dir)
    # The example's own maker splits as well: a shard has all users and movies, and a part of the ratings.
    maker = example.directory / MAKER
    words = (sys.executable, maker, rehearsal.job_dir, f"--shards={rehearsal.pods}")
    made = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        raise NotReady(f"{maker} ended with {made.returncode}:\n{made.stderr}")
