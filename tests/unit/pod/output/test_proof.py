"""One row a rule: which failures of a program count as the same one."""

from __future__ import annotations

import signal

import pytest

from launcher.contract import Code
from launcher.pod.output.proof import proof_of

ALIKE = [
    ("the same line", "ValueError: bad shape", "ValueError: bad shape"),
    ("another step and another loss", "step 120: loss 0.25 is too high", "step 9: loss 1.75e-3 is too high"),
    ("an address in memory", "<Net object at 0x7f22c3dead> is broken", "<Net object at 0x5581aa> is broken"),
    ("another port of another pod", "cannot connect to 10.0.0.7:12400", "cannot connect to 10.0.1.19:12401"),
    ("a digest", "blob 9f86d081884c7d65 differs", "blob deadbeefcafe0001 differs"),
    ("a UUID", "run 9e107d9d-372b-4b68-9826-1d3542a419d6", "run 0e10aaaa-1111-4b68-0826-ffffffffffff"),
    ("a temporary file", "no such file: /tmp/tmp2k_x9q1z/part", "no such file: /tmp/tmpabcd_fgh/part"),
    ("what came before the last line", "epoch 1\nKeyError: 'x'\n\n", "warming up\nKeyError: 'x'"),
    ("a bar that was drawn over", " 10%|#   \r 20%|##  \rKeyError: 'x'", "KeyError: 'x'"),
]
OTHERS = [
    ("another error", "ValueError: bad shape", "TypeError: bad shape"),
    ("words that are no digest", "cannot add a face", "cannot add a bead"),
    ("the same before another last line", "KeyError: 'x'\nbye", "KeyError: 'x'"),
]


@pytest.mark.parametrize(("one", "other"), [row[1:] for row in ALIKE], ids=[row[0] for row in ALIKE])
def test_lines_that_differ_in_what_changes_from_start_to_start_are_the_same(one: str, other: str) -> None:
    assert proof_of("trainer 1", 1, one) == proof_of("trainer 1", 1, other) != ""


@pytest.mark.parametrize(("one", "other"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_other_lines_are_others(one: str, other: str) -> None:
    assert proof_of("trainer 1", 1, one) != proof_of("trainer 1", 1, other)


def test_another_program_or_another_code_is_another_failure() -> None:
    proofs = {
        proof_of(name, code, "it failed") for name in ("trainer 1", "trainer 2", "pserver 1") for code in (1, 2)
    }
    assert len(proofs) == 6


@pytest.mark.parametrize(
    ("code", "tail"),
    [
        (7, ""),
        (7, " \n\n"),
        (Code.DONE, "bye"),
        (Code.JOIN, "the launcher ended this generation"),
        (Code.GANG, "the launcher ended this generation"),
        (128 + signal.SIGKILL, "pass 3"),
        (128 + signal.SIGTERM, "pass 3"),
    ],
    ids=["no output", "no words", "a good end", "75", "76", "killed by others", "told to end by others"],
)
def test_what_is_no_failure_of_its_own_has_no_proof(code: int, tail: str) -> None:
    assert proof_of("trainer 1", code, tail) == ""


@pytest.mark.parametrize("signum", [signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE])
def test_a_crash_in_c_is_its_own(signum: int) -> None:
    assert proof_of("trainer 1", 128 + signum, "Segmentation fault")


def test_a_program_that_needs_more_memory_than_there_is_fails_by_itself() -> None:
    assert proof_of("trainer 1", 128 + signal.SIGKILL, "pass 3", starved=True)


def test_a_proof_is_short_and_tells_nothing_of_the_line() -> None:
    proof = proof_of("trainer 1", 1, "password: hunter2")
    assert len(proof) == 16
    assert int(proof, 16)
