"""The documentation's tables are the code's, and its links lead somewhere."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from launcher import job
from launcher.contract import Code
from launcher.pod.gang.protocol.leader import TRANSITIONS
from launcher.pod.settings.variables import known

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "tests/vectors/0.1.0/runs"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("bench/**/*.md"),
        *ROOT.glob("docker/*.md"),
        *ROOT.glob("k8s/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("tests/**/*.md"),
    ]
)


def rows(page: Path, header: str) -> list[list[str]]:
    """Return the rows of the table below the given header line."""
    lines = page.read_text().splitlines()
    start = lines.index(header) + 2
    table = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def test_the_table_of_variables_is_the_codes() -> None:
    table = rows(ROOT / "docs/contracts.md", "| variable | default | meaning |")
    assert {name.strip("`"): default for name, default, _ in table} == dict(known())


def test_the_table_of_exit_codes_is_the_codes() -> None:
    table = rows(ROOT / "docs/contracts.md", "| code | meaning |")
    assert {int(code) for code, _ in table if code.isdigit()} == {
        code for name, code in vars(Code).items() if name.isupper()
    }


def test_the_table_of_events_is_the_codes() -> None:
    table = rows(ROOT / "docs/contracts.md", "| event | when |")
    code = "".join(path.read_text() for path in ROOT.glob("launcher/pod/**/*.py"))
    told = set(re.findall(r"tell\(\s*\"([a-z_]+)\"", code))
    for pair in re.findall(r"TroubleTold\([\w.]+, \"([a-z_]+)\", \"([a-z_]+)\"", code):
        told.update(pair)
    assert {name.strip("`") for name, _ in table} == told


def test_the_table_of_transitions_is_the_codes() -> None:
    table = rows(ROOT / "docs/design.md", "| from | to | when |")
    assert [tuple(row) for row in table] == [(*ways, why) for ways, why in TRANSITIONS.items()]


def test_the_table_of_the_event_files_fields_is_what_a_gang_wrote() -> None:
    table = rows(ROOT / "docs/contracts.md", "| field of events.jsonl | in | meaning |")
    later = [row for row in table if "Not in those of 0.1.0" in row[-1]]
    fields = {name for row in table if row not in later for name in re.findall(r"`(\w+)`", row[0])}
    events = {name for _, cell, _ in table for name in re.findall(r"`(\w+)`", cell)}
    written = [json.loads(line) for path in RUNS.rglob("events.jsonl") for line in path.read_text().splitlines()]
    assert {name for event in written for name in event} == fields | {"at", "event"}
    assert {event["event"] for event in written} <= events


def test_the_table_of_a_jobs_values_is_the_codes() -> None:
    table = rows(ROOT / "docs/job.md", "| value | fields |")
    values = {"Status": job.Status, "Worker": job.Worker, "Event": job.Event, "Line": job.Line}
    assert {name.strip("`"): re.findall(r"`(\w+)`", cell) for name, cell in table} == {
        f"job.{name}": [each.name for each in fields(value)] for name, value in values.items()
    }


def test_the_table_of_metrics_is_the_codes() -> None:
    table = rows(ROOT / "docs/contracts.md", "| metric | labels | meaning |")
    told = {name for cell, *_ in table for name in re.findall(r"`launcher_(\w+)`", cell)}
    code = (ROOT / "launcher/pod/gang/status/metrics.py").read_text()
    made = {name: kind for kind, name in re.findall(r"_(gauge|counter)\(\s*\"(\w+)\"", code)}
    assert made
    summaries = {f"{name}_{part}" for name in re.findall(r"\"launcher_(\w+)\"", code) for part in ("count", "sum")}
    assert told == {name + ("_total" if kind == "counter" else "") for name, kind in made.items()} | summaries


def test_the_readme_is_short_and_its_variables_exist() -> None:
    page = (ROOT / "README.md").read_text()
    assert len(page.splitlines()) <= 120
    named = set(re.findall(r"\b((?:LAUNCHER|CONF_PADDLE|JOB|TRAIN_CONFIG)_[A-Z_]+)\b", page))
    assert named
    assert named <= set(known())


def test_every_word_of_the_glossary_stands_once() -> None:
    words = [word for cell, _ in rows(ROOT / "docs/glossary.md", "| word | meaning |") for word in cell.split(", ")]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_target_that_the_readme_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", (ROOT / "README.md").read_text())) <= targets
