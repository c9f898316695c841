"""The roster: who counts as a peer, in which order, and for whom a gang waits."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.kube.pod_json import Seen
from launcher.pod.outcome import SettingsError
from launcher.pod.peers.pod_state import Group, Hold, leaving_since, newest_owner
from launcher.pod.peers.roster import NONE_FOUND, Peer, Roster, Waiting, ordered, own_pod, settle
from launcher.pod.settings.nouns import Resize, Role, Width

GROUP = Group(role=Role.NODE, selector="job-name=job", expected=3, counted_by="CONF_PADDLE_GRADIENT_NUM")
ADDRESSES = ("10.0.0.9", "10.0.0.10", "10.0.0.11")


def seen(number: int = 0, **given: object) -> Seen:
    """Return a healthy pod of the job, with these facts instead."""
    usual = Seen(
        name=f"job-{number}",
        uid=f"uid-{number}",
        phase="Running",
        address=f"10.0.0.{9 + number}",
        owner="this-job",
        created="2026-11-18T07:00:00Z",
    )
    return replace(usual, **given)  # type: ignore[arg-type]  # a test's own words


THREE = (seen(0), seen(1), seen(2))


def settled(*pods: Seen, me: Seen = THREE[0], group: Group = GROUP, job_uid: str = "") -> Roster | Waiting:
    return settle({Role.NODE: group}, {Role.NODE: pods}, me, Role.NODE, job_uid)


def complete(*pods: Seen, me: Seen = THREE[0], group: Group = GROUP) -> Roster:
    found = settled(*pods, me=me, group=group)
    assert isinstance(found, Roster), found
    return found


def reason(*pods: Seen, me: Seen | None = THREE[0], group: Group = GROUP) -> str:
    found = settle({Role.NODE: group}, {Role.NODE: pods}, me, Role.NODE, "")
    assert isinstance(found, Waiting), found
    return found.reason


def test_three_of_three_start() -> None:
    assert [peer.address for peer in complete(*THREE).trainers] == ["10.0.0.10", "10.0.0.11", "10.0.0.9"]


NARROW = replace(GROUP, least=2, counted_by="LAUNCHER_MEMBERS")


def test_a_gang_that_may_be_narrower_has_those_who_are_there() -> None:
    assert len(complete(*THREE, group=NARROW).trainers) == 3
    two = complete(*THREE[:2], group=NARROW)
    assert len(two.trainers) == 2
    assert two.digest != complete(*THREE, group=NARROW).digest
    assert reason(THREE[0], group=NARROW) == (
        "1 of 2 to 3 pods are running: 1 pod exists, 2 to 3 expected by LAUNCHER_MEMBERS"
    )
    assert reason(*THREE, seen(3), group=NARROW).startswith("4 pods are running, 2 to 3 expected: waiting for one")
    alike = reason(seen(0, index=0), seen(1, index=0), me=seen(0, index=0), group=NARROW)
    assert (
        alike == "2 of 2 to 3 pods are running, two of them with one completion index: waiting for the old one to go"
    )


# What stands beside two healthy pods of three, and what is said of it.
WAITS = {
    "fewer": ((), "2 of 3 pods are running: 2 pods exist, 3 expected by CONF_PADDLE_GRADIENT_NUM"),
    "pending": ((seen(2, phase="Pending", why="is not scheduled: Unschedulable"),), "job-2 is not scheduled"),
    "pending without a reason": ((seen(2, phase="Pending"),), "job-2 is Pending"),
    "finished": ((seen(2, phase="Succeeded"),), "2 pods exist, 3 expected"),
    "failed": ((seen(2, phase="Failed"),), "2 pods exist, 3 expected"),
    "deleted": ((seen(2, leaving=True),), "2 pods exist, 3 expected"),
    "lost node": ((seen(2, phase="Unknown"),), "job-2 is Unknown"),
    "stale, of an older Job of this name": ((seen(2, owner="older-job"),), "2 pods exist, 3 expected"),
    "foreign": ((seen(2, owner="another-job"),), "2 pods exist, 3 expected"),
    "adopted by label only": ((seen(2, owner=""),), "2 pods exist, 3 expected"),
    "without an address": (
        (seen(2, address="", why="is Running without an address yet"),),
        "job-2 is Running without",
    ),
    "more": (
        (seen(2), seen(3)),
        "4 pods are running, 3 expected: waiting for one to go (job-0, job-1, job-2, job-3)",
    ),
}


@pytest.mark.parametrize("case", WAITS)
def test_two_of_three_never_start(case: str) -> None:
    others, expected = WAITS[case]
    for pods in permutations((*THREE[:2], *others)):
        assert expected in reason(*pods)


BESIDE = {
    "stale": seen(3, owner="older-job"),
    "finished": seen(3, phase="Succeeded"),
    "failed": seen(3, phase="Failed"),
    "deleted": seen(3, leaving=True),
    "foreign": seen(3, owner="another-job"),
    "adopted by label only": seen(3, owner=""),
    "coming": seen(3, phase="Pending", address=""),
}


@pytest.mark.parametrize("case", BESIDE)
def test_three_of_three_start_whatever_stands_beside_them(case: str) -> None:
    assert complete(*THREE, BESIDE[case]).digest == complete(*THREE).digest


def test_waiting_shows_the_running_and_keeps_the_list_of_the_missing_short() -> None:
    many = [seen(number, phase="Pending") for number in range(2, 12)]
    group = replace(GROUP, expected=12)
    found = settled(*THREE[:2], *many, group=group)
    assert isinstance(found, Waiting)
    assert found.running == (("Running", "10.0.0.10"), ("Running", "10.0.0.9"))
    assert found.reason.endswith("; and 5 more")


def test_a_pod_not_listed_or_not_made_by_a_job_waits_and_says_so() -> None:
    assert reason(*THREE, me=None) == "this pod is not listed yet under job-name=job"
    orphan = seen(0, owner="")
    assert reason(orphan, seen(1, owner=""), seen(2, owner=""), me=orphan).startswith("this pod (job-0) has no contr")


def test_a_pod_that_the_api_does_not_show_running_waits_for_itself() -> None:
    assert "this pod (job-7) is not Running" in reason(*THREE, me=seen(7, phase="Pending"))


def test_a_uid_in_the_settings_is_this_pods_jobs_and_no_other() -> None:
    """The pod's own UID is what one writes by mistake."""
    told = tuple(replace(pod, owner="told-job") for pod in THREE)
    assert isinstance(settled(*told, me=told[0], job_uid="told-job"), Roster)
    with pytest.raises(SettingsError, match="expected this pod's Job, this-job"):
        settled(*THREE, job_uid="uid-0")


