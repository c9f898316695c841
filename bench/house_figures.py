"""The house in figures: how many modules, how large, and how often one name stands for two things.

A tree is the text of its files by their path. Lines are all lines of a file; a function has those from its `def` to
its end, and nested functions and methods are functions too. A private function is called once if its own module
refers to its name once. Public names are functions and classes at the top of a module, not constants. Comments are
counted wherever they stand, but not those for a tool (`noqa`, `type:`).

No I/O here.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

APART = ("verbs", "dataset")  # folders whose modules are alike: one for each command, one for each sort of file
CLIENT = "kubernetes"
FOR_TOOLS = re.compile(r"#\s*(noqa|type:|pragma)|#!")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A file, parsed."""

    path: PurePosixPath
    lines: int
    comments: int
    tree: ast.Module

    @classmethod
    def of(cls, path: str, text: str) -> Module:
        """Return the module that a text is."""
        return cls(
            path=PurePosixPath(path),
            lines=len(text.splitlines()),
            comments=sum(not FOR_TOOLS.match(comment) for comment in _comments(text)),
            tree=ast.parse(text, path),
        )


def figures(sources: Mapping[str, str]) -> dict[str, str]:
    """Return what the table shows of a tree, by the name of the row."""
    modules = tuple(Module.of(path, text) for path, text in sorted(sources.items()))
    rooms = tuple(each for each in modules if each.path.stem != "__init__")
    total = sum(each.lines for each in modules)
    functions = tuple(each for module in modules for each in functions_of(module.tree))
    private, once = private_functions(modules)
    public = [name for module in modules for name in public_names(module)]
    documented = sum(docstring_lines(module) for module in modules)
    files_twice = twice(each.path.name for each in rooms if each.path.stem != "__main__")
    names_twice = twice(name for module in modules for name in {*public_names(module)})
    return {
        "modules, `__init__` apart": f"{len(rooms):,}",
        "modules in all": f"{len(modules):,}",
        "lines": f"{total:,}",
        "largest folder, `verbs/` and `dataset/` apart": largest_folder(rooms),
        **{f"modules in `{name}/`": f"{sum(each.path.parent.name == name for each in rooms)}" for name in APART},
        "file: median / p90 / largest": spread([each.lines for each in modules]),
        "function: median / p90 / largest": spread([length(each) for each in functions]),
        "functions": f"{len(functions):,}",
        "classes": f"{sum(isinstance(node, ast.ClassDef) for each in modules for node in ast.walk(each.tree)):,}",
        "public names per 1,000 lines": f"{1000 * len(public) / total:.1f} ({len(public):,})",
        "private functions called once": f"{share(once, private, 0)} ({once:,} of {private:,})",
        "comments, share of lines": share(sum(each.comments for each in modules), total, 1),
        "docstrings, share of lines": share(documented, total, 1),
        f"modules that import `{CLIENT}`": f"{sum(imports(module, CLIENT) for module in modules)}",
        "file names that stand twice or more": f"{len(files_twice)}",
        "public names defined in two modules or more": f"{len(names_twice)}",
    }


def spread(values: Sequence[int]) -> str:
    """Return the median, the ninetieth of a hundred, and the largest."""
    ordered = sorted(values) or [0]
    return f"{statistics.median(ordered):g} / {ordered[len(ordered) * 9 // 10]} / {ordered[-1]}"


def share(part: int, whole: int, digits: int) -> str:
    """Return a part of a whole in percent; of nothing, none."""
    return f"{100 * part / whole if whole else 0:.{digits}f} %"


def twice(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that occur more than once, in order."""
    return tuple(sorted(name for name, times in Counter(names).items() if times > 1))


def largest_folder(modules: Iterable[Module]) -> str:
    """Return the folder with the most modules of its own, and how many."""
    folders = Counter(str(each.path.parent) for each in modules if each.path.parent.name not in APART)
    return "{}: {}".format(*max(folders.items(), key=lambda each: (each[1], each[0]), default=("none", 0)))


def functions_of(tree: ast.AST) -> Iterator[Function]:
    """Yield every function, at whatever depth."""
    return (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))


def length(function: Function) -> int:
    """Return the lines of a function, its decorators apart."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def public_names(module: Module) -> tuple[str, ...]:
    """Return the functions and classes at the top of a module that others may use."""
    defined = (node for node in module.tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef)))
    return tuple(node.name for node in defined if not node.name.startswith("_"))


def private_functions(modules: Iterable[Module]) -> tuple[int, int]:
    """Return how many functions are private, and how many of them are called once."""
    all_of_them = once = 0
    for module in modules:
        nodes = tuple(ast.walk(module.tree))
        named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        named.update(node.attr for node in nodes if isinstance(node, ast.Attribute))
        private = [each.name for each in functions_of(module.tree) if re.match("_(?!_)", each.name)]
        all_of_them += len(private)
        once += sum(named[name] == 1 for name in private)
    return all_of_them, once


def docstring_lines(module: Module) -> int:
    """Return the lines of the docstrings of a module, its classes and functions."""
    owners = (node for node in ast.walk(module.tree) if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)))
    texts = (node.body[0] for node in owners if ast.get_docstring(node, clean=False) is not None)
    return sum((text.end_lineno or text.lineno) - text.lineno + 1 for text in texts)


def imports(module: Module, package: str) -> bool:
    """Return whether a module imports a package, wherever in it; a module of ours with that name is not it."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == package:
            return True
        if isinstance(node, ast.Import) and any(name.name.split(".")[0] == package for name in node.names):
            return True
    return False


def _comments(text: str) -> Iterator[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return (token.string for token in tokens if token.type == tokenize.COMMENT)
