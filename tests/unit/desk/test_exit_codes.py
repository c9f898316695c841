"""One exit code for one kind of mistake: what was typed is wrong whatever is there, or what is named is not there."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from launcher.desk import cli
from tests.unit.test_docs import ROOT, rows

JOB = ("-jobname", "a", "-image", "i", "-entry", "x")
ENDED_BY = (128 + signal.SIGINT, 128 + signal.SIGPIPE)
CODES = {
    ("help",): 0,
    ("commands",): 0,
    ("kill", "-h"): 0,
    # Not there, or not as it must be.
    ("get", "jobs"): 1,
    ("get", "jobs", "-config", "/nowhere"): 1,
    ("get", "jobs", "-datacenter", "nowhere"): 1,
    ("get", "jobs", "-kubeconfig", "/nowhere"): 1,
    ("submit", *JOB, "/pfs/dc/home/me/p"): 1,
    ("submit", *JOB, "nowhere"): 1,
    ("local", "-entry", "x", "nowhere"): 1,
    # Wrong words.
    ("nonsense",): 2,
    ("-nonsense", "get", "jobs"): 2,
    ("get", "jobs", "-nonsense"): 2,
    ("get", "nonsense"): 2,
    ("get", "workers"): 2,
    ("get", "jobs", "-o", "nonsense"): 2,
    ("kill",): 2,
    ("delete", "job"): 2,
    ("submit",): 2,
    ("submit", *JOB, "-parallelism", "0"): 2,
    ("submit", *JOB, "-cpu", "0"): 2,
    ("submit", *JOB, "-memory", "1"): 2,
    ("submit", *JOB, "-jobname", "my_job"): 2,
    ("local", "-jobname", "my_job", "-entry", "x", "."): 2,
    ("local", "--example", "recommendation", "-entry", "x"): 2,
    ("registry", "-name", "No!", "-username", "u", "-server", "s"): 2,
    ("registry", "-name", "n", "-username", "u:", "-server", "s"): 2,
    ("registry", "-name", "n", "-username", "u", "-server", "s!"): 2,
    ("cp", "a", "b"): 2,
    ("ls", "a"): 2,
    ("file", "a", "b"): 2,
    ("logs", "a", "--since", "5y"): 2,
    ("wait", "a", "--for", "ever"): 2,
}


@pytest.mark.parametrize("words", CODES, ids=" ".join)
def test_a_kind_of_mistake_has_one_code(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a desk without a cluster."""
    for name in ("KUBECONFIG", "PADDLE_CONFIG", "PADDLE_DATACENTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cli.main(words) == CODES[words]


def test_the_guide_has_these_codes() -> None:
    table = rows(ROOT / "docs/paddlectl.md", "| exit code | meaning |")
    assert {int(code) for code, _ in table} == {*CODES.values(), *ENDED_BY}
