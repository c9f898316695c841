"""How fast trainers go and what their time goes into, as real programs tell it by `here.step` and `here.saving`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.pod.gang.protocol.messages import Pace
from tests.support.asking import Gang, ended
from tests.support.waiting import wait_until

OLD = Path(__file__).parents[4] / "vectors" / "0.1.0"
pytestmark = pytest.mark.timeout(60)


def test_the_seconds_of_barriers_and_savings_add_up(start_gang: Callable[[int], Gang], tmp_path: object) -> None:
    script = f"""
os.environ.update(JOB_PATH={str(tmp_path)!r}, JOB_NAME="job")
waited = 0
for number in range(3):
    time.sleep(0.3 * (number % 2 == here.rank()))
    begun = time.monotonic()
    here.barrier(f"b{{number}}")
    waited += time.monotonic() - begun
begun = time.monotonic()
with here.saving(0) as directory:
    if directory:
        time.sleep(0.6)
        open(directory + "/model", "w").write("model")
print(waited, time.monotonic() - begun)
"""
    gang = start_gang(2)
    lines = gang.run(script)
    early, late = (service.spent(time.monotonic()) for service in gang.services)
    for (line,), spent in zip(lines, (early, late), strict=True):
        waited, saving = map(float, line.split())
        assert 0.25 < waited == pytest.approx(spent["barrier"], abs=0.2)
        assert 0.6 <= saving == pytest.approx(spent["saving"], abs=0.2)
    assert gang.services[0].spent(time.monotonic() + 100) == early  # nobody waits or saves any more


def test_whole_steps_are_counted_with_the_seconds_of_their_own_work(start_gang: Callable[[int], Gang]) -> None:
    script = """
for number in range(5):
    with here.step("data") as phase:
        time.sleep(0.02)
        phase("compute")
        time.sleep(0.02)
        here.barrier(f"b{number}")  # the other comes a moment later
        phase("save")
        time.sleep(0.05)
try:
    with here.step():
        raise KeyError
except KeyError:
    pass
"""
    gang = start_gang(2)
    early = gang.start(0, script)
    ended(gang.start(1, script.replace("0.02", "0.1")))
    ended(early)
    one, other = (service.marks.pace for service in gang.services)
    assert one
    assert other
    assert (one.steps, other.steps, one.phase) == (5, 5, "")
    assert 0.2 <= one.busy < other.busy - 0.4  # it waited for the other
    assert other.busy >= 1.0


@pytest.mark.parametrize("phase", ["data", "compute", "evaluate"])
def test_a_step_that_hangs_is_seen_in_its_phase(start_gang: Callable[[int], Gang], phase: str) -> None:
    script = f"""
for number in range(20):
    with here.step("data") as phase:
        phase("compute")
with here.step("data") as phase:
    phase({phase!r})
    while True:
        pass
"""
    gang = start_gang(1)
    gang.start(0, script)
    (service,) = gang.services
    wait_until(lambda: service.pace is not None and (service.pace.steps, service.pace.phase) == (20, phase))
    before = len(service.asks)
    wait_until(lambda: phase == "compute" or service.spent(time.monotonic()).get("aside", 0) > 0.3)
    assert len(service.asks) <= before + 1  # what lasts is told once


def test_what_works_without_a_launcher_is_refused_alike_with_one(start_gang: Callable[[int], Gang]) -> None:
    script = """
def nested():
    with here.step():
        with here.step():
            pass

def late():
    with here.step() as phase:
        pass
    phase("data")

refused(nested)
refused(late)
refused(here.step, "")
threading.Thread(target=refused, args=(late,)).start()
"""
    expected = [
        "Misuse step within another, or beside one of another thread: expected one after the other",
        "Misuse step: phase 'data' outside of its step: expected it within the block",
        "Misuse step: '' is not a name: expected a printable str of 1 to 128 characters",
        "Misuse step: phase 'data' outside of its step: expected it within the block",
    ]
    gang = start_gang(1)
    assert gang.run(script) == gang.run(f"del os.environ['LAUNCHER_HERE']\n{script}") == [expected]


@pytest.mark.parametrize("copy", ["", f"sys.path.insert(0, {str(OLD)!r}); import here"])
def test_a_program_that_only_reports_its_steps_has_a_pace_with_a_copy_of_0_1_0_too(
    start_gang: Callable[[int], Gang], copy: str
) -> None:
    script = f"""
{copy}
here.progress(pass_=0, step=0)
for step in range(1, 8):
    time.sleep(0.05)
    here.progress(pass_=0, step=step)
"""
    gang = start_gang(1)
    gang.run(script)
    pace = gang.services[0].marks.pace
    assert pace
    assert pace.steps == 7
    assert 0.35 <= pace.busy < 1.5


def test_a_thread_that_saves_leaves_the_steps_of_another_alone(
    start_gang: Callable[[int], Gang], tmp_path: Path
) -> None:
    script = f"""
os.environ.update(JOB_PATH={str(tmp_path)!r}, JOB_NAME="job")
inside = threading.Event()
def save():
    with here.saving(0) as directory:
        inside.set()
        open(directory + "/model", "w").write("model")
        time.sleep(0.3)
with here.step():
    saving = threading.Thread(target=save)
    saving.start()
    inside.wait()
    time.sleep(0.1)
for _ in range(9):
    with here.step():
        time.sleep(0.02)
saving.join()
"""
    gang = start_gang(1)
    gang.run(script)
    pace = gang.services[0].pace
    assert pace
    assert (pace.steps, pace.phase) == (10, "")
    assert pace.busy >= 0.25
    assert "saving" not in gang.services[0].spent(time.monotonic())


def test_two_threads_that_report_and_step_lose_nothing(start_gang: Callable[[int], Gang]) -> None:
    script = """
def report():
    for number in range(20000):
        here.progress(step=number)
reporting = threading.Thread(target=report)
reporting.start()
for _ in range(20000):
    with here.step("data") as phase:
        phase("compute")
reporting.join()
"""
    gang = start_gang(1)
    gang.run(script)
    pace = gang.services[0].pace
    assert pace
    assert pace.steps >= 20000  # those of here.step, and what was reported before its first
    assert gang.services[0].progress == {"step": 19999}


def test_a_forked_child_that_leaves_the_block_counts_no_step(start_gang: Callable[[int], Gang]) -> None:
    script = """
with here.step("data") as phase:
    here._mine()._lock.acquire()  # as another thread may have it at that moment
    child = os.fork()
    if child == 0:
        threading.Thread(target=phase, args=("compute",)).start()  # the lock is the main thread's
if child == 0:
    sys.exit(0)
here._mine()._lock.release()
os.waitpid(child, 0)
"""
    gang = start_gang(1)
    gang.run(script)
    assert gang.services[0].pace
    assert gang.services[0].pace.steps == 1


def test_steps_begin_anew_in_another_generation(start_gang: Callable[[int], Gang]) -> None:
    gang = start_gang(1)
    script = "with here.step(): pass"
    gang.run(script)
    gang.run(script)  # another process of the same generation: it counts as well
    assert gang.services[0].pace == Pace(steps=2, busy=gang.services[0].marks.pace.busy)  # type: ignore[union-attr]
    gang.begin(2)
    assert gang.services[0].pace is None
