"""The launcher brought into pods of any image: when, what then is in them, and what may not be laid over it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from launcher.contract import own_python
from launcher.job import JobError, PaddleJob, Volume
from launcher.pod.settings.variables import read_settings
from tests.support.golden_jobs import INIT, PODS
from tests.support.manifests import one, start_sh_flags
from tests.unit.job.test_manifests import environ, words
from tests.unit.k8s.test_indexed import restricted

Json = dict[str, Any]
CLAIM = Volume("/home/jobpath", claim="mfs")


def job(**said: Any) -> PaddleJob:  # noqa: ANN401  # whatever a job takes
    program = {"job_name": "a", "image": "any", "entry_point": "python train.py", "runtime": "torch"}
    return PaddleJob(**{**program, **said})


def pod(described: PaddleJob) -> Json:
    found: Json = described.manifests()[0]["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize(
    ("inject", "image", "brought"),
    [("auto", "", False), ("auto", INIT, True), ("always", INIT, True), ("never", INIT, False), ("never", "", False)],
)
def test_it_is_brought_where_that_is_asked_for_or_needed(inject: str, image: str, brought: bool) -> None:
    described = job(inject=inject, launcher_image=image)
    found = pod(described)
    (container,) = found["containers"]
    start = "/launcher/bin/start_paddle" if brought else "start_paddle"
    assert container["command"] == [start, "--", "python", "train.py"]
    assert [each["image"] for each in found["initContainers"]] == [INIT if brought else "any"]
    assert ("launcher" in {each["name"] for each in found["volumes"]}) == brought
    spec = json.loads(described.manifests()[0]["metadata"]["annotations"]["paddle-launcher/spec"])
    assert spec.get("launcher", "") == (INIT if brought else "")


def test_the_image_is_the_job_s_by_either_name() -> None:
    assert job().runtime_image == "any"
    assert job(image=None, runtime_image="other").runtime_image == "other"


@pytest.mark.parametrize("name", ["pod-any-image", "pod-any-v1"])
def test_one_container_brings_it_and_makes_the_files_of_the_root(name: str) -> None:
    for manifest in PODS[name].manifests()[: 1 + (PODS[name].pservers > 0)]:
        spec = manifest["spec"]["template"]["spec"]
        (first,), (own,) = spec["initContainers"], spec["containers"]
        assert first["command"][:5] == [own_python(), "-I", "-m", "launcher.inject", "/launcher"]
        files = {each["subPath"] for each in own["volumeMounts"] if each["name"] == "root-files"}
        assert {word.removeprefix("/root-files/") for word in first["command"][5:]} == files
        assert bool(files) == (own["name"] == "trainer")
        mounts = {each["name"] for each in first["volumeMounts"]}
        assert mounts == {"launcher", "root-files"} if files else {"launcher"}
        assert {"name": "launcher", "mountPath": "/launcher", "readOnly": True} in own["volumeMounts"]
        assert [rule for rule, kept in restricted({**spec, "containers": [first]}) if not kept] == []
        assert first["resources"]["requests"] == own["resources"]["requests"]


def test_the_pod_is_that_of_the_folder_for_any_image() -> None:
    """What brings the launcher, and what it is started by; the folder's image says the command itself."""
    folder, ours = one("any-image")["spec"]["template"]["spec"], pod(PODS["pod-any-image"])
    (theirs,), (first,) = folder["initContainers"], ours["initContainers"]
    assert (theirs["name"], theirs["image"]) == (first["name"], first["image"])
    assert theirs["volumeMounts"][0] == first["volumeMounts"][0]
    assert theirs["securityContext"] == first["securityContext"]
    assert theirs["terminationMessagePolicy"] == first["terminationMessagePolicy"]
    at = {"name": "launcher", "mountPath": "/launcher", "readOnly": True}
    for spec in (folder, ours):
        (container,) = spec["containers"]
        assert at in container["volumeMounts"]
        assert container["command"][0] == "/launcher/bin/start_paddle"
        assert {"name": "launcher", "emptyDir": {}} in spec["volumes"]


def test_without_the_restricted_standard_there_are_no_files_to_make() -> None:
    found = pod(job(inject="always", launcher_image=INIT, restricted=False))
    (first,) = found["initContainers"]
    assert first["command"][4:] == ["/launcher"]
    assert "root-files" not in {each["name"] for each in found["volumes"]}


def test_v1_has_the_flags_of_the_start_sh_that_its_image_lacks() -> None:
    trainer, pserver = PODS["pod-any-v1"].manifests()[:2]
    for manifest in (trainer, pserver):
        start, *flags = words(manifest)
        assert start == "/launcher/bin/start_paddle"
        own = ["--config=./trainer_config.py"] if manifest is trainer else []
        assert flags == [*start_sh_flags(environ(manifest)), *own]
        assert read_settings(environ(manifest), flags, here="/").runtime == "v1"
    assert "--trainer_count=2" in words(trainer)


def problems(**wrong: Any) -> tuple[str, ...]:  # noqa: ANN401  # whatever a user may say
    with pytest.raises(JobError) as caught:
        job(**wrong).manifests()
    return caught.value.problems


def test_what_cannot_be_is_a_sentence() -> None:
    assert problems(inject="sometimes") == ("inject='sometimes': expected one of auto, always, never",)
    assert problems(launcher_image="My Image") == (
        "launcher_image='My Image': expected an image's name, such as your-repo/paddle:mypaddle",
    )
    (told,) = problems(inject="always")
    assert told == "inject='always' needs the image that brings the launcher: set launcher_image"
    assert job(inject="always").inject == "always"  # its datacenter may still name the image


@pytest.mark.parametrize("place", ["/launcher", "/launcher/lib"])
def test_nothing_covers_the_launcher_where_it_is_brought_and_elsewhere_the_place_is_free(place: str) -> None:
    mount = {"name": "mine", "mountPath": place}
    overlay = {"spec": {"volumes": [{"name": "mine", "emptyDir": {}}]}}
    overlay["spec"]["containers"] = [{"name": "trainer", "volumeMounts": [mount]}]  # type: ignore[list-item]
    ways: tuple[Json, ...] = (
        {"volumes": Volume(place, claim="mfs")},
        {"secret_files": {"key": place}},
        {"pod": overlay},
    )
    for way in ways:
        job(**way).manifests()
        (told,) = problems(**way, launcher_image=INIT)
        assert place in told
        assert "the launcher is" in told


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ({"initContainers": [{"name": "launcher", "$patch": "delete"}]}, "takes the container launcher away"),
        ({"initContainers": [{"name": "launcher", "args": ["x"]}]}, "changes the command of the container launcher"),
        ({"volumes": [{"name": "launcher", "$patch": "delete"}]}, "takes the volume launcher away"),
    ],
)  # fmt: skip
def test_an_overlay_takes_nothing_of_it_away(over: Json, told: str) -> None:
    (sentence,) = problems(launcher_image=INIT, pod={"spec": over})
    assert told in sentence


def test_an_overlay_may_change_how_it_is_pulled_and_where_it_lies() -> None:
    first = {"name": "launcher", "imagePullPolicy": "Always"}
    volume = {"name": "launcher", "emptyDir": {"sizeLimit": "100Mi"}}
    found = pod(job(launcher_image=INIT, pod={"spec": {"initContainers": [first], "volumes": [volume]}}))
    assert found["initContainers"][0]["imagePullPolicy"] == "Always"
    assert volume in found["volumes"]
