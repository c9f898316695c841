"""What a pod measures, as Prometheus would read it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Marks, Pace, Phase, Status, Trainer
from launcher.pod.gang.protocol.state import Heard
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


def paced(steps: int, busy: float) -> Marks:
    return Marks(pace=Pace(steps=steps, busy=busy, phase="compute"))


def test_a_launcher_says_which_it_is() -> None:
    about = {"job": "j", "namespace": "team", "launcher": "1"}
    status = Status(who=OWN, rank=2, known=3, node="node-b")
    (info,) = (key for key in samples(metrics.metrics_page(status, None, Facts(about=about))) if "info" in key[0])
    assert info == ("launcher_info", "3", "j", "1", "team", "node-b", "2", "node")


def test_the_ledger_s_seconds_are_shown_by_what_they_were() -> None:
    status = Status(who=OWN, seconds={"training": 12.5, "waiting": 3.0, "kept": 7.0})
    found = samples(metrics.metrics_page(status, None, Facts()))
    shown = {key[1]: value for key, value in found.items() if key[0] == "launcher_goodput_seconds_total"}
    assert shown == {"waiting": 3.0, "kept": 7.0}, "what is open falls when it is decided: no counter does"
    assert found["launcher_goodput_open_seconds",] == 12.5


def test_steps_are_counted_by_rank_with_the_seconds_that_they_took() -> None:
    one = samples(metrics.metrics_page(Status(who=OWN, rank=1, marks=paced(40, 10.0)), None, Facts()))
    assert (one["launcher_step_seconds_count", "1"], one["launcher_step_seconds_sum", "1"]) == (40, 10.0)
    several = (Trainer(marks=paced(7, 1.0)), Trainer(), Trainer(marks=paced(9, 2.0)))
    found = samples(metrics.metrics_page(Status(who=OWN, rank=2, several=several), None, Facts()))
    counts = {key[1]: value for key, value in found.items() if key[0] == "launcher_step_seconds_count"}
    assert counts == {"6": 7, "8": 9}


def test_only_a_leader_counts_members_and_alarms_and_knows_who_is_slow() -> None:
    facts = Facts(alarms={"slow": 2}, ratios={1: 1.75})
    peers = {"a": Heard(status=Status(who=who("a"), phase=Phase.TRAINING)), "b": Heard()}
    leader = Status(who=OWN, phase=Phase.TRAINING, word=LeaderMessage())
    found = samples(metrics.metrics_page(leader, leader.word, facts, peers))
    assert found["launcher_members", "training"] == 2
    assert found["launcher_members", "staging"] == 0
    assert found["launcher_alarms_total", "slow"] == 2
    assert found["launcher_alarms_total", "stalled"] == 0
    assert found["launcher_straggler_ratio", "1"] == 1.75
    elsewhere = samples(metrics.metrics_page(IDLE, leader.word, facts, peers))
    assert not [key for key in elsewhere if key[0] in ("launcher_members", "launcher_alarms_total")]


def test_the_page_keeps_to_prometheus_conventions() -> None:
    """As `promtool check metrics` holds them: help for all, no sample twice, units at the ends of names."""
    facts = Facts(
        seconds={"staging": 1.5}, pumps={"train": {"bytes": 10}}, children={"train": os.getpid()},
        about={"job": "j"}, ratios={1: 1.75},
    )  # fmt: skip
    status = Status(who=OWN, rank=0, word=LeaderMessage(), marks=paced(1, 1.0), seconds={"training": 1.0})
    page = metrics.metrics_page(status, status.word, facts).decode()
    families = list(text_string_to_metric_families(page))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    assert all(family.documentation.endswith(".") for family in families)
    keys = [(each.name, *sorted(each.labels.items())) for family in families for each in family.samples]
    assert len(keys) == len(set(keys))
    assert {family.type for family in families} == {"gauge", "counter", "summary"}
    for family in families:
        assert family.name.startswith("launcher_")
        assert family.type != "gauge" or not family.name.endswith(("_total", "_count", "_sum"))
        assert not {"seconds", "bytes"} & set(family.name.split("_")[:-1]), "the unit stands last"


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
