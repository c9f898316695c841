"""Which names a job may have: what is taken here Kubernetes takes too, whatever is made of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from launcher.job import JobError, PaddleJob
from launcher.job.names import Names, wrong_with

# Kubernetes' own rules: DNS-1123 labels and subdomains, DNS-1035 labels for Services, values of labels.
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SERVICE = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LONGEST = 53  # with two pservers and three trainers: `-trainer-2` has ten


def job(name: str, **more: object) -> PaddleJob:
    return PaddleJob(job_name=name, runtime_image="a/b", entry_point="python train.py", **more)  # type: ignore[arg-type]  # as they come


def sentences(name: str, **more: object) -> str:
    with pytest.raises(JobError) as caught:
        job(name, **more)
    return str(caught.value)


@pytest.mark.parametrize("name", ["a", "7", "my-paddlecloud-job", "paddle-cluster-job", "0-1", "a--b", "a" * LONGEST])
def test_a_name_of_the_seeds_in_lower_case_is_taken(name: str) -> None:
    assert job(name).job_name == name


@pytest.mark.parametrize(
    ("name", "reason", "say"),
    [
        ("my_job", "only letters, digits and -, no _", "my-job"),
        ("My-Job", "lower case only", "my-job"),
        ("ctr.v2", "has no . in it", "ctr-v2"),
        ("job-", "must begin and end with a letter or digit", "job"),
        ("-job", "must begin and end with a letter or digit", "job"),
        ("a b", "only letters, digits and -", "a-b"),
        ("job\n", "only letters, digits and -", "job"),
        ("Übung", "only letters, digits and -", "bung"),
        ("__", "only letters, digits and -", "my-job"),
    ],
)
def test_another_is_refused_with_one_that_would_be_taken(name: str, reason: str, say: str) -> None:
    told = sentences(name)
    assert reason in told
    assert repr(say) in told
    assert told.count("\n") == 0
    assert job(say)


def test_every_reason_is_told_at_once() -> None:
    told = sentences("My_Job.2-")
    for reason in ("no _", "lower case", "no .", "end with"):
        assert reason in told
    assert "such as 'my-job-2'" in told


@pytest.mark.parametrize("name", ["", None, 7])
def test_no_name_is_told_as_that(name: object) -> None:
    assert "expected a name of lower-case letters" in sentences(name)  # type: ignore[arg-type]  # that is the point


def test_a_name_is_too_long_by_what_is_made_of_it() -> None:
    told = sentences("a" * (LONGEST + 1))
    assert f"'{'a' * (LONGEST + 1)}-trainer-2' would have 64 characters" in told
    assert f"at most {LONGEST}" in told
    assert "at most 51" in sentences("a" * LONGEST, trainers=500)
    assert job("a" * 57, together=True)
    assert "'peers-" in sentences("a" * 58, together=True)


def taken(name: object, together: bool, pservers: int, trainers: int) -> bool:
    told = [*map(str, wrong_with(name, together, pservers, trainers))]
    assert all("expected" in each or "say" in each or "such as" in each for each in told)
    assert not any("\n" in each for each in told)
    return not told


def names_made(name: str, together: bool, pservers: int, trainers: int) -> None:
    names = Names(name, together)
    hosts = [f"{names.trainer}-{trainers - 1}"] + ([] if together else [f"{names.pserver}-{pservers - 1}"])
    for label in (*hosts, names.trainer, names.pserver if not together else "a", name):
        assert LABEL.fullmatch(label)
    assert SERVICE.fullmatch(names.service)
    assert VALUE.fullmatch(name)


@given(st.text() | st.none() | st.integers(), st.booleans(), st.integers(1, 1000), st.integers(1, 1000))
def test_any_name_is_taken_or_told_and_what_is_taken_kubernetes_takes(
    name: object, together: bool, pservers: int, trainers: int
) -> None:
    if taken(name, together, pservers, trainers):
        names_made(str(name), together, pservers, trainers)


@given(
    st.text("abz09-.AZ_", max_size=70),
    st.booleans(),
    st.integers(1, 1000),
    st.integers(1, 1000),
)
@example("a" * 57, True, 1, 1)
@example("a" * 53, False, 2, 3)
def test_any_name_of_the_seeds_letters_is_taken_or_told(
    name: str, together: bool, pservers: int, trainers: int
) -> None:
    good = re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) is not None
    if taken(name, together, pservers, trainers):
        assert good
        names_made(name, together, pservers, trainers)
    else:
        assert not good or len(Names(name, together).longest(pservers, trainers)) > 63
