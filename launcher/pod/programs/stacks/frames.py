"""Reads what Python's faulthandler writes: the frames of all threads, and in them the place where a program stands.

No I/O here. Any text is read: a program's threads go on while it is written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from launcher.pod.programs.stacks.waits import only_waits

_HEAD = re.compile(r"(?:Stack|(?:Current thread|Thread) 0x[0-9a-f]+(?: \[.*\])?) \(most recent call first\):\s*")
_FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>[0-9]{1,9}|\?\?\?) in (?P<function>.*)')
# The interpreter's own modules, and packages: those of the program's Python, whatever made it.
_PYTHONS = re.compile(r"/(?:lib|lib64|Lib)/(?:python|pypy)[\d.]+/|/python\d+\.zip/|/(?:site|dist)-packages/")
_PACKAGES = re.compile(r"/(?:site|dist)-packages/([^/]+)")
_OURS = re.compile(r"(?:^|/)(?:here\.py$|launcher/(?:text\.py$|(?:dataset|bridge|importable|stackable)/))")
_HERE = re.compile(r"(?:^|/)here\.py$")
_MADE = re.compile(r"^<")
# The program itself, where it is the outermost; other code with a name in brackets was made by a library.
_TYPED = ("<string>", "<stdin>")
_IMPORTS = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")
# What stands between a program and the function that it called.
_WRAPPERS = frozenset(
    (
        *("wrapper", "_wrapper", "wrapped", "inner", "inner_f", "decorated", "decorate_context", "_fn", "fn"),
        *("impl", "__impl__", "<lambda>", "<genexpr>", "__call__", "_call_impl", "_wrapped_call_impl"),
        *("__enter__", "__exit__", "reraise_with_filtered_traceback"),
    )
)
_MODULE = "<module>"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFrame:
    """One call: the file of its code, the line, and the function."""

    file: str
    line: int
    function: str

    @property
    def name(self) -> str:
        """The file's name without its directories."""
        return PurePosixPath(self.file).name or self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramPlace:
    """Where a program stands: for people, as a digest that is equal for equal places, and whether it only waits."""

    where: str
    digest: str
    waits: bool


def thread_stacks(text: str) -> tuple[tuple[StackFrame, ...], ...]:
    """Return each thread's frames, the innermost first; the main thread is the last."""
    found: list[list[StackFrame]] = []
    for line in text.splitlines():
        if _HEAD.fullmatch(line):
            found.append([])
        elif found and (frame := _FRAME.fullmatch(line)):
            number = int(frame["line"]) if frame["line"].isdecimal() else 0
            found[-1].append(StackFrame(file=frame["file"], line=number, function=frame["function"]))
    return tuple(map(tuple, found))


def place_in(text: str, *, asleep: bool) -> ProgramPlace | None:
    """Return where the main thread stands, by its innermost frame of the program's own code; `asleep`: uses no CPU.

    Helper threads, and what a library does deep inside, differ between programs that stand at the same place.
    """
    main = next(iter(reversed(thread_stacks(text))), ())
    if not main:
        return None
    mine = _mine(main)
    at, called = main[mine[0]], _called(main[: mine[0]])
    told = [f"{frame.name}:{frame.function}:{frame.line}" for frame in (main[number] for number in mine)]
    told.append(f"{called.name}:{called.function}" if called else "")
    return ProgramPlace(
        where=_words(at, called),
        digest=hashlib.sha256("\n".join(told).encode(errors="replace")).hexdigest()[:16],
        waits=only_waits([(frame.file, frame.function) for frame in main[: mine[0] + 1]], asleep=asleep),
    )


def _mine(main: Sequence[StackFrame]) -> list[int]:
    """Return which frames are the program's own; where it is an installed package, or our bridge, those of that."""
    typed = _TYPED if main[-1].file in _TYPED else ()
    mine = [number for number, frame in enumerate(main) if frame.file in typed or _is_own(frame)]
    wholes = (_whole(frame) for frame in reversed(main))
    whole = next(filter(None, wholes), "")
    return mine or [number for number, frame in enumerate(main) if _whole(frame) == whole] or [len(main) - 1]


def _whole(frame: StackFrame) -> str:
    """Return what a frame is a part of: an installed package, or what is ours; nothing for the interpreter's."""
    package = _PACKAGES.search(frame.file)
    if package:
        return package[0]
    return "ours" if _OURS.search(frame.file) and not _HERE.search(frame.file) else ""


def _is_own(frame: StackFrame) -> bool:
    """Return whether a frame is neither the interpreter's, nor a package's, nor ours, nor made by a library."""
    return not any(each.search(frame.file) for each in (_MADE, _PYTHONS, _OURS))


def _words(at: StackFrame, called: StackFrame | None) -> str:
    function = called.function if called else at.function
    function = "import" if called and called.file in _IMPORTS else function
    line = f"{at.name}:{at.line}"
    return line if function == _MODULE else f"{function} at {line}"


def _called(library: Sequence[StackFrame]) -> StackFrame | None:
    """Return the library's function that the program called, from its frames, the innermost first."""
    outermost = tuple(reversed(library))
    return next((frame for frame in outermost if frame.function not in _WRAPPERS), next(iter(outermost), None))
