"""A line that moves: over itself on a terminal, now and then elsewhere."""

from __future__ import annotations

import io

from launcher.desk.terminal import ProgressLine


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


def test_elsewhere_what_comes_too_soon_is_not_written() -> None:
    stream = io.StringIO()
    line = ProgressLine(stream)
    for number in range(100):
        line.show(f"pass {number}")
    line.say("told to end")
    line.finish("pass 100")
    assert stream.getvalue() == "pass 0\ntold to end\npass 100\n"


def test_on_a_terminal_each_is_written_over_the_last() -> None:
    stream = Terminal()
    line = ProgressLine(stream)
    line.show("pass 0")
    line.show("pass 1")
    line.say("told to end")
    line.finish("pass 2")
    assert stream.getvalue() == "\rpass 0\x1b[K\rpass 1\x1b[K\r\x1b[Ktold to end\n\r\x1b[Kpass 2\n"
