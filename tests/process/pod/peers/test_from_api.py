"""Peers from the API: real sockets and TLS to a scripted server, with all that a server can do to its clients."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
import trustme

from launcher.kube.account import Account
from launcher.kube.packaged import bearer
from launcher.kube.watch import WATCH_LINE_LIMIT
from launcher.pod.outcome import TERMINATION_LIMIT, ApiError, JoinError, SettingsError
from launcher.pod.peers import from_api
from launcher.pod.peers.from_api import ApiLimits, PodApi
from launcher.pod.peers.gather import Rosters
from launcher.pod.peers.roster import Roster, Waiting
from launcher.pod.settings.nouns import Settings
from tests.grounds.api.scripted import ApiServer, Hang, Raw, Silence, Slow, Status, event, expired, serving
from tests.support.pods import JOB, UID, pod, settings, unschedulable, waiting
from tests.support.rosters import Looking
from tests.support.waiting import wait_until

LATER = "2026-11-19T07:00:00Z"
THREE = tuple(pod(f"{JOB}-{number}", f"10.0.0.{9 + number}") for number in range(3))


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def api(ca: trustme.CA) -> Iterator[ApiServer]:
    yield from serving(ApiServer(), ca)


@dataclass(slots=True, kw_only=True)
class Meeting(Looking):
    """One pod that looks for its peers by the API, as a host of this name."""

    given: Settings
    hostname: str
    limits: ApiLimits
    account: Path
    environ: dict[str, str]
    begun: float = 0.0

    def clock(self) -> float:
        """Stand still until it is told who is waited for, however long a busy machine takes to ask for that."""
        if not self.reasons():
            self.begun = time.monotonic()
        return time.monotonic() - self.begun

    def look(self) -> Rosters:
        return from_api.rosters(
            self.given,
            self.tell,
            self.seeking,
            account=self.account,
            environ=self.environ,
            hostname=lambda: self.hostname,
            addresses=lambda: frozenset({"192.168.0.1"}),
            limits=self.limits,
            over=self.over,
            clock=self.clock,
        )


Meet = Callable[..., Meeting]


def named(api: ApiServer) -> str:
    """Return what sentences call this server."""
    return f"the Kubernetes API at https://127.0.0.1:{api.port}"


def watchers() -> list[threading.Thread]:
    """Return the threads that still follow a selector."""
    return [each for each in threading.enumerate() if each.name in ("peers node", "peers pserver", "peers trainer")]


@pytest.fixture
def meet(api: ApiServer, ca: trustme.CA, tmp_path: Path) -> Iterator[Meet]:
    environ = api.environ(tmp_path, ca)
    begun: list[Meeting] = []

    def begin(
        hostname: str = f"{JOB}-0",
        limits: ApiLimits | None = None,
        given: Settings | None = None,
        port: int = api.port,
        *,
        for_life: bool = False,
        leave: bool = False,
    ) -> Meeting:
        meeting = Meeting(
            for_life=for_life,
            given=given or settings(),
            hostname=hostname,
            limits=limits or ApiLimits(),
            account=tmp_path,
            environ={**environ, "KUBERNETES_SERVICE_PORT": str(port)},
        )
        if leave:
            meeting.leave.set()
        meeting.begin()
        begun.append(meeting)
        return meeting

    yield begin
    for meeting in begun:
        meeting.end()
    api.close()
    wait_until(lambda: all(meeting.done.is_set() for meeting in begun))
    wait_until(lambda: not watchers())


def test_three_of_three_meet_and_every_pod_finds_its_rank(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    meetings = [meet(f"{JOB}-{number}") for number in range(3)]
    rosters = [meeting.roster() for meeting in meetings]
    assert [roster.rank for roster in rosters] == [2, 0, 1]
    assert len({roster.digest for roster in rosters}) == 1
    assert meetings[0].told[0] == ("peers_wanted", {"selector": f"job-name={JOB}", "desired": 3})
    assert {request.agent for request in api.requests} == {"paddle-launcher"}


def test_a_peer_that_comes_later_completes_the_roster_by_the_watch(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    meeting = meet()
    meeting.waits_for("2 of 3 pods are running: 2 pods exist, 3 expected by CONF_PADDLE_GRADIENT_NUM")
    wait_until(lambda: api.asked("watch"))
    api.put(pod(f"{JOB}-2", phase="Pending", status=waiting("ImagePullBackOff", "no such image")))
    meeting.waits_for(f"{JOB}-2 waits for its container trainer: ImagePullBackOff: no such image")
    api.put(THREE[2])
    meeting.roster()
    assert len(api.asked("list")) == 1
    # The server still holds the watch open: it was this side that hung up.
    wait_until(lambda: not watchers())
    assert len(meeting.reasons()) == len(set(meeting.reasons())) == 2


def test_waiting_is_told_once_per_change(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    meeting = meet()
    wait_until(lambda: api.asked("watch"))
    for _ in range(5):
        api.put(THREE[1])
    api.put(pod(f"{JOB}-2", phase="Pending", status=unschedulable("0/2 nodes are available")))
    meeting.waits_for("is not scheduled: Unschedulable: 0/2 nodes are available")
    api.put(pod(f"{JOB}-3", "10.0.0.12"))
    meeting.roster()
    assert len(meeting.reasons()) == 2
    running = [facts["running"] for name, facts in meeting.told if name == "waiting_for_peers"]
    assert running[0] == [("Running", "10.0.0.10"), ("Running", "10.0.0.9")]


def test_a_replaced_pod_never_counts_beside_its_successor(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE, pod(f"{JOB}-3", "10.0.0.12"))
    meeting = meet()
    meeting.waits_for("4 pods are running, 3 expected: waiting for one to go")
    api.put(pod(f"{JOB}-1", "10.0.0.10", leaving=True))
    assert [peer.name[-1] for peer in meeting.roster().trainers] == ["2", "3", "0"]


def test_a_pod_that_vanishes_is_waited_for_again(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    meeting = meet()
    meeting.waits_for("2 of 3")
    wait_until(lambda: api.asked("watch"))
    api.remove(f"{JOB}-1")
    meeting.waits_for("1 of 3")
    api.put(*THREE[1:])
    meeting.roster()


def test_roles_apart_are_two_selectors_and_one_roster(api: ApiServer, meet: Meet) -> None:
    servers = [
        pod(f"ps-{number}", f"10.0.1.{number}", owner="ps-job", labels={"paddle-job-pserver": "gang"})
        for number in (1, 2)
    ]
    trainers = [pod(f"tr-{number}", f"10.0.2.{number}", labels={"paddle-job": "gang"}) for number in (1, 2)]
    counts = {"PSERVERS": "2", "TRAINERS": "2", "LAUNCHER_RUNTIME": "fleet", "LAUNCHER_GANG": "gang"}
    api.put(*servers[:1], *trainers)
    one = meet("tr-2", given=settings(LAUNCHER_ROLE="trainer", **counts))
    other = meet("ps-1", given=settings(LAUNCHER_ROLE="pserver", **counts))
    one.waits_for("1 of 2 pservers are running")
    other.waits_for("1 of 2 pservers are running")
    api.put(servers[1])
    assert (one.roster().rank, other.roster().rank) == (1, 0)
    assert one.roster().digest == other.roster().digest
    selectors = [facts["selector"] for name, facts in one.told if name == "peers_wanted"]
    assert selectors == ["paddle-job-pserver=gang", "paddle-job=gang"]


def test_the_namespace_from_the_settings_comes_before_the_accounts(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    meet(given=settings(JOB_NAMESPACE="training")).roster()
    meet().roster()
    assert {request.path.split("/")[4] for request in api.requests} == {"training", "default"}


def test_the_wrong_job_name_is_told(api: ApiServer, meet: Meet) -> None:
    api.put(*(pod(f"{JOB}-{number}", f"10.0.0.{number}", labels={"job-name": "other"}) for number in range(3)))
    error = meet().error()
    assert isinstance(error, SettingsError)
    assert (
        str(error) == f"JOB_NAME={JOB!r}: expected the job of this pod, {JOB}-0, which has the label job-name=other"
    )
    assert len(api.asked("get")) == 1


def test_a_host_name_that_is_no_pod_just_waits(api: ApiServer, meet: Meet) -> None:
    meeting = meet("node-a")
    meeting.waits_for(f"this pod is not listed yet under job-name={JOB}")
    assert len(api.asked("get")) == 1


def test_the_deadline_says_who_is_missing_and_why(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2], pod(f"{JOB}-2", phase="Pending", status=unschedulable("0/2 nodes are available")))
    error = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="0.5")).error()
    assert isinstance(error, JoinError)
    assert error.code == 75
    assert str(error) == (
        "the peers were not found within 0.5 s (LAUNCHER_JOIN_TIMEOUT): 2 of 3 pods are running: "
        f"{JOB}-2 is not scheduled: Unschedulable: 0/2 nodes are available"
    )


def test_whoever_asks_for_no_more_leaves_nothing_behind_whatever_is_waited_for(api: ApiServer, meet: Meet) -> None:
    """An open watch, which the server would keep, and a pause of a minute."""
    api.put(*THREE[:2])
    watching = meet()
    wait_until(lambda: api.asked("watch"))
    watching.leave.set()
    api.remove(f"{JOB}-1")
    assert watching.done.wait(10)
    wait_until(lambda: not watchers())
    api.say("list", Status(code=429, after="60"))
    pausing = meet(leave=True)
    assert pausing.done.wait(10)
    wait_until(lambda: not watchers())
    assert [isinstance(state, Waiting) for state in pausing.states] == [True]


def test_a_rotated_token_is_read_again(api: ApiServer, meet: Meet, tmp_path: Path) -> None:
    api.put(*THREE)
    api.token = "rotated"  # noqa: S105  # opens nothing
    meeting = meet()
    wait_until(lambda: len(api.requests) >= 2)
    assert not meeting.done.is_set()
    (tmp_path / "token").write_text("rotated")
    meeting.roster()
    assert api.requests[-1].token == "rotated"  # noqa: S105  # opens nothing


def test_a_token_that_stays_refused_ends_with_69_and_is_never_shown(api: ApiServer, meet: Meet) -> None:
    """It is asked for until the deadline: the kubelet takes a minute to bring a new token."""
    secret, api.token = api.token, "another"
    meeting = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="2"))
    error = meeting.error(timeout=15)
    assert isinstance(error, ApiError)
    assert "answers 401: Unauthorized" in str(error)
    assert 2 <= len(api.requests) <= 10
    assert secret not in f"{error} {error!r} {meeting.told}"


@pytest.mark.parametrize("token", [b"", b"\xff\xfe"])
def test_a_token_file_that_cannot_be_read_says_what_is_expected(meet: Meet, tmp_path: Path, token: bytes) -> None:
    (tmp_path / "token").write_bytes(token)
    error = meet().error()
    assert isinstance(error, ApiError)
    assert f"Expected a service account in {tmp_path}" in str(error)


@pytest.mark.parametrize(("token", "sent"), [("two\nlines\n", "two lines"), ("na\u00efve", "na?ve")])
def test_a_broken_token_is_sent_as_one_plain_line_for_the_server_to_refuse(
    api: ApiServer, ca: trustme.CA, tmp_path: Path, token: str, sent: str
) -> None:
    environ = api.environ(tmp_path, ca)
    (tmp_path / "token").write_text(token)
    assert bearer(Account.read(tmp_path, environ).configuration) == {"Authorization": f"bearer {sent}"}


def test_a_missing_right_ends_at_once_with_the_role_to_apply(api: ApiServer, meet: Meet) -> None:
    said = 'pods is forbidden: User "system:serviceaccount:default:trainer" cannot list resource "pods"'
    api.say("list", Status(code=403, message=said))
    error = meet().error()
    assert isinstance(error, ApiError)
    assert said in str(error)
    assert "verbs: [get, list, watch]" in str(error)
    assert "name: trainer\n  namespace: default" in str(error)
    assert len(str(error).encode()) < TERMINATION_LIMIT
    assert len(api.requests) == 1


def test_a_right_that_was_there_before_is_waited_for(api: ApiServer, meet: Meet) -> None:
    """An API server that was just started knows no roles for some seconds."""
    api.put(*THREE[:2])
    meeting = meet(limits=ApiLimits(watch=1, again=0.2))
    meeting.waits_for("2 of 3 pods are running")
    wait_until(lambda: api.asked("watch"))
    refused = Status(code=403, message='RBAC: role "paddle-launcher" not found')
    api.always |= {"list": refused, "watch": refused}
    meeting.waits_for('role "paddle-launcher" not found')
    api.put(THREE[2])
    api.always.clear()
    assert len(meeting.roster().trainers) == 3


def test_a_right_to_list_alone_ends_at_once_with_the_role_to_apply(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.say("watch", Status(code=403, message="pods is forbidden: cannot watch"))
    assert "verbs: [get, list, watch]" in str(meet().error())


def test_a_request_that_is_hopeless_ends_at_once(api: ApiServer, meet: Meet) -> None:
    api.say("list", Status(code=400, message="unable to parse the selector"))
    assert "answers 400: unable to parse the selector" in str(meet().error())


def test_no_service_account_says_what_is_expected(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    with pytest.raises(ApiError, match=r"token file does not exist.*automountServiceAccountToken: true.*dns:NAME"):
        PodApi(tmp_path, environ, "", ApiLimits())
    with pytest.raises(ApiError, match="host/port is not set"):
        PodApi(tmp_path, {}, "", ApiLimits())


def test_a_proxy_that_is_no_address_is_told_without_its_value(meet: Meet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "me:5ecret@proxy:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    error = meet().error()
    assert isinstance(error, ApiError)
    assert "expected the address of a proxy with its scheme" in str(error)
    assert "5ecret" not in str(error)


def test_this_way_is_the_settings_word_kubernetes() -> None:
    program = (
        "from launcher.pod.peers import discovery, seeking; from tests.support.pods import settings;"
        "next(discovery.rosters(settings(), print, seeking.Seeking()))"
    )
    done = subprocess.run([sys.executable, "-c", program], env={}, capture_output=True, text=True, check=False)
    assert "ApiError: the service account cannot be read: Service host/port is not set." in done.stderr


def test_no_namespace_says_which_variable_is_expected(meet: Meet, tmp_path: Path) -> None:
    (tmp_path / "namespace").unlink()
    assert "JOB_NAMESPACE is not set" in str(meet().error())


def test_a_version_forgotten_as_a_status_lists_again(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.say("watch", Status(code=410, message="too old resource version"))
    meeting = meet()
    wait_until(lambda: len(api.asked("list")) == 2)
    api.put(THREE[2])
    meeting.roster()
    assert len(meeting.reasons()) == 1


def test_a_version_forgotten_as_an_event_lists_again(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.say("watch", Raw(body=expired()), Raw(body=b"no json\n"), Raw(body=event("ERROR", {"code": 500})))
    meeting = meet()
    wait_until(lambda: len(api.asked("list")) == 4)
    api.put(THREE[2])
    meeting.roster()
    assert len(meeting.reasons()) == 1


def test_a_version_forgotten_while_the_watch_was_away_misses_nothing(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.say("watch", Slow(seconds=0.3))
    meeting = meet()
    wait_until(lambda: api.asked("watch"))
    api.put(THREE[2])
    api.forget()
    meeting.roster()
    assert len(api.asked("list")) == 2


def test_retry_after_is_honoured(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    api.say("list", Status(code=429, message="too many requests", after="1"), Status(code=503, after="tomorrow"))
    meeting = meet()
    meeting.roster()
    first, second, third = (request.at for request in api.asked("list"))
    assert second - first >= 1.0
    assert third - second < 10  # as without a word of when
    assert meeting.reasons()[0] == f"{named(api)} answers 429: too many requests"


def test_a_failing_server_is_told_once_and_asked_ever_more_seldom(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    api.say("list", *[Status(code=500, message="etcd is away")] * 3)
    meeting = meet()
    meeting.roster()
    assert meeting.reasons() == [f"{named(api)} answers 500: etcd is away"]
    times = [request.at for request in api.asked("list")]
    pauses = [later - sooner for sooner, later in pairwise(times)]
    assert all(pause >= least for pause, least in zip(pauses, (0.1, 0.2, 0.4), strict=True))


def test_a_server_that_keeps_failing_until_the_deadline_is_69_with_its_last_words(api: ApiServer, meet: Meet) -> None:
    api.always["list"] = Status(code=500, message="etcd is away")
    error = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="0.7")).error()
    assert isinstance(error, ApiError)
    assert str(error).endswith(f"{named(api)} answers 500: etcd is away")


def test_a_server_that_cannot_be_reached_is_69(meet: Meet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    error = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="0.7"), port=port).error()
    assert isinstance(error, ApiError)
    assert f"the Kubernetes API at https://127.0.0.1:{port} cannot be reached: " in str(error)
    assert "Connection refused" in str(error)


def test_a_certificate_of_another_authority_is_never_accepted(api: ApiServer, meet: Meet, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    error = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="0.7")).error()
    assert isinstance(error, ApiError)
    assert "its certificate is not signed by an authority that this machine knows" in str(error)
    assert api.requests == []


def test_a_server_that_never_answers_is_69_at_the_deadline(api: ApiServer, meet: Meet) -> None:
    api.always["list"] = Silence()
    meeting = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="0.6"), limits=ApiLimits(silence=0.2))
    error = meeting.error()
    assert isinstance(error, ApiError)
    assert "cannot be reached" in str(error)
    assert "timed out" in str(error)
    api.close()


def test_a_silent_list_is_asked_again(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    api.say("list", Silence(), Hang())
    meet(limits=ApiLimits(silence=0.3)).roster()
    assert len(api.asked("list")) == 3


def test_a_silent_watch_is_noticed_and_opened_again(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.say("watch", Hang(), Silence())
    meeting = meet(limits=ApiLimits(silence=0.3))
    wait_until(lambda: len(api.asked("watch")) == 3)
    api.put(THREE[2])
    meeting.roster()


@pytest.mark.parametrize("late", [0, 2], ids=["this pod", "another"])
def test_a_first_list_from_memory_that_is_behind_loses_no_pod(api: ApiServer, meet: Meet, late: int) -> None:
    api.put(*THREE[:late], *THREE[late + 1 :])
    api.lag()
    api.put(THREE[late])
    meet().roster()
    (asked,) = api.asked("list")
    assert asked.query["resourceVersion"] == "0"


def test_a_later_list_is_not_from_memory(api: ApiServer, meet: Meet) -> None:
    """It could be older than what was seen: here a pod that is gone would be there again."""
    api.put(THREE[0], pod("another", "10.0.0.9"))
    api.lag()
    api.remove("another")
    api.forget()
    meeting = meet()
    wait_until(lambda: len(api.asked("list")) == 2)
    api.put(*THREE[1:])
    meeting.roster()
    assert [asked.query.get("resourceVersion") for asked in api.asked("list")] == ["0", None]


def test_a_slow_server_is_borne(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    api.say("list", Slow(seconds=0.5))
    meeting = meet()
    meeting.roster()
    assert len(api.asked("list")) == 1
    assert meeting.reasons() == []


def test_half_a_line_is_dropped_and_the_watch_goes_on_from_the_last_whole_one(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    whole = event("MODIFIED", {**THREE[1], "metadata": {**THREE[1]["metadata"], "resourceVersion": "777"}})
    half = event("ADDED", THREE[2])[:-40]
    api.say("watch", Raw(body=whole + half, torn=True))
    meeting = meet()
    wait_until(lambda: len(api.asked("watch")) == 2)
    assert not meeting.done.is_set()
    assert api.asked("watch")[1].query["resourceVersion"] == "777"
    assert len(api.asked("list")) == 1


def test_a_line_beyond_all_measure_is_not_kept(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.say("watch", Raw(body=b"x" * (WATCH_LINE_LIMIT + 10)))
    meeting = meet()
    wait_until(lambda: len(api.asked("list")) == 2)
    api.put(THREE[2])
    meeting.roster()


def test_a_list_that_is_none_is_asked_for_again(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    api.say("list", Raw(body=b"<html>welcome"), Raw(body=b'{"items": ', torn=True))
    meeting = meet()
    meeting.roster()
    assert meeting.reasons()[0] == f"{named(api)} sends a list that cannot be read: <html>welcome"


def test_bookmarks_carry_the_version_on_and_the_server_ends_each_watch(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.say("watch", Raw(body=event("BOOKMARK", {"metadata": {"resourceVersion": "555"}})))
    meeting = meet(limits=ApiLimits(watch=1))
    wait_until(lambda: len(api.asked("watch")) >= 3)
    queries = [request.query for request in api.asked("watch")]
    assert [query["resourceVersion"] for query in queries[:2]] == ["102", "555"]
    assert queries[0]["allowWatchBookmarks"] == "true"
    assert queries[0]["timeoutSeconds"] == "1"
    assert len(meeting.reasons()) == 1


def test_a_watch_closed_at_once_for_20_s_is_opened_nine_times_at_most(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.always["watch"] = Raw()
    meeting = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="20"))
    error = meeting.error(timeout=60)
    # The waits are at least 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5 and 5 s: one more would be after the 20th second.
    times = [request.at for request in api.asked("watch")]
    assert 4 <= len(times) <= 9
    assert len(api.asked("list")) == 1
    assert isinstance(error, JoinError)
    assert len(meeting.reasons()) == 1


def test_a_list_closed_at_once_backs_off_too(api: ApiServer, meet: Meet) -> None:
    api.always["list"] = Raw(torn=True)
    assert isinstance(meet(given=settings(LAUNCHER_JOIN_TIMEOUT="2")).error(), ApiError)
    assert 2 <= len(api.asked("list")) <= 5  # 0.1 + 0.2 + 0.4 + 0.8 s at the least


def test_an_outage_in_the_wait_is_told_and_forgotten(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    api.say("watch", Raw(), Status(code=503, message="apiserver is shutting down"))
    meeting = meet()
    wait_until(lambda: len(meeting.reasons()) == 3)
    assert "shutting down" in meeting.reasons()[1]
    assert meeting.reasons()[0] == meeting.reasons()[2]
    api.put(THREE[2])
    meeting.roster()


def test_a_bad_server_cannot_make_a_peer_of_what_has_the_wrong_types(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2])
    broken = {**THREE[2], "status": {"phase": ["Running"], "podIP": 7}}
    nameless = {"metadata": {"labels": {"job-name": JOB}, "resourceVersion": "102"}}
    api.say("watch", Raw(body=event("ADDED", broken) + event("ADDED", nameless) + b'{"type": "ADDED"}\n\n'))
    meeting = meet()
    wait_until(lambda: len(api.asked("watch")) == 2)
    api.put(THREE[2])
    meeting.roster()


def test_the_watch_can_be_kept_for_life(api: ApiServer, ca: trustme.CA, tmp_path: Path) -> None:
    stop = threading.Event()
    states: list[int] = []
    client = PodApi(tmp_path, api.environ(tmp_path, ca), "", ApiLimits())

    def keep() -> None:
        states.extend(len(seen) for seen in client.pods(f"job-name={JOB}", stop, print))

    keeper = threading.Thread(target=keep)
    keeper.start()
    wait_until(lambda: api.asked("watch"))
    for each in THREE:
        api.put(each)
    wait_until(lambda: states[-1:] == [3])
    api.remove(f"{JOB}-1")
    wait_until(lambda: states[-1:] == [2])
    stop.set()
    client.transport.hang_up()
    keeper.join(5)
    assert not keeper.is_alive()


def test_pods_of_an_earlier_job_are_nobodys_peers_and_hold_up_the_start_until_they_have_ended(
    api: ApiServer, meet: Meet
) -> None:
    old, orphan = "older-" + UID, pod(f"{JOB}-y", "10.0.0.13", owner="")
    api.put(*THREE[:2], pod(f"{JOB}-x", "10.0.0.12", owner=old), orphan)
    meeting = meet()
    meeting.waits_for("2 of 3 pods are running: 2 pods exist")
    api.put(THREE[2])
    names = (f"{JOB}-x on node-a (Running: kubectl delete pod {JOB}-x)", f"{JOB}-y on node-a (Running: ")
    meeting.waits_for(f"2 pods of an earlier Job of this name are still ending: {', '.join(names)}")
    api.put(pod(f"{JOB}-x", "10.0.0.12", owner=old, leaving=True))
    meeting.waits_for(f"{JOB}-x on node-a (being deleted), ")
    api.remove(f"{JOB}-x")
    meeting.waits_for(f"1 pod of an earlier Job of this name is still ending: {names[1]}")
    assert meeting.states[-1].key == UID
    api.put(pod(f"{JOB}-y", "10.0.0.13", owner="", phase="Succeeded"))
    assert len(meeting.roster().trainers) == 3


LEFT = pod(f"{JOB}-x", "10.0.0.12", owner="older-" + UID, leaving=True, grace=1)
BRIEF = {"LAUNCHER_PEER_TIMEOUT": "3", "JOB_PATH": "/volume"}


def test_a_pod_that_stays_listed_on_a_lost_node_is_waited_for_until_its_grace_and_its_leases_are_over(
    api: ApiServer, meet: Meet
) -> None:
    """By the clock here, and though nothing is heard meanwhile; the record of runs decides from then on."""
    api.put(*THREE, LEFT)
    meeting = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="60", **BRIEF))
    meeting.waits_for(f"still ending: {JOB}-x on node-a (being deleted)")
    meeting.roster(timeout=30)  # half of what it would be waited for otherwise
    assert meeting.times[-1] - meeting.times[0] >= 5.9  # the grace, the time-out, two thirds of it


def test_without_a_record_it_is_waited_for_to_the_end_which_names_pod_and_node(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE, LEFT)
    error = meet(given=settings(LAUNCHER_JOIN_TIMEOUT="7", LAUNCHER_RECORD="none", **BRIEF)).error(timeout=30)
    assert isinstance(error, JoinError)
    assert str(error) == (
        "the peers were not found within 7 s (LAUNCHER_JOIN_TIMEOUT): "
        f"1 pod of an earlier Job of this name is still ending: {JOB}-x on node-a (being deleted)"
    )


def test_pods_of_another_job_that_come_after_the_start_hold_up_nothing(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    meeting = meet(for_life=True)
    meeting.roster()
    wait_until(lambda: api.asked("watch"))
    api.put(pod(f"{JOB}-x", "10.0.0.13", owner="another"))
    api.remove(f"{JOB}-1")
    meeting.learns(lambda state: isinstance(state, Waiting) and "still ending" not in state.reason)
    api.put(THREE[1])
    meeting.learns(lambda state: isinstance(state, Roster))


def lost(number: int, **ended: object) -> dict[str, object]:
    """Return the pod of this number after its container ended."""
    state = {"containerStatuses": [{"name": "trainer", "state": {"terminated": ended}}]}
    return pod(f"{JOB}-{number}", f"10.0.0.{9 + number}", phase="Failed", status=state)


def test_a_lost_pod_and_its_replacement_are_learned_after_the_start_and_not_told(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    meeting = meet(for_life=True, given=settings(LAUNCHER_JOIN_TIMEOUT="0.3"))
    digest = meeting.roster().digest
    wait_until(lambda: api.asked("watch"))
    api.put(lost(1, exitCode=137, reason="OOMKilled"))
    meeting.learns(lambda state: isinstance(state, Waiting) and "code 137: OOMKilled" in state.reason)
    assert not meeting.done.wait(0.4)  # longer than the deadline of the start
    api.remove(f"{JOB}-1")
    api.put(pod(f"{JOB}-3", "10.0.0.12"))
    meeting.learns(lambda state: isinstance(state, Roster) and state.digest != digest)
    assert [state.key for state in meeting.states] == [UID] * len(meeting.states)
    assert not any(one == other for one, other in pairwise(meeting.states))
    assert meeting.reasons() == []


def test_a_pod_that_stays_the_same_is_no_change(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    meeting = meet(for_life=True)
    meeting.roster()
    wait_until(lambda: api.asked("watch"))
    api.put(*THREE)
    api.remove(f"{JOB}-1")
    meeting.learns(lambda state: isinstance(state, Waiting))
    api.put(THREE[1])
    meeting.learns(lambda state: isinstance(state, Roster))
    assert len(meeting.states) == 3
    assert meeting.states[0] == meeting.states[2]


AWAY: dict[str, Status | Raw] = {
    "failing": Status(code=503, message="apiserver is shutting down"),
    "refusing the token": Status(code=401, message="Unauthorized"),
    "refusing the right": Status(code=403, message="pods is forbidden"),
    "hanging up": Raw(torn=True),
}


@pytest.mark.parametrize("case", AWAY)
def test_an_api_that_is_away_after_the_start_changes_nothing_and_is_heard_again(
    api: ApiServer, meet: Meet, case: str
) -> None:
    api.put(*THREE)
    meeting = meet(for_life=True, limits=ApiLimits(watch=1, again=0.2))
    roster = meeting.roster()
    wait_until(lambda: api.asked("watch"))
    api.always |= {"list": AWAY[case], "watch": AWAY[case]}
    began = len(api.requests)
    wait_until(lambda: len(api.requests) >= began + 3)
    assert meeting.states == [roster]
    assert not meeting.done.is_set()
    api.remove(f"{JOB}-1")
    api.always.clear()
    meeting.learns(lambda state: isinstance(state, Waiting) and "2 pods exist" in state.reason)
    assert meeting.reasons() == []


def test_a_gang_that_misses_a_pod_learns_that_the_right_to_look_was_taken(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    meeting = meet(for_life=True, limits=ApiLimits(watch=1, again=0.1))
    meeting.roster()
    wait_until(lambda: api.asked("watch"))
    refused = Status(code=403, message="pods is forbidden")
    api.always |= {"list": refused, "watch": refused}
    api.remove(f"{JOB}-1")
    meeting.learns(lambda state: isinstance(state, Waiting) and "pods is forbidden" in state.reason)
    began = len(api.requests)
    wait_until(lambda: len(api.requests) >= began + 3)
    assert len(meeting.states) == 3
    api.put(THREE[1])
    api.always.clear()
    meeting.learns(lambda state: isinstance(state, Roster))


def test_what_would_be_refused_at_the_start_is_waited_for_in_a_gang_that_runs(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE)
    meeting = meet(for_life=True)
    meeting.roster()
    wait_until(lambda: api.asked("watch"))
    api.put(pod(f"{JOB}-2", "10.0.0.10"))
    meeting.learns(lambda state: isinstance(state, Waiting) and "share the address 10.0.0.10" in state.reason)
    assert meeting.states[-1].key == UID
    api.put(THREE[2])
    meeting.learns(lambda state: isinstance(state, Roster))


def test_a_peer_that_succeeded_says_that_the_training_is_over(api: ApiServer, meet: Meet) -> None:
    api.put(*THREE[:2], pod(f"{JOB}-2", "10.0.0.11", phase="Succeeded"))
    meeting = meet()
    meeting.waits_for("2 of 3 pods are running")
    meeting.learns(lambda state: isinstance(state, Waiting) and state.succeeded and state.key == UID)


def test_pservers_of_a_new_run_believe_nothing_of_the_last_runs_trainers(api: ApiServer, meet: Meet) -> None:
    apart, counts = {"paddle-job": "gang"}, {"PSERVERS": "1", "TRAINERS": "2", "LAUNCHER_RUNTIME": "fleet"}
    last = [pod(f"old-{number}", f"10.0.2.{number}", owner="old-job", labels=apart) for number in (7, 8)]
    over = [{**each, "status": {**each["status"], "phase": "Succeeded"}} for each in last]
    ours = [pod(f"tr-{number}", f"10.0.2.{number}", labels=apart, created=LATER) for number in (1, 2)]
    server = pod("ps-1", "10.0.1.1", owner="ps-job", labels={"paddle-job-pserver": "gang"}, created=LATER)
    api.put(server, over[0], last[1])
    given = settings(LAUNCHER_ROLE="pserver", LAUNCHER_JOB_UID="ps-job", LAUNCHER_GANG="gang", **counts)
    meeting = meet("ps-1", given=given, for_life=True)
    meeting.waits_for("1 of 2 trainers are running: old-7 no longer counts (is Succeeded)")
    api.put(over[1], *ours)
    assert meeting.roster().key == UID
    found = [state for state in meeting.states if isinstance(state, Waiting)]
    assert not any(state.succeeded for state in found)
    assert {state.key for state in found} <= {"", UID}


def test_pservers_know_the_trainers_job_and_still_know_it_when_all_its_pods_are_over(
    api: ApiServer, meet: Meet
) -> None:
    server = pod("ps-1", "10.0.1.1", owner="ps-job", labels={"paddle-job-pserver": "gang"})
    apart = {"paddle-job": "gang"}
    counts = {"PSERVERS": "1", "TRAINERS": "1", "LAUNCHER_RUNTIME": "fleet", "LAUNCHER_GANG": "gang"}
    api.put(server, pod("old-1", "10.0.2.7", phase="Succeeded", owner="old-job", labels=apart))
    given = settings(LAUNCHER_ROLE="pserver", LAUNCHER_JOB_UID="ps-job", **counts)
    meeting = meet("ps-1", given=given, for_life=True)
    meeting.waits_for("0 of 1 trainers are running")
    meeting.learns(lambda state: isinstance(state, Waiting) and not state.succeeded and state.key == "")
    api.put(pod("tr-1", "10.0.2.1", labels=apart))
    assert meeting.roster().key == UID
    api.put(pod("tr-1", "10.0.2.1", phase="Succeeded", labels=apart))
    meeting.learns(lambda state: isinstance(state, Waiting) and state.succeeded and state.key == UID)
