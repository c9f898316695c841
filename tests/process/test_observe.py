"""`k8s/observe`: a real Prometheus scrapes a real gang by its rules, and answers each query of the dashboard."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher.contract import JOB_LABEL, STATUS_PORT
from launcher.job import PaddleJob
from tests.support.manifests import CAREFUL, JOBS, K8S, Json
from tests.support.seen import Seen, seen
from tests.support.talking import free_port
from tests.support.waiting import wait_until

OBSERVE = K8S / "observe"
PROMETHEUS = shutil.which("prometheus")
DASHBOARD: Json = json.loads((OBSERVE / "grafana/dashboard.json").read_text())
PANELS: list[Json] = DASHBOARD["panels"]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
VARIABLES = {each["name"]: each for each in DASHBOARD["templating"]["list"] if each["type"] == "query"}
CHOSEN = {"namespace": "team", "job": "my-job", "metric": "loss", "__rate_interval": "8s"}
# Two windows of ten seconds, after which the leader knows who is slow, and what that takes to be seen.
PATIENCE = 60.0
pytestmark = pytest.mark.timeout(150)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """Where it answers."""

    address: str

    def ask(self, path: str, **fields: str) -> Any:  # noqa: ANN401  # JSON
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(fields)}"
        with urllib.request.urlopen(url, timeout=10) as answer:  # this machine's
            found = json.load(answer)
        assert found["status"] == "success"
        return found["data"]

    def values(self, query: str) -> list[float]:
        """Return the values of all series that a query has now; no number is none."""
        found = self.ask("query", query=query)["result"]
        values = [float(each["value"][1]) for each in found]
        return values if all(map(math.isfinite, values)) else []


def found_pod(address: str, name: str, job: str, **more: str) -> Json:
    """Return a pod as the discovery of Kubernetes has it for Prometheus."""
    told = {
        "namespace": "team", "pod_name": name, "pod_ip": address, "pod_phase": "Running",
        "pod_annotation_prometheus_io_scrape": "true", "pod_annotation_prometheus_io_port": str(STATUS_PORT),
        "pod_label_batch_kubernetes_io_job_name": job, **more,
    }  # fmt: skip
    return {"targets": [address], "labels": {f"__meta_kubernetes_{key}": each for key, each in told.items()}}


def configured(found: Seen) -> Json:
    """Return the configuration that is shipped, with the pods of this machine in the place of Kubernetes' own."""
    whole: Json = yaml.safe_load((OBSERVE / "prometheus/prometheus.yml").read_text())
    (scrape,) = whole["scrape_configs"]
    assert scrape.pop("kubernetes_sd_configs") == [{"role": "pod"}]
    ours = {"pod_label_paddle_launcher_job": "my-job"}
    pods = [found_pod(found.gang.address(rank), f"pod-{rank}", "my-job-trainer", **ours) for rank in (0, 1)]
    others = [
        found_pod("127.0.0.1", "not-asked-for", "x", pod_annotation_prometheus_io_scrape="false"),
        found_pod("127.0.0.1", "finished", "x", pod_phase="Succeeded"),
        found_pod("127.0.0.1", "an-init-container", "x", pod_container_init="true"),
        found_pod("127.0.0.1", "by-its-own-job", "other"),
    ]
    return {**whole, "scrape_configs": [{**scrape, "scrape_interval": "1s", "static_configs": [*pods, *others]}]}


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """One that scrapes a gang each second."""
    if PROMETHEUS is None:
        pytest.skip("there is no prometheus here (Debian: apt-get install prometheus)")
    top = tmp_path_factory.mktemp("observe")
    with seen(2, top) as found:
        wait_until(lambda: found.gang.launcher(0).phase == "training", timeout=40)
        (top / "prometheus.yml").write_text(yaml.safe_dump(configured(found)))
        address = f"127.0.0.1:{free_port()}"
        words = (
            PROMETHEUS, f"--config.file={top / 'prometheus.yml'}", f"--storage.tsdb.path={top / 'data'}",
            f"--web.listen-address={address}", "--log.level=warn",
        )  # fmt: skip
        with (top / "log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
            try:
                made = Prometheus(address=address)
                wait_until(lambda: answers(made) or process.poll() is not None, timeout=30)
                assert process.poll() is None, (top / "log").read_text()
                yield made
            finally:
                process.kill()


def answers(prometheus: Prometheus) -> bool:
    try:
        return bool(prometheus.ask("targets"))
    except (OSError, AssertionError):
        return False


def filled(query: str) -> str:
    return re.sub(r"\$\{?(\w+)\}?", lambda name: CHOSEN[name[1]], query)


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[f"{title}: {query[:30]}" for title, query in QUERIES])
def test_each_query_of_the_dashboard_has_an_answer(prometheus: Prometheus, title: str, query: str) -> None:
    found = wait_until(lambda: prometheus.values(filled(query)), timeout=PATIENCE, every=0.5)
    assert found, f"{title}: nothing for {filled(query)}"