def test_the_wait_tells_of_pods_that_count_no_more_and_of_other_jobs() -> None:
    failed = seen(2, phase="Failed", why="lost its container trainer with code 78")
    assert "job-2 no longer counts (lost its container trainer with code 78)" in reason(*THREE[:2], failed)
    assert "job-2 no longer counts (is Running)" in reason(*THREE[:2], seen(2, leaving=True))
    assert "1 more with this label belong to another Job" in reason(*THREE[:2], seen(2, owner="other"))


def test_host_network_pods_of_one_node_are_refused() -> None:
    shared = (seen(0), seen(1, address="10.0.0.9"), seen(2))
    with pytest.raises(
        SettingsError, match=r"job-0, job-1 share the address 10\.0\.0\.9; expected one pod on each node"
    ):
        settled(*shared)


def test_host_network_pods_of_different_nodes_are_told_apart_by_address() -> None:
    assert own_pod(THREE, "node-a", {"10.0.0.10", "127.0.0.1"}) == THREE[1]


def test_own_pod_is_the_one_named_as_the_host_however_it_was_cut() -> None:
    long = "a" * 62 + ".b"
    assert own_pod((seen(0, name=long),), "a" * 62, set()) == seen(0, name=long)
    assert own_pod((seen(0, hostname="job-0-host"), seen(1)), "job-0-host", set()) == seen(0, hostname="job-0-host")
    assert own_pod(THREE, "elsewhere", {"192.168.0.1"}) is None


