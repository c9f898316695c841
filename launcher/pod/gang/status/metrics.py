"""What a pod measures, as Prometheus reads it; the packages for it are imported at the first question.

Runs beside the loop that serves, for it reads /proc; it never touches the volume.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launcher.pod.gang.protocol.messages import LeaderMessage, Phase, Status

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

KIND = "text/plain; version=0.0.4; charset=utf-8"
Values = dict[tuple[str, ...], float]  # by label values


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What only the main thread knows: seconds by phase, children's pids by name, counters by pump."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    children: Mapping[str, int] = field(default_factory=dict)
    pumps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def metrics_page(status: Status, word: LeaderMessage | None, facts: Facts) -> bytes:
    """Return the metrics of a pod at this moment."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class Pod(Collector):
        def collect(self) -> Iterator[Metric]:
            yield from _of_gang(status, word)
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
