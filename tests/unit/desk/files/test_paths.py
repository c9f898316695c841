"""The seeds' rules of src and dest, and what cannot be meant."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.desk.config.datacenters import Datacenter, Storage
from launcher.desk.errors import Problem
from launcher.desk.files import paths

MFS, PUBLIC = Storage(claim="mfs", path="homes/me"), Storage(claim="public")
DATACENTER = Datacenter(name="dc", username="me@example.com", context="c", volume=MFS, public=PUBLIC)
HOME = "/pfs/dc/home/me@example.com"


@pytest.mark.parametrize(
    ("word", "path", "inside", "read_only"),
    [
        (HOME, "", False, False),
        (f"{HOME}/", "", True, False),
        ("/pfs/dc/user/me@example.com/data/train", "data/train", False, False),
        (f"{HOME}/data/", "data", True, False),
        ("/pfs/dc/public", "", False, True),
        ("/pfs/dc/public/dataset/uci", "dataset/uci", False, True),
        ("/pfs/public/dataset", "dataset", False, True),
    ],
)
def test_a_path_below_pfs_is_a_place_on_the_volume(word: str, path: str, inside: bool, read_only: bool) -> None:
    found = paths.remote(word, DATACENTER)
    assert (found.path, found.inside, found.read_only) == (path, inside, read_only)
    assert found.storage == (PUBLIC if read_only else MFS)
    assert found.told == (word.rstrip("/") if "/pfs/dc/public" in word or "home" in word or "user" in word else word)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("/pfs/dc/home/you/x", "that is another user's directory: yours is /pfs/dc/home/me@example.com"),
        ("/pfs/dc/home", "expected a path below /pfs/dc/home/me@example.com"),
        ("/pfs/dc", "expected a path below"),
        ("/pfs", "expected a path below"),
        ("/pfs/dc/homes/me@example.com", "expected a path below"),
        (f"{HOME}/../you", "expected a path without `..`"),
        (f"{HOME}/a//b", "expected a path without"),
        ("/pfs/dc/home/me@example.com/a\0", "expected a path without"),
    ],
)
def test_a_path_that_is_nowhere_is_told(word: str, told: str) -> None:
    with pytest.raises(Problem) as error:
        paths.remote(word, DATACENTER)
    assert told in str(error.value)


def test_what_is_public_is_read_only() -> None:
    with pytest.raises(Problem, match="/pfs/dc/public/x is read-only"):
        paths.writable(paths.remote("/pfs/dc/public/x", DATACENTER))


@pytest.mark.parametrize(
    ("datacenter", "word", "told"),
    [
        (Datacenter(name="dc", username="me", context="c"), "/pfs/dc/home/me", "has no `volume:`"),
        (Datacenter(name="dc", username="me", context="c", volume=MFS), "/pfs/public", "has no `public:`"),
        (Datacenter(), "/pfs/dc/home/me", "no datacenter is configured"),
    ],
)
def test_a_datacenter_without_the_volume_is_told(datacenter: Datacenter, word: str, told: str) -> None:
    with pytest.raises(Problem, match=told):
        paths.remote(word, datacenter)


@pytest.mark.parametrize(
    ("word", "named"),
    [
        (HOME, "dc"),
        ("/pfs/dc/public", "dc"),
        ("/pfs/public/x", ""),
        ("/pfs/public", ""),
        ("/pfs", ""),
        ("/pfs/dc", ""),
    ],
)
def test_a_path_names_its_datacenter(word: str, named: str) -> None:
    assert paths.datacenter_of(word) == named


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("data", ("", "data")),
        ("data/", ("data", "")),
        ("./data", ("", "data")),
        ("a/b/data", ("a/b", "data")),
        ("a/b/data/", ("a/b/data", "")),
        (".", ("", "")),
        ("./", ("", "")),
        ("data/.", ("data", "")),
        ("/home/me/work/data", ("", "data")),
        ("/home/me/work/data/", ("data", "")),
        ("/home/me/work", ("", "")),
    ],
)
def test_src_is_below_the_current_directory(word: str, found: tuple[str, str]) -> None:
    assert paths.local_source(word, "/home/me/work") == found


@pytest.mark.parametrize(
    "word", ["../data", "a/../../data", "/etc/passwd", "/home/me/workshop", "/home/me/work/../x", "a\0b"]
)
def test_src_that_is_not_below_the_current_directory_is_told(word: str) -> None:
    with pytest.raises(Problem):
        paths.local_source(word, "/home/me/work")


@given(st.text(max_size=40))
def test_whatever_is_typed_is_a_place_below_or_a_problem(text: str) -> None:
    for word in (text, f"/pfs/{text}", f"{HOME}/{text}"):
        with suppress(Problem):
            found = paths.remote(word, DATACENTER)
            assert not found.path.startswith("/")
            assert ".." not in found.path.split("/")
        with suppress(Problem):
            base, first = paths.local_source(word, "/home/me")
            assert ".." not in f"{base}/{first}".split("/")
            assert "/" not in first