def test_own_pod_takes_name_and_address_together_before_either() -> None:
    twins = (seen(0, hostname="twin"), seen(1, hostname="twin"))
    assert own_pod(twins, "twin", {"10.0.0.10"}) == twins[1]


def test_own_pod_is_never_one_that_is_over() -> None:
    replaced = (seen(0, name="a", hostname="job-0", phase="Failed"), seen(1, name="b", hostname="job-0"))
    assert own_pod(replaced, "job-0", set()) == replaced[1]


def test_two_candidates_for_the_own_pod_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"job-0, job-1 are all at 10\.0\.0\.9"):
        own_pod((seen(0), seen(1, address="10.0.0.9")), "node-a", {"10.0.0.9"})
    with pytest.raises(SettingsError, match="job-0, job-1 all go by this host's name"):
        own_pod((seen(0, hostname="twin"), seen(1, hostname="twin")), "twin", set())


def test_ranks_are_the_text_order_of_addresses() -> None:
    roster = complete(*THREE)
    assert roster.rank == 2  # 10.0.0.9 comes after 10.0.0.10 and 10.0.0.11
    assert complete(*THREE, me=THREE[1]).rank == 0


def test_ipv6_addresses_sort_by_text_beside_ipv4() -> None:
    mixed = (seen(0, address="fd00::2"), seen(1, address="fd00::10"), seen(2, address="10.0.0.9"))
    assert [peer.address for peer in complete(*mixed, me=mixed[0]).trainers] == ["10.0.0.9", "fd00::10", "fd00::2"]


def test_a_dual_stack_pod_counts_once_by_its_first_address() -> None:
    assert own_pod(THREE, "node-a", {"fd00::9", "10.0.0.9"}) == THREE[0]


def test_an_indexed_job_is_ranked_by_index() -> None:
    pods = tuple(replace(pod, index=2 - place) for place, pod in enumerate(THREE))
    assert [peer.name for peer in complete(*pods, me=pods[0]).trainers] == ["job-2", "job-1", "job-0"]
    assert complete(*pods, me=pods[0]).rank == 2
    assert complete(*pods, me=pods[0]).slots == (0, 1, 2)


def test_slots_are_known_only_where_each_trainer_has_an_index() -> None:
    pods = tuple(seen(place, index=index) for place, index in enumerate((4, 0, 2)))
    assert complete(*pods, me=pods[0]).slots == (0, 2, 4)
    some = (*pods[:2], seen(2))
    assert complete(*some, me=some[0]).slots == ()


def test_two_pods_of_one_index_wait_for_the_old_one_to_go() -> None:
    pods = (seen(0, index=0), seen(1, index=1), seen(2, index=1))
    assert "two of them with one completion index" in reason(*pods, me=pods[0])


def test_a_missing_index_falls_back_to_addresses() -> None:
    assert [peer.address for peer in ordered((Peer(address="b", index=0), Peer(address="a")))] == ["a", "b"]


SERVERS = Group(role=Role.PSERVER, selector="paddle-job-pserver=gang", expected=2, counted_by="PSERVERS")
TRAINERS = Group(role=Role.TRAINER, selector="paddle-job=gang", expected=2, counted_by="TRAINERS")
APART = {Role.PSERVER: SERVERS, Role.TRAINER: TRAINERS}


def server(number: int, owner: str, created: str, **given: object) -> Seen:
    return seen(number, name=f"{owner}-{number}", owner=owner, created=created, **given)


def test_roles_apart_take_the_newest_live_job_of_the_other_role() -> None:
    old = [server(number, "old", "2026-11-17T00:00:00Z") for number in (10, 11)]
    new = [server(number, "new", "2026-11-18T00:00:00Z") for number in (20, 21)]
    late = server(12, "old", "2026-11-18T09:00:00Z")  # a replaced pod makes an old Job no newer
    pods = {Role.PSERVER: (*old, late, *new), Role.TRAINER: THREE[:2]}
    for me, role, rank in ((THREE[0], Role.TRAINER, 1), (THREE[1], Role.TRAINER, 0)):
        roster = settle(APART, pods, me, role, "")
        assert isinstance(roster, Roster)
        assert [peer.name for peer in roster.pservers] == ["new-20", "new-21"]
        assert roster.rank == rank


