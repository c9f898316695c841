"""`python -m launcher.report` as it is run, and its page in a real browser."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from launcher.report.__main__ import main
from tests.unit.report.test_gang import gang, lines, told

CHROMIUM = shutil.which("chromium")
SIGNATURE = b"\x89PNG\r\n\x1a\n"
PREFERS = {"dark": "0", "light": "1"}


def report(*words: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "launcher.report", *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    directory = tmp_path / "output"
    directory.mkdir()
    return directory


def write(output: Path, events: Sequence[dict[str, Any]]) -> None:
    (output / "events.jsonl").write_bytes(b"".join(lines(events)))


def test_the_page_stands_beside_the_events_or_where_it_is_told(output: Path, tmp_path: Path) -> None:
    write(output, gang())
    elsewhere = tmp_path / "elsewhere.html"
    for words, page in (((output,), output / "report.html"), ((output, "-o", elsewhere), elsewhere)):
        done = report(*words)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{page}\n", "")
        assert page.read_text().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in output.iterdir()) == ["events.jsonl", "report.html"]


def test_a_link_at_the_pages_place_is_replaced_and_not_followed(output: Path, tmp_path: Path) -> None:
    write(output, gang())
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (output / "report.html").symlink_to(precious)
    assert report(output).returncode == 0
    assert precious.read_text() == "kept"


def test_what_is_no_file_is_written_to(output: Path) -> None:
    write(output, gang())
    done = report(output, "-o", "/dev/stdout")
    assert (done.returncode, done.stdout[:15]) == (0, "<!DOCTYPE html>")
    assert done.stdout.endswith("</html>\n")


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        (lambda output: output.rmdir(), "there is no such directory"),
        (lambda output: None, "No such file or directory; the gang's leader writes it"),
        (lambda output: (output / "events.jsonl").write_bytes(b""), "empty"),
        (lambda output: (output / "events.jsonl").write_bytes(b"a\n\n\xff\n"), "none of its 2 lines can be read"),
        (lambda output: (output / "events.jsonl").symlink_to("/etc/passwd"), "links are not followed here"),
        (lambda output: (output / "events.jsonl").mkdir(), "is a directory: expected a regular file"),
        (lambda output: os.mkfifo(output / "events.jsonl"), "is a FIFO: expected a regular file"),
    ],
    ids=["no directory", "no events", "empty", "nothing readable", "a link", "a directory", "a pipe"],
)
def test_without_events_a_sentence_says_why(
    output: Path,
    capsys: pytest.CaptureFixture[str],
    prepare: Callable[[Path], object],
    sentence: str,
) -> None:
    prepare(output)
    assert main([str(output)]) == 1
    told_of = capsys.readouterr()
    assert told_of.out == ""
    assert sentence in told_of.err
    assert told_of.err.count("\n") == 1


@pytest.mark.parametrize("target", ["", "nowhere/page.html", "events.jsonl/page.html"])
def test_a_page_that_cannot_be_written_is_told_of(
    output: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    write(output, gang())
    assert main([str(output), "-o", str(output / target)]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert [path.name for path in output.iterdir()] == ["events.jsonl"]


def test_usage_is_told_with_examples() -> None:
    told_of = report("--help")
    assert told_of.returncode == 0
    assert "examples:\n  python -m launcher.report output/" in told_of.stdout
    assert report().returncode == 2
    assert report("output", "--colour").returncode == 2


def test_many_events_give_a_small_page(output: Path) -> None:
    write(output, gang(100, 15, failing=[10], steps=20))
    assert (output / "events.jsonl").read_bytes().count(b"\n") > 30_000
    assert main([str(output)]) == 0
    assert (output / "report.html").stat().st_size < 600_000


def v1_run(output: Path, *, failing: Iterable[int] = ()) -> None:
    """What a gang leaves whose programs report nothing: their logs, and the passes that they saved."""
    whole = gang(3, 6, failing=failing)
    events = [each for each in whole if each["event"] != "progress"]
    events[0] |= {"command": "paddle train --config=trainer_config.py", "runtime": "v1", "namespace": "team"}
    for event in events:
        event |= {"tail": "Traceback:\n  bad row 7\n"} if event["event"] == "failure" else {}
    write(output, events)
    ends = {(each["generation"], each["pass"], each["rank"]): each for each in whole if each["event"] == "progress"}
    for rank in range(3):
        (output / f"node_{rank}").mkdir()
    for (generation, number, rank), each in ends.items():
        with (output / f"node_{rank}" / "train.log").open("a") as log:
            if generation > 1 and (generation - 1, number, rank) in ends:
                log.write(f"==== generation {generation}, after pass {number - 1}: trainer 2 exited with 7 ====\n")
            log.write(f"at work\n Pass={number} Batch=9 samples=9 AvgCost={each['metrics']['cost']}\n")
        saved = output / f"pass-{number:05}"
        saved.mkdir(exist_ok=True)
        (saved / "done").touch()
        at = datetime.fromisoformat(each["at"]).timestamp()
        os.utime(saved / "done", (at, at))


def test_a_program_that_reports_nothing_has_its_passes_and_costs_from_its_logs(output: Path, tmp_path: Path) -> None:
    v1_run(output)
    (output / "node_3").symlink_to(output / "node_0")
    (output / "node_4").mkdir()
    done = report(output)
    assert (done.returncode, done.stderr) == (0, "")
    text = (output / "report.html").read_text()
    assert "Metrics by pass" in text
    assert "AvgCost" in text
    assert "trainer 2" in text
    assert "trainer 3" not in text
    assert text.count('class="pass"') == 3 * 6 + 1
    assert "pass 0 saved at 10:00:18.502 UTC, generation 1" in text
    assert "<dt>Command</dt><dd>paddle train --config=trainer_config.py</dd>" in text
    assert "Lost in restarts" not in text
    assert str(tmp_path) not in text, "a page that is shared names no path of whoever made it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the browser made of the page."""

    dom: str
    console: str
    picture: bytes

    def count(self, kind: str) -> int:
        return len(re.findall(rf'class="{kind}"', self.dom))


