"""Real children that are watched: who stands still, and what one that does leaves in its log.

The abort of a trainer behind a shell is never the good end of the other.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import pytest

from launcher.pod.programs.watching.stall import ENVIRON, cpu_seconds, dump
from launcher.pod.programs.watching.stall_rule import Sample, begin, observe, stall_due, stalled
from tests.support.lives import STOPPED, Life, Lives, gone, state
from tests.support.talking import events, free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)
STALL = 0.5
LOOK = 0.1
SLEEP = "time.sleep(100)"
BURN = "while True: pass"
BURNING = f"[sys.executable, '-I', '-S', '-c', {BURN!r}]"
HELPER = f"subprocess.Popen({BURNING}, start_new_session={{}}); {SLEEP}"
LEAVER = f"import subprocess, sys; subprocess.Popen({BURNING}, process_group=0)"
ORPHAN = f"subprocess.run([sys.executable, '-I', '-S', '-c', {LEAVER!r}]); {SLEEP}"
PAUSE = (
    "import ctypes, threading; threading.Thread(target=time.sleep, args=(100,)).start(); ctypes.CDLL(None).pause()"
)

PAUSED = ("34", "73")  # the calls behind pause() on x86_64 and aarch64; a thread that is being started waits, too


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """A child as the launcher has them: a session of its own, its output in a file."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def sample(self) -> Sample:
        return Sample(output=self.log.stat().st_size, cpu=cpu_seconds(self.pid))

    def ready(self) -> bool:
        return self.log.read_bytes().startswith(b"ready\n")


Train = Callable[..., Trainer]


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Train]:
    started: list[Trainer] = []

    def start(*command: str, cores: bool = False) -> Trainer:
        def allow() -> None:
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

        with (log := tmp_path / "train.log").open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=tmp_path,
                env={**os.environ, **ENVIRON},
                start_new_session=True,
                preexec_fn=allow if cores else None,
            )
        started.append(Trainer(process=process, log=log))
        return started[-1]

    yield start
    for trainer in started:
        family = of_session(trainer.pid)
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        trainer.process.wait()
        wait_until(partial(gone, *family))


def of_session(leader: int) -> set[int]:
    """Return what runs in a session, and what its processes started in sessions of their own."""
    found = set()
    for pid in psutil.pids():
        with suppress(ProcessLookupError):
            if os.getsid(pid) == leader:
                found.add(pid)
    with suppress(psutil.NoSuchProcess):
        found |= {each.pid for each in psutil.Process(leader).children(recursive=True)}
    return found


def python(program: str) -> tuple[str, ...]:
    """Return the command of a Python that says when it is ready: without site, but with its environment."""
    return (sys.executable, "-S", "-c", f"import subprocess, sys, time\nprint('ready', flush=True)\n{program}")


def signs(trainer: Trainer) -> tuple[int, float]:
    """Return what there is of its output, and of the CPU seconds of all that belong to it."""
    used = 0.0
    for pid in of_session(trainer.pid):
        with suppress(psutil.NoSuchProcess):
            used += sum(psutil.Process(pid).cpu_times()[:2])
    return trainer.log.stat().st_size, used


def a_sign_of(trainer: Trainer) -> None:
    """Wait until it has worked, which takes a while on a busy machine."""
    before = signs(trainer)
    wait_until(lambda: signs(trainer) != before, timeout=30, every=LOOK)


def seen(trainer: Trainer, looks: int, between: Callable[[], object] = lambda: time.sleep(LOOK)) -> list[bool]:
    """Look so many times, as if each look came when it is due, and return what was thought each time."""
    thoughts: list[bool] = []
    stillness = begin(trainer.sample(), 0.0)
    for _ in range(looks):
        between()
        stillness = observe(stillness, trainer.sample(), stall_due(stillness, STALL), STALL)
        thoughts.append(stalled(stillness, STALL))
    return thoughts


def test_one_that_sleeps_stands_still(train: Train) -> None:
    trainer = train(*python(SLEEP))
    wait_until(trainer.ready)
    assert seen(trainer, 15)[-1]


WORKING = {
    "burns CPU and says nothing": BURN,
    "says a word now and then": "[(print('word', flush=True), time.sleep(0.3)) for _ in range(1000)]",
    "has a helper that burns CPU": HELPER.format(False),
    "has a helper in a session of its own": HELPER.format(True),
    "has an orphan in a group of its own that burns CPU": ORPHAN,
}


@pytest.mark.parametrize("program", WORKING.values(), ids=WORKING)
def test_one_that_works_does_not(train: Train, program: str) -> None:
    trainer = train(*python(program))
    wait_until(trainer.ready)
    assert not any(seen(trainer, 12, between=partial(a_sign_of, trainer)))


