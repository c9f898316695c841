"""Real programs, asked where they stand: each tells its line or why not, and goes on as if nobody had asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from launcher.pod.gang.protocol.messages import StackDigest
from launcher.pod.programs.launch import STACKABLE
from launcher.pod.programs.plan import stackable
from launcher.pod.programs.stacks import asking
from launcher.pod.programs.stacks.asking import MOST_TEXT, ProgramStacks
from launcher.pod.programs.stacks.care import ALL_SIGNAL, MAIN_SIGNAL
from launcher.pod.programs.stacks.files import StackFiles
from launcher.pod.settings.nouns import Role
from tests.support.libraries import library_named
from tests.support.lives import STOPPED, state
from tests.support.pythons import pythons
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)
BEGIN = "import ctypes, os, signal, socket, sys, threading, time\n"
READ = "r, w = os.pipe()\ndef read():\n    os.read(r, 1)\n"
READY = "print('ready', flush=True)\n"
STANDS = f"{READ}{READY}read()\n"
LINE = len((BEGIN + READ).splitlines())  # of the read
WHERE = f"read at train.py:{LINE}"
HELPER = "lock = threading.Lock()\nlock.acquire()\nthreading.Thread(target=lock.acquire, daemon=True).start()\n"


@dataclass(slots=True, kw_only=True)
class Asked:
    """Programs as a launcher has them, each asked by its number."""

    top: Path
    files: StackFiles = field(default_factory=StackFiles)
    refused: set[tuple[int, int]] = field(default_factory=set)
    programs: list[subprocess.Popen[str]] = field(default_factory=list)

    def env(self, rank: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
        return stackable(base, str(STACKABLE)) | dict(self.files.environment(Role.TRAINER, rank))

    def start(
        self, text: str, *flags: str, python: str = sys.executable, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a program, and wait until it says that it is where it is to stand."""
        (path := self.top / "train.py").write_text(BEGIN + text)
        return self.run((python, *flags, str(path)), env=env)

    def run(
        self, words: tuple[str, ...], *, says: str = "ready", env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        env = self.env(len(self.programs)) if env is None else env
        program = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.programs.append(program)
        if says:
            assert program.stdout
            assert program.stdout.readline().strip() == says
            wait_until(lambda: state(program.pid) != "R" or None)
            time.sleep(0.15)  # a process that began just now is not asked
        return program

    def ask(self, *, within: float = 1.5) -> tuple[ProgramStacks, ...]:
        begun = time.monotonic()
        them = [(Role.TRAINER, rank, program.pid) for rank, program in enumerate(self.programs)]
        found = asking.take(them, self.files, self.refused)
        assert time.monotonic() - begun < within
        return found

    def one(self, *, within: float = 1.5) -> ProgramStacks:
        [found] = self.ask(within=within)
        assert self.programs[0].poll() is None, "it ended of it"
        return found


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    for signum in (MAIN_SIGNAL, ALL_SIGNAL):  # as a launcher does
        signal.signal(signum, signal.SIG_IGN)
    them = Asked(top=tmp_path)
    yield them
    for program in them.programs:
        with program, suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    for signum in (MAIN_SIGNAL, ALL_SIGNAL):
        signal.signal(signum, signal.SIG_DFL)


def told(stacks: ProgramStacks) -> tuple[str, str]:
    return stacks.digest.where, stacks.digest.state


@pytest.mark.parametrize("python", [each for each in pythons() if "2.7" not in each])
def test_a_python_of_any_version_tells_its_line(asked: Asked, python: str) -> None:
    asked.start(STANDS, python=python)
    found = asked.one()
    assert told(found) == (WHERE, "")
    assert f"line {LINE} in read\n" in found.text
    assert asked.one().digest == found.digest


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_one_without_a_handler_is_not_sent_a_signal(asked: Asked, flag: str) -> None:
    asked.start(STANDS, flag)
    found = asked.one()
    assert found.digest.state == "no handler"
    assert "python" in found.digest.where
    assert "pipe_read" in found.text


def test_one_whose_environment_was_cleared_is_not_sent_a_signal(asked: Asked) -> None:
    asked.start(STANDS, env={})
    assert asked.one().digest.state == "no handler"


def test_what_is_no_python_tells_where_the_kernel_has_it(asked: Asked) -> None:
    asked.run(("sleep", "100"), says="")
    wait_until(lambda: "nanosleep" in asked.one().text)
    found = asked.one()
    assert told(found) == ("sleep sleeping in hrtimer_nanosleep", "no handler")
    assert not found.digest.digest


def test_behind_a_shell_the_python_tells(asked: Asked) -> None:
    (asked.top / "train.py").write_text(BEGIN + STANDS)
    asked.run(("sh", "-c", f"{sys.executable} {asked.top / 'train.py'}; true"))
    found = asked.one()
    assert told(found) == (WHERE, "")
    assert "(sh): no handler\n  sleeping in do_wait\n" in found.text


def test_workers_tell_each_for_itself(asked: Asked) -> None:
    forked = f"{READ}for _ in range(3):\n    if os.fork() == 0:\n        read()\n"
    asked.start(f"{forked}{READY}lock = threading.Lock()\nlock.acquire()\nlock.acquire()\n")
    found = asked.one()
    assert found.digest.where == "train.py:" + str(len((BEGIN + forked).splitlines()) + 4)
    assert found.text.count("in read\n") == 3
    assert found.text.count("process ") == 4


def test_spawned_workers_have_handlers_too(asked: Asked) -> None:
    spawns = "import multiprocessing\ndef work():\n    time.sleep(100)\n"
    main = "    one = multiprocessing.get_context('spawn').Process(target=work)\n    one.start()\n"
    asked.start(f"{spawns}if __name__ == '__main__':\n{main}    {READY}    one.join()\n")
    wait_until(lambda: "in work\n" in asked.one().text)
    assert asked.one().digest.where.startswith("join at train.py:")


def test_that_all_signals_are_blocked_is_said_and_not_waited_for(asked: Asked) -> None:
    asked.start(f"signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n{STANDS}")
    found = asked.one(within=0.4)
    assert found.digest.state == "blocks signals"
    assert "pipe_read" in found.digest.where


def test_where_the_main_thread_blocks_them_another_tells_for_all(asked: Asked) -> None:
    asked.start(f"{HELPER}signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n{STANDS}")
    found = asked.one()
    assert found.digest.state == ""
    assert found.digest.where.startswith("read at train.py:")
    assert "Current thread" in found.text


def test_a_loop_in_c_that_holds_the_lock_tells(asked: Asked) -> None:
    spin = "import itertools\ndef spin():\n    print('ready', flush=True)\n    sum(itertools.repeat(0))\n"
    asked.start(f"{spin}spin()\n")
    found = asked.one()
    assert told(found) == (f"spin at train.py:{len((BEGIN + spin).splitlines())}", "")
    assert not found.digest.waits


def test_a_handler_of_the_programs_own_is_called_once_and_never_again(asked: Asked) -> None:
    own = "def note(*_):\n    print('called', flush=True)\nsignal.signal(41, note)\n"
    program = asked.start(f"{own}{READ}{READY}while True:\n    time.sleep(0.05)\n")
    assert asked.one().digest.state == "no answer"
    assert asked.one(within=0.4).digest.state == "no handler"
    program.kill()
    assert program.stdout
    assert program.stdout.read() == "called\n"


def test_a_handler_that_was_taken_away_is_not_asked(asked: Asked) -> None:
    asked.start(f"signal.signal(41, signal.SIG_DFL)\nsignal.signal(42, signal.SIG_DFL)\n{STANDS}")
    assert asked.one().digest.state == "no handler"


def test_nothing_is_written_into_a_file_that_the_program_opened_in_our_place(asked: Asked) -> None:
    own = asked.top / "own"
    asked.start(f"os.closerange(3, 1000)\nmine = open({str(own)!r}, 'wb')\nassert mine.fileno() == 3\n{STANDS}")
    assert asked.one().digest.state == "no handler"
    assert own.read_bytes() == b""


def test_a_stopped_one_is_said_to_be_so_and_goes_on_where_it_was(asked: Asked) -> None:
    program = asked.start(STANDS)
    os.kill(program.pid, signal.SIGSTOP)
    wait_until(lambda: state(program.pid) == STOPPED)
    assert asked.one(within=0.4).digest.state == "stopped"
    os.kill(program.pid, signal.SIGCONT)
    wait_until(lambda: state(program.pid) == "S")
    assert told(asked.one()) == (WHERE, "")


def test_a_stopped_worker_is_said_of_its_program(asked: Asked) -> None:
    worker = "worker = os.fork()\nif worker == 0:\n    signal.pthread_sigmask(0, [])\n    time.sleep(100)\n"
    asked.start(f"{worker}os.kill(worker, signal.SIGSTOP)\n{STANDS}")
    found = asked.one()
    assert found.digest.state == "stopped"
    assert found.digest.where.startswith("read at train.py:")


def test_two_thousand_threads_are_no_trouble(asked: Asked) -> None:
    start = "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()"
    asked.start(f"threading.stack_size(64 * 1024)\nfor _ in range(2000):\n    {start}\n{STANDS}")
    found = asked.one(within=2.5)
    assert found.digest.where.startswith("read at train.py:")
    assert len(found.text) < 2 * MOST_TEXT


def test_a_deep_recursion_tells_its_innermost_line(asked: Asked) -> None:
    deep = "sys.setrecursionlimit(10_000)\ndef down(n):\n    return down(n - 1) if n else os.read(r, 1)\n"
    asked.start(f"r, w = os.pipe()\n{deep}{READY}down(900)\n")
    found = asked.one()
    assert found.digest.where == f"down at train.py:{len((BEGIN + deep).splitlines()) + 1}"


def test_one_that_writes_without_end_into_our_file_is_cut_off(asked: Asked) -> None:
    endless = (
        "file = open(os.environ['LAUNCHER_FRAMES'], 'ab', buffering=0)\nprint('ready', flush=True)\nwhile True:\n"
    )
    asked.start(f"{endless}    file.write(b'x' * 65536)\n    time.sleep(0.001)\n")
    found = asked.one(within=2.5)
    assert len(found.text) < 2 * MOST_TEXT


def test_helpers_that_stand_still_are_told_of_with_the_main_thread(asked: Asked) -> None:
    asked.start(f"def rest():\n    time.sleep(100)\nthreading.Thread(target=rest, daemon=True).start()\n{STANDS}")
    found = asked.one()
    assert "in rest\n" in found.text
    assert found.text.rstrip().endswith("in <module>")
    assert "read at" in found.digest.where


def test_helpers_at_work_are_left_alone_and_survive(asked: Asked) -> None:
    work = (
        "def work(n=0):\n    while True:\n        exec('def g(x): return [i for i in range(x)]')\n        down(9)\n"
    )
    work += "def down(n):\n    return down(n - 1) if n else [n]\n"
    asked.start(f"{work}for _ in range(3):\n    threading.Thread(target=work, daemon=True).start()\n{STANDS}")
    for _ in range(20):
        found = asked.one()
        assert "Thread 0x" not in found.text
        assert found.digest.where.startswith("read at train.py:")


def test_a_wait_for_a_signal_is_not_ended(asked: Asked) -> None:
    asked.start(f"{READY}signal.pause()\n")
    found = asked.one()
    assert found.digest.state == "not to be interrupted"
    assert "pause" in found.digest.where
    assert state(asked.programs[0].pid) == "S"


def test_for_who_waits_for_a_signal_a_helper_tells(asked: Asked) -> None:
    asked.start(f"{HELPER}def forever():\n    signal.pause()\n{READY}forever()\n")
    found = asked.one()
    assert found.digest.where.startswith("forever at train.py:")
    assert asked.one().digest == found.digest


RECV = """
one = socket.create_server(("127.0.0.1", 0))
two = socket.create_connection(one.getsockname())
two.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, (100).to_bytes(8, "little") + bytes(8))
def recv():
    got = ctypes.CDLL(None, use_errno=True).recv(two.fileno(), ctypes.create_string_buffer(8), 8, 0)
    raise SystemExit(f"{got} {ctypes.get_errno()}")
"""


def test_a_librarys_wait_at_a_socket_is_not_ended(asked: Asked) -> None:
    asked.start(f"{RECV}{READY}recv()\n")
    found = asked.one()
    assert told(found) == ("a wait at a socket", "")
    assert found.digest.waits
    assert asked.one().digest == found.digest


def test_for_a_librarys_wait_at_a_socket_a_helper_tells(asked: Asked) -> None:
    asked.start(f"{HELPER}{RECV}{READY}recv()\n")
    assert asked.one().digest.where.startswith("recv at train.py:")
    assert asked.one().digest.where.startswith("recv at train.py:")


@pytest.fixture
def fragile(tmp_path: Path) -> str:
    """Return a line that loads a library by the name of one that fails at an interrupted call."""
    return f"ctypes.CDLL({str(library_named(tmp_path / 'lib_lightgbm.so'))!r})\n"


def test_what_is_fragile_is_asked_once_it_has_stood_still(asked: Asked, fragile: str) -> None:
    asked.start(f"{fragile}{STANDS}")
    found = asked.one()
    assert found.digest.where.startswith("read at train.py:")


def test_what_is_fragile_and_spins_is_asked(asked: Asked, fragile: str) -> None:
    asked.start(f"{fragile}def spin():\n    while True: pass\n{READY}spin()\n")
    assert asked.one().digest.where.startswith("spin at train.py:")


def test_what_is_fragile_and_moves_is_not_asked(asked: Asked, fragile: str) -> None:
    asked.start(f"{fragile}{READY}while True:\n    time.sleep(0.01)\n")
    assert asked.one().digest.state == "not to be interrupted"


def test_one_that_begins_or_has_ended_is_said_to(asked: Asked) -> None:
    asked.run((sys.executable, "-c", "import time; time.sleep(100)"), says="")
    first = asked.ask()[0].digest.state
    assert first in ("just started", "no handler")  # until `site` has run
    asked.programs[0].kill()
    asked.programs[0].wait()
    assert asked.ask()[0].digest.state == "ended"


def test_twenty_five_pythons_are_asked_at_once(asked: Asked) -> None:
    for _ in range(25):
        asked.run((sys.executable, "-c", f"{BEGIN}{READ}read()"), says="")
    wait_until(lambda: {each.digest.where for each in asked.ask(within=5)} == {f"read at <string>:{LINE}"}, 30)
    begun = time.monotonic()
    asked.ask()
    assert time.monotonic() - begun < 1.0
    found = asked.ask()
    assert [each.digest.rank for each in found] == list(range(25))
    assert len({each.digest.digest for each in found}) == 1


def test_without_a_descriptor_left_one_is_left_out_and_the_others_are_told(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.start(STANDS)

    def none_left(*_: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", none_left)
    assert asked.files.environment(Role.TRAINER, 1) == {}
    them = [(Role.TRAINER, rank, asked.programs[0].pid) for rank in (0, 1)]
    assert [each.digest.rank for each in asking.take(them, asked.files, set())] == [0]


def test_equal_digests_are_equal_places(asked: Asked) -> None:
    for _ in range(2):
        asked.start(STANDS)
    asked.start(STANDS.replace("read()\n", "\nread()\n"))
    one, two, three = (each.digest.digest for each in asked.ask())
    assert one == two != three
    assert StackDigest(role=Role.TRAINER, rank=0, digest=one, where=WHERE) == asked.ask()[0].digest
