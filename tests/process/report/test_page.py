"""`python -m launcher.report` as it is run, and its page in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the browser made of the page."""

    dom: str
    console: str
    picture: bytes

    def count(self, kind: str) -> int:
        return len(re.findall(rf'class="{kind}"', self.dom))


def browse(page: Path, scheme: str) -> Shown:
    """Open the page in a browser that has no network; one start gives the document, its console and a picture."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium here (Debian: apt-get install chromium)")
    picture = page.with_suffix(".png")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"]
    flags += [f"--user-data-dir={page.parent / 'profile'}", "--no-first-run", "--proxy-server=127.0.0.1:9"]
    flags += [f"--blink-settings=preferredColorScheme={PREFERS[scheme]}", "--enable-logging=stderr", "--v=0"]
    argv = [CHROMIUM, *flags, "--window-size=1180,1600", f"--screenshot={picture}", "--dump-dom", page.as_uri()]
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