def test_the_cpu_of_a_helper_that_ended_is_kept(train: Train) -> None:
    # The kernel tells both parts of it in hundredths, rounded down.
    burn = "import time\nwhile time.process_time() < 0.35: pass"
    trainer = train(*python(f"subprocess.run([sys.executable, '-I', '-S', '-c', {burn!r}]); print('done'); {SLEEP}"))
    wait_until(lambda: not psutil.Process(trainer.pid).children() and cpu_seconds(trainer.pid) >= 0.3)
    assert cpu_seconds(trainer.pid) >= 0.3


def test_nothing_is_left_of_one_that_is_gone(train: Train) -> None:
    trainer = train("true")
    trainer.process.wait()
    assert cpu_seconds(trainer.pid) == 0
    assert not dump(trainer.pid)


def stacks_in(trainer: Trainer) -> bool:
    text = trainer.log.read_text()
    return all(each in text for each in ("Fatal Python error: Aborted", "Current thread 0x", 'File "<string>"'))


def test_one_blocked_in_c_leaves_the_stacks_of_all_its_threads(train: Train) -> None:
    trainer = train(*python(PAUSE))
    wait_until(lambda: trainer.ready() and len(list(Path(f"/proc/{trainer.pid}/task").iterdir())) == 2)
    wait_until(lambda: Path(f"/proc/{trainer.pid}/syscall").read_text().split()[0] in PAUSED)
    assert dump(trainer.pid)
    assert trainer.process.wait(10) == -signal.SIGABRT
    assert stacks_in(trainer)
    assert "\nThread 0x" in trainer.log.read_text()


def test_one_that_is_stopped_stands_still_and_is_ended_all_the_same(train: Train) -> None:
    trainer = train(*python(BURN))
    wait_until(trainer.ready)
    os.killpg(trainer.pid, signal.SIGSTOP)
    wait_until(lambda: state(trainer.pid) == STOPPED)
    assert seen(trainer, 12)[-1]
    assert dump(trainer.pid)
    assert trainer.process.wait(10) == -signal.SIGABRT
    assert stacks_in(trainer)


def test_a_program_that_is_no_python_just_ends(train: Train) -> None:
    trainer = train("sleep", "100")
    assert not dump(trainer.pid)
    assert trainer.process.wait(10) == -signal.SIGABRT


def test_behind_a_shell_it_is_the_python_that_tells_and_the_shell_that_hears_of_it(train: Train) -> None:
    trainer = train("/bin/sh", "-c", '"$@"; exit 3', "sh", *python(SLEEP))
    wait_until(trainer.ready)
    os.killpg(trainer.pid, signal.SIGSTOP)
    wait_until(lambda: state(trainer.pid) == STOPPED)
    assert dump(trainer.pid)
    assert trainer.process.wait(10) == 3
    assert stacks_in(trainer)


def test_no_core_is_written_even_where_cores_are_wanted(train: Train, tmp_path: Path) -> None:
    trainer = train(*python(SLEEP), cores=True)
    wait_until(trainer.ready)
    dump(trainer.pid)
    _, status = os.waitpid(trainer.pid, 0)
    assert os.WTERMSIG(status) == signal.SIGABRT
    assert not os.WCOREDUMP(status)
    assert [each.name for each in tmp_path.iterdir()] == ["train.log"]


# Behind a shell.

STANDS = f"{sys.executable} -S -c 'import time; time.sleep(100)'"
SHELLS = (f"{STANDS} | cat", f"{STANDS}; echo done", f"{STANDS} || true")


def test_it_fails_although_the_shell_ends_with_0(tmp_path: Path) -> None:
    with Lives() as lives:
        started = [lives.start("sh", "-c", line, env=environment(tmp_path / str(n))) for n, line in enumerate(SHELLS)]
        for life in started:
            assert life.end() == 134
            assert "trainer 0 stood still for 0.5 s" in life.err()
            assert [event["told_to_end"] for event in events(life, "child_exited")] == [True]
            assert "Fatal Python error: Aborted" in output_of(life), "without a handler it tells by its end"


def output_of(life: Life) -> str:
    assert life.process.stdout is not None
    return life.process.stdout.read().decode()


def environment(workdir: Path) -> dict[str, str]:
    workdir.mkdir()
    return {
        "LAUNCHER_RUNTIME": "env",
        "LAUNCHER_STALL_TIMEOUT": "0.5",
        "LAUNCHER_MAX_RESTARTS": "0",
        "LAUNCHER_STATUS_PORT": str(free_port()),
        "LAUNCHER_WORKDIR": str(workdir),
    }
