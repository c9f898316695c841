"""A job that has no pods, or too few: `logs`, `logs -f` and `wait` say why, against a real API server."""

from __future__ import annotations

from launcher.job import PaddleJob
from tests.grounds.api.control_plane import ControlPlane
from tests.process.desk.test_paddlectl import NAME, all_become, ended, pods, submitted
from tests.support.desks import User
from tests.support.waiting import wait_until

FULL = "FailedCreate: Error creating: pods "
QUOTA = {"kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "0"}}}


def made(plane: ControlPlane, me: User, **spec: object) -> None:
    """Make a job as a desk does, but for what is checked first: that there is room for a pod."""
    job = PaddleJob(
        job_name="j", entry_point="python train.py", runtime_image="repo/paddle:1", namespace=me.namespace,
        pservers=1, trainers=1,
    )  # fmt: skip
    for each in job.manifests():
        plane.make(me.namespace, {**each, "spec": {**each["spec"], **spec}} if each["kind"] == "Job" else each)


def test_pods_that_nobody_has_made_yet_are_not_gone(plane: ControlPlane, me: User) -> None:
    """Of another controller, so that it stays as it is just after a submit."""
    made(plane, me, managedBy="example.com/later")
    said = me("logs", "j", timeout=20)
    assert (said.code, said.out) == (1, "")
    assert "job j is starting and has no pods yet; `paddlectl logs -f j` waits for them" in said.err
    assert plane.items(me.namespace, "Pod") == []


def test_what_keeps_pods_from_being_made_is_told(plane: ControlPlane, me: User) -> None:
    plane.make(me.namespace, QUOTA)
    wait_until(lambda: me("get", "quota").rows[1:] == [["pods", "0", "0"]], timeout=20, every=0.2)
    made(plane, me)
    wait_until(lambda: "exceeded quota: few" in str(plane.items(me.namespace, "Event")), timeout=30)
    once, soon = me("logs", "j"), me("wait", "j", "--timeout", "1s")
    with me.started("logs", "-f", "j") as following, me.started("wait", "j") as waiting:
        late = [(each.communicate(timeout=60), each.returncode) for each in (following, waiting)]
    said = [(once.out, once.err, once.code), (soon.out, soon.err, soon.code), *((*text, code) for text, code in late)]
    for out, err, code in said:
        assert (out, code) == ("", 1), err
        assert FULL in err
        assert "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0" in err
    assert "after 1 s job j is starting" in soon.err
    assert ["`paddlectl get quota` shows what is used" in err for _, err, _ in said] == [True, False, True, True]


def states(me: User) -> str:
    return me("get", "jobs", "-o", "wide").rows[1][7]


def test_a_job_is_suspended_killed_and_resumed(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    done = me("suspend", NAME)
    assert (done.code, f"`paddlectl resume {NAME}` lets it go on" in done.err) == (0, True)
    wait_until(lambda: not pods(plane, me), timeout=30, every=0.2)
    assert states(me) == "Suspended"
    assert "is suspended already" in me("suspend", NAME).err
    late = me("wait", NAME, "--timeout", "1s")
    assert (late.code, f"is suspended: `paddlectl resume {NAME}`" in late.err) == (1, True)
    assert "after 1 s job" in late.err
    with me.started("logs", "-f", NAME) as following:
        assert following.stderr
        assert f"job {NAME} is suspended: `paddlectl resume {NAME}` lets it go on" in following.stderr.readline()
        assert me("kill", NAME).code == 0
        assert following.wait(timeout=30) == 0
    assert states(me) == "Killed"
    refused = me("suspend", NAME)
    assert (refused.code, "was killed: only a job that goes on can be suspended" in refused.err) == (1, True)
    again = me("resume", NAME)
    assert (again.code, "goes on, and its mark as killed is taken off" in again.err) == (0, True)
    wait_until(lambda: len(pods(plane, me)) == 5, timeout=30, every=0.2)
    assert states(me) == "Starting"
    assert "is starting" in me("resume", NAME).err
    all_become(plane, me, ended(0))
    assert me("wait", NAME, "--timeout", "30s").code == 0
    for verb, told in (("suspend", "only a job that goes on"), ("resume", "it cannot go on")):
        said = me(verb, NAME)
        assert (said.code, told in said.err) == (1, True)


def test_a_job_that_a_queue_holds_was_not_killed(plane: ControlPlane, me: User) -> None:
    """As a queue makes it of every new Job."""
    made(plane, me, suspend=True)
    label = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}}}
    for each in plane.items(me.namespace, "Job"):
        plane.change(f"/apis/batch/v1/namespaces/{me.namespace}/jobs/{each['metadata']['name']}", label)
    assert states(me) == "Queued"
    assert "state:       Queued" in me("describe", "j").out
    for words in (("logs", "j"), ("wait", "j", "--timeout", "1s"), ("resume", "j")):
        said = me(*words)
        assert "job j is queued" in said.err
        assert "the queue team starts it" in said.err
        assert said.code == (0 if words[0] == "resume" else 1)
    killed = me("kill", "j")
    assert (killed.code, "team may start it again, `paddlectl kill -rm j` removes it" in killed.err) == (0, True)
    assert states(me) == "Killed"
    back = me("resume", "j")
    assert (back.code, "waits in the queue team, and its mark as killed is taken off" in back.err) == (0, True)
    assert states(me) == "Queued"
