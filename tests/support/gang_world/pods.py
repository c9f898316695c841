"""Pods, and the Jobs that own them: each Job is one run of the name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launcher.pod.settings.nouns import Role
from tests.support.gang_world.checks import Checks

if TYPE_CHECKING:
    from tests.support.gang_world.launcher import Launcher
    from tests.support.gang_world.world import World


@dataclass(eq=False)
class Job:
    """One run: its key, its pods by the API that are not being deleted, and what was seen of it."""

    world: World
    key: str
    present: list[Pod] = field(default_factory=list)
    deleted: bool = False
    checks: Checks = field(init=False)

    def __post_init__(self) -> None:
        self.checks = Checks(world=self.world, key=self.key)


@dataclass(eq=False)
class Pod:
    """A pod: an address, and at most one launcher process in it."""

    job: Job
    slot: int
    uid: str
    address: str
    role: Role
    lone: bool
    launcher: Launcher | None = None
    boots: int = 0
    frozen: bool = False
    unfit: bool = False  # its data cannot be staged, and it gives up
    silent: bool = False  # nobody answers at its address any more, not even with a refusal
    deferred: list[Callable[[], object]] = field(default_factory=list)
