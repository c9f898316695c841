"""`make demo` in its real form: Paddle's own pservers and trainers on this machine, and what is left to look at."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

PORT = 24_000 + os.getpid() % 800 * 10  # apart from other runs, and from the ports that the kernel gives away
ROW = re.compile(r"^ +(\d+)((?:  \d\.\d{4}){3})  (\d\.\d{4}) +(\d\.\d{4})$", re.MULTILINE)


@pytest.mark.usefixtures("paddle_python")
def test_it_trains_and_shows_a_table_and_a_page_with_its_curves(tmp_path: Path) -> None:
    place = (f"--port={PORT}", f"--directory={tmp_path / 'demo'}")
    words = ("-m", "launcher.desk", "local", "--example", "recommendation", "--passes=3", *place)
    demo = subprocess.run((sys.executable, *words), cwd=tmp_path, capture_output=True, text=True, check=False)
    told = demo.stdout + demo.stderr
    assert demo.returncode == 0, told
    assert "on Paddle's own parameter servers" in told
    assert f"pass 3/3 [{'#' * 30}] RMSE 0." in told
    rows = ROW.findall(told)
    assert [number for number, *_ in rows] == ["0", "1", "2"], told
    errors = [float(row[2]) for row in rows]
    # Three passes come to 0.69, the constant guess to 1.13. A pass may be worse than the one before: no trainer
    # waits for another.
    assert errors[2] < float(rows[2][3]) - 0.3
    report = tmp_path / "demo" / "report.html"
    assert "the run as a page, with its timeline and curves: demo/report.html\n" in told
    page = report.read_text()
    assert "every trainer is done" in page
    for name in ("cost", "rmse"):
        assert f'aria-label="{name} over pass"' in page
