"""A package as an object of its job: every file at its place, byte for byte, and what it takes."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher.job import Job, JobError, Volume
from launcher.job.description import Job as Described
from launcher.job.package import carried
from launcher.job.package.carried import PackageFile
from launcher.job.text import yaml as text_of

Json = dict[str, Any]
FILES = (
    PackageFile("train.py", b"print('\xc3\xa9')\r\n"),
    PackageFile("run.sh", b"#!/bin/sh\n", runs=True),
    PackageFile("empty", b""),
    PackageFile("lib/a b\n.py", b"\0text is what is UTF-8\x1b\n"),
    PackageFile("lib/model.bin", b"\xff\x00\xfe"),
)
JOB = Job(
    job_name="alone", entry_point="./run.sh", runtime_image="image", local_package="./my-package", namespace="n"
)


def carrying(files: tuple[PackageFile, ...] = FILES, job: Described = JOB) -> tuple[Json, ...]:
    return carried.carrying(job, Described.manifests(job), files)


def restored(config_map: Json, spec: Json) -> tuple[PackageFile, ...]:
    """Return the files that a kubelet makes of both."""
    (volume,) = (each["configMap"] for each in spec["volumes"] if "configMap" in each)
    assert volume["name"] == config_map["metadata"]["name"]
    coded = {key: base64.b64decode(text) for key, text in config_map.get("binaryData", {}).items()}
    content = {**{key: text.encode() for key, text in config_map["data"].items()}, **coded}
    items = volume["items"]
    return tuple(PackageFile(each["path"], content[each["key"]], each.get("mode") == 0o755) for each in items)


def test_each_file_is_at_its_place_in_the_pods_of_both_roles() -> None:
    found = list(yaml.safe_load_all(text_of(carrying())))
    assert [each["kind"] for each in found[:3]] == ["Job", "ConfigMap", "Job"]
    assert found[1]["metadata"]["labels"] == found[0]["metadata"]["labels"]
    assert found[1]["metadata"]["namespace"] == "n"
    for manifest in (found[0], found[2]):
        spec = manifest["spec"]["template"]["spec"]
        assert restored(found[1], spec) == FILES
        (container,) = spec["containers"]
        assert {"name": "package", "mountPath": "/package"} in container["volumeMounts"]
        assert {"name": "TRAIN_CONFIG_DIR", "value": "/package"} in container["env"]


def test_texts_can_be_read_and_the_job_is_as_without_a_package() -> None:
    without = dataclasses.replace(JOB, namespace="")
    config_map = carrying((PackageFile("train.py", b"x = 1\n"),), without)[1]
    assert config_map["data"] == {"0": "x = 1\n"}
    assert "binaryData" not in config_map
    assert "namespace" not in config_map["metadata"]
    spec = Described.manifests(JOB)[0]["spec"]["template"]["spec"]
    assert not [each for each in spec["volumes"] if "configMap" in each], "the first manifests are unchanged"


def test_what_is_no_text_takes_a_third_more() -> None:
    text, other = PackageFile("a", b"x" * 300), PackageFile("a", b"\xff" * 300)
    assert carried.carried_weight((text,)) == carried.file_weight("a", 300) == 300 + 1 + 32
    assert carried.carried_weight((other, text)) == 400 + 300 + 2 * 33


def test_the_sentence_about_one_that_is_too_large_has_size_limit_and_ways_out() -> None:
    told = carried.too_large("./p", carried.MOST_CARRIED + 1, 7)
    assert "./p takes 901 KiB in 7 files: at most 900 KiB can go with a job" in told
    for way in ("./p/.paddleignore", "`volume: {claim: NAME}`", "`paddlectl submit` copies the package to it"):
        assert way in told


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"local_package": 7}, "local_package=7: expected a directory of this machine, such as ./my-package"),
        ({"trainer_package_path": "/p"}, "local_package='./my-package' and trainer_package_path='/p' are two"),
        ({"volumes": Volume("/package/", claim="mfs")}, "mount_path='/package': the package is there; expected"),
    ],
)
def test_what_cannot_go_with_a_job_is_told(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(JobError, match=told.replace("(", r"\(")):
        dataclasses.replace(JOB, **changed)
