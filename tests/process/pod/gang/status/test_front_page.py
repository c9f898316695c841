"""The leader's page as it is served: to whom, how often it is made, and what a stranger's thousand questions cost."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from launcher.pod.gang.protocol.messages import LeaderMessage, Phase
from launcher.pod.gang.status import live_page, page_maker
from launcher.pod.gang.status.metrics import Facts
from launcher.pod.gang.status.pages import Reply
from launcher.pod.gang.store.recent_events import RecentEvents
from tests.support.statuses import Ground, Pod, Wire, ask, ground
from tests.support.waiting import wait_until


@pytest.fixture
def net() -> Iterator[Ground]:
    with ground() as made:
        yield made


def leader(net: Ground) -> tuple[Pod, RecentEvents]:
    events = RecentEvents()
    pod = net.pod(1, events=events, facts=lambda: Facts(about={"job": "my-job"}))
    pod.says(word=LeaderMessage(), rank=0, phase=Phase.TRAINING)
    return pod, events


def test_it_is_a_page_that_loads_nothing_and_runs_nothing(net: Ground) -> None:
    pod, events = leader(net)
    events.put("run_started", key="k", job="my-job")
    code, headers, body = ask(pod, "/", net.port)
    assert (code, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'unsafe-inline'; ")
    assert headers["x-content-type-options"] == "nosniff"
    page = body.decode()
    assert "<h1>my-job</h1>" in page
    assert "Made from what this leader has noted itself: 1 lines." in page
    assert not re.search(r"<script|<link|<img|(?:src|href)=", page)


def test_elsewhere_the_leader_is_named(net: Ground) -> None:
    pod = net.pod(1)
    assert ask(pod, "/", net.port)[::2] == (404, b"no leader is known yet\n")
    pod.statuses.leader = "127.0.0.9"
    assert ask(pod, "/", net.port)[::2] == (404, b"only the leader has this page: ask 127.0.0.9\n")


def test_all_who_ask_at_once_get_the_same_page_made_once(net: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    pod, _ = leader(net)
    made, go = list[str](), threading.Event()
    real = live_page.front_page

    def slow(*given: object) -> str:
        go.wait(10)
        made.append(real(*given))  # type: ignore[arg-type]  # as it was called
        return made[-1]

    monkeypatch.setattr(live_page, "front_page", slow)
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(ask, pod, "/", net.port) for _ in range(20)]
        assert ask(pod, "/healthz", net.port)[0] == 200, "it answers others meanwhile"
        go.set()
        bodies = {each.result()[2] for each in asked}
    assert len(bodies) == len(made) == 1


def test_it_is_kept_for_a_while_and_the_longer_the_more_it_took(net: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    pod, _ = leader(net)
    maker = pod.statuses._page_maker
    now = 100.0
    maker._clock = lambda: now
    first = ask(pod, "/", net.port)[2]
    pod.says(word=LeaderMessage(waiting="somebody"), rank=0)
    now += page_maker.LEAST_KEPT - 0.1
    assert ask(pod, "/", net.port)[2] == first
    now += 60.0
    assert b"Waits for: somebody." in ask(pod, "/", net.port)[2]

    def much(*_: object) -> str:
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        return ""

    monkeypatch.setattr(live_page, "story_part", much)
    now += 60.0
    ask(pod, "/", net.port)
    assert maker._story_due >= now + page_maker.SHARE * 0.05


def test_what_a_script_asks_of_a_large_gang_is_made_the_less_often_the_more_it_takes() -> None:
    now = 100.0
    kept = page_maker.KeptReply(lambda: now)
    made = list[int]()

    def make() -> Reply:
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            pass
        made.append(len(made))
        return Reply(code=200, body=b"%d" % made[-1])

    assert kept.of(make).body == b"0"
    now += page_maker.SHARE * 0.009
    assert kept.of(make).body == b"0"
    now += 60.0
    assert kept.of(make).body == b"1"


def test_what_goes_wrong_in_making_it_is_told_and_not_tried_for_each_question(
    net: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod, _ = leader(net)
    tried = list[object]()

    def wrong(*given: object) -> str:
        tried.append(given)
        raise LookupError("planted")

    monkeypatch.setattr(live_page, "front_page", wrong)
    for _ in range(5):
        with Wire(pod.address, net.port) as wire:
            wire.get("/")
            wire.socket.settimeout(5)
            assert b"200" not in wire.socket.recv(100)
    wait_until(lambda: pod.told)
    assert len(tried) == 1
    assert [(name, "planted" in facts["why"]) for name, facts in pod.told] == [("statuses_trouble", True)]
    pod.told.clear()


def test_a_strangers_thousand_questions_cost_little_and_nobody_waits_for_them(
    net: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured alone they take a leader of 200 trainers 0.5 s of a processor; as many for /healthz take 0.3 s."""
    pod, events = leader(net)
    events.put("run_started", key="k", job="my-job")
    for rank in range(200):
        events.put("phase", generation=1, role="node", rank=rank, phase="training")
    ask(pod, "/", net.port)  # what it imports the first time is not counted
    late = list[float]()
    over = threading.Event()

    def probe() -> None:
        while not over.is_set():
            begun = time.monotonic()
            assert ask(pod, "/healthz", net.port)[0] == 200
            late.append(time.monotonic() - begun)

    made = count_made(pod, monkeypatch)
    begun = time.monotonic()
    with ThreadPoolExecutor(9) as pool:
        probing = pool.submit(probe)
        answers = list(pool.map(partial(stranger, pod, net), range(8)))
        over.set()
        probing.result()
    assert sum(answers) == 1000
    assert len(made) <= 2 + (time.monotonic() - begun) / page_maker.LEAST_KEPT
    assert max(late) < 2


def stranger(pod: Pod, net: Ground, number: int) -> int:
    """Ask for the page 125 times, each on a connection of its own; return how many answers were whole."""
    source = f"127.0.9.{number + 1}"
    whole = 0
    for _ in range(125):
        with Wire(pod.address, net.port, source) as wire:
            wire.get("/")
            whole += wire.answer()[2].endswith(b"</html>\n")
    return whole


def count_made(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    maker, made = pod.statuses._page_maker, list[float]()
    real = maker._make

    def make(*given: object) -> None:
        made.append(time.monotonic())
        real(*given)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(maker, "_make", make)
    return made