def test_roles_apart_name_whom_either_role_waits_for() -> None:
    waiting = settle(APART, {Role.PSERVER: (), Role.TRAINER: THREE[:1]}, THREE[0], Role.TRAINER, "")
    assert isinstance(waiting, Waiting)
    assert "0 of 2 pservers are running: 0 pods exist, 2 expected by PSERVERS" in waiting.reason
    assert "1 of 2 trainers are running: 1 pod exists, 2 expected by TRAINERS" in waiting.reason


def test_a_pserver_is_ranked_among_the_pservers() -> None:
    servers = [server(number, "servers", "2026-11-18T00:00:00Z") for number in (20, 21)]
    roster = settle(APART, {Role.PSERVER: servers, Role.TRAINER: THREE[:2]}, servers[1], Role.PSERVER, "")
    assert isinstance(roster, Roster)
    assert (roster.rank, roster.me.name) == (1, "servers-21")


def test_the_key_is_the_trainers_jobs_on_every_pod() -> None:
    servers = [server(number, "servers", "2026-11-18T00:00:00Z") for number in (20, 21)]
    pods = {Role.PSERVER: servers, Role.TRAINER: THREE[:2]}
    for me, role, uid in ((THREE[0], Role.TRAINER, ""), (servers[0], Role.PSERVER, "servers")):
        assert settle(APART, pods, me, role, uid).key == "this-job"
    assert complete(*THREE).key == "this-job"


def test_the_key_is_known_while_the_gang_waits_as_soon_as_it_can_be() -> None:
    assert settled(*THREE[:2]).key == "this-job"
    unlisted = settle({Role.NODE: GROUP}, {Role.NODE: THREE}, None, Role.NODE, "told-job")
    assert unlisted == Waiting(reason="this pod is not listed yet under job-name=job", key="told-job")
    before = Waiting(reason="", key="this-job")
    assert settle({Role.NODE: GROUP}, {Role.NODE: ()}, None, Role.NODE, "", before).key == "this-job"


def looked(trainers: tuple[Seen, ...], before: Roster | Waiting = NONE_FOUND, created: str = "") -> Waiting:
    """Return what a pserver finds, whose Job began then, beside these trainers."""
    servers = [server(number, "servers", created or "2026-11-18T00:00:00Z") for number in (20, 21)]
    found = settle(APART, {Role.PSERVER: servers, Role.TRAINER: trainers}, servers[0], Role.PSERVER, "", before)
    assert isinstance(found, Waiting)
    return found


def met(key: str) -> Waiting:
    return Waiting(reason="", key=key, met=key)


SUCCEEDED = tuple(replace(pod, phase="Succeeded") for pod in THREE[:2])
LAST_RUNS = (THREE[0], SUCCEEDED[1])


def test_a_pserver_knows_the_trainers_job_once_it_has_a_live_pod_and_from_then_on() -> None:
    unknown, known = looked(SUCCEEDED), looked(SUCCEEDED, met("this-job"))
    assert (unknown.key, unknown.succeeded, known.key, known.succeeded) == ("", False, "this-job", True)
    assert "job-0 no longer counts (is Succeeded)" in known.reason
    assert looked((*SUCCEEDED, seen(5, owner="new")), met("old")).key == "new"


PSERVERS = {
    "a trainers' Job that is older may be the last run's": (
        (LAST_RUNS, NONE_FOUND, "2026-11-18T09:00:00Z"),
        ("", False),
    ),
    "one that is newer is this run's, and has not been met": ((LAST_RUNS, NONE_FOUND, ""), ("this-job", False)),
    "one that was met is this run's": ((LAST_RUNS, met("this-job"), "2026-11-18T09:00:00Z"), ("this-job", True)),
    "another than the one that was met": ((LAST_RUNS, met("other"), ""), ("this-job", False)),
}


