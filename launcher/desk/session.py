"""The desk itself: which datacenter is meant, and its API; both are looked for when they are first needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from launcher.desk.config import config, datacenters
from launcher.desk.config.datacenters import Datacenter
from launcher.desk.errors import Unreachable, error_lines
from launcher.desk.terminal import Terminal
from launcher.job.problem import JobError

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskFlags:
    """Where to work, as far as flags say it; the environment and then the configuration fill the gaps."""

    config: str = ""
    datacenter: str = ""
    namespace: str = ""
    context: str = ""
    kubeconfig: str = ""

    @classmethod
    def said(cls, words: object) -> DeskFlags:
        """Return those among the attributes of what was typed; completion's are not all there."""
        return cls(**{each.name: getattr(words, each.name, "") for each in fields(cls)})


class Desk:
    """A user's configuration, cluster and terminal."""

    def __init__(
        self, flags: DeskFlags, *, terminal: Terminal | None = None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.flags = flags
        self.terminal = terminal or Terminal()
        self.environ = {**environ, "KUBECONFIG": flags.kubeconfig} if flags.kubeconfig else environ

    @cached_property
    def datacenter(self) -> Datacenter:
        """The datacenter that is meant."""
        named = self.flags.config or self.environ.get("PADDLE_CONFIG", "")
        path = Path(named) if named else config.place(self.environ, Path.home())
        found = config.read_config(path, needed=bool(named), tell=self.terminal.warn)
        flags, usual = self.flags, self.environ.get("PADDLE_DATACENTER", "")
        if flags.context or flags.kubeconfig:
            meant = datacenters.by_kubeconfig(
                found, flags.datacenter, context=flags.context, other_file=bool(flags.kubeconfig), usual=usual
            )
        else:
            meant = datacenters.chosen(found, flags.datacenter or usual)
        return replace(meant, launcher_image=self.environ.get("LAUNCHER_INIT_IMAGE") or meant.launcher_image)

    @cached_property
    def api(self) -> Api:
        """Its API server."""
        from launcher.desk.jobs import api_calls as api  # 0.2 s, which help does without

        return api.opened_api(
            self.datacenter, self.flags.namespace, self.environ, self.terminal.detail, self.terminal.note
        )

    def each(self, names: Iterable[str], do: Callable[[str], object]) -> int:
        """Do something with each name, and return the worst exit code: what fails is told, and the next is done."""
        several, worst = tuple(dict.fromkeys(names)), 0
        for name in several:
            try:
                do(name)
            except JobError as error:
                if len(several) == 1 or isinstance(error, Unreachable):
                    raise
                self.terminal.warn(error_lines(error).rstrip("\n"))
                worst = max(worst, error.code)
        return worst
