"""~/.paddle/config: what it says, what is wrong with it, and that no message shows what is secret."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.desk.config.config import parsed_config, place, read_config
from launcher.desk.config.datacenters import Datacenter, DeskConfig, Storage, chosen, equipped
from launcher.desk.errors import Problem
from launcher.job.description import Job
from launcher.job.problem import JobError
from launcher.job.volumes import Volume

SEEDS = """\
datacenters:
- name: datacenter1
  username: me@example.com
  password: 5ecret-0f-mine
  endpoint: https://cloud.paddlepaddle.org
current-datacenter: datacenter1
"""
SECRET = "5ecret-0f-mine"  # noqa: S105  # opens nothing


def told(text: str) -> str:
    with pytest.raises(Problem) as caught:
        parsed_config(text, "config")
    return str(caught.value)


def test_the_seeds_configuration_is_read() -> None:
    found = chosen(parsed_config(SEEDS, "config"), "")
    assert found == Datacenter(
        name="datacenter1", username="me@example.com", password=SECRET, endpoint="https://cloud.paddlepaddle.org"
    )
    assert SECRET not in repr(found)


def test_what_a_datacenter_can_have_besides() -> None:
    text = """
datacenters:
- {name: a, context: kind, username: me, namespace: train, image: "repo/paddle:1",
   volume: {claim: mfs, path: /homes/me/}, public: {nfs: "nfs:/public"}}
- {name: b, context: other, username: 12345}
"""
    config = parsed_config(text, "config")
    first = chosen(config, "a")
    assert first.volume == Storage(claim="mfs", path="homes/me")
    assert first.public == Storage(nfs="nfs:/public")
    assert chosen(config, "b").username == "12345"
    with pytest.raises(Problem, match="expected one of a, b"):
        chosen(config, "")
    with pytest.raises(Problem, match="datacenter 'c' is not in config: it has a, b"):
        chosen(config, "c")


def test_without_any_the_kubeconfig_is_meant() -> None:
    assert chosen(DeskConfig(), "") == Datacenter()
    assert chosen(parsed_config("", "config"), "") == Datacenter()


def a_job(**more: object) -> Job:
    said = {"job_name": "j", "entry_point": "python t.py", "runtime_image": "i", "datacenter": "dc", **more}
    return Job(**said)  # type: ignore[arg-type]  # some are to be refused


def test_a_datacenter_lends_what_a_job_has_not() -> None:
    there = Datacenter(name="dc", username="me", image="repo/i:1", volume=Storage(claim="mfs"))
    bare = equipped(a_job(runtime_image="", trainer_package_path="package"), there)
    assert (bare.runtime_image, bare.restricted) == ("repo/i:1", True)
    assert [each.mount_path for each in bare.volumes] == ["/pfs/dc/home/me", "/pfs/dc/user/me"]
    own = Volume(mount_path="/pfs/dc/home/me/", claim="mine")
    full = equipped(a_job(volumes=[own]), dataclasses.replace(there, volume=Storage(host_path="/data")))
    assert (full.runtime_image, full.restricted) == ("i", False)
    assert [each.claim or each.host_path for each in full.volumes] == ["mine", "/data"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"runtime_image": ""}, "runtime_image=''"),
        ({"trainer_package_path": "package"}, "expected a writable volume, or an absolute path"),
        ({"entry_point": "paddle train"}, "Paddle's v1 keeps its passes on a volume"),
        ({"job_path": "/pfs/dc/home/me/jobs"}, "expected a writable directory on a volume of the job"),
    ],
)
def test_what_a_datacenter_is_to_lend_is_missed_in_a_manifest_alone(
    said: Mapping[str, object], expected: str
) -> None:
    with pytest.raises(JobError, match=re.escape(expected)):
        a_job(**said).manifests()
    with pytest.raises(JobError, match=re.escape(expected)):
        a_job(**said, datacenter="")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (("https://cloud.paddlepaddle.org", "http://cloud.paddlepaddle.org"), "unencrypted"),
        (("https://cloud.paddlepaddle.org", "cloud.paddlepaddle.org"), "expected a Kubernetes API server's address"),
        (("https://cloud", "https://me:5ecret-0f-mine@cloud"), "expected a Kubernetes API server's address"),
        (("https://cloud.paddlepaddle.org", "https://[::1"), "expected a Kubernetes API server's address"),
        (("  endpoint: https://cloud.paddlepaddle.org\n", ""), "expected one of `endpoint:`"),
        (("  password: 5ecret-0f-mine\n", ""), "needs `password:`"),
        (("password: 5ecret-0f-mine", "pasword: 5ecret-0f-mine"), "did you mean 'password'?"),
        (("password: ", "5ecret-0f-mine: "), "has an unknown key; known: "),
        (("name: datacenter1", "name: ../etc"), "expected letters, digits"),
        (("me@example.com", "../.."), "username: expected"),
        (("me@example.com", "[a]"), "username: expected text"),
        (("5ecret-0f-mine", '"5ecret-0f-mine\\n"'), "password: expected text"),
        (("5ecret-0f-mine", "[5ecret-0f-mine"), "line 5: not valid YAML"),
        (("current-datacenter: datacenter1", "curent-datacenter: datacenter1"), "did you mean 'current-datacenter'?"),
        (("  username", "  volume: {claim: a, nfs: b}\n  username"), "volume: expected one of"),
        (("  username", "  volume: {claim: a, path: ../b}\n  username"), "without `..`"),
        (("  username: me@example.com", "  volume: {claim: a}"), "needs `username:`"),
        (("datacenters:\n", "datacenters: 3\nother:\n"), "expected a list `datacenters:`"),
        (("5ecret-0f-mine", "2026-99-99"), "put it in quotes"),
        (
            ("current-d", "- {name: datacenter1, context: kind}\ncurrent-d"),
            "the name 'datacenter1': rename one of them",
        ),
    ],
)
def test_what_is_wrong_is_told_without_the_secret(changed: tuple[str, str], sentence: str) -> None:
    said = told(SEEDS.replace(*changed))
    assert sentence in said
    assert SECRET not in said


def test_all_problems_are_told_at_once() -> None:
    text = "datacenters: [{name: a}, {name: a}, 3]\nmore: 1"
    assert len(told(text).splitlines()) == 5


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:1"])
def test_plain_http_is_for_loopback(host: str) -> None:
    assert parsed_config(SEEDS.replace("https://cloud.paddlepaddle.org", f"http://{host}"), "config").datacenters


def test_the_file_is_where_the_environment_says(tmp_path: Path) -> None:
    assert place({}, tmp_path) == tmp_path / ".paddle" / "config"
    assert place({"PADDLE_CONFIG": "/x"}, tmp_path) == Path("/x")


def test_a_file_that_others_can_read_is_told(tmp_path: Path) -> None:
    path, said = tmp_path / "config", list[str]()
    path.write_text(SEEDS)
    path.chmod(0o640)
    read_config(path, needed=True, tell=said.append)
    assert said == [f"{path} contains a password and can be read by others: run `chmod 600 {path}`"]
    path.chmod(0o600)
    read_config(path, needed=True, tell=said.append)
    assert len(said) == 1


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    assert read_config(tmp_path / "none", needed=False, tell=print).datacenters == ()
    with pytest.raises(Problem, match="does not exist"):
        read_config(tmp_path / "none", needed=True, tell=print)
    with pytest.raises(Problem, match="cannot be read"):
        read_config(tmp_path, needed=True, tell=print)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Problem, match="not UTF-8 text"):
        read_config(tmp_path / "bytes", needed=True, tell=print)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(("name", "username", "password", "endpoint", "context", "volume", "public", "image", "other"))
WHOLE = st.fixed_dictionaries(
    {"datacenters": st.lists(st.dictionaries(KEYS, JSON, max_size=6), max_size=3) | JSON},
    optional={"current-datacenter": JSON},
)


def said_of(text: str) -> str:
    """Return what is wrong with a configuration, nothing where it serves."""
    try:
        chosen(parsed_config(text, "config"), "")
    except Problem as problem:
        return str(problem)
    return ""


@given(WHOLE)
def test_no_structure_ends_otherwise_than_in_a_value_or_a_problem(whole: dict[str, object]) -> None:
    said = said_of(json.dumps(whole))
    assert not said or "config" in said


@given(st.text(max_size=60), st.integers(0, len(SEEDS)), st.integers(0, 20))
def test_no_damage_shows_the_secret_or_a_traceback(junk: str, at: int, less: int) -> None:
    text = SEEDS[:at] + junk + SEEDS[at + less :]
    # Whoever makes it the name or the user of a datacenter has it shown.
    assert SECRET not in said_of(text) or "password: 5ecret-0f-mine" not in text


@given(st.binary(max_size=200))
def test_no_bytes_end_in_a_traceback(data: bytes) -> None:
    with suppress(Problem):
        parsed_config(data.decode(errors="surrogateescape"), "config")


ANY = """
datacenters:
- name: a
  context: c
  image: r/own:1
  launcher-image: r/init:1
  images: {"r/gpu:1": {launcher: true}, r/x: {launcher: false}}
