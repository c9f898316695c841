"""What a program says last where its Python lacks a module."""

from __future__ import annotations

import pytest

from launcher.pod.programs.runtimes import missing_module

TRACEBACK = "Traceback (most recent call last):\n  File 'train.py', line 3, in <module>\n"


@pytest.mark.parametrize(
    ("tail", "python", "told"),
    [
        (
            f"{TRACEBACK}ModuleNotFoundError: No module named 'jax'\n",
            "/bin/python3",
            "No module named 'jax' in /bin/python3",
        ),
        (f"{TRACEBACK}ModuleNotFoundError: No module named 'jax._src'", None, "No module named 'jax._src'"),
        ("python3 cannot import xgboost: No module named 'xgboost'\n\n", None, "No module named 'xgboost'"),
        (f"{TRACEBACK}ModuleNotFoundError: No module named 'jax'\ntrained without it\n", "/bin/python3", ""),
        (f"{TRACEBACK}ModuleNotFoundError: No module named 'it''s'", None, ""),
        ("", "/bin/python3", ""),
    ],
    ids=["python's own", "of a package", "the tracker's", "not the last word", "no name", "nothing"],
)
def test_the_last_line_says_which_module_is_missing(tail: str, python: str | None, told: str) -> None:
    assert missing_module.missing_words(tail, python) == told
