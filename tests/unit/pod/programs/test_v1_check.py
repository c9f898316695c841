"""Which `paddle` a v1 job may start: one that only prints its version is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.contract import Code
from launcher.pod.outcome import SettingsError
from launcher.pod.programs import v1_check
from launcher.pod.programs.v1_check import can_train

ROOT = Path(__file__).parents[4]
# As the wheels have it, in short.
PRINTS = """#!/bin/bash
function version(){ echo "PaddlePaddle 2.6.2, compiled with"; }
# paddle train and paddle pserver are gone
trainers=`grep -Eo 'trainer_count.[0-9]+' <<< "$@" |grep -Eo '[0-9]+'|xargs`
case "$1" in
    "version") version ;;
    *) version ;;
esac
"""


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        (PRINTS, False),
        (PRINTS.replace("/bin/bash", "/usr/bin/env bash"), False),
        (PRINTS.replace("/bin/bash", " /bin/sh"), False),
        ('#!/bin/bash\ncase "$1" in\n"train") $BIN/trainer ${@:2};;\n"pserver") $BIN/pserver ${@:2};;\nesac\n', True),
        ('#!/bin/bash\ncase "$1" in train) run_it;; pserver) serve_it;; esac\n', True),
        ('#!/bin/sh\nexec python3 -m launcher.bridge "$@"\n', True),
        ('#!/bin/sh\npython3 -m launcher.bridge $*\n', True),
        ('#!/bin/bash\n[ "$1" = train ] || exec "${0%/*}/honest" "$@"\necho training\n', True),
        ("#!/usr/bin/env python3\nprint('version')\n", True),
        ("\x7fELF\0\0\0", True),
        ("", True),
    ],
)  # fmt: skip
def test_a_shell_script_that_knows_neither_command_and_hands_nothing_on_cannot_train(text: str, fine: bool) -> None:
    assert can_train(text.encode()) is fine


@pytest.mark.parametrize("path", ["launcher/bridge/bin/paddle", "examples/stand_in/paddle"])
def test_our_own_can(path: str) -> None:
    assert can_train((ROOT / path).read_bytes())


def test_the_first_on_path_is_looked_at_and_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    for name, text in (("wheel", PRINTS), ("ours", "#!/usr/bin/env python3\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "paddle").write_text(text)
        (tmp_path / name / "paddle").chmod(0o755)
    wheel, ours = str(tmp_path / "wheel"), str(tmp_path / "ours")
    v1_check.check_v1_command({"PATH": f"{ours}:{wheel}"})
    v1_check.check_v1_command({"PATH": str(tmp_path)})
    sentence = r"wheel/paddle cannot train.*launcher/bridge/bin.*LAUNCHER_RUNTIME=fleet"
    with pytest.raises(SettingsError, match=sentence) as told:
        v1_check.check_v1_command({"PATH": f"{wheel}:{ours}"})
    assert told.value.code is Code.SETTINGS
