"""What the Jobs of k8s/ say: a launcher accepts it, and the careful ones are careful."""

from __future__ import annotations

from launcher.pod.peers.from_api import wanted
from launcher.pod.settings.nouns import Role
from tests.support.manifests import CAREFUL, JOBS, NAME, Job, jobs

launching = jobs(lambda job: job.launches)
careful = jobs(lambda job: job.path.parent.name in CAREFUL)


@launching
def test_a_launcher_accepts_the_environment(job: Job) -> None:
    settings = job.settings()
    (volume,) = [mount["name"] for mount in job.container["volumeMounts"] if mount["mountPath"] == "/home/jobpath"]
    assert str(settings.job_path) == "/home/jobpath"
    assert volume in [each["name"] for each in job.pod["volumes"]]


@launching
def test_as_many_are_expected_as_there_are_pods(job: Job) -> None:
    settings = job.settings()
    expected = settings.pservers if settings.role is Role.PSERVER else settings.trainers
    assert job.spec["parallelism"] == job.spec["completions"] == expected


@launching
def test_the_pods_have_the_label_by_which_they_are_looked_for(job: Job) -> None:
    settings = job.settings()
    labels = {"job-name": job.name, **job.spec["template"]["metadata"].get("labels", {})}
    name, _, value = wanted(settings)[settings.role].selector.partition("=")
    assert labels[name] == value


@launching
def test_the_children_s_grace_ends_before_the_pod_s(job: Job) -> None:
    assert job.settings().timing.grace < job.pod.get("terminationGracePeriodSeconds", 30)


def test_both_separated_jobs_say_the_same_but_for_their_part() -> None:
    pserver, trainer = (job.settings() for job in JOBS if job.path.parent.name == "separated")
    assert (pserver.role, trainer.role) == (Role.PSERVER, Role.TRAINER)
    for field in ("pservers", "trainers", "gang", "job_dir", "ports"):
        assert getattr(pserver, field) == getattr(trainer, field)


@jobs()
def test_names_leave_room_for_what_is_added_to_them(job: Job) -> None:
    # A random suffix of five, or the highest index; a pod's name becomes a label and a host name.
    suffix = max(5, len(str(job.spec.get("completions", 1) - 1)))
    assert NAME.fullmatch(job.name)
    assert len(job.name) + 1 + suffix <= 63


@jobs(lambda job: job.path.parent.name in CAREFUL and job.path.parent.name != "elastic")
def test_a_verdict_of_all_ends_the_job_and_a_lost_pod_is_replaced(job: Job) -> None:
    assert job.spec["backoffLimit"] == job.spec["parallelism"] - 1
    assert job.pod["restartPolicy"] == "Never"
    assert not {"podFailurePolicy", "podReplacementPolicy"} & set(job.spec)
    a_dead_node_is_seen_soon(job)


@jobs(lambda job: job.path.parent.name == "elastic")
def test_an_elastic_job_outlives_disruptions_and_never_has_two_pods_of_one_index(job: Job) -> None:
    first, second = job.spec["podFailurePolicy"]["rules"]
    assert first == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    assert second["onExitCodes"]["containerName"] == job.container["name"]
    assert "backoffLimit" not in job.spec
    assert job.spec["podReplacementPolicy"] == "Failed"
    assert job.spec["successPolicy"] == {"rules": [{"succeededCount": 1}]}
    a_dead_node_is_seen_soon(job)


def a_dead_node_is_seen_soon(job: Job) -> None:
    """Hold that its pods count as running for 30 s, not for 300."""
    tolerated = {each["key"]: (each["effect"], each["tolerationSeconds"]) for each in job.pod["tolerations"]}
    kinds = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    assert tolerated == dict.fromkeys(kinds, ("NoExecute", 30))


@careful
def test_nothing_stays_for_ever_and_no_service_becomes_a_variable(job: Job) -> None:
    assert job.spec["activeDeadlineSeconds"] > job.settings().timing.join
    assert job.spec["ttlSecondsAfterFinished"] > 0
    assert job.pod["enableServiceLinks"] is False


@careful
def test_memory_is_bounded_and_shared_memory_fits_into_it(job: Job) -> None:
    resources = job.container["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"] == "2Gi"
    assert "cpu" in resources["requests"]
    assert "cpu" not in resources["limits"]
    mounts = {mount["mountPath"]: mount["name"] for mount in job.container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in job.pod["volumes"]}
    if job.settings().role is not Role.PSERVER:
        assert volumes[mounts["/dev/shm"]]["emptyDir"] == {"medium": "Memory", "sizeLimit": "512Mi"}


@careful
def test_probes_ask_the_launcher_s_status_by_a_named_port(job: Job) -> None:
    assert job.container["ports"] == [{"name": "status", "containerPort": job.settings().status_port}]
    asked = {key: job.container[key]["httpGet"] for key in job.container if key.endswith("Probe")}
    healthy = {"path": "/healthz", "port": "status"}
    ready = {"path": "/readyz", "port": "status"}
    assert asked == {"startupProbe": healthy, "livenessProbe": healthy, "readinessProbe": ready}


@careful
def test_a_launcher_is_killed_only_long_after_its_peers_gave_it_up(job: Job) -> None:
    probe = job.container["livenessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] > 2 * job.settings().timing.peer


@jobs(lambda job: job.path.parent.name not in CAREFUL)
def test_the_plain_ones_have_no_probe_as_the_articles_have_it(job: Job) -> None:
    assert not [key for key in job.container if key.endswith("Probe")]