def test_the_dashboards_choices_are_what_there_is(prometheus: Prometheus) -> None:
    for name, variable in VARIABLES.items():
        selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()  # type: ignore[union-attr]
        query = f"count by ({label}) ({filled(selector)})"

        def offered(query: str = query, label: str = label) -> list[str]:
            return [each["metric"][label] for each in prometheus.ask("query", query=query)["result"]]

        wait_until(lambda name=name, offered=offered: CHOSEN[name] in offered(), timeout=PATIENCE)  # type: ignore[misc]


def test_the_slow_rank_has_the_smaller_pace_and_the_larger_skew(prometheus: Prometheus) -> None:
    def by_rank(title: str) -> Callable[[], dict[str, float]]:
        (query,) = (query for each, query in QUERIES if each == title)

        def look() -> dict[str, float]:
            found = prometheus.ask("query", query=filled(query))["result"]
            return {each["metric"]["rank"]: float(each["value"][1]) for each in found}

        return look

    pace, skew = by_rank("Steps per busy second"), by_rank("Skew")
    wait_until(lambda: len(pace()) == 2 and pace()["1"] < pace()["0"], timeout=PATIENCE)
    wait_until(lambda: len(skew()) == 2 and skew()["1"] > skew()["0"], timeout=PATIENCE)


def test_the_rules_scrape_the_pods_that_ask_for_it_by_the_names_of_their_jobs(prometheus: Prometheus) -> None:
    found = prometheus.ask("targets")["activeTargets"]
    labels = sorted((each["labels"]["pod"], each["labels"]["job"], each["labels"]["namespace"]) for each in found)
    assert labels == [
        ("by-its-own-job", "other", "team"), ("pod-0", "my-job", "team"), ("pod-1", "my-job", "team"),
    ]  # fmt: skip
    assert {each["scrapeUrl"].partition(":7170")[2] for each in found} == {"/metrics"}


def test_the_dashboard_can_be_drawn() -> None:
    """Each panel has a place of its own, a title, a query for each letter, and the data source that is chosen."""
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    taken = set[tuple[int, int]]()
    for panel in PANELS:
        at = panel["gridPos"]
        place = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not place & taken, panel["title"]
        assert max(x for x, _ in place) < 24
        taken |= place
        assert panel["title"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
        assert {each["datasource"]["uid"] for each in (panel, *panel["targets"])} == {"${datasource}"}
    titles = [panel["title"] for panel in PANELS]
    assert len(set(titles)) == len(titles)
    page = (OBSERVE / "README.md").read_text()
    assert all(title in page for title in titles), [title for title in titles if title not in page]


def test_the_pod_monitor_and_the_policy_take_the_pods_of_jobs() -> None:
    monitor: Json = yaml.safe_load((OBSERVE / "operator/pod-monitor.yaml").read_text())
    policy: Json = yaml.safe_load((OBSERVE / "network-policy.yaml").read_text())
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    for each in (monitor["spec"]["selector"], policy["spec"]["podSelector"]):
        assert each == {"matchExpressions": [{"key": "batch.kubernetes.io/job-name", "operator": "Exists"}]}
    (rule,) = policy["spec"]["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": STATUS_PORT}]
    careful = [job for job in JOBS if job.path.parent.name in CAREFUL]
    assert careful
    assert all({"name": endpoint["port"], "containerPort": STATUS_PORT} in job.container["ports"] for job in careful)
    assert endpoint["path"] == "/metrics"
    rules: Json = yaml.safe_load((OBSERVE / "prometheus/prometheus.yml").read_text())
    mine = [
        {"sourceLabels": each["source_labels"], "targetLabel": each["target_label"],
         **({"regex": each["regex"]} if "regex" in each else {})}
        for each in rules["scrape_configs"][0]["relabel_configs"] if each.get("target_label") == "job"
    ]  # fmt: skip
    assert endpoint["relabelings"] == mine, "both name a job alike"


def test_the_annotations_are_those_by_which_pods_are_scraped() -> None:
    page = (OBSERVE / "README.md").read_text()
    (shown,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    annotations = yaml.safe_load(shown)["spec"]["template"]["metadata"]["annotations"]
    typed = dict(re.findall(r"-annotation (\S+)=(\S+)", page))
    assert annotations == typed == {"prometheus.io/scrape": "true", "prometheus.io/port": str(STATUS_PORT)}
    job = PaddleJob(job_name="j", entry_point="x", runtime_image="i", together=True, annotations=typed)
    (made,) = (each for each in job.manifests() if each["kind"] == "Job")
    pod = made["spec"]["template"]["metadata"]
    assert typed.items() <= pod["annotations"].items()
    assert pod["labels"][JOB_LABEL] == "j"
