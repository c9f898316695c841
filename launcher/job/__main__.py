"""A verb for a process whose own Python cannot do it: asked on standard input, answered by a descriptor it names."""

from __future__ import annotations

import json
import os
import sys

from launcher.job import acting
from launcher.job.paddlejob import PaddleJob
from launcher.job.problem import JobError
from launcher.job.volumes import CephFSVolume, Volume

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Run a verb, and answer with its result or with the sentences of its mistakes."""
    asked = json.load(sys.stdin)
    with os.fdopen(asked["answer"], "w", encoding="utf-8") as answer:
        try:
            told = {"ok": acting.here(asked["verb"], described(asked["job"]), asked["options"])}
        except JobError as error:
            told = {"problems": error.problems}
        json.dump(told, answer)


def described(fields: dict[str, Any]) -> PaddleJob:
    """Return the job that was written as JSON."""
    ceph = fields["cephfs_volume"]
    volumes = tuple(Volume(**each) for each in fields["volumes"])
    return PaddleJob(**{**fields, "volumes": volumes, "cephfs_volume": ceph and CephFSVolume(**ceph)})


if __name__ == "__main__":
    main()
