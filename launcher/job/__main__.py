"""A verb for a process whose own Python cannot do it: asked on standard input, answered by a descriptor it names.

Each line of the answer is something `said` meanwhile; the last one is the result, or the sentences of the mistakes.
"""

from __future__ import annotations

import json
import os
import sys

from launcher.job import acting
from launcher.job.paddlejob import JobByName, PaddleJob
from launcher.job.problem import JobError
from launcher.job.values import packed
from launcher.job.volumes import CephFSVolume, Volume

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Run a verb, and answer."""
    asked = json.load(sys.stdin)
    with os.fdopen(asked["answer"], "w", encoding="utf-8") as answer:

        def tell(kind: str, value: object) -> None:
            answer.write(json.dumps({kind: packed(value)}) + "\n")
            answer.flush()

        try:
            found = acting.here(
                asked["verb"], described(asked["job"]), asked["options"], lambda each: tell("said", each)
            )
            if asked["verb"] == "logs":
                for line in found:
                    tell("said", line)
                found = None
            tell("ok", found)
        except JobError as error:
            tell("problems", error.problems)


def described(fields: dict[str, Any]) -> PaddleJob | JobByName:
    """Return the job that was written as JSON."""
    if "entry_point" not in fields:
        return JobByName(**fields)
    ceph = fields["cephfs_volume"]
    volumes = tuple(Volume(**each) for each in fields["volumes"])
    return PaddleJob(**{**fields, "volumes": volumes, "cephfs_volume": ceph and CephFSVolume(**ceph)})


if __name__ == "__main__":
    main()
