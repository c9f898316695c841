"""What a rehearsal looks like: text from logs and from what the launchers said.

No I/O here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from launcher.contract import PASS_PREFIX
from launcher.desk.columns import bar, table

_COST = re.compile(r"\bPass=(\d+) .*\bAvgCost=(\S+)")
ERROR = re.compile(r"\bPass=(\d+) .*\bRMSE=(\S+)")
COLUMNS = 8  # more nodes than that, and a table shows their mean
FILES = 5  # more in a directory of the output, and a tree shows their number


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What the passes came to: each trainer's cost; over what was held out, the RMSE of all and of a constant."""

    costs: Mapping[str, Mapping[int, float]]
    errors: Mapping[int, float] = field(default_factory=dict)
    constant: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWord:
    """What a launcher said last of the life of its pod."""

    code: int
    reason: str
    rank: int | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)


def last_word(stderr: str) -> LastWord | None:
    """Return the canonical last line among a launcher's own."""
    for said in _events(stderr.splitlines()[::-1], "launcher_finished"):
        with suppress(KeyError):
            return LastWord(code=said["code"], reason=said["reason"], rank=said["rank"], seconds=said["seconds"])
    return None


def restarts(stderr: str) -> list[str]:
    """Return a line for each time the gang was started again: why, and the pass it went on from."""
    begun = _events(stderr.splitlines(), "generation_begins")
    again = [(each.get("resume"), each["cause"]) for each in begun if each.get("cause")]
    return [
        f"all started again {'from the beginning' if done is None else f'after pass {done}'}: {why}"
        for done, why in again
    ]


def _events(lines: Iterable[str], name: str) -> Iterator[dict[str, Any]]:
    for line in lines:
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and event.get("event") == name:
                yield event


def costs(log: str) -> dict[int, float]:
    """Return the cost of each finished pass in a trainer's log; where one was run again, the later counts."""
    return _by_pass(_COST, log)


def errors(log: str) -> dict[int, float]:
    """Return the RMSE of each finished pass over what was held out, where a trainer tells it."""
    return _by_pass(ERROR, log)


def _by_pass(told: re.Pattern[str], log: str) -> dict[int, float]:
    found = {}
    for number, value in told.findall(log):
        try:
            found[int(number)] = float(value)
        except ValueError:
            continue
    return found


def constant_error(learned: Iterable[float], held_out: Sequence[float]) -> float:
    """Return the RMSE of who always guesses the mean of what there is to learn from."""
    mean = _mean(list(learned))
    return math.sqrt(_mean([(score - mean) ** 2 for score in held_out]))


def progress_text(passes: int, log: str, seconds: float) -> str:
    """Return a bar: passes done, of how many, the last one's RMSE or cost, the time so far."""
    name, found = ("RMSE", errors(log)) if errors(log) else ("cost", costs(log))
    done = max(found) + 1 if found else 0
    value = f"{name} {found[done - 1]:.4f}" if found else "starting"
    if not passes:
        return f"pass {done}: {value}, {seconds:.1f} s" if found else f"{seconds:.1f} s"
    return f"pass {done}/{passes} {bar(done, passes)} {value}, {seconds:.1f} s"


def pass_table(learned: Learned) -> str:
    """Return what each pass came to, node by node, and all nodes' RMSE beside that of a constant guess."""
    title = "cost per pass, each trainer's own" + ("; RMSE of all on what was held out" if learned.errors else "")
    columns = dict(learned.costs)
    passes = sorted({number for found in columns.values() for number in found})
    if len(columns) > COLUMNS:
        columns = {"mean": {number: _mean([f[number] for f in columns.values() if number in f]) for number in passes}}
    if learned.errors:
        columns["RMSE"] = learned.errors
    if learned.constant is not None:
        columns["guessing the mean"] = dict.fromkeys(passes, learned.constant)
    rows = [[str(number), *(_number(found.get(number), 4) for found in columns.values())] for number in passes]
    return f"{title}\n{table([['pass', *columns], *rows], str.rjust)}"


def life_table(lives: Mapping[str, tuple[int, LastWord | None]]) -> str:
    """Return how each pod ended, and its seconds in each phase."""
    words = [word for _, word in lives.values() if word]
    phases = list(dict.fromkeys(phase for word in words for phase in word.seconds))
    rows = [["pod", "rank", "code", *(f"{phase} s" for phase in phases)]]
    for address, (code, word) in lives.items():
        rank = "-" if word is None or word.rank is None else str(word.rank)
        seconds = [_number(word.seconds.get(phase) if word else None, 3) for phase in phases]
        rows.append([address, rank, str(code), *seconds])
    return table(rows, str.rjust)


def tree(title: str, paths: Sequence[PurePath]) -> str:
    """Return files as `tree` shows them; of the passes only the last one."""
    passes = sorted({path.parts[0] for path in paths if path.parts[0].startswith(PASS_PREFIX)})
    shown = [path.parts for path in paths if path.parts[0] not in passes[:-1] and not path.parts[0].startswith(".")]
    lines = [title, *_branches(sorted(shown), "")]
    if len(passes) > 1:
        cut = next(number for number, line in enumerate(lines) if passes[-1] in line)
        lines.insert(cut, f"├── {passes[0]}" if len(passes) == 2 else f"├── {passes[0]} ... {passes[-2]}")
    return "\n".join(lines)


def _branches(paths: Sequence[tuple[str, ...]], indent: str) -> list[str]:
    lines = []
    names = sorted({path[0] for path in paths})
    for name in names:
        last = name == names[-1]
        below = [path[1:] for path in paths if path[0] == name and len(path) > 1]
        many = len(below) > FILES and all(len(path) == 1 for path in below)
        lines.append(f"{indent}{'└──' if last else '├──'} {name}{f' ({len(below)} files)' if many else ''}")
        lines += [] if many else _branches(below, indent + ("    " if last else "│   "))
    return lines


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
