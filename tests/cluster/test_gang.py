"""Gangs that lose a pod, their Job, or all hope: all begun side by side, each in a namespace of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest

from tests.cluster import gangs as ours
from tests.cluster.cluster import Cluster
from tests.cluster.gangs import CODE, FAILING, HELD, HELD_AT, PLANTED, SAVING, STARVING, Json, gang_in, name_of
from tests.cluster.kubectl import KubectlFailed
from tests.cluster.training import await_state, ended, log_of, pods, reasons, told, uid
from tests.cluster.volumes import JOB, Training
from tests.support import articles
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")
CONFIGS = {
    "follower": HELD,
    "leader": HELD,
    "again": SAVING,
    "failing": FAILING,
    "starving": STARVING,
}
BUDGETS = {"failing": 1, "starving": 1}
WHY = {
    "failing": (CODE, f"trainer 1 exited with {CODE}, on node 1 ("),
    "starving": (137, "the kernel killed it (out of memory): limit 192.0 MiB, peak 19"),
}


@pytest.fixture(scope="module")
def gangs(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Training]]:
    """One gang for each fault, all of them begun."""
    with ExitStack() as stack:
        made = {
            name: stack.enter_context(gang_in(cluster, tmp_path_factory.mktemp(name), config))
            for name, config in CONFIGS.items()
        }
        for name, training in made.items():
            ours.begin(training, restarts=BUDGETS.get(name, 3))
        yield made


@pytest.fixture
def training(gangs: dict[str, Training], request: pytest.FixtureRequest) -> Iterator[Training]:
    """The gang of one fault; what its programs note is held."""
    yield gangs[request.param]
    ours.hold(gangs[request.param])


@pytest.mark.parametrize("training", ["again"], indirect=True)
def test_pods_that_train_are_ready_and_can_be_asked_how_it_goes(training: Training) -> None:
    """By the API server, as somebody would at night."""
    kubectl = training.kubectl
    found = ours.await_training(training)

    pages = f"/api/v1/namespaces/{kubectl.namespace}/pods"

    def page(pod: Json, name: str) -> str:
        return kubectl("get", "--raw", f"{pages}/{name_of(pod)}:7170/proxy/{name}")

    for pod in found:
        kubectl("wait", "--for=condition=Ready", f"pod/{name_of(pod)}", "--timeout=30s")
        assert page(pod, "readyz") == "training\n"
        assert page(pod, "healthz")
    members = sorted(json.loads(page(found[0], "gang"))["members"], key=lambda each: int(each["rank"]))
    assert [(each["rank"], each["phase"]) for each in members] == [(rank, "training") for rank in range(3)]
    with pytest.raises(KubectlFailed, match="NotFound"):  # the leader alone has it
        page(found[1], "gang")


@pytest.mark.parametrize(("training", "rank"), [("follower", 1), ("leader", 0)], indirect=["training"])
def test_a_pod_deleted_while_training_is_replaced_and_all_go_on_from_the_last_pass(
    training: Training, rank: int
) -> None:
    """The others end their children at once, and wait."""
    kubectl = training.kubectl
    before = ours.await_training(training)
    victim = before.pop(rank)
    struck = ours.now()
    kubectl("delete", "pod", name_of(victim), "--wait=false")
    for pod in before:
        ours.await_exit(kubectl, pod)
    told_after = ours.seconds_to(training, struck, "child_exited", before)
    after = ours.await_training(training, generation=2)
    began_after = ours.seconds_to(training, struck, "child_started", after)
    print(f"the others' trainers ended after {told_after:.2f} s, all started again after {began_after:.2f} s")
    assert told_after < 10  # nobody waited for a lease, or for LAUNCHER_PEER_TIMEOUT
    assert {name_of(pod) for pod in before} < {name_of(pod) for pod in after}
    assert name_of(victim) not in {name_of(pod) for pod in after}
    ours.let_go(training)
    for pod in ours.trained_to_the_end(training):
        assert f"--start_pass={HELD_AT}" in articles.started(log_of(kubectl, pod))["trainer"]
    made = ours.story(training, "generation_made")
    assert [(each["generation"], each["resume"], each["restarts"]) for each in made] == [
        (1, None, 0),
        (2, HELD_AT - 1, 0),
    ]


@pytest.mark.parametrize("training", ["failing", "starving"], indirect=True)
def test_a_gang_without_a_restart_left_ends_everywhere_with_one_verdict(
    training: Training, request: pytest.FixtureRequest
) -> None:
    """Each pod and its log stay, and the Job has failed within seconds."""
    kubectl = training.kubectl
    code, why = WHY[request.node.callspec.params["training"]]
    await_state(kubectl, "Failed")
    found = pods(kubectl)
    assert [ended(pod)["exitCode"] for pod in found] == [code] * 3
    (message,) = {ended(pod)["message"] for pod in found}
    assert why in message
    assert "no restart of 1 is left" in message
    assert [told(kubectl, pod, "launcher_finished")[0]["code"] for pod in found] == [code] * 3
    (verdict,) = ours.story(training, "verdict")
    (failed,) = [each for each in kubectl.get("job", JOB)["status"]["conditions"] if each["type"] == "Failed"]
    lasted = datetime.fromisoformat(failed["lastTransitionTime"]) - datetime.fromisoformat(verdict["at"])
    print(f"from the verdict to the Job's failure {lasted.total_seconds():.1f} s; {message.splitlines()[0]}")
    assert lasted.total_seconds() < 15


def test_two_generations_at_once_and_a_verdict_that_is_not_true_are_found(cluster: Cluster, tmp_path: Path) -> None:
    """By what the programs of every gang here note of themselves."""
    with gang_in(cluster, tmp_path, PLANTED) as planted:
        ours.begin(planted)
        await_state(planted.kubectl, "Complete")
        found = ours.wrong(planted)
    assert any("of generation 1" in why and "after trainer 1 of generation 2" in why for why in found), found
    assert any("says 0, but trainer 0 noted nothing" in why for why in found), found


@pytest.mark.parametrize("training", ["again"], indirect=True)
def test_a_job_applied_again_goes_on_from_the_last_pass_and_begins_afresh_after_it_was_finished(
    training: Training,
) -> None:
    kubectl, output = training.kubectl, training.volume.output
    old = ours.await_training(training)
    keys = [uid(kubectl)]
    applied_again(training)
    keys.append(uid(kubectl))
    wait_until(lambda: names_them(training, old), timeout=60, every=0.5)
    (training.volume.job / "save").unlink()
    ours.let_go(training)
    for pod in ours.trained_to_the_end(training):
        assert f"--start_pass={HELD_AT}" in articles.started(log_of(kubectl, pod))["trainer"]
    assert [(output / ".launcher" / key / "verdict.json").exists() for key in keys] == [False, True]
    applied_again(training)
    wait_until(lambda: list(output.glob("run-*")), timeout=60)
    for pod in ours.trained_to_the_end(training):
        assert not [word for word in articles.started(log_of(kubectl, pod))["trainer"] if "start_pass" in word]
    (aside,) = output.glob("run-*")
    assert aside.name.endswith(f"-{keys[1][:8]}")
    names = {f"pass-{number:05}" for number in range(10)} | {f"node_{rank}" for rank in range(3)}
    assert {path.name for path in aside.iterdir()} == names | {"events.jsonl"}
    assert {path.name for path in output.iterdir()} == names | {"events.jsonl", ".launcher", aside.name}
    (first,) = ours.story(training, "run_started")
    assert first["key"] == uid(kubectl)


def names_them(training: Training, old: list[Json]) -> bool:
    """Return whether each new pod says that it waits for these pods of the earlier Job, and where they are."""
    listed = ", ".join(sorted(f"{name_of(pod)} on {pod['spec']['nodeName']} (being deleted)" for pod in old))
    sentence = f"3 pods of an earlier Job of this name are still ending: {listed}"
    own = pods(training.kubectl, f"{ours.UID_LABEL}={uid(training.kubectl)}")
    begun = [name_of(pod) for pod in own if pod["status"]["phase"] == "Running"]
    return len(begun) == 3 and all(sentence in reasons(training.kubectl, name) for name in begun)


def applied_again(training: Training) -> None:
    """Delete the Job, whose pods end with it, and apply it anew."""
    kubectl = training.kubectl
    kubectl("delete", "job", JOB, "--wait=false")
    kubectl("wait", "--for=delete", f"job/{JOB}", "--timeout=60s")
    ours.begin(training)
