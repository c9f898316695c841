"""What a Job does around pods that are told to stop, or lost, as a table: `python -m tests.cluster.elastic.policies`.

A pod here stands in for a launcher: told to end it takes 15 s of its grace of 20, and leaves with 143. Each notes
when it began, was told and ended, by the clock that all nodes of a ground share.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.elastic.page import put
from tests.cluster.kubectl import Kubectl
from tests.cluster.namespaces import own
from tests.cluster.pods import job, spec
from tests.grounds.cluster import Ground
from tests.grounds.cluster.images import box
from tests.support.waiting import wait_until

Json = dict[str, Any]

HOST = "kubernetes.io/hostname"
REPLACED = "`podReplacementPolicy`, `podFailurePolicy`"
LIMITED, UNLIMITED = "of `backoffLimit`", "with `backoffLimit: 0`"
ENDS, GRACE = 15, 20  # seconds
LIMIT = 6
WATCHED = 45  # seconds: longer than grace and the Job's own delay of 10 s after a failure
GIVEN_UP = 60
TOLD = "/told"
SCRIPT = f"""
say() {{ read up _ < /proc/uptime; echo "$JOB $JOB_COMPLETION_INDEX $POD $1 $up" >> {TOLD}/lives; }}
trap 'trap "" TERM; say told; sleep {ENDS}; say ended; exit 143' TERM
say began
[ "$JOB_COMPLETION_INDEX" != "$DONE" ] || {{ sleep 5; say ended; exit 0; }}
sleep 1000 & wait
"""
DISRUPTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
OBEYED = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [143]}}
POLICIES: dict[str, tuple[str, Json]] = {
    "either": ("`TerminatingOrFailed` (the default)", {"podReplacementPolicy": "TerminatingOrFailed"}),
    "failed": ("`Failed`", {"podReplacementPolicy": "Failed"}),
    "disrupted": (
        "`Failed`, disruptions ignored",
        {"podReplacementPolicy": "Failed", "podFailurePolicy": {"rules": [DISRUPTED]}},
    ),
    "obeyed": (
        "`Failed`, disruptions and exit code 143 ignored",
        {"podReplacementPolicy": "Failed", "podFailurePolicy": {"rules": [DISRUPTED, OBEYED]}},
    ),
}
EVENTS = {
    "suspend": "suspended, and resumed while its pod ends",
    "scale": "scaled from 2 to 1, and to 2 again while index 1 ends",
    "delete": "pod deleted",
    "evict": "pod evicted, as a drain does",
}
# A node without power, and what then helps; the pods are on that node.
REMEDIES = {
    "force": ("`kubectl delete pod --force`", "node-3"),
    "taint": ("the taint `out-of-service`", "node-3"),
    "node": ("`kubectl delete node`", "node-4"),
}
LOST = sorted({node for _, node in REMEDIES.values()})
SUCCESS: dict[str, tuple[str, Json]] = {
    "count": ("`succeededCount: 1`, without an index", {"successPolicy": {"rules": [{"succeededCount": 1}]}}),
    "index": ('`succeededIndexes: "0"`', {"successPolicy": {"rules": [{"succeededIndexes": "0"}]}}),
    "none": ("none", {}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A Job of one policy and limit that one thing happens to."""

    event: str
    policy: str
    limit: int

    @property
    def name(self) -> str:
        """The Job's name."""
        return f"{self.event}-{self.policy}-{self.limit}"

    @property
    def pods(self) -> int:
        """How many pods it has."""
        return 2 if self.event == "scale" else 1

    def manifest(self, place: Path) -> Json:
        """Return the Job."""
        node = REMEDIES.get(self.event, ("", ""))[1]
        return job(
            self.name, template(self.name, place, node=node), completionMode="Indexed", completions=self.pods,
            parallelism=self.pods, backoffLimit=self.limit, **POLICIES[self.policy][1],
        )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Life:
    """A pod's life, in seconds since the machine started."""

    job: str
    index: int
    pod: str
    began: float = 0.0
    told: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of a case: what it cost, and the two lives of its pod."""

    failed: int
    ended: bool
    lives: tuple[Life, ...]


CASES = tuple(
    Case(event=event, policy=policy, limit=limit)
    for event in (*EVENTS, *REMEDIES)
    for policy in POLICIES
    for limit in (LIMIT, 0)
)


def main(words: Sequence[str]) -> int:
    """Measure, tell the tables, and put them into the page where `--write` asks for it."""
    with tempfile.TemporaryDirectory(prefix="policies-") as name, Ground.start(nodes=4) as ground:
        place = Path(name)
        for each in (place, place / "told"):
            each.mkdir(exist_ok=True)
            each.chmod(0o777)
        ground.load_image(box(place / "box.tar"))
        with own(ground.kubectl) as kubectl:
            text = measured(ground, kubectl, place / "told")
    print(text)
    if "--write" in words:
        put("policies", text)
    return 0


def measured(ground: Ground, kubectl: Kubectl, place: Path) -> str:
    """Let everything happen, and return the tables."""
    kubectl.apply(*(case.manifest(place) for case in CASES))
    wanted = sum(case.pods for case in CASES)
    wait_until(lambda: len(lives(place)) == wanted, timeout=240, every=0.5)
    kubectl.apply(*(ending(name, place) for name in SUCCESS))
    happen(kubectl, place)
    watch(WATCHED)
    first = found(kubectl, place)
    succeeded = {name: completed(kubectl, f"success-{name}") for name in SUCCESS}
    return f"{stopped(first)}\n\n{after_a_loss(ground, kubectl, place)}\n\n{success_table(succeeded)}"


def after_a_loss(ground: Ground, kubectl: Kubectl, place: Path) -> str:
    """Take two nodes' power, look whether their pods are replaced, try each remedy, and return the table."""
    struck = {"": uptime()}
    for number in (3, 4):
        ground.node(number).stop()
    watch(GIVEN_UP)
    unaided = found(kubectl, place)
    forced = pods_of(kubectl, [case for case in CASES if case.event == "force"], REMEDIES["force"][1])
    struck["force"] = uptime()
    kubectl("delete", "pod", "--force", "--grace-period=0", "--wait=false", *forced)
    struck["node"] = uptime()
    kubectl("delete", "node", REMEDIES["node"][1])
    watch(GIVEN_UP)
    halfway = found(kubectl, place)  # the taint helps those that were forced as well
    struck["taint"] = uptime()
    kubectl("taint", "node", REMEDIES["taint"][1], "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
    watch(WATCHED)
    return lost_table(struck, unaided, halfway, found(kubectl, place))


def watch(seconds: float) -> None:
    """Let so much time go."""
    until = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > until, timeout=seconds + 5, every=0.5)


