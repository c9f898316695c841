"""The table of `paddlectl top` on a terminal, drawn with rich and renewed until q or Ctrl-C.

One thread asks, the main one draws and hears the keys: no answer that is late holds up the end.
"""

from __future__ import annotations

import os
import queue
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from launcher.contract import FAILED, TRAINING
from launcher.desk.errors import ApiProblem
from launcher.desk.live import asking, cells
from launcher.desk.live.asking import GangAsker
from launcher.desk.live.rows import GangHead, RankRow, gang_head, rank_rows

LOOKS_EVERY = 2.0  # seconds
_ENDS = (b"q", b"Q", b"\x04")  # Ctrl-D, too
_STYLES = {"PACE": "cyan", "SKEW": "cyan", "LAST LINE": "dim"}
_PHASES = {TRAINING: "green", FAILED: "bold red", "Failed": "bold red", "Pending": "yellow"}


def table_shown(asker: GangAsker, every: float = LOOKS_EVERY) -> str:
    """Show the gang until a key ends it, or it is over; return the sentence that is left then."""
    console = Console(highlight=False)
    found: queue.SimpleQueue[Group | str | Exception] = queue.SimpleQueue()
    left = threading.Event()
    woken, wake = os.pipe()
    threading.Thread(target=_ask, args=(asker, console, found.put, wake, left, every), daemon=True).start()
    try:
        with _keys() as keys, Live(Text("asking ..."), console=console, screen=True, auto_refresh=False) as live:
            while True:
                ready, _, _ = select.select([woken, *keys], [], [])
                if any(os.read(key, 1) in (*_ENDS, b"") for key in ready if key != woken):
                    return ""
                if woken in ready:
                    os.read(woken, 1)
                    news = found.get()
                    if isinstance(news, Exception):
                        raise news
                    if isinstance(news, str):
                        return news
                    live.update(news, refresh=True)
    finally:
        left.set()
        asker.api.transport.hang_up()


def _ask(
    asker: GangAsker, console: Console, put: Callable[[Group | str | Exception], None], wake: int,
    left: threading.Event, every: float,
) -> None:  # fmt: skip
    """Look again and again; trouble that may pass is shown, and asked again."""
    asked = False
    while not left.is_set():
        try:
            look = asker.look(asking.IN_TURN if asked else asking.MOST_MEASURED)
            asked = True
            head, rows = gang_head(look), rank_rows(look, asker.before)
            note = "" if look.gang else cells.NO_LEADER
            over = look.state in cells.JOB_ENDS and not any(pod.phase == "Running" for pod in look.pods)
            put(cells.over_line(asker.name, head) if over else _drawn(asker.name, head, rows, note, console))
        except ApiProblem as problem:
            put(_drawn_trouble(asker.name, str(problem)) if asked else problem)
        except Exception as error:  # the job is gone, or it is a bug: the main thread ends with it
            put(error)
        with suppress(OSError):
            os.write(wake, b".")
        left.wait(every)


def _drawn(name: str, head: GangHead, rows: tuple[RankRow, ...], note: str, console: Console) -> Group:
    lines = (*cells.head_lines(name, head), *filter(None, [note]))
    columns = cells.fitting(console.width)
    table = Table(box=None, pad_edge=False, expand=True, header_style="bold")
    for column in columns:
        wide = column == "LAST LINE"
        table.add_column(
            column, justify="right" if column in cells.FIGURES else "left", no_wrap=True, overflow="ellipsis",
            style=_STYLES.get(column, ""), ratio=1 if wide else None,
        )  # fmt: skip
    room = max(1, console.height - len(lines) - 3)
    for row in rows[:room]:
        texts = cells.cells_by_name(row)
        table.add_row(*(Text(texts[column], style=_style(column, row)) for column in columns))
    more = [Text(f"{len(rows) - room} more ranks: `paddlectl top --once {name}`", "dim")] if len(rows) > room else []
    return Group(*(Text(line, "" if place else "bold") for place, line in enumerate(lines)), Text(), table, *more)


def _style(column: str, row: RankRow) -> str:
    if column == "SKEW" and row.skew is not None and row.skew >= cells.TOLD_SKEW:
        return "bold red"
    return _PHASES.get(row.phase.partition(" (")[0], "") if column == "PHASE" else ""


def _drawn_trouble(name: str, trouble: str) -> Group:
    return Group(Text(f"job {name}", "bold"), Text(trouble, "red"), Text("asking again ..."))


@contextmanager
def _keys() -> Iterator[list[int]]:
    """Give where single keys are read from: nowhere, where standard input is no terminal."""
    try:
        import termios
        import tty

        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
    except (ImportError, OSError, ValueError, termios.error):
        yield []
        return
    tty.setcbreak(fd)
    try:
        yield [fd]
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
