"""What a pod measures, as Prometheus would read it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Marks, Phase, Status, Trainer
from launcher.pod.gang.status import metrics
from launcher.pod.gang.status.metrics import Facts
from tests.support.statuses import Ground, ask, ground, who

OWN = who("127.0.0.1")
IDLE = Status(who=OWN)


@pytest.fixture
def net() -> Iterator[Ground]:
    with ground() as made:
        yield made


def samples(page: bytes) -> dict[tuple[str, ...], float]:
    """Return each sample by its name and its labels' values, in the order of the labels' names."""
    families = text_string_to_metric_families(page.decode())
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


def test_the_metrics_are_served_as_prometheus_expects_them(net: Ground) -> None:
    pod = net.pod(1)
    pod.says(phase=Phase.TRAINING, known=3, staged_bytes=7)
    code, headers, page = ask(pod, "/metrics", net.port)
    assert (code, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found = samples(page)
    assert {key[1]: value for key, value in found.items() if key[0] == "launcher_phase"} == {
        phase.value: float(phase is Phase.TRAINING) for phase in Phase
    }
    assert found["launcher_generation",] == 3
    assert found["launcher_staged_bytes",] == 7
    assert found["launcher_restarts_total",] == 0


def test_restarts_are_those_of_the_leaders_word() -> None:
    word = LeaderMessage(generation=Generation(number=3, members=(OWN,), digest="d", restarts=2))
    assert samples(metrics.metrics_page(IDLE, word, Facts()))["launcher_restarts_total",] == 2


def test_what_the_trainer_reports_is_shown_where_it_is_a_number() -> None:
    progress: dict[str, float | str] = {
        "loss": 0.25,
        "step": 7,
        "note": "warming up",
        "huge": 10**400,
        'odd\ud800\n"': 1.5,
    }
    page = metrics.metrics_page(Status(who=OWN, marks=Marks(progress=progress)), None, Facts())
    found = {key[1]: value for key, value in samples(page).items() if key[0] == "launcher_trainer_progress"}
    assert found == {"loss": 0.25, "step": 7.0, "huge": float("inf"), 'odd?\n"': 1.5}


def test_of_several_trainers_each_is_shown_with_its_number_in_the_pod() -> None:
    several = tuple(Trainer(marks=Marks(progress={"step": step, "note": "x"})) for step in (7, 9))
    page = metrics.metrics_page(Status(who=OWN, several=several), None, Facts())
    found = {key[1:]: value for key, value in samples(page).items() if key[0] == "launcher_trainer_progress"}
    assert found == {("0", "step"): 7, ("1", "step"): 9}


def test_phases_and_pumps_are_counted() -> None:
    facts = Facts(seconds={"staging": 1.5}, pumps={"train": {"bytes": 10, "lost": 2}})
    found = samples(metrics.metrics_page(IDLE, None, facts))
    assert found["launcher_phase_seconds_total", "staging"] == 1.5
    assert found["launcher_pump_total", "bytes", "train"] == 10
    assert found["launcher_pump_total", "lost", "train"] == 2
    assert found["launcher_child_output_bytes_total", "train"] == 10


def test_children_are_measured_and_those_that_ended_left_out() -> None:
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    facts = Facts(children={"train": os.getpid(), "server": gone.pid})
    found = samples(metrics.metrics_page(IDLE, None, facts))
    assert 0 < found["launcher_child_cpu_seconds_total", "train"] <= sum(os.times()[:2]) + 1
    assert found["launcher_child_memory_bytes", "train"] > 1 << 20
    assert ("launcher_child_memory_bytes", "server") not in found


def test_nothing_is_imported_for_it_before_the_first_question() -> None:
    script = "import sys, launcher.pod.gang.status.loop; print({'psutil', 'prometheus_client'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert out.stdout == "set()\n"
