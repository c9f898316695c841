"""The benchmark's command line: rows are chosen by name, and an unknown one is refused with those that there are."""

from __future__ import annotations

import pytest

from bench.asked import Asked, asked

KNOWN = ("start", "stop", "data")
COMPARABLE = ("start", "stop")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("", KNOWN),
        ("stop start", ("stop", "start")),
        ("--against HEAD~1", COMPARABLE),
        ("--against HEAD~1 stop", ("stop",)),
        ("stop --against HEAD~1", ("stop",)),
    ],
)
def test_rows_are_chosen_by_name(words: str, names: tuple[str, ...]) -> None:
    assert asked(words.split(), KNOWN, COMPARABLE).names == names


def test_what_else_is_said_is_known() -> None:
    expected = Asked(names=("start",), quick=True, write=False, against="v1")
    assert asked(["--quick", "--against=v1", "start"], KNOWN, COMPARABLE) == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("start strat", "there is no row strat; there are: start, stop, data"),
        ("--against HEAD data", "data cannot be measured against a commit; these can: start, stop"),
        ("--write start", "--write takes the whole table"),
        ("--write --against HEAD", "--write takes the whole table"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        asked(words.split(), KNOWN, COMPARABLE)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
