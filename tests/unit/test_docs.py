"""The documentation's tables are the code's, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from launcher.pod.gang.protocol.leader import TRANSITIONS
from launcher.pod.outcome import Code
from launcher.pod.settings.variables import known

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("bench/**/*.md"),
        *ROOT.glob("docker/*.md"),
        *ROOT.glob("k8s/**/*.md"),
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


@pytest.mark.parametrize("page", ["docs/contracts.md", "README.md"])
def test_the_table_of_exit_codes_is_the_codes(page: str) -> None:
    table = rows(ROOT / page, "| code | meaning |")
    assert {int(code) for code, _ in table if code.isdigit()} == {int(code) for code in Code}


def test_the_table_of_events_is_the_codes() -> None:
    table = rows(ROOT / "docs/contracts.md", "| event | when |")
    code = "".join(path.read_text() for path in ROOT.glob("launcher/pod/**/*.py"))
    told = set(re.findall(r"tell\(\s*\"([a-z_]+)\"", code))
    assert {name.strip("`") for name, _ in table} == told


def test_the_table_of_transitions_is_the_codes() -> None:
    table = rows(ROOT / "docs/design.md", "| from | to | when |")
    assert [tuple(row) for row in table] == [(*ways, why) for ways, why in TRANSITIONS.items()]


def test_the_readmes_variables_exist() -> None:
    table = rows(ROOT / "README.md", "| variable | meaning |")
    named = {name for cell, _ in table for name in re.findall(r"`([A-Z_]+)`", cell)}
    assert named
    assert named <= set(known())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_target_that_the_readme_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", (ROOT / "README.md").read_text())) <= targets
