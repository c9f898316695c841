"""Shells that complete `paddlectl`: a directory of programs for their PATH, and what they offer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.desks import User
from tests.support.terminals import Typist
from tests.support.waiting import wait_until

PROGRAM = Path(sys.executable).with_name("paddlectl")
READY = "ready-to-type"
# In bash a completion is asked for as Tab asks: the function that is registered, with what Tab gives it.
IN_BASH = """\
source <(paddlectl completion bash)
complete -p paddlectl kubectl-paddle >/dev/null || exit
compopt() { FILES=1; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_paddlectl "$1" "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}" ${FILES:+[files]}
"""


def programs(place: Path, *more: Path) -> Path:
    """Make a directory with `paddlectl`, as the plugin too, and more programs."""
    place.mkdir()
    for name in ("paddlectl", "kubectl-paddle"):
        (place / name).symlink_to(PROGRAM)
    answering = place / "kubectl_complete-paddle"
    answering.write_text(
        f"#!{sys.executable}\nimport sys\nfrom launcher.desk.cli import complete_for_kubectl\n"
        "sys.exit(complete_for_kubectl())\n"
    )
    answering.chmod(0o755)
    for each in more:
        (place / each.name).symlink_to(each)
    return place


def environ(me: User, place: Path) -> dict[str, str]:
    """Return the variables of a shell that finds these programs first."""
    return me.environ(PATH=f"{place}{os.pathsep}{os.environ['PATH']}", TERM="dumb", PS1="$ ", LC_ALL="C.UTF-8")


def offered_in_bash(me: User, place: Path, *words: str) -> list[str]:
    """Return what bash offers for the last of these words."""
    done = subprocess.run(
        ("bash", "--norc", "-c", IN_BASH, "bash", *words),
        env=environ(me, place), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def completed_by_tab(me: User, place: Path, shell: tuple[str, ...], begin: str, line: str, rest: str) -> None:
    """Press Tab behind a line in a shell until the rest of it is there; each time it is only looked for 2 s."""
    with Typist(shell, **environ(me, place)) as typist:
        typist.types(f"{begin}\necho {READY[:5]}''{READY[5:]}\n")
        assert typist.sees(READY, 60), typist.shown
        typist.types(line)

        def pressed() -> bool:
            typist.types("\t")
            return typist.sees(rest, 5)

        wait_until(pressed, timeout=60)