@pytest.mark.parametrize("case", PSERVERS)
def test_a_pserver_believes_the_success_only_of_the_trainers_that_it_has_met(case: str) -> None:
    (trainers, before, created), expected = PSERVERS[case]
    found = looked(trainers, before, created)
    assert (found.key, found.succeeded) == expected
    assert found.met == before.met


def test_a_gang_that_was_complete_was_met() -> None:
    pods = {Role.NODE: (THREE[0], *SUCCEEDED)}
    found = settle({Role.NODE: GROUP}, pods, THREE[0], Role.NODE, "", complete(*THREE))
    assert isinstance(found, Waiting)
    assert (found.key, found.met) == ("this-job", "this-job")


# What stands beside three healthy pods: another Job's pod, since when it is seen being deleted, and the first moment
# at which it holds up the start no more (25 s after its grace of 5). It is second 100 now.
OLD = seen(7, name="old-7", owner="older-job", node="node-a", grace=5.0)
ENDLESS = math.inf
HOLDS = {
    "running": (OLD, {}, ENDLESS),
    "still to come": (replace(OLD, phase="Pending", address=""), {}, ENDLESS),
    "adopted by label only": (replace(OLD, owner=""), {}, ENDLESS),
    "of a node that is lost": (replace(OLD, phase="Unknown"), {}, ENDLESS),
    "being deleted": (replace(OLD, leaving=True), {"uid-7": 90.0}, 120.0),
    "deleted for long": (replace(OLD, leaving=True), {"uid-7": 70.0}, None),
    "ended well": (replace(OLD, phase="Succeeded"), {}, None),
    "failed": (replace(OLD, phase="Failed", leaving=True), {"uid-7": 99.0}, None),
    "this Job's own": (replace(OLD, owner="this-job", leaving=True), {"uid-7": 99.0}, None),
}


def held(*pods: Seen, hold: Hold, before: Roster | Waiting = NONE_FOUND) -> Roster | Waiting:
    return settle({Role.NODE: GROUP}, {Role.NODE: pods}, THREE[0], Role.NODE, "", before, hold)


@pytest.mark.parametrize("case", HOLDS)
def test_a_pod_of_an_earlier_job_holds_up_the_start_until_nothing_of_it_can_run(case: str) -> None:
    pod, since, until = HOLDS[case]
    found = held(*THREE, pod, hold=Hold(now=100.0, since=since, beyond=25.0))
    if until is None:
        assert isinstance(found, Roster)
        return
    assert isinstance(found, Waiting)
    assert found.reason.startswith("1 pod of an earlier Job of this name is still ending: old-7 on node-a (")
    assert (found.until, found.key) == (until, "this-job")
    assert found.running == tuple(("Running", peer.address) for peer in complete(*THREE).trainers)


def test_without_a_record_of_runs_only_the_pods_end_is_the_end() -> None:
    found = held(*THREE, replace(OLD, leaving=True), hold=Hold(now=1e9, since={"uid-7": 0.0}))
    assert isinstance(found, Waiting)
    assert found.until == math.inf


def test_pods_of_earlier_jobs_are_named_with_their_nodes_and_what_ends_them() -> None:
    leaving = replace(OLD, name="old-1", leaving=True, node="node-b")
    many = [replace(OLD, name=f"older-{number}", node="") for number in range(6)]
    found = held(*THREE, OLD, leaving, hold=Hold())
    assert isinstance(found, Waiting)
    assert found.reason == (
        "2 pods of an earlier Job of this name are still ending: old-1 on node-b (being deleted), "
        "old-7 on node-a (Running: kubectl delete pod old-7)"
    )
    found = held(*THREE[:2], *many, hold=Hold())
    assert isinstance(found, Waiting)
    assert "2 of 3 pods are running: " in found.reason
    assert "; 6 pods of an earlier Job of this name are still ending: older-0 on no node yet (" in found.reason
    assert found.reason.endswith(", and 1 more")


def test_a_gang_that_met_waits_for_no_earlier_job_any_more() -> None:
    assert isinstance(held(*THREE, OLD, hold=Hold(), before=complete(*THREE)), Roster)
    assert isinstance(held(*THREE, OLD, hold=Hold(), before=met("this-job")), Roster)


