"""Which tests of one tree are in another: kept, moved, renamed, changed or gone.

A test is known by its name, wherever its file is, and by its form: what it does, without its name, docstring and
place. What it expects are its `assert` statements, `pytest.raises` and its like, and calls of helpers that fail by
themselves and say so by their name (`check_`, `await_`, ...). Parameters that stand outside of a test are not seen
here: they are in the ids that pytest collects.

No I/O here.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

# What differs in ids of the same tests: the time in what gzip packed, and the number that pytest gives a value.
PACKED = re.compile(r"\[.*\\x1f\\x8b.*\\x\w\w(?=[-\]])")
NUMBERED = re.compile(r"(?<=[-\[])([a-z_]+)\d+(?=[-\]])")
RAISING = ("raises", "warns", "fail", "deprecated_call")
HELPER = re.compile(r"_*(assert|await|check|expect|until|wait_until)(_\w*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """How many expectations there are, by their sort."""

    asserted: int
    raising: int
    helped: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.asserted + self.raising + self.helped


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A test's function."""

    path: str
    name: str
    form: str
    expected: int

    def __str__(self) -> str:
        return f"{self.path}::{self.name}"


Pair = tuple[Function, Function]
# How a test of before is found again, the surest way first.
WAYS: tuple[tuple[str, Callable[[Function], Hashable]], ...] = (
    ("kept", lambda test: (test.path, test.name, test.form)),
    ("moved", lambda test: (test.name, test.form)),
    ("changed", lambda test: (PurePosixPath(test.path).name, test.name)),
    ("changed", lambda test: test.name),
    ("renamed", lambda test: test.form),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What became of the tests: those found again by how they differ, those that are gone, and new ones."""

    found: Mapping[str, tuple[Pair, ...]]
    gone: tuple[Function, ...]
    new: tuple[Function, ...]

    @property
    def fewer(self) -> tuple[Pair, ...]:
        """Those that expect less than before."""
        return tuple((old, new) for old, new in self.found["changed"] if new.expected < old.expected)


def figures(sources: Mapping[str, str]) -> dict[str, str]:
    """Return what the table shows of a tree's tests, by the name of the row."""
    trees = {path: ast.parse(text, path) for path, text in sources.items()}
    expected = [_expected(tree) for tree in trees.values()]
    return {
        "files with tests": f"{sum(map(_holds_tests, sources)):,}",
        "test functions": f"{len(functions(sources)):,}",
        "`assert` statements": f"{sum(each.asserted for each in expected):,}",
        "`pytest.raises` and its like": f"{sum(each.raising for each in expected):,}",
        "helpers that expect": f"{sum(each.helped for each in expected):,}",
    }


def functions(sources: Mapping[str, str]) -> tuple[Function, ...]:
    """Return the test functions that pytest would collect, those in classes too."""
    files = sorted(path for path in sources if _holds_tests(path))
    return tuple(each for path in files for each in _in_body(path, ast.parse(sources[path], path).body))


def compared(before: Iterable[Function], after: Iterable[Function]) -> Comparison:
    """Return what became of each test of before; each of after is found once."""
    left, right = list(before), list(after)
    found: dict[str, tuple[Pair, ...]] = {way: () for way, _ in WAYS}
    for way, key in WAYS:
        pairs = tuple(_pairs(left, right, key))
        found[way] += pairs
        left = _without(left, [old for old, _ in pairs])
        right = _without(right, [new for _, new in pairs])
    return Comparison(found=found, gone=tuple(left), new=tuple(right))


def lost(before: Iterable[str], after: Iterable[str]) -> tuple[str, ...]:
    """Return the ids that pytest collected before and no more, wherever their files are."""
    remaining = Counter(_placeless(each) for each in after)
    gone = []
    for each in before:
        remaining[_placeless(each)] -= 1
        if remaining[_placeless(each)] < 0:
            gone.append(each)
    return tuple(gone)


def _holds_tests(path: str) -> bool:
    return PurePosixPath(path).match("test_*.py")


def _in_body(path: str, body: Sequence[ast.stmt], owner: str = "") -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _in_body(path, node.body, f"{owner}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            name = f"{owner}{node.name}"
            yield Function(path=path, name=name, form=_form(node), expected=_expected(node).total)


def _form(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    bare = copy.copy(function)
    bare.name = ""
    bare.body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return ast.dump(bare)


def _expected(tree: ast.AST) -> Expected:
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return Expected(
        asserted=sum(isinstance(node, ast.Assert) for node in ast.walk(tree)),
        raising=sum(isinstance(call, ast.Attribute) and call.attr in RAISING and _is_pytest(call) for call in calls),
        helped=sum(HELPER.fullmatch(_called(call)) is not None for call in calls),
    )


def _is_pytest(call: ast.Attribute) -> bool:
    return isinstance(call.value, ast.Name) and call.value.id == "pytest"


def _called(call: ast.expr) -> str:
    return call.id if isinstance(call, ast.Name) else call.attr if isinstance(call, ast.Attribute) else ""


def _pairs(
    left: Iterable[Function], right: Iterable[Function], key: Callable[[Function], Hashable]
) -> Iterator[Pair]:
    free: defaultdict[Hashable, list[Function]] = defaultdict(list)
    for each in right:
        free[key(each)].append(each)
    return ((each, free[key(each)].pop(0)) for each in left if free[key(each)])


def _without(all_of_them: Iterable[Function], some: Iterable[Function]) -> list[Function]:
    taken = {id(each) for each in some}
    return [each for each in all_of_them if id(each) not in taken]


def _placeless(test: str) -> str:
    return NUMBERED.sub(r"\1", PACKED.sub("[packed", test.partition("::")[2]))
