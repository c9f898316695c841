"""From children's pipes to their logs, byte for byte, and to standard output, in whole lines."""

from __future__ import annotations

import os
import re
import select
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from launcher.pod.output.lines import LINE_LIMIT
from launcher.pod.output.pump import PIPE, Pump
from tests.support.descriptors import descriptors
from tests.support.hanging import hanging_volume
from tests.support.lives import Life, Lives, gone
from tests.support.talking import Job, all_of, events, kill
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)
SERVER, TRAINER = b"[pserver 0] ", b"[trainer 0] "


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with Lives() as lives:
        yield Job(lives, tmp_path)


# Two programs end together: the pserver says all it has, then the trainer is free to end, which ends both.
BOTH = """
def together(top):
    touch(top + "/" + role)
    wait_for(top + "/PSERVER")
    wait_for(top + "/TRAINER")
"""
SAY_FILE = (
    BOTH
    + """
say(open(sys.argv[1], "rb").read())
if role:
    together(sys.argv[2])
"""
)

OUTPUTS = {
    "lines": b"one\ntwo\n\nthree\n",
    "a line of ten megabytes": b"x" * 10_000_000 + b"\nand another\n",
    "NUL bytes": b"\0\0one\0\n\0",
    "invalid UTF-8": b"\xff\xfe\x80one\n\xc3(\n\xe7\x95",
    "no newline at the end": b"one\ntwo",
    "nothing": b"",
    "newlines only": b"\n\n\n",
    "carriage returns": b"1 %\r2 %\r\nthree\r\n",
    "what looks like a prefix": TRAINER + b"one\n" + TRAINER,
    "every byte": bytes(range(256)) * 3,
}


def finished(output: bytes) -> bytes:
    return output if not output or output.endswith(b"\n") else output + b"\n"


def prefixed(prefix: bytes, output: bytes) -> list[bytes]:
    return [prefix + line for line in finished(output).split(b"\n")[:-1]]


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_logs_have_every_byte_appended_over_restarts_and_stdout_has_every_line(job: Job, output: bytes) -> None:
    (job.top / "output").write_bytes(output)
    for run in (1, 2):
        together = job.top / f"together {run}"
        together.mkdir()
        life = job.start(SAY_FILE, job.top / "output", together, children=2)
        lines = all_of(life).split(b"\n")[:-1]
        assert life.end() == 0
        assert job.log("train.log").read_bytes() == output * run
        assert job.log("server.log").read_bytes() == output * run
        # Which of the two speaks first is open; what each says stays in its order.
        assert [line for line in lines if line.startswith(SERVER)] == prefixed(SERVER, output)
        assert [line for line in lines if line.startswith(TRAINER)] == prefixed(TRAINER, output)
        assert len(lines) == 2 * len(prefixed(TRAINER, output))
        assert not [event for event in events(life) if event["event"].startswith(("log", "stdout"))]


def test_a_program_that_has_stdout_alone_is_passed_on_byte_for_byte(job: Job) -> None:
    output = b"".join(OUTPUTS.values())
    (job.top / "output").write_bytes(output)
    life = job.start(SAY_FILE, job.top / "output")
    assert all_of(life) == output
    assert life.end() == 0
    assert job.log().read_bytes() == output
    assert list(job.log().parent.iterdir()) == [job.log()]


def test_a_program_that_has_stdout_alone_is_heard_before_its_line_ends(job: Job) -> None:
    life = job.start('say(b"loading ... "); wait_for(sys.argv[1]); say(b"done\\n")', job.top / "go")
    assert read(life, len(b"loading ... ")) == b"loading ... "
    (job.top / "go").touch()
    assert all_of(life) == b"done\n"


def test_what_a_program_says_on_stderr_is_in_the_same_log_in_the_same_order(job: Job) -> None:
    life = job.start('[say(b"%d\\n" % number, to=1 + number % 2) for number in range(100)]')
    assert all_of(life) == b"".join(b"%d\n" % number for number in range(100)) == job.log().read_bytes()


CHATTER = (
    BOTH
    + """
import random
dice = random.Random(role)
block = b"".join(b"%d %s\\n" % (number, b"." * dice.choice((0, 1, 80, 5000))) for number in range(5000))
while block:
    size = dice.choice((1, 7, 4096, 4097, 70_000))  # not where lines end, and more than is written at once
    say(block[:size])
    block = block[size:]
together(sys.argv[1])
"""
)


