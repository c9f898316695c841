"""Output behind a queue: readers that are slow, blocked, stopped, gone; real pipes, and programs that read them."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from launcher.pod.output.sink import Sink
from launcher.pod.output.standard import Stream
from tests.support.lives import Lives
from tests.support.talking import Job, all_of, events
from tests.support.waiting import wait_until

PAGE = 4096
pytestmark = pytest.mark.timeout(60)


class Pipe:
    """A pipe of one page: what its reader does not take is felt at once."""

    def __init__(self) -> None:
        self.read, self.write = os.pipe()
        fcntl.fcntl(self.write, fcntl.F_SETPIPE_SZ, PAGE)

    def until(self, words: bytes) -> bytes:
        """Read until these words are the last."""
        got = b""
        while not got.endswith(words):
            got += os.read(self.read, PAGE)
        return got

    def drain(self, sink: Sink) -> bytes:
        """Read all that a sink still has, and end it."""
        got: list[bytes] = []
        reader = threading.Thread(target=lambda: got.extend(iter(lambda: os.read(self.read, PAGE), b"")))
        reader.start()
        wait_until(lambda: sink.flush(soon()))  # one that stood still may not have noticed its reader yet
        assert sink.close(soon())
        os.close(self.write)
        reader.join()
        return b"".join(got)

    def close(self) -> None:
        """Close the reader's side: whatever still writes ends by that, and not in another test's pipe."""
        with suppress(OSError):
            os.close(self.read)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with Lives() as lives:
        yield Job(lives, tmp_path)


def soon(seconds: float = 10) -> float:
    return time.monotonic() + seconds


def numbered(block: bytes) -> list[int]:
    return [int(line) for line in block.split(b"\n")[:-1] if line.isdigit()]


def test_what_is_put_comes_out_in_order_and_whole(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        sink = Sink(Stream(file.fileno()), name="out")
        for number in range(1000):
            sink.put(b"%d\n" % number)
        assert sink.close(soon())
    assert numbered((tmp_path / "out").read_bytes()) == list(range(1000))
    assert (sink.waiting, sink.lost) == (0, 0)


def test_a_slow_reader_that_moves_loses_nothing_however_long_the_pipe_or_one_block_lasts_it(pipe: Pipe) -> None:
    fcntl.fcntl(pipe.write, fcntl.F_SETPIPE_SZ, 65536)  # takes this reader more than its patience
    sink = Sink(Stream(pipe.write), name="out", limit=PAGE, patience=0.5)
    got: list[bytes] = []
    pace = threading.Event()

    def read_slowly() -> None:
        while block := os.read(pipe.read, 1024):
            got.append(block)
            pace.wait(0.01)

    reader = threading.Thread(target=read_slowly)
    reader.start()
    blocks = [bytes([65 + number]) * 100_000 for number in range(3)]
    for block in blocks:
        sink.put(block)
    pace.set()
    assert sink.close(soon())
    os.close(pipe.write)
    reader.join()
    assert b"".join(got) == b"".join(blocks)
    assert sink.lost == 0


def test_a_reader_that_takes_nothing_costs_its_patience_once_and_nothing_after_that(pipe: Pipe) -> None:
    sink = Sink(Stream(pipe.write), name="out", limit=10_000, patience=0.3)
    begun = time.monotonic()
    for _ in range(10_000):
        sink.put(b"x" * 999 + b"\n")
    assert 0.3 <= time.monotonic() - begun < 30  # a hundred times its patience, and there were 9,990 blocks more
    assert not sink.flush(soon())
    pipe.drain(sink)


def test_what_was_dropped_is_counted_and_told_where_it_is_missing_once_the_reader_goes_on(pipe: Pipe) -> None:
    sink = Sink(Stream(pipe.write), name="out", limit=10_000, patience=0.1)
    lines = [b"%06d\n" % number for number in range(10_000)]
    for line in lines:
        sink.put(line)
    got = pipe.until(b"the output was not being read\n")  # though nothing more is put
    sink.put(b"at last\n")
    kept, _, after = (got + pipe.drain(sink)).partition(b"[launcher] ")
    assert len(kept) + sink.lost == sum(map(len, lines))
    assert kept == b"".join(lines)[: len(kept)]
    assert after == b"%d bytes were dropped here: the output was not being read\nat last\n" % sink.lost


def test_what_is_dropped_is_one_gap_although_something_small_would_have_had_room(pipe: Pipe) -> None:
    sink = Sink(Stream(pipe.write), name="out", limit=10_000, patience=0.05)
    for block in (b"a" * PAGE, b"b" * 5000, b"c" * 9000, b"d", b"e"):
        sink.put(block)
    assert sink.lost == 9002
    assert pipe.drain(sink).startswith(b"a" * PAGE + b"b" * 5000 + b"\n[launcher] 9002 bytes")


def test_drops_are_told_on_a_line_of_their_own_even_amid_a_line_and_at_the_very_end(pipe: Pipe) -> None:
    sink = Sink(Stream(pipe.write), name="out", limit=1000, patience=0.05)
    for _ in range(20):
        sink.put(b"x" * 1000)
    assert not sink.flush(soon(0.2))
    assert sink.waiting > 0
    got = pipe.drain(sink)
    assert b"x\n[launcher] " in got
    assert got.endswith(b"the output was not being read\n")
    assert sink.waiting == 0


def test_a_reader_that_comes_back_after_the_end_still_hears_what_was_dropped(pipe: Pipe) -> None:
    sink = Sink(Stream(pipe.write), name="out", limit=1000, patience=0.05)
    for _ in range(20):
        sink.put(b"x" * 1000)
    assert not sink.close(soon())
    assert pipe.until(b"the output was not being read\n")


def test_a_reader_that_moved_and_stands_still_again_is_given_its_patience_again(pipe: Pipe) -> None:
    sink = Sink(Stream(pipe.write), name="out", limit=PAGE, patience=0.2)
    for _ in range(2):
        begun = time.monotonic()
        for _ in range(100):
            sink.put(b"x" * PAGE)
        assert time.monotonic() - begun >= 0.2
        before = sink.waiting
        os.read(pipe.read, PAGE)
        wait_until(lambda before=before: sink.waiting < before)  # type: ignore[misc]  # bound in a loop
    pipe.drain(sink)


def test_a_million_tiny_blocks_take_no_more_memory_than_a_few_big_ones(pipe: Pipe) -> None:
    sink = Sink(Stream(pipe.write), name="out", limit=1_000_000, patience=0.05)
    for _ in range(100_000):
        sink.put(b"x")
    assert sink.waiting < 1_000_000 / 100  # a block of one byte takes a hundred
    assert sink.lost > 80_000
    pipe.drain(sink)


def test_a_few_words_never_wait_and_have_room_where_a_program_s_output_has_none(pipe: Pipe) -> None:
    """And a line of their own, wherever the program's output has come to."""
    sink = Sink(Stream(pipe.write), name="out", limit=2 * PAGE, patience=60)
    sink.put(b"x" * 3 * PAGE)  # more than the limit is taken where nothing else waits
    begun = time.monotonic()
    sink.put_now(b"now\n")
    assert time.monotonic() - begun < 30
    assert pipe.drain(sink) == b"x" * 3 * PAGE + b"\nnow\n"


