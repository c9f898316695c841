"""What a launcher does about steps that do not come and numbers that are none: told, or the end of the generation."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from launcher.contract import EVENTS, OUTPUT
from tests.support.lives import Lives
from tests.support.talking import free_port

pytestmark = pytest.mark.timeout(60)
NAN = 'here.progress(pass_=3, step=120, loss=float("nan"))'
STANDS = """
for number in range(20):
    with here.step():
        time.sleep(0.01)
while True:
    pass
"""
SHORT = STANDS.replace("while True:\n    pass", "time.sleep(2)")


def environment(top: Path) -> dict[str, str]:
    (top / "work").mkdir()
    (top / "volume").mkdir()
    return {
        "LAUNCHER_RUNTIME": "env",
        "LAUNCHER_PEERS": "static:127.0.0.1",
        "POD_IP": "127.0.0.1",
        "LAUNCHER_MAX_RESTARTS": "0",
        "LAUNCHER_STATUS_PORT": str(free_port()),
        "LAUNCHER_WORKDIR": str(top / "work"),
        "LAUNCHER_GRACE": "2",
        "JOB_NAME": "job",
        "JOB_PATH": str(top / "volume"),
    }


@pytest.mark.parametrize(
    ("script", "settings", "code", "words"),
    [
        (STANDS, {"LAUNCHER_PROGRESS_TIMEOUT": "1"}, 134, "trainer 0 has made no step for 1 s"),
        (NAN, {"LAUNCHER_NAN": "fail"}, 65, "trainer 0 reports loss=nan at pass 3, step 120"),
        (NAN, {}, 0, "trainer 0 reports loss=nan at pass 3, step 120"),
        (SHORT, {"LAUNCHER_PROGRESS_TIMEOUT": "5"}, 0, ""),
    ],
)
def test_what_is_found_is_told_and_ends_the_training_where_that_was_asked_for(
    tmp_path: Path, script: str, settings: dict[str, str], code: int, words: str
) -> None:
    with Lives() as lives:
        program = (sys.executable, "-c", f"import time\nfrom launcher import here\n{script}")
        life = lives.start(*program, env=environment(tmp_path) | settings)
        assert life.end() == code
    written = (tmp_path / "volume/job" / OUTPUT / EVENTS).read_text().splitlines()
    events = [json.loads(line) for line in written]
    for kind in ("alarm", "failure") if code else ("alarm",):
        told = [event["reason"] for event in events if event["event"] == kind]
        assert [reason[: len(words)] for reason in told] == [words] * bool(words)
    (verdict,) = (event for event in events if event["event"] == "verdict")
    assert (verdict["code"], bool(words) and words in verdict["reason"]) == (code, bool(words and code))
