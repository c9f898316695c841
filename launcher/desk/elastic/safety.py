"""Elastic jobs whose manifest lets two pods of one index run side by side, and what mends it.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from launcher.desk.doctor.checks import Finding
from launcher.desk.jobs.job_state import KubeJob

REPLACES = "Failed"
_SHOWN = 5  # names


def of_elastic(jobs: Iterable[KubeJob]) -> tuple[KubeJob, ...]:
    """Return the Jobs that are not over and whose number of pods may change, whoever has made them."""
    return tuple(each for each in jobs if each.width and not each.width.fixed and not each.end)


def elastic_finding(jobs: Sequence[KubeJob]) -> Finding:
    """Say which of the elastic Jobs replace a pod while it still runs."""
    unsafe = [each.name for each in jobs if each.replaces != REPLACES]
    if unsafe:
        return Finding(what="elastic", good=False, sentence=told_unsafe(unsafe), remedy=mended(unsafe[0]))
    told = f"elastic jobs replace a pod only after it has ended: {', '.join(each.name for each in jobs[:_SHOWN])}"
    return Finding(what="elastic", good=True, sentence=told)


def told_unsafe(names: Sequence[str]) -> str:
    """Return what such Jobs lack."""
    lack = "lacks" if len(names) == 1 else "lack"
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} {lack} `podReplacementPolicy: {REPLACES}`: two pods of one index may run for a whole grace"


def mended(name: str) -> str:
    """Return what mends one."""
    change = f'{{"spec": {{"podReplacementPolicy": "{REPLACES}"}}}}'
    return f"`kubectl patch job {name} -p '{change}'`, and the same line in its manifest"