def test_words_without_end_are_bounded_too(pipe: Pipe) -> None:
    sink = Sink(Stream(pipe.write), name="out", limit=1000, patience=60)
    for _ in range(1000):
        sink.put_now(b"x" * 99 + b"\n")
    assert sink.waiting + sink.lost <= 100_000
    assert sink.waiting < 2000
    pipe.drain(sink)


def test_a_reader_that_closes_ends_nothing(pipe: Pipe) -> None:
    os.close(pipe.read)
    sink = Sink(Stream(pipe.write), name="out")
    for _ in range(100):
        sink.put(b"x" * 100_000)
    assert sink.close(soon())


def test_output_that_was_closed_from_the_start_takes_nothing_and_ends_nothing(pipe: Pipe) -> None:
    closed = os.dup(pipe.write)
    os.close(closed)
    sink = Sink(Stream(closed), name="out")
    sink.put(b"x")
    assert sink.close(soon())


def test_a_pipe_that_does_not_block_loses_nothing(pipe: Pipe) -> None:
    os.set_blocking(pipe.write, False)
    sink = Sink(Stream(pipe.write), name="out")
    said = b"".join(b"%d\n" % number for number in range(50_000))
    sink.put(said)
    assert pipe.drain(sink) == said


# From here on whole launchers, with their standard output in the reader's hands.

MANY = 20_000_000
SAY_MANY = f"""
line = b"%09d" + b"." * 90 + b"\\n"
say(b"".join(line % number for number in range({MANY} // 100)))
touch(sys.argv[1] + role)
if role:
    wait_for(sys.argv[1] + "PSERVER")
    wait_for(sys.argv[1] + "TRAINER")
wait_for(sys.argv[2])
say(b"the end\\n")
if role == "PSERVER":
    signal.pause()
sys.exit(7)
"""