def browse(page: Path, scheme: str, width: int = 1180, address: str = "") -> Shown:
    """Open the page, or what this machine serves, in a browser that has no network.

    One start gives the document, its console and a picture.
    """
    if CHROMIUM is None:
        pytest.skip("there is no chromium here (Debian: apt-get install chromium)")
    picture = page.with_suffix(".png")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"]
    flags += [f"--user-data-dir={page.parent / 'profile'}", "--no-first-run", "--proxy-server=127.0.0.1:9"]
    flags += [f"--blink-settings=preferredColorScheme={PREFERS[scheme]}", "--enable-logging=stderr", "--v=0"]
    argv = [
        CHROMIUM,
        *flags,
        f"--window-size={width},1600",
        f"--screenshot={picture}",
        "--dump-dom",
        address or page.as_uri(),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return Shown(dom=done.stdout, console=console, picture=picture.read_bytes())


@pytest.mark.parametrize(
    ("events", "scheme", "verdict", "ranks"),
    [
        (gang(3, failing=[2]), "light", "Success</em> after 1 min 32 s: every trainer is done.", 3),
        (
            gang(3, failing=[2], end=7),
            "dark",
            "Failed</em> with code 7 after 1 min 35 s: trainer 2 exited with 7.",
            3,
        ),
        (gang(100, end=None), "light", "No verdict yet:</em> still running", 100),
    ],
    ids=["success", "failure", "a hundred, running"],
)
def test_a_browser_shows_the_verdict_and_a_row_for_each_rank(
    output: Path, events: list[dict[str, Any]], scheme: str, verdict: str, ranks: int
) -> None:
    write(output, events)
    assert report(output).returncode == 0
    shown = browse(output / "report.html", scheme)
    assert verdict in shown.dom
    assert shown.count("row") == ranks
    assert shown.console == ""
    assert shown.picture.startswith(SIGNATURE)
    assert len(shown.picture) > 20_000, "an empty page is a small picture"


def test_a_browser_runs_nothing_that_a_job_was_named(output: Path) -> None:
    evil = (
        "</title><script>document.title='taken';console.log('taken')</script><img src=x onerror=console.log('taken')>"
    )
    write(output, [told(0, "run_started", key=evil, job=evil), told(1, "verdict", code=1, reason=evil), *gang()[1:]])
    assert report(output).returncode == 0
    shown = browse(output / "report.html", "light")
    assert shown.console == ""
    assert "<script" not in shown.dom
    assert "<img" not in shown.dom


def test_what_a_restart_of_such_a_program_cost_is_told(output: Path) -> None:
    v1_run(output, failing=[3])
    assert report(output).returncode == 0
    cost = "22.5 s and 1 pass (12.5 s trained in vain, 9.98 s until it trained again)"
    text = (output / "report.html").read_text()
    assert text.count(cost) == 2
    assert "The last lines of node 2, generation 1</summary><pre>Traceback:\n  bad row 7</pre>" in text


# A frame is as narrow as it is told, a window is not; what is given by `srcdoc` can be measured from around it.
FRAME = """<!DOCTYPE html><title>waiting</title><body style="margin:0">
<iframe style="border:0" width="{width}" height="1500" srcdoc="{page}"></iframe>
<script>addEventListener("load", () => {{
const page = document.querySelector("iframe").contentDocument, found = s => page.querySelector(s);
const shown = s => page.defaultView.getComputedStyle(found(s)).display;
document.title = ["MEASURED", page.documentElement.scrollWidth, shown(".hint"), shown("thead"), shown("td"),
found(".seat").getBoundingClientRect().height].join(" ") }})</script>"""


@pytest.mark.parametrize(
    ("width", "hint", "head", "cell"),
    [
        (390, "block", "none", "flex"),
        (700, "block", "none", "flex"),
        (1280, "none", "table-header-group", "table-cell"),
    ],
)
def test_the_page_is_no_wider_than_its_reader_and_its_letters_stay_large(
    output: Path, width: int, hint: str, head: str, cell: str
) -> None:
    v1_run(output, failing=[1])
    assert report(output).returncode == 0
    frame = output / "frame.html"
    frame.write_text(FRAME.format(width=width, page=html.escape((output / "report.html").read_text())))
    measured = re.search(r"<title>MEASURED (.*)</title>", browse(frame, "light", 1400).dom)
    assert measured
    wide, *displays, letters = measured[1].split()
    assert int(wide) <= width, "only the timeline scrolls sideways, and says so"
    assert displays == [hint, head, cell]
    assert float(letters) >= 10
