"""What the launcher's own starter takes aside comes back to programs, in its place and by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from launcher.pod.programs.die_with_parent import TAKEN_ASIDE, given_back
from launcher.pod.programs.spawn import give_back_variables

STARTER = Path(__file__).parents[4] / "docker" / "starter.c"


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ({}, {}),
        ({"PATH": "/bin", "lower": "1"}, {"PATH": "/bin", "lower": "1"}),
        (
            {"lD_PRELOAD": "/x.so", "A": "", "lD_LIBRARY_PATH": ""},
            {"LD_PRELOAD": "/x.so", "A": "", "LD_LIBRARY_PATH": ""},
        ),
        ({"gLIBC_TUNABLES": "a=b"}, {"GLIBC_TUNABLES": "a=b"}),
        ({"pYTHON": "3", "pYTHONPATH": "/a"}, {"PYTHON": "3", "PYTHONPATH": "/a"}),
        # Names that only look like them, and those that nobody took.
        ({"lD": "", "lDFLAGS": "", "ld_x": "", "python": ""}, {"lD": "", "lDFLAGS": "", "ld_x": "", "python": ""}),
        ({"LD_PRELOAD": "/x.so", "PYTHONPATH": "/a"}, {"LD_PRELOAD": "/x.so", "PYTHONPATH": "/a"}),
    ],
)
def test_what_was_taken_aside_is_given_back_in_its_order(inside: dict[str, str], outside: dict[str, str]) -> None:
    assert list(given_back(inside).items()) == list(outside.items())
    environ = dict(inside)
    give_back_variables(environ)
    assert list(environ.items()) == list(outside.items())


def test_the_starter_takes_what_is_given_back() -> None:
    found = re.search(r"TAKEN\[\] = \{(.*?)\}", STARTER.read_text())
    assert found
    names = re.findall(r'"(.*?)"', found[1])
    assert tuple(name[0].lower() + name[1:].rstrip("=") for name in names) == TAKEN_ASIDE
