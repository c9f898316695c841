"""What passes ends no wait and no follow: refusals, answers that break off, a log that is lost again and again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from launcher.desk.jobs.api_calls import Api
from launcher.desk.jobs.logs import Following, Wanted
from launcher.desk.session import Desk, DeskFlags
from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.hiccups import Busy, Cut, Held, between
from tests.grounds.api.kubelet import bind, serving
from tests.process.desk.test_paddlectl import NAME, RUNNING, SUBMIT, all_become, ended, pods, submitted
from tests.support.desks import User
from tests.support.waiting import wait_until

HALF = Cut(last=b'{"type":"MODIFIED","obj')
LINES = 12  # of one log, each on a connection of its own: more than it is tried in vain


def test_a_wait_outlives_what_passes_and_a_running_job_does_not_start_again(plane: ControlPlane, me: User) -> None:
    """As trainers finish, those that have succeeded count among those that are there."""
    submitted(plane, me)
    with between(plane) as hiccups:
        hiccups.script = {"list jobs": [None, 503, None, 429], "watch jobs": [410], "list pods": [503]}
        told: list[str] = []
        with me.started(*me.saying(endpoint=hiccups.endpoint), "wait", NAME) as waiting:
            assert waiting.stderr
            ear = threading.Thread(target=told.extend, args=(waiting.stderr,))
            ear.start()
            wait_until(lambda: not hiccups.script, timeout=30)
            all_become(plane, me, RUNNING)
            wait_until(lambda: any("is running" in line for line in told), timeout=30)
            *first, last = pods(plane, me, "trainer")
            for name in first:
                plane.become(me.namespace, name, ended(0))
            wait_until(lambda: me("get", "jobs").rows[1][2] == "2", timeout=30, every=0.2)
            plane.become(me.namespace, last, ended(0))
            assert waiting.wait(timeout=30) == 0, told
            ear.join()
    states = [line.split()[3] for line in told if line.startswith(f"job {NAME} is ")]
    assert states == ["starting", "running", "complete"]


def test_a_follow_outlives_what_passes_and_loses_no_line(plane: ControlPlane, me: User) -> None:
    with serving(plane) as kubelet, between(plane) as hiccups:
        submitted(plane, me)
        for name in pods(plane, me):
            bind(plane, me.namespace, name, kubelet)
            plane.become(me.namespace, name, RUNNING)
        name = pods(plane, me, "trainer-0")[0]
        for number in range(LINES):
            kubelet.write(name, f"line {number}")
        hiccups.script = {
            "list jobs": [None, 503],
            "list pods": [None, 500],
            "watch pods": [HALF],
            f"log {name}": [500, 429, *(Cut(lines=2) for _ in range(LINES - 1))],  # the first comes a second time
            f"get {name}": [503],
        }
        with me.started(*me.saying(endpoint=hiccups.endpoint), "logs", "-f", "-worker", name, NAME) as following:
            wait_until(lambda: f"log {name}" not in hiccups.script, timeout=30)
            kubelet.end(name)
            all_become(plane, me, ended(0))
            out, err = following.communicate(timeout=30)
        assert not hiccups.script
    assert out.splitlines() == [f"trainer-0 | line {number}" for number in range(LINES)], err
    assert following.returncode == 0


def test_a_server_that_is_busy_is_asked_again_when_it_says(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    busy = Busy(status=429, after=1)
    with between(plane) as hiccups:
        hiccups.script = {"list jobs": [busy, Busy(status=503, after=1)], f"patch {NAME}-trainer": [busy]}
        killed = me(*me.saying(endpoint=hiccups.endpoint), "kill", NAME)
        assert not hiccups.script
        assert killed.code == 0, killed.err
        assert f"waiting for the Kubernetes API at {hiccups.endpoint}, for a minute at most\n" in killed.err
        hiccups.script = {"post jobs": [503, busy]}
        refused = me(*me.saying(endpoint=hiccups.endpoint), *SUBMIT, "--replace")
        assert (refused.code, "answers 503" in refused.err) == (1, True)
        assert hiccups.script == {"post jobs": [busy]}


def test_a_server_that_is_silent_is_told(plane: ControlPlane, me: User) -> None:
    held = Held()
    with between(plane) as hiccups:
        hiccups.script = {"list jobs": [held]}
        with me.started(*me.saying(endpoint=hiccups.endpoint), "get", "jobs") as asking:
            assert asking.stderr
            assert asking.stderr.readline().startswith("waiting for the Kubernetes API at ")
            held.until.set()
            assert asking.wait(timeout=30) == 0


def following(api: object) -> Following:
    """Return a follow of what an API says."""
    desk = Desk(DeskFlags())
    desk.api = cast("Api", api)
    return Following(desk=desk, name="j", wanted=Wanted())


class Broken:
    """An API with one running pod, or with none that can be understood."""

    host, namespace, silence = "h", "n", 60.0

    def __init__(self, *, listed: bool) -> None:
        self.known = listed
        self.transport = self

    def document(self, *_: object, **__: object) -> bytes:
        if not self.known:
            raise RuntimeError("not expected")
        pod = {
            "metadata": {"name": "p"},
            "status": {"containerStatuses": [{"state": {"running": {"startedAt": "now"}}}]},
        }
        return json.dumps({"metadata": {"resourceVersion": "1"}, "items": [pod]}).encode()

    @contextmanager
    def stream(self, *_: object, **__: object) -> Iterator[Callable[[], bytes]]:
        yield lambda: b""

    def listed(self, *_: object) -> list[object]:
        return []

    def log(self, *_: object) -> list[bytes]:
        raise RuntimeError("not expected")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("listed", [False, True])
def test_what_a_thread_does_not_expect_comes_up_among_the_lines(listed: bool) -> None:
    """Of the thread that watches, and of one that reads."""
    with pytest.raises(RuntimeError, match="not expected"):
        list(following(Broken(listed=listed)).lines())


@pytest.mark.parametrize(
    "proxy", ["proxy.example.com:3128", "me:5ecret@proxy:1", "http://me:5ecret@a:b:c", "socks5://x"]
)
def test_a_proxy_that_is_no_address_is_told(tmp_path: Path, proxy: str) -> None:
    me = User(home=tmp_path)
    me.configure(username="me", password="t", endpoint="https://cloud.example.com")  # noqa: S106  # opens nothing
    said = me("get", "jobs", HTTPS_PROXY=proxy)
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        "paddlectl: HTTPS_PROXY: expected the address of a proxy with its scheme, such as http://proxy.example.com:3128\n"
    )