@pytest.mark.parametrize("children", [1, 2])
def test_nobody_who_reads_does_not_stop_a_child_its_log_or_the_launcher_s_end(job: Job, children: int) -> None:
    said, go = job.top / "said", job.top / "go"
    go.touch()
    life = job.start(SAY_MANY, said, go, children=children)
    assert life.end(30) == 7
    log = job.log().read_bytes()
    assert len(log) == MANY + len("the end\n")
    assert log.endswith(b"\nthe end\n")
    (unfinished,) = events(life, "stdout_unfinished")
    assert unfinished["bytes_lost"] >= MANY - 4 * 1024 * 1024 - 65536
    assert events(life)[-1]["event"] == "launcher_finished"


def test_a_reader_that_goes_on_gets_what_was_kept_then_how_much_was_dropped_then_all_that_follows(job: Job) -> None:
    said, go = job.top / "said", job.top / "go"
    life = job.start(SAY_MANY, said, go)
    wait_until(said.exists, timeout=30)  # the child has gone on although nobody reads
    wait_until(lambda: job.log().stat().st_size == MANY)
    assert life.process.stdout
    got = b""
    while b"dropped here" not in got:
        got += os.read(life.process.stdout.fileno(), 65536)
    go.touch()
    got += all_of(life)
    assert life.end() == 7
    kept, _, after = got.partition(b"[launcher] ")
    assert after.endswith(b"the end\n")
    whole = job.log().read_bytes()
    if not whole.startswith(kept):
        kept = kept[:-1]  # dropped amid a line, and told on one of its own
    assert whole.startswith(kept)
    assert len(kept) + int(after.split()[0]) == MANY


def test_a_stopped_reader_stops_nothing_and_hears_what_it_missed(job: Job) -> None:
    said, go, heard = job.top / "said", job.top / "go", job.top / "heard"
    life = job.start(SAY_MANY, said, go)
    with heard.open("wb") as file:
        reader = subprocess.Popen(["cat"], stdin=life.process.stdout, stdout=file)
    try:
        reader.send_signal(signal.SIGSTOP)
        wait_until(said.exists, timeout=30)
        reader.send_signal(signal.SIGCONT)
        wait_until(lambda: b"dropped here: the output was not being read\n" in heard.read_bytes())
        go.touch()
        assert life.end() == 7
        assert reader.wait(10) == 0
        assert heard.read_bytes().endswith(b"the end\n")
    finally:
        reader.kill()
        reader.wait(10)


def test_a_reader_that_leaves_stops_nothing(job: Job) -> None:
    said, go = job.top / "said", job.top / "go"
    life = job.start(SAY_MANY, said, go, children=2)
    assert life.process.stdout
    os.read(life.process.stdout.fileno(), 1)
    life.process.stdout.close()
    go.touch()
    assert life.end(30) == 7
    assert job.log().stat().st_size == MANY + len("the end\n")
    assert events(life)[-1]["code"] == 7


NON_BLOCKING = "import os, sys; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])"


def test_standard_output_that_does_not_block_carries_everything(job: Job) -> None:
    go = job.top / "go"
    go.touch()
    before = (sys.executable, "-c", NON_BLOCKING)
    life = job.start(SAY_MANY, job.top / "said", go, before=before)
    got = all_of(life)
    assert life.end() == 7
    assert got == job.log().read_bytes()


EVENTS_AMID_A_LINE = """
from launcher.pod.outcome import Outcome
from launcher.pod.console import Console
console = Console()
console.tell("before")
console.out.put(b"x" * 1_000_000 + b"\\n")
for number in range(50):
    console.tell("amid", number=number)
console.end(Outcome(code=0, reason="done"))
"""


def test_an_event_waits_for_the_end_of_a_line_that_its_pipe_is_still_taking() -> None:
    argv = [sys.executable, "-c", EVENTS_AMID_A_LINE]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, check=True)
    before, line, *after = done.stdout.splitlines()
    assert line == b"x" * 1_000_000
    assert {event[:13] for event in (before, *after)} == {b'{"timestamp":'}


SHARED = ("/bin/sh", "-c", 'exec "$@" 2>&1', "sh")


def test_where_output_and_error_are_one_pipe_an_event_never_stands_in_the_middle_of_a_line(job: Job) -> None:
    script = """
say(b"".join(b"%06d" % number + b"." * 20_000 + b"\\n" for number in range(300)))
touch(sys.argv[1] + role)
for other in ("PSERVER", "TRAINER"):
    wait_for(sys.argv[1] + other)
"""
    life = job.start(script, job.top / "said", children=2, before=SHARED)
    lines = all_of(life).splitlines()
    assert life.end() == 0
    for name in (b"[pserver 0] ", b"[trainer 0] "):
        mine = [line.removeprefix(name) for line in lines if line.startswith(name)]
        assert mine == [b"%06d" % number + b"." * 20_000 for number in range(300)]
    others = [line for line in lines if not line.startswith(b"[")]
    assert others
    assert all(line.startswith(b'{"timestamp"') for line in others)
