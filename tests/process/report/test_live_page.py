"""The page of a real leader in a real browser: at three widths, and through a restart."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.report.test_page import SIGNATURE, browse
from tests.support.seen import Seen, seen
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(120)
# A frame is as narrow as it is told, a window is not; what is given by `srcdoc` can be measured from around it.
FRAME = """<!DOCTYPE html><title>waiting</title><body style="margin:0">
<iframe style="border:0" width="{width}" height="1500" srcdoc="{page}"></iframe>
<script>addEventListener("load", () => {{
const page = document.querySelector("iframe").contentDocument;
const shown = s => page.defaultView.getComputedStyle(page.querySelector(s)).display;
document.title = ["MEASURED", page.documentElement.scrollWidth, shown(".ranks thead"), shown(".ranks td"),
shown(".ranks td:nth-child(2)"), page.querySelectorAll(".ranks tbody tr").length].join(" ") }})</script>"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with seen(2, tmp_path_factory.mktemp("seen")) as found:
        yield found


def page_of(found: Seen, text: str) -> str:
    """Return the leader's page once it has this."""
    page = wait_until(lambda: text in (page := found.gang.launcher(0).page("/")[1]) and page, timeout=60)
    assert page
    return page


def ranks(page: str) -> list[str]:
    """Return the ranks in the order of its table."""
    return re.findall(r'<td class="s" data-name="rank">([^<]*)</td>', page)


def test_a_browser_shows_it_before_during_and_after_a_restart(two: Seen, tmp_path: Path) -> None:
    """A page that renews itself is asked for by the browser as often as it stays: each look is one of its own."""
    seen_in = list[str]()
    for text, then in (("training, generation 1", "fail"), ("training, generation 2", "")):
        page_of(two, text)
        if not then:  # who is slow shows after some steps
            wait_until(lambda: ranks(two.gang.launcher(0).page("/")[1])[:1] == ["trainer 1"], timeout=30)
        shown = browse(tmp_path / "page", "light", address=f"http://{two.gang.address(0)}:7170/")
        seen_in.append(shown.dom)
        assert shown.console == ""
        assert shown.picture.startswith(SIGNATURE)
        assert len(shown.picture) > 20_000
        assert f"<em>No verdict yet:</em> {text}" in shown.dom
        if then:
            (two.gang.top / then).touch()
            page_of(two, "exited with 7")
    assert "trainer 1 exited with 7" not in seen_in[0]
    assert "The one before ended: trainer 1 exited with 7" in seen_in[1]
    assert "<path d=" in seen_in[1]
    assert "made at" in seen_in[1]
    assert ranks(seen_in[1]) == ["trainer 1", "trainer 0"], "the slow one stands first"


@pytest.mark.parametrize(("width", "second"), [(390, "none"), (700, "none"), (1280, "table-cell")])
def test_the_table_of_ranks_is_one_at_any_width_and_no_wider(
    two: Seen, tmp_path: Path, width: int, second: str
) -> None:
    page = page_of(two, "training, generation")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=width, page=html.escape(page)))
    measured = re.search(r"<title>MEASURED (.*)</title>", browse(frame, "light", 1400).dom)
    assert measured
    wide, *displays, rows = measured[1].split()
    assert int(wide) <= width
    assert displays == ["table-header-group", "table-cell", second]
    assert rows == "2"