def happen(kubectl: Kubectl, place: Path) -> None:
    """Let all but the loss of a node happen."""
    suspended, scaled = names("suspend"), names("scale")
    patch(kubectl, suspended, {"suspend": True})
    patch(kubectl, scaled, {"parallelism": 1, "completions": 1})
    wait_until(
        lambda: {life.job for life in lives(place) if life.told} >= {*suspended, *scaled}, timeout=30, every=0.2
    )
    patch(kubectl, suspended, {"suspend": False})
    patch(kubectl, scaled, {"parallelism": 2, "completions": 2})
    deleted = pods_of(kubectl, [case for case in CASES if case.event == "delete"])
    kubectl("delete", "pod", "--wait=false", *deleted)
    for pod in pods_of(kubectl, [case for case in CASES if case.event == "evict"]):
        evict(kubectl, pod)


def names(event: str) -> list[str]:
    """Return the Jobs that something happens to."""
    return [case.name for case in CASES if case.event == event]


def patch(kubectl: Kubectl, jobs: Iterable[str], change: Json) -> None:
    """Change the specs of Jobs."""
    kubectl("patch", "job", *jobs, "--type=merge", "-p", json.dumps({"spec": change}))


def evict(kubectl: Kubectl, pod: str) -> None:
    """Evict a pod."""
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    where = f"/api/v1/namespaces/{kubectl.namespace}/pods/{pod}/eviction"
    kubectl("create", "--raw", where, "--filename", "-", stdin=json.dumps(eviction))


def pods_of(kubectl: Kubectl, cases: Iterable[Case], node: str = "") -> list[str]:
    """Return the pods of cases, of one node where one is named."""
    wanted = {case.name for case in cases}
    return [
        each["metadata"]["name"]
        for each in kubectl.items("pods")
        if each["metadata"]["labels"].get("job-name") in wanted and node in ("", each["spec"].get("nodeName"))
    ]


def template(name: str, place: Path, *, node: str = "", done: str = "-") -> Json:
    """Return a pod's spec: on a node that will be lost, where one is named, or kept off them."""

    def on(operator: str, *nodes: str) -> Json:
        return {"matchExpressions": [{"key": HOST, "operator": operator, "values": nodes}]}

    where: Json = (
        {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": on("In", node)}]}
        if node
        else {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [on("NotIn", *LOST)]}}
    )
    # Both pods of an index have the same host name.
    pod = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    given = [pod, {"name": "JOB", "value": name}, {"name": "DONE", "value": done}]
    return spec(
        SCRIPT,
        container={"env": given, "volumeMounts": [{"name": "told", "mountPath": TOLD}]},
        volumes=[{"name": "told", "hostPath": {"path": str(place)}}],
        affinity={"nodeAffinity": where},
        terminationGracePeriodSeconds=GRACE,
        enableServiceLinks=False,
    )


