"""What a rehearsal looks like: text from logs and from what the launchers said.

No I/O here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

PASS = re.compile(r"\bPass=(\d+) .*\bAvgCost=(\S+)")
BAR = 30
COLUMNS = 8  # more nodes than that, and a table shows their mean


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWord:
    """What a launcher said last of the life of its pod."""

    code: int
    reason: str
    rank: int | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)


def last_word(stderr: str) -> LastWord | None:
    """Return the canonical last line among a launcher's own."""
    for line in reversed(stderr.splitlines()):
        try:
            said = json.loads(line)
            if said["event"] == "launcher_finished":
                return LastWord(code=said["code"], reason=said["reason"], rank=said["rank"], seconds=said["seconds"])
        except (ValueError, TypeError, KeyError):
            continue
    return None


def costs(log: str) -> dict[int, float]:
    """Return the cost of each finished pass in a trainer's log; where one was run again, the later counts."""
    found = {}
    for number, cost in PASS.findall(log):
        try:
            found[int(number)] = float(cost)
        except ValueError:
            continue
    return found


def progress(passes: int, found: Mapping[int, float], seconds: float) -> str:
    """Return a bar: passes done, of how many, the last one's cost, the time so far."""
    done = max(found) + 1 if found else 0
    filled = min(BAR, BAR * done // max(1, passes))
    cost = f"cost {found[done - 1]:.4f}" if found else "starting"
    return f"pass {done}/{passes} [{'#' * filled}{'.' * (BAR - filled)}] {cost}, {seconds:.1f} s"


def cost_table(by_node: Mapping[str, Mapping[int, float]]) -> str:
    """Return the cost of each pass, node by node."""
    passes = sorted({number for found in by_node.values() for number in found})
    if len(by_node) > COLUMNS:
        by_node = {"mean": {number: _mean([f[number] for f in by_node.values() if number in f]) for number in passes}}
    rows = [[str(number), *(_number(found.get(number), 4) for found in by_node.values())] for number in passes]
    return table(["pass", *by_node], rows)


def life_table(lives: Mapping[str, tuple[int, LastWord | None]]) -> str:
    """Return how each pod ended, and its seconds in each phase."""
    words = [word for _, word in lives.values() if word]
    phases = list(dict.fromkeys(phase for word in words for phase in word.seconds))
    rows = []
    for address, (code, word) in lives.items():
        rank = "-" if word is None or word.rank is None else str(word.rank)
        seconds = [_number(word.seconds.get(phase) if word else None, 3) for phase in phases]
        rows.append([address, rank, str(code), *seconds])
    return table(["pod", "rank", "code", *(f"{phase} s" for phase in phases)], rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows in columns, flush right."""
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    return "\n".join(lines)


def tree(title: str, paths: Sequence[PurePath]) -> str:
    """Return files as `tree` shows them; of the passes, the last one alone."""
    passes = sorted({path.parts[0] for path in paths if path.parts[0].startswith("pass-")})
    shown = [path.parts for path in paths if path.parts[0] not in passes[:-1] and not path.parts[0].startswith(".")]
    lines = [title, *_branches(sorted(shown), "")]
    if len(passes) > 1:
        cut = next(number for number, line in enumerate(lines) if line.endswith(passes[-1]))
        lines.insert(cut, f"├── {passes[0]}" if len(passes) == 2 else f"├── {passes[0]} ... {passes[-2]}")
    return "\n".join(lines)


def _branches(paths: Sequence[tuple[str, ...]], indent: str) -> list[str]:
    lines = []
    names = sorted({path[0] for path in paths})
    for name in names:
        last = name == names[-1]
        below = [path[1:] for path in paths if path[0] == name and len(path) > 1]
        lines.append(f"{indent}{'└──' if last else '├──'} {name}")
        lines += _branches(below, indent + ("    " if last else "│   "))
    return lines


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
