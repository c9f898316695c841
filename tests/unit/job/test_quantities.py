"""Memory and CPU: the seeds' suffixes, and what Kubernetes makes of what it is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.job import JobError, PaddleJob
from launcher.job.quantities import WrongQuantity, cores_text, memory, memory_text, millicores

# The suffixes of Kubernetes' own documentation.
SUFFIXES: dict[str, int | Fraction] = {
    "": 1,
    "m": Fraction(1, 1000),
    **{letter: 1000**power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)},
}


def as_kubernetes(text: str) -> Fraction:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)", text)
    assert found, text
    return Fraction(found[1]) * SUFFIXES[found[2]]


def sentences(**quantity: object) -> str:
    with pytest.raises(JobError) as caught:
        PaddleJob(job_name="a", runtime_image="a/b", entry_point="python train.py", **quantity)  # type: ignore[arg-type]  # as they come
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("1Gi", "1Gi"),
        ("4G", "4G"),
        ("512Mi", "512Mi"),
        ("1024Mi", "1Gi"),
        ("1000000K", "1G"),
        ("1000001K", "1000001k"),
        ("1000001k", "1000001k"),
        ("65536Ki", "64Mi"),
        ("2T", "2T"),
        ("1P", "1P"),
        ("7E", "7E"),
        ("7Ei", "7Ei"),
        ("16777216", "16Mi"),
        (2**30, "1Gi"),
    ],
)
def test_memory_is_written_as_kubernetes_takes_it(given: object, text: str) -> None:
    assert memory_text(memory(given)) == text
    assert as_kubernetes(text) == memory(given)


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Gi",
        "1.5Gi",
        "1e9",
        "-1Gi",
        "+1Gi",
        "1 Gi",
        "1gi",
        "1GB",
        "1g",
        "4096m",
        "100Z",
        "1Gi\n",
        "٣Gi",
        None,
        True,
        1.5e9,
    ],
)
def test_what_is_no_memory_is_refused_with_the_field_and_an_example(given: object) -> None:
    for field in ("memory", "psmemory"):
        told = sentences(**{field: given})
        assert told.startswith(f"{field}={given!r}: expected a whole number with E, P, T, G, M, K")
        assert "such as 4Gi" in told


def test_memory_without_the_suffix_that_was_meant_is_refused() -> None:
    assert "512 bytes are too few" in sentences(memory="512")
    assert "0 bytes are too few" in sentences(memory="0Gi")
    assert "more than Kubernetes can count" in sentences(memory="10E")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (1, "1"),
        ("2", "2"),
        (0.5, "500m"),
        ("0.25", "250m"),
        ("1500m", "1500m"),
        ("2000m", "2"),
        (1.0, "1"),
        ("1.50", "1500m"),
    ],
)
def test_cores_are_written_as_kubernetes_takes_them(given: object, text: str) -> None:
    assert cores_text(millicores(given)) == text
    assert as_kubernetes(text) * 1000 == millicores(given)


@pytest.mark.parametrize(
    "given", ["", "two", 0, "0m", -1, "1.2345", "1k", None, True, float("nan"), float("inf"), 1e-9, 10**7]
)
def test_what_is_no_number_of_cores_is_refused_with_the_field_and_an_example(given: object) -> None:
    for field in ("cpu_nums", "pscpu"):
        told = sentences(**{field: given})
        assert told.startswith(f"{field}={given!r}: expected")
        assert "such as 2" in told


def read(reader: Callable[[object], int], given: object) -> int:
    """Return what is meant, 0 where it was refused with an example."""
    try:
        return reader(given)
    except WrongQuantity as wrong:
        return 0 if "such as" in str(wrong) else -1


ANYTHING = st.text() | st.integers() | st.floats() | st.none()


@given(ANYTHING | st.from_regex(r"[0-9]{1,25}[a-zA-Z]{0,2}", fullmatch=True))
def test_any_memory_is_what_kubernetes_reads_or_is_refused(given: object) -> None:
    if size := read(memory, given):
        assert 16 * 2**20 <= size < 2**63
        assert as_kubernetes(memory_text(size)) == size
        assert as_kubernetes(re.sub("K$", "k", str(given))) == size


@given(ANYTHING | st.from_regex(r"[0-9]{1,12}(\.[0-9]{1,4})?m?", fullmatch=True))
def test_any_cores_are_what_kubernetes_reads_or_are_refused(given: object) -> None:
    if parts := read(millicores, given):
        assert parts > 0
        assert as_kubernetes(cores_text(parts)) * 1000 == parts == as_kubernetes(str(given)) * 1000
