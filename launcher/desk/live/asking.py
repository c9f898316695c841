"""Asks a gang as it runs: its leader's page, and of each pod its metrics and the end of its log.

Logs come from the API server, and pages by the way that leads to them; where none does, pods and logs are left.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from launcher.contract import STATUS_PORT
from launcher.desk.errors import Problem
from launcher.desk.jobs import lookup
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.live.rows import GangLook, PodMeasure, rank_rows
from launcher.desk.live.ways import PodPages

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api

_T = TypeVar("_T")

MOST_MEASURED = 64  # pods, the slowest first
IN_TURN = 16  # of them at a look, where one follows the other: two requests each
LATELY = 12.0  # seconds: a pace and a use of processors are those of so long
_MAY_LEAD = 3  # of an elastic gang: each that does not answer takes a moment
_AT_ONCE = 8
SILENCE = 3.0  # seconds
_TAIL, _TAIL_BYTES = 20, 64 << 10  # lines of a log, of which the last may be the launcher's
_CPU, _MEMORY = "launcher_child_cpu_seconds_total", "launcher_child_memory_bytes"


def leader_told(
    pages: Callable[[KubePod, str], bytes], pods: Sequence[KubePod], tell: Callable[[str], None]
) -> dict[str, Any]:
    """Return what the gang's leader says, nothing where it cannot be asked; `tell` is told why."""
    for pod in firsts(pods):
        try:
            found = json.loads(pages(pod, "gang"))
        except (Problem, ValueError, RecursionError) as error:
            tell(f"{pod.name}: {error}")
            continue
        if isinstance(found, dict):
            return found
    return {}


def through_the_api(api: Api) -> Callable[[KubePod, str], bytes]:
    """Return what asks a pod's launcher through the API server alone."""
    return lambda pod, path: api.proxied(pod.name, STATUS_PORT, path, seconds=SILENCE)


def firsts(pods: Sequence[KubePod]) -> list[KubePod]:
    """Return the running pods that may lead, those that lead most likely first.

    It is the first of a role; in an elastic gang the first that was there when it began, so that one with a lower
    index may have come later, and the first of all may be away.
    """
    there = [pod for pod in pods if pod.phase == "Running" and pod.begun and not pod.leaving and pod.rank >= 0]
    found = list[KubePod]()
    for _, of_role in groupby(sorted(there, key=lambda each: (each.role, each.rank)), key=lambda each: each.role):
        some = list(of_role)
        found += some[:_MAY_LEAD] if some[0].elastic else [each for each in some if each.rank == 0]
    return found


@dataclass(slots=True, kw_only=True)
class GangAsker:
    """Looks at one job again and again, and remembers what it saw of late."""

    api: Api
    name: str
    clock: Callable[[], float] = time.monotonic
    _looks: deque[GangLook] = field(default_factory=deque)
    _pages: PodPages = field(init=False)

    def __post_init__(self) -> None:
        self._pages = PodPages(self.api)

    def look(self, most: int = MOST_MEASURED) -> GangLook:
        """Look once more, with the metrics and the logs of so many pods: those that were not asked for longest."""
        gang = lookup.found(self.api, self.name)
        pods = lookup.gang_pods(self.api, self.name)
        page = leader_told(self._page, pods, lambda _: None)
        former = self._looks[-1].measures if self._looks else {}
        there = {pod.name for pod in pods}
        measures = {name: each for name, each in former.items() if name in there}
        asked = self._in_turn(pods, measures)[:most]
        measures.update(side_by_side({pod.name: partial(self._measured, pod) for pod in asked}))
        look = GangLook(
            at=self.clock(), state=gang.state, gang=page, width=gang.lead.width, pods=pods, measures=measures
        )
        self._looks.append(look)
        while self._looks[0].at < look.at - LATELY:
            self._looks.popleft()
        return look

    @property
    def before(self) -> GangLook | None:
        """The oldest look at the same generation of those that still count, None where the last is the only one."""
        *earlier, last = self._looks
        return next((each for each in earlier if each.number == last.number), None)

    def _in_turn(self, pods: Sequence[KubePod], measures: Mapping[str, PodMeasure]) -> list[KubePod]:
        """Return the running pods whose turn it is first: of many only those that matter most."""
        order = {row.pod: place for place, row in enumerate(rank_rows(self._looks[-1]))} if self._looks else {}
        running = [pod for pod in pods if pod.begun and not pod.over]
        chosen = sorted(running, key=lambda pod: order.get(pod.name, len(order)))[:MOST_MEASURED]
        return sorted(chosen, key=lambda pod: measures[pod.name].at if pod.name in measures else 0.0)

    def _page(self, pod: KubePod, path: str) -> bytes:
        return self._pages.page(pod, path, seconds=SILENCE)

    def _measured(self, pod: KubePod) -> PodMeasure:
        cpu, memory, lines = dict[str, float](), dict[str, float](), tuple[bytes, ...]()
        with suppress(Problem):
            cpu, memory = of_programs(self._page(pod, "metrics"))
        at = self.clock()
        query = {"container": pod.container, "tailLines": str(_TAIL), "limitBytes": str(_TAIL_BYTES)}
        with suppress(Problem):
            lines = tuple(self.api.log(pod.name, query, silence=SILENCE))
        return PodMeasure(at=at, cpu=cpu, memory=memory, lines=lines)


def of_programs(page: bytes) -> tuple[dict[str, float], dict[str, float]]:
    """Return from a pod's metrics what each program took of processors and holds of memory."""
    from prometheus_client.parser import text_string_to_metric_families

    found: dict[str, dict[str, float]] = {_CPU: {}, _MEMORY: {}}
    with suppress(ValueError):  # somebody else answers there
        for family in text_string_to_metric_families(page.decode(errors="replace")):
            for each in family.samples:
                if each.name in found and "child" in each.labels:
                    found[each.name][each.labels["child"]] = each.value
    return found[_CPU], found[_MEMORY]


def side_by_side(works: Mapping[str, Callable[[], _T]]) -> dict[str, _T]:
    """Return what each comes to, done by a few threads; the first error is raised.

    The queue has no lock of Python's: Ctrl-C would leave it taken.
    """
    left, done = deque(works.items()), queue.SimpleQueue[tuple[str, _T | Exception]]()

    def work() -> None:
        with suppress(IndexError):
            while True:
                name, do = left.popleft()
                try:
                    done.put((name, do()))
                except Exception as error:
                    done.put((name, error))

    for _ in range(min(_AT_ONCE, len(works))):
        threading.Thread(target=work, daemon=True).start()
    found = dict[str, _T]()
    for _ in works:
        name, each = done.get()
        if isinstance(each, Exception):
            raise each
        found[name] = each
    return found
