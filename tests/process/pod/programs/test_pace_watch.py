"""What is found out of real trainers by the steps and numbers that they report."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from launcher.pod.gang.protocol.messages import Trouble
from launcher.pod.programs.policy import Child
from launcher.pod.programs.watching.pace import PaceWatch, Sighting
from launcher.pod.settings.nouns import Role
from tests.support.asking import Gang, ended
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)
STEPS = """
for number in range(50):
    with here.step() as phase:
        time.sleep(0.01)
"""


SPIN = """
def spin():
    while True:
        pass
"""


class Watched:
    """One trainer under a watch that looks whenever it is to."""

    def __init__(self, gang: Gang, *, timeout: float | None = 0.5, nan_fails: bool = False) -> None:
        self._gang = gang
        self._watch = PaceWatch(timeout=timeout, nan_fails=nan_fails, here=lambda _: gang.services[0])
        self.found: list[Sighting] = []

    def start(self, script: str) -> None:
        """Start its program."""
        self.child = Child(name="trainer", role=Role.TRAINER, pid=self._gang.start(0, SPIN + script).pid)

    def look(self) -> list[Sighting]:
        """Look, and return all that was found so far."""
        self._watch.look([self.child], time.monotonic())
        self.found.extend(self._watch.found)
        return self.found

    def look_for(self, seconds: float) -> list[Sighting]:
        """Look for so long."""
        until = time.monotonic() + seconds
        wait_until(lambda: self.look() is None or time.monotonic() > until)
        return self.found


@pytest.fixture
def gang() -> Iterator[Gang]:
    """Return a gang of one."""
    one = Gang(1)
    yield one
    one.close()


def test_a_spin_after_some_steps_is_found_once_and_again_after_another_step(gang: Gang) -> None:
    watched = Watched(gang)
    watched.start(f"{STEPS}sys.stdin.readline(){STEPS}spin()")
    wait_until(lambda: bool(watched.look()))
    (found,) = watched.look_for(1.0)
    assert (found.child, found.kind, found.rank, found.code) == ("trainer", Trouble.NO_STEP, 0, 134)
    assert found.reason.startswith("trainer 0 has made no step for ")
    assert found.reason.endswith(" each, and it uses no CPU")
    stdin = gang.programs[0].stdin
    assert stdin
    stdin.write("\n")
    stdin.flush()
    wait_until(lambda: len(watched.look()) == 2)
    assert watched.found[1].reason.endswith(" each, though it uses CPU")


@pytest.mark.parametrize(
    "rest",
    [
        'here.barrier("b")',
        'here.get("k", rank=1)',
        "with here.saving(0): spin()",
        'with here.step("data"): spin()',
        'with here.step() as phase: phase("evaluate"); spin()',
    ],
)
def test_a_wait_a_saving_and_another_phase_are_no_stand(rest: str, tmp_path: object) -> None:
    two = Gang(2)
    try:
        watched = Watched(two, timeout=1.0)
        watched.start(f"os.environ.update(JOB_PATH={str(tmp_path)!r}, JOB_NAME='job')\n{STEPS}{rest}")
        wait_until(lambda: (watched.look(), two.services[0].spent(time.monotonic()))[1] != {})
        assert watched.look_for(2.0) == []
    finally:
        two.close()


def test_a_thread_that_only_listens_hides_no_stand() -> None:
    two = Gang(2)
    try:
        watched = Watched(two)
        listening = "threading.Thread(target=here.get, args=('k',), kwargs={'rank': 1}, daemon=True).start()\n"
        watched.start(f"{listening}{STEPS.replace('0.01', '0.03')}spin()")
        wait_until(lambda: bool(watched.look()))
    finally:
        two.close()


def test_the_gil_held_in_c_while_a_quick_step_was_in_another_phase_is_a_stand(gang: Gang) -> None:
    """No thread of it can tell in which phase it hangs; the last report may have told any."""
    watched = Watched(gang)
    watched.start("""
import ctypes
until = time.monotonic() + 1
while time.monotonic() < until:
    with here.step("data") as phase:
        time.sleep(0.01)
        phase("compute")
ctypes.PyDLL(None).sleep(1000)
""")
    wait_until(lambda: bool(watched.look()))


def test_a_program_that_reports_no_steps_is_not_watched(gang: Gang) -> None:
    watched = Watched(gang)
    watched.start("here.progress(loss=0.5); spin()")
    wait_until(lambda: watched.look() is None or "loss" in gang.services[0].progress)
    assert watched.look_for(1.0) == []


def test_a_barrier_in_vain_is_found_while_the_program_stands_there() -> None:
    two = Gang(2)
    try:
        watched = Watched(two, timeout=None)
        begun = time.monotonic()
        watched.start('refused(here.barrier, "quick", timeout=1); refused(here.barrier, "b", timeout=2)')
        wait_until(lambda: bool(watched.look()))
        assert two.services[0].waiting
        (found,) = watched.found
        assert (found.kind, found.code) == (Trouble.TIMED_OUT, 0)
        assert found.reason == "trainer 0 waited 2 s at barrier 'b', and not every trainer came"
        told = ended(two.programs[0]).splitlines()
        assert told[1] == "TimeoutError barrier 'b': not every trainer came within 2 s"
        assert time.monotonic() - begun >= 5
        assert watched.look_for(0.1) == [found]
    finally:
        two.close()


def test_who_comes_while_a_barrier_in_vain_is_looked_at_lets_all_pass() -> None:
    two = Gang(2)
    try:
        early = two.start(0, 'refused(here.barrier, "b", timeout=2)')
        wait_until(lambda: bool(two.services[0].troubles))
        two.start(1, 'refused(here.barrier, "b")')
        assert ended(early) == "returned None\n"
    finally:
        two.close()


@pytest.mark.parametrize(("fails", "code"), [(False, 0), (True, 65)])
def test_a_number_that_is_none_is_found_at_once_and_once(gang: Gang, fails: bool, code: int) -> None:
    watched = Watched(gang, timeout=None, nan_fails=fails)
    calls = gang.calls
    watched.start("""
here.progress(pass_=3, step=119, loss=0.5, best=float("inf"), norm=1.0)
here.progress(pass_=3, step=120, loss=float("nan"))
here.progress(pass_=3, step=121, loss=float("nan"), norm=float("-inf"))
here.progress(pass_=3, step=122, loss=0.5, norm=1.0)
""")
    wait_until(lambda: len(watched.look()) == 2)
    assert [(each.kind, each.rank, each.code, each.reason) for each in watched.found] == [
        (Trouble.NOT_A_NUMBER, 0, code, "trainer 0 reports loss=nan at pass 3, step 120"),
        (Trouble.NOT_A_NUMBER, 0, code, "trainer 0 reports norm=-inf at pass 3, step 121"),
    ]
    # A trouble shows a moment before it wakes the main thread; the next report is taken after that.
    wait_until(lambda: gang.services[0].progress["step"] == 122)
    assert len(watched.look_for(0.5)) == 2
    assert gang.calls == calls + 3  # the pass, and each of them