def test_since_when_a_pod_is_seen_being_deleted_is_kept_as_long_as_it_is_listed() -> None:
    pods = (replace(OLD, leaving=True), seen(1), seen(2, leaving=True))
    assert leaving_since({"uid-7": 3.0, "gone": 1.0}, pods, 9.0) == {"uid-7": 3.0, "uid-2": 9.0}


@pytest.mark.parametrize(
    ("third", "over"),
    [
        (seen(2, phase="Succeeded"), True),
        (seen(2, phase="Succeeded", leaving=True), True),
        (seen(2, phase="Failed"), False),
        (seen(2, phase="Succeeded", owner="older-job"), False),
        (seen(2, phase="Succeeded", owner=""), False),
    ],
)
def test_a_pod_of_this_job_that_succeeded_says_that_the_training_is_over(third: Seen, over: bool) -> None:  # a table
    found = settled(*THREE[:2], third)
    assert isinstance(found, Waiting)
    assert found.succeeded is over


def test_a_pserver_that_succeeded_says_nothing_of_the_training() -> None:
    servers = [server(20, "servers", "2026-11-18T00:00:00Z", phase="Succeeded")]
    found = settle(APART, {Role.PSERVER: servers, Role.TRAINER: THREE[:2]}, THREE[0], Role.TRAINER, "")
    assert isinstance(found, Waiting)
    assert not found.succeeded


def test_the_members_are_in_rank_order_the_leader_first_and_have_names_for_people() -> None:
    roster = complete(*THREE)
    assert roster.members == tuple((Role.NODE, peer) for peer in roster.trainers)
    assert [roster.name_of(*member) for member in roster.members] == [
        "node 0 (10.0.0.10, job-1)",
        "node 1 (10.0.0.11, job-2)",
        "node 2 (10.0.0.9, job-0)",
    ]
    by_list = tuple(Peer(address=text, name=text) for text in ADDRESSES[:2])
    alone = Roster(pservers=by_list, trainers=by_list, me=by_list[0], role=Role.NODE)
    assert alone.name_of(Role.NODE, by_list[1]) == "node 1 (10.0.0.10)"


def test_the_members_of_roles_apart_are_the_trainers_and_then_the_pservers_on_every_pod() -> None:
    servers = [server(number, "servers", "2026-11-18T00:00:00Z") for number in (20, 21)]
    pods = {Role.PSERVER: servers, Role.TRAINER: THREE[:2]}
    for me, role in ((THREE[0], Role.TRAINER), (servers[0], Role.PSERVER)):
        roster = settle(APART, pods, me, role, "")
        assert isinstance(roster, Roster)
        assert [roster.name_of(*member) for member in roster.members] == [
            "trainer 0 (10.0.0.10, job-1)",
            "trainer 1 (10.0.0.9, job-0)",
            "pserver 0 (10.0.0.29, servers-20)",
            "pserver 1 (10.0.0.30, servers-21)",
        ]


def test_pods_without_an_owner_are_nobodys_newest_job() -> None:
    assert newest_owner((seen(0, owner=""), seen(1, owner="done", phase="Succeeded"))) == ""
    assert newest_owner(()) == ""


pods = st.builds(
    Seen,
    name=st.integers(0, 30).map("job-{}".format),
    uid=st.integers(0, 30).map("uid-{}".format),
    phase=st.sampled_from(["Running", "Running", "Pending", "Succeeded", "Failed", "Unknown", ""]),
    address=st.one_of(st.just(""), st.ip_addresses().map(str)),
    leaving=st.sampled_from([False, False, True]),
    owner=st.sampled_from(["this-job", "this-job", "another", ""]),
    index=st.one_of(st.none(), st.integers(0, 5)),
)


