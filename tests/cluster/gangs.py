"""Gangs whose trainers stand still in the middle of a training until a test lets them go: begun and looked at."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.training import await_state, ended, log_of, manifest, pods, uid
from tests.cluster.volumes import JOB, Training, training_in
from tests.support import articles, histories
from tests.support.histories import Life, Word
from tests.support.lives import WITNESS
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

Json = dict[str, Any]

HELD_AT = 3  # the pass before which the trainers wait
# Put after the example's configuration, which is a program.
HELD = f"""
import os, time

def before_pass(number):
    while number == {HELD_AT} and os.path.exists("/home/jobpath/{JOB}/hold"):
        time.sleep(0.05)
"""
# Told to end, each saves until the test has seen what it wants to see.
SAVING = f"""{HELD}
import signal, sys

def save(*_):
    while os.path.exists("/home/jobpath/{JOB}/save"):
        time.sleep(0.05)
    sys.exit(143)

signal.signal(signal.SIGTERM, save)
"""
CODE = 9
FAILING = f"""
import os, sys

def before_pass(number):
    if number == 1 and os.environ["TRAINER_ID"] == "1":
        sys.exit({CODE})
"""
# To be found: a process that notes that it is of the next generation, and an end that is not the trainer's.
PLANTED = """
import os, subprocess, sys
import sitecustomize

def before_pass(number):
    if number == 1 and os.environ["TRAINER_ID"] == "1":
        other = {**os.environ, "PADDLE_PORT": str(sitecustomize.FIRST_PORT + 1), sitecustomize.FIRST_HERE: ""}
        subprocess.Popen([sys.executable, "-S", sitecustomize.__file__], env=other)
        sitecustomize.WITNESS.code = 9
        sitecustomize.WITNESS.end()
"""
HOST = "kubernetes.io/hostname"
OF_JOB = {"labelSelector": {"matchLabels": {"job-name": JOB}}, "topologyKey": HOST}
APART = {
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": OF_JOB}]
        }
    }
}
UID_LABEL = "batch.kubernetes.io/controller-uid"
# What each program needs to note that it runs; it is nothing to the launcher.
NOTING = f"""\
        - name: PYTHONPATH
          value: /home/jobpath/{WITNESS.name}
        - name: GANG_HISTORY
          value: /home/jobpath/history
        - name: GANG_RUN
          valueFrom: {{fieldRef: {{fieldPath: "metadata.labels['{UID_LABEL}']"}}}}
"""
MEMORY = "192Mi"
# Bounded, so that a container without a limit does not take the machine's.
STARVING = """
import os, sys

def before_pass(number):
    if number == 1 and os.environ["TRAINER_ID"] == "1":
        hoard = [b"x" * (1 << 20) for _ in range(1024)]
        sys.exit(f"nobody minds {len(hoard)} MiB")
"""


@contextmanager
def gang_in(cluster: Cluster, directory: Path, config: str = HELD) -> Iterator[Training]:
    """Make a namespace with a volume, where training does what a configuration adds."""
    with training_in(cluster, directory) as training:
        for name in ("hold", "save"):
            (training.volume.job / name).touch()
        shutil.copytree(WITNESS, training.volume.path / WITNESS.name)
        with (training.volume.job / "recommendation" / "trainer_config.py").open("a") as file:
            file.write(config)
        yield training


def begin(training: Training, *, restarts: int = 3, memory: str = MEMORY, where: Mapping[str, Any] = APART) -> None:
    """Apply the careful Job, small, on nodes of its own, and such that a lost node's pods are replaced soon."""
    kubectl = training.kubectl
    text = manifest("distributed-careful", cpu="50m", memory=memory, tolerationSeconds="5")
    grace, apart = "        - name: LAUNCHER_GRACE\n", "      enableServiceLinks: false\n"
    assert grace in text
    assert apart in text
    text = text.replace(
        grace, f'        - name: LAUNCHER_MAX_RESTARTS\n          value: "{restarts}"\n{NOTING}{grace}'
    )
    placed = "".join(f"      {name}: {json.dumps(value)}\n" for name, value in where.items())
    text = text.replace(apart, f"{apart}{placed}")
    kubectl.apply(manifest("rbac", namespace=kubectl.namespace), text)


