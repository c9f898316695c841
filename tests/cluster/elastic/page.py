"""The page that measured tables go to: each stands between two comments of its name."""

from __future__ import annotations

import re

from tests.support.manifests import ROOT

PAGE = ROOT / "bench" / "elastic.md"


def put(name: str, text: str) -> None:
    """Put a table in the place of the one that stands there."""
    between = f"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)"
    page, count = re.subn(
        between, lambda found: f"{found[1]}\n{text}\n\n{found[2]}", PAGE.read_text(), flags=re.DOTALL
    )
    assert count == 1, f"{PAGE.name} has no place for {name}"
    PAGE.write_text(page)
