"""Writes /trainer_id and /trainer_count, which older training programs read instead of their environment."""

from __future__ import annotations

from pathlib import Path

from launcher.pod.log import Tell
from launcher.pod.peers.roster import Roster
from launcher.pod.settings.nouns import Role, Settings


def write_identity(settings: Settings, roster: Roster, tell: Tell, *, root: Path = Path("/")) -> None:
    """Write both files where `/` is this pod's own; a read-only one is no failure, the environment says the same."""
    if not settings.owns_root or roster.role is Role.PSERVER:
        return
    files = (("trainer_id", roster.rank, "TRAINER_ID"), ("trainer_count", len(roster.trainers), "TRAINERS"))
    for name, value, instead in files:
        try:
            (root / name).write_text(f"{value}\n")
        except OSError as error:
            tell("identity_file_not_written", path=str(root / name), error=error.strerror, instead=instead)
