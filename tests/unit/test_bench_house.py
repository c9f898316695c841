"""How the house is counted: a small tree as text in, figures out."""

from __future__ import annotations

from textwrap import dedent

import pytest

from bench import house_figures, tests_kept
from bench.house import table
from bench.tests_kept import Comparison

HOUSE = {
    "launcher/__init__.py": '"""A house."""\n',
    "launcher/desk/__init__.py": "",
    "launcher/desk/names.py": dedent('''\
        """Names.

        No I/O here.
        """
        import os  # noqa: F401
        from .kubernetes import read  # ours

        LIMIT = 3

        class Place:
            """A place."""

            @property
            def _shown(self):
                # why
                return "#"

        def of(name):
            def inner():
                return _once(_often(name))
            return _often(inner)

        def _once(name):
            return name

        def _often(name):
            return name
        '''),
    "launcher/desk/kubernetes.py": "def read():\n    import kubernetes.client\n",
    "launcher/desk/verbs/get.py": "",
    "launcher/desk/verbs/names.py": "from kubernetes import client\nasync def of(): ...\ndef of(): ...\n",
    "launcher/desk/verbs/__main__.py": "",
    "launcher/__main__.py": "",
}


@pytest.mark.parametrize(
    ("row", "figure"),
    [
        ("modules, `__init__` apart", "6"),
        ("modules in all", "8"),
        ("lines", "33"),
        ("largest folder, `verbs/` and `dataset/` apart", "launcher/desk: 2"),
        ("modules in `verbs/`", "3"),
        ("modules in `dataset/`", "0"),
        ("file: median / p90 / largest", "0.5 / 27 / 27"),
        ("function: median / p90 / largest", "2 / 4 / 4"),  # a decorator's line is none of the function's
        ("functions", "8"),
        ("classes", "1"),
        ("public names per 1,000 lines", "151.5 (5)"),  # Place and of, read, of twice: no constant, no method
        ("private functions called once", "33 % (1 of 3)"),
        ("comments, share of lines", "6.1 %"),  # not the one for a tool, nor the text that looks like one
        ("docstrings, share of lines", "18.2 %"),
        ("modules that import `kubernetes`", "2"),  # from outside, wherever in the module
        ("file names that stand twice or more", "1"),
        ("public names defined in two modules or more", "1"),
    ],
)
def test_a_row_says_what_it_counts(row: str, figure: str) -> None:
    assert house_figures.figures(HOUSE)[row] == figure


def test_a_tree_of_nothing_has_figures_too() -> None:
    assert house_figures.figures({"launcher/__init__.py": "#\n"})["private functions called once"] == "0 % (0 of 0)"


def test_trees_stand_beside_each_other() -> None:
    assert table(["a", "here"], [{"lines": "1,000"}, {"lines": "9"}]) == (
        "|       |     a | here |\n| ----- | ----: | ---: |\n| lines | 1,000 |    9 |\n"
    )


BEFORE = """\
    import pytest

    def test_a():
        assert 1

    @pytest.mark.parametrize("n", [1, 2])
    def test_b(n):
        assert n
        with pytest.raises(ValueError):
            check_all(n)

    async def test_c():
        wait_until(lambda: 1)
        assert 1

    def test_d():
        pytest.skip("no expectation")

    def helper():
        assert 1

    class TestE:
        def test_a(self):
            assert 1
    """


def compared(before: str, after: str, *, path: str = "tests/process/test_y.py") -> Comparison:
    old = tests_kept.functions({"tests/unit/test_x.py": dedent(before)})
    return tests_kept.compared(old, tests_kept.functions({path: dedent(after)}))


def names(comparison: Comparison) -> dict[str, list[tuple[str, str]]]:
    return {way: [(old.name, new.name) for old, new in pairs] for way, pairs in comparison.found.items() if pairs}


def test_expectations_are_counted_by_their_sort() -> None:
    assert tests_kept.figures({"tests/test_x.py": dedent(BEFORE), "tests/support/h.py": "assert 1"}) == {
        "files with tests": "1",
        "test functions": "5",
        "`assert` statements": "6",
        "`pytest.raises` and its like": "1",
        "helpers that expect": "2",
    }


def test_a_test_that_stands_elsewhere_with_another_docstring_has_moved() -> None:
    moved = compared(BEFORE, BEFORE.replace("def test_a():\n", 'def test_a():\n        """Why."""\n'))
    assert names(moved) == {
        "moved": [(name, name) for name in ("test_a", "test_b", "test_c", "test_d", "TestE::test_a")]
    }
    assert (moved.gone, moved.new, moved.fewer) == ((), (), ())


@pytest.mark.parametrize(
    ("was", "now", "found", "fewer"),
    [
        ("assert n\n", "assert n + 1\n", {"changed": ["test_b"]}, []),
        ("assert n\n", "\n", {"changed": ["test_b"]}, [("test_b", 3, 2)]),
        ("check_all(n)", "all(n)", {"changed": ["test_b"]}, [("test_b", 3, 2)]),
        ("[1, 2]", "[1]", {"changed": ["test_b"]}, []),  # fewer parameters: the ids say it
        ("test_b", "test_new", {"renamed": ["test_b"]}, []),
        ("test_d", "helped", {"gone": ["test_d"]}, []),
    ],
)
def test_a_test_is_found_again_by_name_and_by_form(
    was: str, now: str, found: dict[str, list[str]], fewer: list[tuple[str, int, int]]
) -> None:
    comparison = compared(BEFORE, BEFORE.replace(was, now), path="tests/unit/test_x.py")
    ways = {way: [old.name for old, _ in pairs] for way, pairs in comparison.found.items() if way != "kept" and pairs}
    gone = {"gone": [test.name for test in comparison.gone]} if comparison.gone else {}
    assert ways | gone == found
    assert [(old.name, old.expected, new.expected) for old, new in comparison.fewer] == fewer
    assert comparison.new == ()


def test_of_two_of_a_name_each_is_found_once() -> None:
    twice = "def test_a():\n    assert 1\n"
    old = tests_kept.functions({"tests/test_x.py": twice, "tests/test_y.py": twice})
    found = tests_kept.compared(old, tests_kept.functions({"tests/unit/test_y.py": twice}))
    assert [test.path for test in found.gone] == ["tests/test_y.py"]


def test_ids_are_lost_by_name_and_parameters_and_not_by_place() -> None:
    before = ("tests/x.py::test_a[1]", "tests/x.py::test_a[2]", "tests/y.py::test_a[2]")
    assert tests_kept.lost(before, ("tests/unit/x.py::test_a[2]", "tests/x.py::test_b")) == (
        "tests/x.py::test_a[1]",
        "tests/y.py::test_a[2]",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            r"[\x1f\x8b\x08\x00C5\xfej\x02\xff\x00-told]",
            r"[\x1f\x8b\x08\x00\n\x01-j\x02\xff\x00-told]",
        ),  # packed later
        (r"[\x04f\x1f\x8b\x08\x00C5\xfej\x02\x00]", r"[\x04g\x1f\x8b\x08\x00D5\xfej\x02\x00]"),
        ("[wrong7-told]", "[wrong8-told]"),  # another stands before it
        ("[a0-wrong1]", "[a0-wrong2]"),
    ],
)
def test_ids_that_differ_by_time_or_number_are_the_same(old: str, new: str) -> None:
    assert tests_kept.lost([f"x.py::test_a{old}"], [f"x.py::test_a{new}"]) == ()
    assert tests_kept.lost([f"x.py::test_a{old}"] * 2, [f"x.py::test_a{new}"]) == (f"x.py::test_a{old}",)