@pytest.mark.parametrize("prefix", ["auto", "on", "off"])
def test_lines_stay_whole_although_two_programs_write_thousands_at_once(job: Job, prefix: str) -> None:
    life = job.start(CHATTER, job.top, children=2, LAUNCHER_LOG_PREFIX=prefix)
    lines = all_of(life).split(b"\n")[:-1]
    assert life.end() == 0
    server = job.log("server.log").read_bytes().split(b"\n")[:-1]
    trainer = job.log("train.log").read_bytes().split(b"\n")[:-1]
    assert len(server) == len(trainer) == 5000
    if prefix == "off":
        assert sorted(lines) == sorted(server + trainer)
    else:
        assert [line[len(SERVER) :] for line in lines if line.startswith(SERVER)] == server
        assert [line[len(TRAINER) :] for line in lines if line.startswith(TRAINER)] == trainer
        assert len(lines) == 10_000


@pytest.mark.parametrize(
    ("prefix", "said"), [("on", b"[trainer 0] one\n[trainer 0] two\n"), ("off", b"one\ntwo"), ("auto", b"one\ntwo")]
)
def test_a_program_alone_has_a_prefix_only_where_it_is_asked_for(job: Job, prefix: str, said: bytes) -> None:
    life = job.start('say(b"one\\ntwo")', LAUNCHER_LOG_PREFIX=prefix)
    assert all_of(life) == said
    assert life.end() == 0
    assert job.log().read_bytes() == b"one\ntwo"


def test_a_line_beyond_the_limit_comes_out_in_pieces_and_is_whole_in_its_log(job: Job) -> None:
    size = 2 * LINE_LIMIT + 1_000_000
    life = job.start(f'say(b"x" * {size})', LAUNCHER_LOG_PREFIX="on")
    pieces = all_of(life).split(b"\n")[:-1]
    assert life.end() == 0
    assert len(pieces) > 1
    assert all(re.fullmatch(rb"\[trainer 0\] x+", piece) for piece in pieces)
    assert max(map(len, pieces)) <= LINE_LIMIT + PIPE + len(TRAINER)
    assert sum(len(piece) - len(TRAINER) for piece in pieces) == size
    assert job.log().read_bytes() == b"x" * size


LEAVE_BEHIND = """
pid = os.fork()
if pid == 0:
    os.setsid()  # no longer in the group that is ended with the program
    {child}
say(b"%d\\n" % pid)
say(b"x" * 3_000_000 + b"\\nthe last line\\n")
os._exit(4)
"""


def test_a_grandchild_that_holds_the_pipe_holds_neither_the_end_nor_a_byte_of_its_parent(job: Job) -> None:
    life = job.start(LEAVE_BEHIND.format(child="signal.pause()"), LAUNCHER_GRACE="60")
    grandchild = int(life.line())
    try:
        assert life.rest() == ["x" * 3_000_000, "the last line"]
        assert life.end() == 4
        whole = b"%d\n" % grandchild + b"x" * 3_000_000 + b"\nthe last line\n"
        assert job.log().read_bytes() == whole
        assert gone(grandchild)  # what a job's programs leave behind goes with them
    finally:
        with suppress(ProcessLookupError):
            kill(grandchild)


def test_a_grandchild_that_writes_for_ever_does_not_hold_the_end(job: Job) -> None:
    child = 'say(b"%d\\n" % os.getpid()); block = b"y" * 1_000_000\n    while True: say(block)'
    life = job.start(LEAVE_BEHIND.format(child=child), LAUNCHER_GRACE="60")
    pid = life.numbers()[0]
    all_of(life)
    assert life.end() == 4
    assert b"\nthe last line\n" in job.log().read_bytes()
    wait_until(lambda: gone(pid))  # its pipe has no reader any more


# Without programs: what a pump does to its pipe.


def test_a_pump_leaves_no_descriptor_behind_whether_its_child_was_started_or_not() -> None:
    before = descriptors()
    for started in (True, False):
        out: list[bytes] = []
        pump = Pump("trainer 0", log=None, out=out.append, lines=None)
        if started:
            os.write(pump.write_end, b"said")
            pump.start()
        pump.finish(time.monotonic() + 5)
        assert out == ([b"said"] if started else [])
        assert pump.tail == b"".join(out)
    assert not descriptors() - before