"""


@pytest.mark.parametrize(
    ("image", "inject", "brought"),
    [
        ("", "auto", ""), ("r/own:1", "auto", ""), ("r/gpu:1", "auto", ""), ("r/x", "auto", "r/init:1"),
        ("pytorch/pytorch", "auto", "r/init:1"), ("pytorch/pytorch", "never", ""), ("r/own:1", "always", "r/init:1"),
    ],
)  # fmt: skip
def test_the_launcher_is_brought_into_images_that_are_not_known_to_have_it(
    image: str, inject: str, brought: str
) -> None:
    (there,) = parsed_config(ANY, "config").datacenters
    assert equipped(a_job(runtime_image=image, inject=inject), there).launcher_image == brought
    named = a_job(runtime_image="any", inject=inject, launcher_image="mine")
    assert equipped(named, there).launcher_image == "mine"


def test_the_desks_own_pods_have_an_image_with_the_launcher() -> None:
    assert Datacenter(image="a", launcher_image="b").agent_image == "a"
    assert Datacenter(launcher_image="b").agent_image == "b"


@pytest.mark.parametrize("images", ["[r/gpu]", "{r/gpu: true}", "{r/gpu: {launcher: maybe}}"])
def test_images_are_marked_in_one_way(images: str) -> None:
    with pytest.raises(Problem, match="datacenter 'a': images: expected images and what they have, such as"):
        parsed_config(f"datacenters: [{{name: a, context: c, images: {images}}}]", "config")
