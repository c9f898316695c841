"""A job's directory on a volume and a pod's working directory, both real, and one life that stages between them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from launcher.pod.data.stage import Shard, stage
from launcher.pod.peers.roster import Peer, Roster
from launcher.pod.settings.nouns import Role, Settings
from launcher.pod.settings.variables import read_settings

JOB = "job"
NOBODY = 65534
NOTES = (".data.staged", ".data.copies", ".files.staged")
ELASTIC = {"LAUNCHER_PEERS": "kubernetes", "LAUNCHER_RUNTIME": "torch", "LAUNCHER_ENTRY": "true"}  # with MEMBERS
BY_RANK = {f"{rank}/data/part": f"shard {rank}" for rank in range(3)}
UNDER_DATA = {f"data/{rank}/part": f"shard {rank}" for rank in range(3)}


def lay_out(top: Path, tree: Mapping[str, str | bytes]) -> None:
    """Write the files of a tree, given as path -> content."""
    for path, content in tree.items():
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def read_back(top: Path) -> dict[str, str]:
    """Return a tree as path -> content: a file's bytes, a link's `-> target`, an empty directory's `/`."""
    found = {}
    for here, folders, files in os.walk(top):
        for name in [*folders, *files]:
            path = Path(here, name)
            if path.is_symlink():
                found[str(path.relative_to(top))] = f"-> {path.readlink()}"
            elif path.is_file():
                found[str(path.relative_to(top))] = path.read_bytes().decode(errors="surrogateescape")
            elif not any(path.iterdir()):
                found[str(path.relative_to(top))] = "/"
    return found


@dataclass(kw_only=True)
class Volume:
    """A volume with a job's directory, and a working directory beside it."""

    top: Path
    trainers: int = 3
    pod: str = "work"  # of several that share the volume
    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @classmethod
    def made(cls, top: Path, *, trainers: int = 3) -> Volume:
        """Return a volume with an empty job's directory, and an empty working directory."""
        volume = cls(top=top, trainers=trainers)
        volume.lay_out()
        return volume

    @property
    def job(self) -> Path:
        return self.top / "volume" / JOB

    @property
    def work(self) -> Path:
        return self.top / self.pod

    @property
    def data(self) -> Path:
        return self.work / "data"

    def working(self) -> dict[str, str]:
        """Return the tree of the working directory, without what the launcher notes there for itself."""
        return {path: text for path, text in read_back(self.work).items() if path not in NOTES}

    def lay_out(self, **trees: Mapping[str, str | bytes]) -> None:
        """Write below the job's directory (`job`), the working directory (`work`) or its data (`data`)."""
        for where in (self.job, self.work):
            where.mkdir(parents=True, exist_ok=True)
        for name, tree in trees.items():
            lay_out(getattr(self, name), tree)

    def settings(self, **environ: str) -> Settings:
        """Return the settings of a pod of this job, from its environment."""
        addresses = ",".join(f"127.0.1.{number + 1}" for number in range(self.trainers))
        base = {
            "JOB_NAME": JOB,
            "JOB_PATH": str(self.job.parent),
            "LAUNCHER_PEERS": f"static:{addresses}",
            "LAUNCHER_WORKDIR": str(self.work),
        }
        arguments = [] if "LAUNCHER_ENTRY" in environ else ["--config=./trainer_config.py"]
        return read_settings({name: value for name, value in (base | environ).items() if value}, arguments)

    def roster(self, rank: int, role: Role = Role.NODE) -> Roster:
        """Return the complete roster as the pod of this rank has it."""
        peers = tuple(Peer(address=f"127.0.1.{number + 1}") for number in range(self.trainers))
        return Roster(pservers=peers, trainers=peers, me=peers[rank], role=role)

    def resize(
        self,
        slot: int,
        slots: Collection[int],
        *,
        least: int = 1,
        most: int = 5,
        **effects: Any,  # noqa: ANN401  # as stage() takes them
    ) -> Shard:
        """Stage as the pod of a slot does in a gang of these slots, whose width may change, or which has a spare."""
        peers = tuple(Peer(address=f"127.0.1.{each + 1}", index=each) for each in sorted(slots))
        me = next(peer for peer in peers if peer.index == slot)
        roster = Roster(pservers=(), trainers=peers, me=me, role=Role.NODE)
        settings = self.settings(**ELASTIC, LAUNCHER_MEMBERS=f"{least}:{most}", LAUNCHER_SPARES="1")
        return stage(settings, roster, self.tell, **effects)

    def tell(self, event: str, **facts: object) -> None:
        self.told.append((event, facts))

    def stage(
        self,
        rank: int = 0,
        *,
        environ: Mapping[str, str] | None = None,
        **effects: Any,  # noqa: ANN401  # as stage() takes them
    ) -> Shard:
        """Stage as the pod of this rank does."""
        settings = self.settings(**(environ or {}))
        return stage(settings, self.roster(rank, settings.role), self.tell, **effects)


@contextmanager
def open_to_all() -> Iterator[Volume]:
    """Make a volume on a way that is open to everybody, as pytest's directories are not."""
    with TemporaryDirectory() as top:
        Path(top).chmod(0o755)
        yield Volume.made(Path(top))


@contextmanager
def as_nobody(volume: Volume) -> Iterator[None]:
    """Be a user without rights, where this one has all of them; the working directory is that user's."""
    if os.geteuid():
        yield
        return
    os.chown(volume.work, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