@given(st.lists(pods, unique_by=(lambda pod: pod.uid, lambda pod: pod.name)), st.integers(1, 4), st.randoms())
def test_every_order_of_what_is_seen_gives_every_pod_the_same_roster(listed: list[Seen], expected: int, luck) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    group = replace(GROUP, expected=expected)
    shuffled = luck.sample(listed, len(listed))
    members = [pod for pod in listed if pod.owner == "this-job" and pod.live]
    rosters = []
    for me in members:
        try:
            one, other = settled(*listed, me=me, group=group), settled(*shuffled, me=me, group=group)
        except SettingsError:
            return  # two at one address: refused on every pod
        assert one == other
        if isinstance(one, Waiting):
            continue
        assert len(members) == expected
        rosters.append(one)
    if rosters:
        assert len({roster.digest for roster in rosters}) == 1
        assert sorted(roster.rank for roster in rosters) == list(range(expected))


@given(st.lists(pods), st.integers(1, 4))
def test_a_roster_is_never_of_another_number_than_expected(listed: list[Seen], expected: int) -> None:
    for me in listed:
        try:
            found = settled(*listed, me=me, group=replace(GROUP, expected=expected))
        except SettingsError:
            continue
        assert isinstance(found, Waiting) or len(found.trainers) == expected


WIDTH = Width(least=2, most=3, settle=0.0, shrink_after=0.0, resize=Resize.PASS)
FOUR = tuple(Peer(address=f"10.0.0.{number}", index=number) for number in range(4))


def all_four(me: int = 0, role: Role = Role.NODE) -> Roster:
    pservers = (Peer(address="10.0.1.1"),) if role is not Role.NODE else FOUR
    mine = pservers[0] if role is Role.PSERVER else FOUR[me]
    return Roster(pservers=pservers, trainers=FOUR, me=mine, role=role, key="k")


def test_the_first_of_those_that_are_not_left_out_take_part_and_the_others_are_spares() -> None:
    found = all_four().narrowed((), WIDTH, 2)
    assert isinstance(found, Roster)
    assert (found.trainers, found.pservers, found.slots) == (FOUR[:3], FOUR[:2], (0, 1, 2))
    without = all_four().narrowed((FOUR[1].address,), WIDTH, 2)
    assert isinstance(without, Roster)
    assert without.slots == (0, 2, 3)
    for role in (Role.TRAINER, Role.PSERVER):
        apart = all_four(role=role).narrowed((), WIDTH, 2)
        assert isinstance(apart, Roster)
        assert (len(apart.trainers), [each.address for each in apart.pservers]) == (3, ["10.0.1.1"])


def test_pservers_are_in_the_first_pods_that_are_there_and_the_next_takes_the_place_of_one_that_is_not() -> None:
    for left_out, serving in (((), (0, 1)), ((0,), (1, 2)), ((2,), (0, 1))):
        gone = tuple(FOUR[each].address for each in left_out)
        there = [each for each in range(4) if each not in left_out][:3]
        rosters = {each: all_four(each).narrowed(gone, WIDTH, 2) for each in there}
        assert tuple(at for at, found in rosters.items() if isinstance(found, Roster) and found.serves) == serving
    assert all(all_four(each).serves for each in range(4))
    assert [all_four(role=role).serves for role in (Role.PSERVER, Role.TRAINER)] == [True, False]


@pytest.mark.parametrize(
    ("me", "left_out", "width", "reason", "spare"),
    [
        (3, (), WIDTH, "this pod is a spare: 3 take part", True),
        (1, (FOUR[1].address,), WIDTH, "this pod is a spare: the first pod does not hear it", True),
        (2, (), replace(WIDTH, unit=2), "this pod is a spare: 2 take part", True),
        (
            0,
            tuple(each.address for each in FOUR[1:]),
            WIDTH,
            "1 of 2 to 3 are there: waiting for more",
            False,
        ),
    ],
)
def test_who_takes_no_part_waits_and_says_why(
    me: int, left_out: tuple[str, ...], width: Width, reason: str, spare: bool
) -> None:
    found = all_four(me).narrowed(left_out, width, 2)
    assert isinstance(found, Waiting)
    assert (found.reason, found.spare, found.key) == (reason, spare, "k")


def test_without_completion_indexes_there_are_no_slots() -> None:
    some = replace(all_four(), trainers=(*FOUR[:2], Peer(address="10.0.0.9")))
    assert (all_four().slots, some.slots) == ((0, 1, 2, 3), ())