def hold(training: Training) -> None:
    """Hold that what the programs noted so far, and what the launchers said, is what may be."""
    found = wrong(training)
    assert not found, "\n".join(found)


def lives(training: Training) -> tuple[Life, ...]:
    """Return what the programs noted of themselves."""
    path = training.volume.path / "history"
    assert path.exists(), "no program noted anything"
    return histories.lives(path.read_text())


def wrong(training: Training) -> tuple[str, ...]:
    """Return what must not be, by what the programs noted, and by the logs of those pods that there are."""
    told = [(pod, event) for pod in pods(training.kubectl) for event in ended_with(training.kubectl, pod)]
    words = [
        Word(run=pod["metadata"]["labels"][UID_LABEL], who=name_of(pod), code=event["code"]) for pod, event in told
    ]
    return histories.wrong(lives(training), words)


def ended_with(kubectl: Kubectl, pod: Json) -> list[Json]:
    """Return the last event of a pod's launcher that says how its run ended, if there is one."""
    if pod["status"]["phase"] not in ("Succeeded", "Failed"):
        return []
    return [each for each in articles.events(log_of(kubectl, pod)) if histories.is_a_word(each)][-1:]


def trained_to_the_end(training: Training) -> list[Json]:
    """Hold that the Job completes, in pods that all end with 0; return those."""
    await_state(training.kubectl, "Complete")
    own = f"{UID_LABEL}={uid(training.kubectl)}"
    found = [pod for pod in pods(training.kubectl, own) if pod["status"]["phase"] == "Succeeded"]
    assert [ended(pod)["exitCode"] for pod in found] == [0, 0, 0]
    assert passed(training, 9)
    return found


def let_go(training: Training) -> None:
    """Let the trainers go on."""
    (training.volume.job / "hold").unlink()


def passed(training: Training, number: int) -> bool:
    """Return whether a pass is complete."""
    return (training.volume.output / f"pass-{number:05}" / "done").exists()


def story(training: Training, event: str) -> list[Json]:
    """Return what the gang noted on the volume, of one kind."""
    lines = whole_lines(training.volume.output / "events.jsonl")
    return [line for line in map(json.loads, lines) if line["event"] == event]


def await_training(training: Training, generation: int = 1, timeout: float = 90) -> list[Json]:
    """Wait until every trainer of a generation has started; return its pods in the order of their ranks."""

    def started() -> bool:
        events = story(training, "phase")
        at = {each["rank"] for each in events if (each["generation"], each["phase"]) == (generation, "training")}
        return at == {0, 1, 2}

    wait_until(started, timeout=timeout, every=0.1)
    wait_until(lambda: passed(training, HELD_AT - 1), timeout=timeout, every=0.1)
    made = [each for each in story(training, "generation_made") if each["generation"] == generation]
    found = {pod["metadata"]["uid"]: pod for pod in pods(training.kubectl)}
    return [found[member["pod"]] for member in made[-1]["members"]]


def name_of(pod: Json) -> str:
    """Return a pod's name."""
    return str(pod["metadata"]["name"])


def now() -> datetime:
    """Return the time, as the launchers' events have it."""
    return datetime.now(UTC)


def times(kubectl: Kubectl, pod: Json, event: str, child: str) -> list[datetime]:
    """Return when a child of a pod started, or exited."""
    told = [each for each in articles.events(log_of(kubectl, pod)) if each["event"] == event]
    return [datetime.fromisoformat(each["timestamp"]) for each in told if each["child"].startswith(child)]


def await_exit(kubectl: Kubectl, pod: Json) -> None:
    """Wait until a pod's trainer has ended."""
    wait_until(lambda: times(kubectl, pod, "child_exited", "trainer"), timeout=30, every=0.2)


def seconds_to(training: Training, struck: datetime, event: str, survivors: list[Json]) -> float:
    """Return how long after a blow the last trainer of some pods had last started, or exited."""
    last = [times(training.kubectl, pod, event, "trainer")[-1] for pod in survivors]
    return (max(last) - struck).total_seconds()