def test_a_pipe_that_is_filled_as_fast_as_it_is_emptied_is_left_all_the_same() -> None:
    pump = Pump("trainer 0", log=None, out=lambda block: say_again(block), lines=None)
    grandchild_s_end = os.dup(pump.write_end)

    def say_again(block: bytes) -> None:
        os.write(grandchild_s_end, block)

    say_again(b"x" * 4096)
    pump.start()
    pump.finish(time.monotonic() + 1000)  # the test's own time-out is far less
    os.close(grandchild_s_end)


def test_a_pump_keeps_the_last_bytes_for_the_last_words() -> None:
    pump = Pump("trainer 0", log=None, out=lambda block: None, lines=None)
    child_s_end = os.dup(pump.write_end)
    pump.start()
    for number in range(2000):
        os.write(child_s_end, b"line %d\n" % number)
    os.close(child_s_end)
    pump.finish(time.monotonic() + 5)
    assert pump.tail.endswith(b"line 1998\nline 1999\n")
    assert len(pump.tail) == 3000


# Thirty for the launcher; three queues; for each of two programs a line as long as the limit, once held and once cut;
# one such line in the queue.
MEMORY = 160 * 1024
MANY = 500_000_000
SAY_MANY = f"""
block = sys.argv[2].encode() * (1_000_000 // len(sys.argv[2]))
if sys.argv[2] == "line":
    block = (b"." * 99 + b"\\n") * 10_000
for _ in range({MANY} // 2 // len(block)):
    say(block)
touch(sys.argv[1] + role)
wait_for(sys.argv[1] + " measured")
if role == "PSERVER":
    signal.pause()
sys.exit(5)
"""


@pytest.mark.parametrize("what", ["line", "x"], ids=["in lines", "in one line without end"])
def test_memory_is_bounded_whatever_two_programs_write_against_a_blocked_stdout_and_hanging_logs(
    job: Job, what: str
) -> None:
    job.output.mkdir(parents=True)
    with hanging_volume(job.output) as volume, volume.hanging():
        life = job.start(SAY_MANY, job.top / "said", what, children=2, LAUNCHER_RESUME="never")
        wait_until((job.top / "saidPSERVER").exists, timeout=50)
        wait_until((job.top / "saidTRAINER").exists, timeout=50)
        assert peak(life.pid) < MEMORY
        (job.top / "said measured").touch()
        assert life.end() == 5


def peak(pid: int) -> int:
    """Return the most memory that a process ever had, in KiB."""
    most = int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0])
    print(f"at most {most} KiB")
    return most


def read(life: Life, size: int) -> bytes:
    assert life.process.stdout
    got = b""
    while len(got) < size and (block := os.read(life.process.stdout.fileno(), size - len(got))):
        got += block
    return got


def test_a_block_that_is_read_but_not_yet_in_the_tail_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a busy machine, where the thread that has read it must wait for a processor."""
    read, going_on = os.read, threading.Event()

    def held_up(descriptor: int, size: int) -> bytes:
        block = read(descriptor, size)
        assert going_on.wait(30)
        return block

    monkeypatch.setattr(os, "read", held_up)
    pump = Pump("trainer 0", log=None, out=lambda _: None, lines=None)
    keeps_open = os.dup(pump.write_end)
    os.write(keeps_open, b"last words")
    pump.start()
    wait_until(lambda: not unread(pump))
    threading.Timer(0.05, going_on.set).start()
    pump.settle(time.monotonic() + 30)
    assert pump.tail == b"last words"
    os.close(keeps_open)
    pump.finish(time.monotonic() + 30)


def test_a_grandchild_that_never_stops_writing_is_not_waited_for() -> None:
    pump = Pump("trainer 0", log=None, out=lambda _: None, lines=None)
    with subprocess.Popen(["yes"], stdout=pump.write_end) as yes:
        pump.start()
        wait_until(lambda: pump.total > 0)
        pump.settle(time.monotonic() + 1000)
        assert yes.poll() is None
        yes.kill()
    pump.finish(time.monotonic() + 30)


def unread(pump: Pump) -> bool:
    """Return whether there is something in its pipe."""
    return bool(select.select([pump._read], [], [], 0)[0])
