"""What `.paddleignore` leaves out: each row means the same to git."""

from __future__ import annotations

import re

import pytest

from launcher.job.package.ignore import NoPattern, left_out, rules

ROWS = (
    # the file, a path, whether it is a directory, whether it is left out
    ("", "train.py", False, False),
    ("# train.py\n\n", "train.py", False, False),
    ("train.py", "train.py", False, True),
    ("train.py", "a/b/train.py", False, True),
    ("train.py", "train.pyc", False, False),
    ("train.py  \r\n", "train.py", False, True),
    ("/train.py", "train.py", False, True),
    ("/train.py", "a/train.py", False, False),
    ("a/train.py", "a/train.py", False, True),
    ("a/train.py", "b/a/train.py", False, False),
    ("data/", "data", True, True),
    ("data/", "a/data", True, True),
    ("data/", "data", False, False),
    ("/data/", "a/data", True, False),
    ("*.ckpt", "a/x.ckpt", False, True),
    ("*.ckpt", "a/x.ckpt.txt", False, False),
    ("a/*", "a/b", False, True),
    ("a/*", "a/b/c", False, False),
    ("a/*.py", "a/b/c.py", False, False),
    ("?.py", "a.py", False, True),
    ("?.py", "ab.py", False, False),
    ("[ab].py", "a.py", False, True),
    ("[ab].py", "c.py", False, False),
    ("[!ab].py", "c.py", False, True),
    ("[^ab].py", "a.py", False, False),
    ("[a-c].py", "b.py", False, True),
    ("[]].py", "].py", False, True),
    ("[+--].py", ",.py", False, True),
    ("[--a].py", "A.py", False, True),
    ("[-a].py", "-.py", False, True),
    ("a[--a]b", "a/b", False, False),
    ("a[!c]b", "a/b", False, False),
    ("[&&~].py", "~.py", False, True),
    (r"\[ab.py", "[ab.py", False, True),
    ("**/c", "a/b/c", False, True),
    ("**/c", "c", False, True),
    ("a/**/c", "a/c", False, True),
    ("a/**/c", "a/b/b/c", False, True),
    ("a/**", "a/b/c", False, True),
    ("a/**", "a", True, False),
    ("*.py\n!train.py", "train.py", False, False),
    ("*.py\n!train.py", "other.py", False, True),
    ("!train.py\n*.py", "train.py", False, True),
    (r"\#a", "#a", False, True),
    (r"\!a", "!a", False, True),
    (r"a\*", "a*", False, True),
    (r"a\*", "ab", False, False),
    ("a.c", "abc", False, False),
    ("/\n!\n", "a", False, False),
)


@pytest.mark.parametrize(("text", "path", "directory", "expected"), ROWS)
def test_a_pattern_means_what_git_means_by_it(text: str, path: str, directory: bool, expected: bool) -> None:
    assert left_out(rules(text), path, directory=directory) is expected


@pytest.mark.parametrize(
    ("line", "why"), [("[z-a]", "bad character range z-a"), ("[ab", r"a [ without its ]; \[ is the letter")]
)
def test_a_line_that_is_no_pattern_is_named(line: str, why: str) -> None:
    with pytest.raises(NoPattern, match=re.escape(f"line 2: {line!r} is not a pattern ({why}")):
        rules(f"a\n{line}\n")
