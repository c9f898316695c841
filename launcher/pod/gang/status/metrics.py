"""What a pod measures, as Prometheus reads it; the packages for it are imported at the first question.

Runs beside the loop that serves, for it reads /proc; it never touches the volume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launcher.contract import Spent
from launcher.pod.gang.protocol.messages import LeaderMessage, Phase, Status, Trouble
from launcher.pod.gang.protocol.state import Heard, NodeFailure

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

KIND = "text/plain; version=0.0.4; charset=utf-8"
Values = dict[tuple[str, ...], float]  # by label values


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What only the main thread knows: seconds by phase, children's pids by name, counters by pump.

    `about` names the job and its namespace. The leader's alone are how many alarms of a kind there were, by rank how
    long its steps take beside the gang's, and which failures were on which node of late.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    children: Mapping[str, int] = field(default_factory=dict)
    pumps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    alarms: Mapping[str, int] = field(default_factory=dict)
    ratios: Mapping[int, float] = field(default_factory=dict)
    failures: Sequence[NodeFailure] = ()


def metrics_page(
    status: Status, word: LeaderMessage | None, facts: Facts, heard: Mapping[str, Heard] | None = None
) -> bytes:
    """Return the metrics of a pod at this moment; a leader's are also about those whom it `heard`."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class Pod(Collector):
        def collect(self) -> Iterator[Metric]:
            yield from _of_launcher(status, facts.about)
            yield from _of_gang(status, word)
            yield from _of_steps(status)
            if status.word:
                yield from _of_members((status, *(each.status for each in (heard or {}).values() if each.status)))
                yield from _of_findings(facts)
            yield from _of_facts(facts)
            yield from _of_children(facts.children)

    registry = CollectorRegistry()
    registry.register(Pod())
    return generate_latest(registry)


def _of_gang(status: Status, word: LeaderMessage | None) -> Iterator[Metric]:
    phases: Values = {(phase.value,): float(phase is status.phase) for phase in Phase}
    generation = word.generation if word else None
    yield _gauge("phase", "1 for the phase that the pod is in.", phases, "phase")
    yield _gauge("generation", "The highest generation that the pod knows of.", {(): status.known})
    yield _counter(
        "restarts", "How often the gang was started again.", {(): generation.restarts if generation else 0}
    )
    yield _gauge("staged_bytes", "What is staged of the data.", {(): status.staged_bytes})
    labels = ("name", "local") if status.several else ("name",)
    yield _gauge("trainer_progress", "The numbers that the training program reports.", _progress(status), *labels)


def _of_launcher(status: Status, about: Mapping[str, str]) -> Iterator[Metric]:
    """Yield what joins a pod's series to its job: its value is always 1."""
    told = {
        **about,
        "role": str(status.who.role),
        "rank": "" if status.rank is None else str(status.rank),
        "node": status.node,
        "generation": str(status.known),
    }
    yield _gauge("info", "1; which launcher this is.", {tuple(map(_whole, told.values())): 1.0}, *told)


def _of_steps(status: Status) -> Iterator[Metric]:
    from prometheus_client.metrics_core import SummaryMetricFamily

    # A counter never falls: what is open becomes another state's once it is known which.
    decided: Values = {(state,): value for state, value in status.seconds.items() if state != Spent.OPEN}
    words = "What the seconds of this launcher were, from its start."
    yield _counter("goodput_seconds", words, decided, "state")
    words = "The seconds of training that are not known yet to be kept or lost."
    yield _gauge("goodput_open_seconds", words, {(): status.seconds.get(Spent.OPEN, 0.0)})
    words = "The seconds that a step takes its trainer, without waits for others, in this generation."
    steps = SummaryMetricFamily("launcher_step_seconds", words, labels=("rank",))
    for local, trainer in enumerate(status.trainers):
        if status.rank is not None and (pace := trainer.marks.pace):
            steps.add_metric((str(status.rank * len(status.trainers) + local),), pace.steps, pace.busy)
    yield steps


def _of_members(members: tuple[Status, ...]) -> Iterator[Metric]:
    counts = Counter(each.phase for each in members)
    values: Values = {(phase.value,): counts[phase] for phase in Phase}
    yield _gauge("members", "How many launchers are in a phase, as the leader hears them.", values, "phase")


def _of_findings(facts: Facts) -> Iterator[Metric]:
    alarms: Values = {(kind.value,): facts.alarms.get(kind.value, 0) for kind in Trouble}
    yield _counter("alarms", "What was found out of the training, since this leader began.", alarms, "kind")
    ratios: Values = {(str(rank),): ratio for rank, ratio in facts.ratios.items()}
    words = "How long a rank's steps take beside the gang's median, of late."
    yield _gauge("straggler_ratio", words, ratios, "rank")


def _progress(status: Status) -> Values:
    """Return what is reported, by name; where a pod has several trainers also by its number in the pod."""
    return {
        ((_whole(name), str(local)) if status.several else (_whole(name),)): _number(value)
        for local, trainer in enumerate(status.trainers)
        for name, value in trainer.marks.progress.items()
        if not isinstance(value, str)
    }


def _of_facts(facts: Facts) -> Iterator[Metric]:
    seconds: Values = {(phase,): value for phase, value in facts.seconds.items()}
    counts: Values = {(pump, name): float(value) for pump, its in facts.pumps.items() for name, value in its.items()}
    yield _counter("phase_seconds", "The time spent in a phase.", seconds, "phase")
    written: Values = {(child,): float(its["bytes"]) for child, its in facts.pumps.items() if "bytes" in its}
    yield _counter("child_output_bytes", "What a child has written to its output.", written, "child")
    # The same by its name of 0.1.0, for dashboards.
    yield _counter("pump", "What the pumps of the children's output count.", counts, "pump", "counter")


def _of_children(children: Mapping[str, int]) -> Iterator[Metric]:
    import psutil

    seconds: Values = {}
    memory: Values = {}
    for name, pid in children.items():
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                times, held = process.cpu_times(), process.memory_info().rss
        except psutil.Error:
            continue  # it has just ended
        seconds[name,] = times.user + times.system
        memory[name,] = held
    yield _counter("child_cpu_seconds", "The processor time that a child took.", seconds, "child")
    yield _gauge("child_memory_bytes", "The memory that a child holds.", memory, "child")


def _gauge(name: str, words: str, values: Values, *labels: str) -> Metric:
    from prometheus_client.metrics_core import GaugeMetricFamily

    family = GaugeMetricFamily(f"launcher_{name}", words, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _counter(name: str, words: str, values: Values, *labels: str) -> Metric:
    from prometheus_client.metrics_core import CounterMetricFamily

    family = CounterMetricFamily(f"launcher_{name}", words, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # Python's whole numbers have no end
        return float("inf")


def _whole(text: str) -> str:
    return text.encode(errors="replace").decode()