def ending(name: str, place: Path) -> Json:
    """Return a Job of two pods whose index 1 succeeds, while index 0 never ends by itself."""
    whole = f"success-{name}"
    return job(
        whole, template(whole, place, done="1"), completionMode="Indexed", completions=2, parallelism=2,
        backoffLimit=LIMIT, podReplacementPolicy="Failed", **SUCCESS[name][1],
    )  # fmt: skip


def uptime() -> float:
    """Return the clock of the pods' notes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def lives(place: Path) -> list[Life]:
    """Return the lives of all pods so far, by their notes, in the order of their beginnings."""
    noted: dict[str, Life] = {}
    path = place / "lives"
    for line in path.read_text().splitlines() if path.exists() else ():
        name, index, pod, word, at = line.split()
        life = noted.setdefault(pod, Life(job=name, index=int(index), pod=pod))
        setattr(life, word, float(at))
    return sorted(noted.values(), key=lambda life: life.began)


def found(kubectl: Kubectl, place: Path) -> dict[str, Found]:
    """Return what became of each Job so far."""
    all_lives = lives(place)
    return {
        each["metadata"]["name"]: Found(
            failed=each["status"].get("failed", 0),
            ended="Failed" in conditions(each),
            lives=tuple(life for life in all_lives if life.job == each["metadata"]["name"]),
        )
        for each in kubectl.items("jobs")
    }


def conditions(made: Json) -> list[str]:
    """Return what a Job says of itself."""
    return [each["type"] for each in made["status"].get("conditions", []) if each["status"] == "True"]


def completed(kubectl: Kubectl, name: str) -> bool:
    """Return whether a Job is complete."""
    return "Complete" in conditions(kubectl.get("job", name))


def of_index(which: Found, index: int) -> Iterator[Life]:
    """Return the lives of one index."""
    return (life for life in which.lives if life.index == index)


def row(*cells: object) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def stopped(results: dict[str, Found]) -> str:
    """Return the table of pods that were told to stop."""
    rows = [
        row("what happens", REPLACED, LIMITED, UNLIMITED, "new pod runs after", "two of one index at once for"),
        "| --- | --- | ---: | --- | ---: | ---: |",
    ]
    for event, title in EVENTS.items():
        for policy, (words, _) in POLICIES.items():
            soft, hard = (results[Case(event=event, policy=policy, limit=limit).name] for limit in (LIMIT, 0))
            index = 1 if event == "scale" else 0
            rows.append(row(title, words, soft.failed, fate(hard), *replaced(tuple(of_index(soft, index)))))
    return "\n".join(rows)


def fate(which: Found) -> str:
    """Return how a Job stands."""
    return "Failed" if which.ended else "goes on"


def replaced(pods: tuple[Life, ...]) -> tuple[str, str]:
    """Return how long after the word a new pod ran, and how long both did."""
    if len(pods) < 2 or pods[0].told is None:
        return "none came", "-"
    old, new = pods[:2]
    told = old.told or 0.0
    both = (old.ended or told + GRACE) - new.began
    return f"{new.began - told:.1f} s", f"{both:.1f} s" if both > 0 else "no"


def lost_table(
    struck: dict[str, float], unaided: dict[str, Found], halfway: dict[str, Found], last: dict[str, Found]
) -> str:
    """Return the table of lost nodes."""
    titles = [title for title, _ in REMEDIES.values()]
    rows = [
        row(
            REPLACED, f"new pod runs within {GIVEN_UP} s", *(f"after {title}" for title in titles), LIMITED, UNLIMITED
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for policy, (words, _) in POLICIES.items():
        names = {event: Case(event=event, policy=policy, limit=LIMIT).name for event in REMEDIES}
        hard = Case(event="taint", policy=policy, limit=0).name
        at = {"force": halfway, "node": halfway, "taint": last}
        cells = [began_after(at[event][name], struck[event]) for event, name in names.items()]
        cost = last[names["taint"]].failed
        rows.append(row(words, began_after(unaided[names["taint"]], struck[""]), *cells, cost, fate(last[hard])))
    return "\n".join(rows)


def began_after(which: Found, since: float) -> str:
    """Return how long after a moment the second life began, if it did."""
    began = [life.began - since for life in which.lives[1:]]
    return f"{began[0]:.1f} s" if began and began[0] > 0 else "-" if began else "none"


def success_table(succeeded: dict[str, bool]) -> str:
    """Return the table of Jobs of which index 1 succeeded and index 0 never ends."""
    rows = ["| `successPolicy` | index 1 left with 0, index 0 does not end |", "| --- | --- |"]
    rows += [
        f"| {words[0]} | {'Complete' if succeeded[name] else f'goes on, still after {WATCHED} s'} |"
        for name, words in SUCCESS.items()
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
