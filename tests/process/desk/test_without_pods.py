"""A job that has no pods, or too few: `logs`, `logs -f` and `wait` say why, against a real API server."""

from __future__ import annotations

from launcher.job import PaddleJob
from tests.grounds.api.control_plane import ControlPlane
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
    wait_until(lambda: FULL in str(plane.items(me.namespace, "Event")), timeout=30)
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
