"""Training programs that ask their launchers: barriers, values and reports of real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.pod.gang.here.requests import Report
from tests.support.asking import Gang, ended
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)
OLD = Path(__file__).parents[4] / "vectors" / "0.1.0"


def test_nobody_passes_a_barrier_before_all_are_there(start_gang: Callable[[int], Gang]) -> None:
    gang = start_gang(2)
    early = gang.start(0, 'here.barrier("b"); print("passed", flush=True); here.barrier("c")')
    wait_until(lambda: gang.at(0) == ("b",))
    late = gang.start(1, 'sys.stdin.readline(); here.barrier("b"); here.barrier("c")')
    assert early.poll() is None
    assert gang.at(0) == ("b",)
    late.communicate("\n", timeout=30)
    assert ended(early) == "passed\n"
    assert gang.at(0) == gang.at(1) == ()


def test_three_trainers_pass_many_barriers_and_read_each_others_values(start_gang: Callable[[int], Gang]) -> None:
    script = """
for number in range(10):
    here.share(f"loss-{number}", [here.rank(), number])
    here.barrier(f"pass-{number}", timeout=30)
    print(here.get(f"loss-{number}"), [here.get(f"loss-{number}", rank=rank)[0] for rank in range(here.trainers())])
"""
    told = start_gang(3).run(script)
    assert told == [[f"[0, {number}] [0, 1, 2]" for number in range(10)]] * 3


def test_a_value_reaches_who_asks_late_and_who_asked_early(start_gang: Callable[[int], Gang]) -> None:
    gang = start_gang(2)
    early = gang.start(1, 'print(here.get("k"))')
    ended(gang.start(0, 'here.share("k", "x" * 60000)'))
    assert ended(early) == ended(gang.start(1, 'print(here.get("k", rank=0))')) == "x" * 60000 + "\n"


def test_misuse_is_told_in_a_sentence(start_gang: Callable[[int], Gang]) -> None:
    script = """
here.barrier("b")
refused(here.barrier, "b")
refused(here.get, "k", rank=1)
os.environ["TRAINERS"] = "9"
refused(here.get, "k", rank=8)
here.share("k", "x" * 60000)
here._KEPT.clear()  # as in another process of the same trainer
refused(here.share, "l", "x" * 60000)
refused(here.get, "nothing", timeout=0.05)
threading.Thread(target=refused, args=(here.get, "later", 0, 30)).start()
here.share("later", 1)
"""
    assert start_gang(1).run(script)[0] == [
        "Misuse barrier 'b' was passed already in this generation: give each its own name, as f'pass-{n}'",
        "Misuse get('k', rank=1): the ranks are 0 to 0",
        "Misuse get('k', rank=8): the ranks are 0 to 0",
        "Misuse share('l'): 120022 bytes, but 65536 is the limit for all of one trainer's values",
        "TimeoutError get('nothing'): no trainer shared it within 0.05 s",
        "returned 1",
    ]


def test_one_who_ran_out_of_time_may_wait_again(start_gang: Callable[[int], Gang]) -> None:
    gang = start_gang(2)
    script = 'refused(here.barrier, "b", timeout=0.05); sys.stdin.readline(); refused(here.barrier, "b")'
    early = gang.start(0, script)
    assert early.stdout
    assert early.stdout.readline() == "TimeoutError barrier 'b': not every trainer came within 0.05 s\n"
    assert gang.at(0) == ("b",)
    assert ended(gang.start(1, 'refused(here.barrier, "b")')) == "returned None\n"
    assert early.communicate("\n", timeout=30)[0] == "returned None\n"


def test_the_end_of_a_generation_ends_all_waiting(start_gang: Callable[[int], Gang]) -> None:
    gang = start_gang(2)
    script = """
thread = threading.Thread(target=refused, args=(here.get, "k"))
thread.start()
refused(here.barrier, "b")
thread.join()
refused(here.barrier, "c")
sys.stdin.readline()
refused(here.barrier, "d")
"""
    program = gang.start(0, script)
    wait_until(lambda: gang.at(0) == ("b",))
    assert program.stdout
    gang.services[0].end("trainer 1 ended with 7")
    for _ in range(3):
        assert program.stdout.readline() == "GenerationEnded trainer 1 ended with 7\n"
    gang.begin(2)  # which is another one's: the old token is good for nothing
    assert program.communicate("\n", timeout=30)[0] == "GenerationEnded the launcher closed the connection\n"
    assert gang.at(0) == ()


@pytest.mark.parametrize("how", ["begin", "close"])
def test_who_waits_learns_that_another_generation_began_or_the_launcher_leaves(
    start_gang: Callable[[int], Gang], how: str
) -> None:
    gang = start_gang(2)
    program = gang.start(0, 'refused(here.barrier, "b"); refused(here.get, "k")')
    wait_until(lambda: gang.at(0) == ("b",))
    if how == "begin":
        gang.begin(2)
        assert ended(program).splitlines() == [
            "GenerationEnded the generation ended",
            "GenerationEnded the launcher closed the connection",
        ]
    else:
        gang.services[0].close()
        first, second = ended(program).splitlines()
        assert first == "GenerationEnded the launcher is leaving"
        assert second.startswith("GenerationEnded the launcher ")


def test_who_is_killed_at_a_barrier_stands_there_no_more(start_gang: Callable[[int], Gang]) -> None:
    gang = start_gang(2)
    program = gang.start(0, 'here.barrier("b")')
    wait_until(lambda: gang.at(0) == ("b",))
    program.send_signal(signal.SIGKILL)
    wait_until(lambda: gang.at(0) == ())


def test_progress_is_sent_some_times_a_second_and_the_last_is_not_lost(start_gang: Callable[[int], Gang]) -> None:
    script = """
begun = time.monotonic()
for step in range(10**9):
    here.progress(pass_=0, step=step, loss=0.5)
    if time.monotonic() > begun + 0.7:
        break
for number in range(1, 4):
    here.progress(pass_=number)
here.progress(step=step + 1, phase="done")
print(step + 1, time.monotonic() - begun)
"""
    gang = start_gang(1)
    begun = gang.calls
    (told,) = gang.run(script)[0]
    last, seconds = told.split()
    assert gang.services[0].marks.progress == {"pass": 3, "step": int(last), "loss": 0.5, "phase": "done"}
    service = gang.services[0]
    reports = {json.dumps(dict(ask.facts)) for ask in service.asks if isinstance(ask, Report)}
    assert service.progress == service.marks.progress
    assert 5 <= len(reports) <= float(seconds) / 0.2 + 5  # the first, three passes, the last
    assert gang.calls == begun + 4  # a pass's first report; nothing is decided by a step


def test_a_forked_child_speaks_for_itself(start_gang: Callable[[int], Gang]) -> None:
    script = """
here.progress(step=1)
here.progress(step=2)
if os.fork() == 0:
    here.progress(child=1)
    here.barrier("b")
    sys.exit(0)  # its parent's news is not the child's to send
os.wait()
refused(here.barrier, "b")
"""
    gang = start_gang(1)
    assert "passed already" in gang.run(script)[0][0]
    assert gang.services[0].marks.progress == {"step": 2, "child": 1}


def test_a_process_keeps_one_connection_and_opens_a_lost_one_again(start_gang: Callable[[int], Gang]) -> None:
    script = """
for number in range(20):
    here.share("k", number)
    here.get("k", rank=0)
    here.barrier(f"b{number}")
    here.progress(pass_=number)
print("asked", flush=True)
sys.stdin.readline()
here.barrier("after")
"""
    gang = start_gang(1)
    program = gang.start(0, script)
    assert program.stdout
    assert program.stdout.readline() == "asked\n"
    (kept,) = gang.services[0].callers
    kept.hang_up()
    program.communicate("\n", timeout=30)
    assert program.returncode == 0
    assert len(gang.services[0].callers) == 2


def test_reports_go_on_while_another_thread_waits_and_hold_it_up_no_more_than_it_them(
    start_gang: Callable[[int], Gang],
) -> None:
    script = """
waiting = threading.Thread(target=here.barrier, args=("b",))
waiting.start()
sys.stdin.readline()
for number in range(30):
    here.progress(pass_=number)  # each is sent at once
waiting.join()
refused(here.barrier, "b")
"""
    gang = start_gang(2)
    program = gang.start(0, script)
    assert program.stdin
    wait_until(lambda: gang.at(0) == ("b",))
    program.stdin.write("\n")
    program.stdin.flush()
    wait_until(lambda: gang.services[0].progress == {"pass": 29})
    assert gang.at(0) == ("b",)
    assert len(gang.services[0].callers) == 2
    ended(gang.start(1, 'here.barrier("b")'))
    assert "passed already" in ended(program)


def test_a_fork_does_not_hold_its_parents_place_at_a_barrier(start_gang: Callable[[int], Gang]) -> None:
    script = """
here.progress(step=1)
waiting = threading.Thread(target=here.barrier, args=("b",), daemon=True)
waiting.start()
sys.stdin.readline()
child = os.fork()
if child == 0:
    here.progress(child=1)
    sys.stdin.readline()
    os._exit(0)
here.barrier("c")
"""
    gang = start_gang(2)
    program = gang.start(0, script)
    assert program.stdin
    wait_until(lambda: gang.at(0) == ("b",))
    program.stdin.write("\n")
    program.stdin.flush()
    wait_until(lambda: gang.at(0) == ("b", "c") and "child" in gang.services[0].progress)
    program.send_signal(signal.SIGKILL)
    wait_until(lambda: gang.at(0) == ())


def test_a_program_with_a_copy_of_0_1_0_is_understood(start_gang: Callable[[int], Gang]) -> None:
    script = f"""
sys.path.insert(0, {str(OLD)!r})
import here
here.progress(pass_=1, loss=0.5)
here.share("k", [here.rank()])
here.barrier("b")
print(here.get("k"), here.get("k", rank=1), flush=True)
refused(here.get, "l", timeout=0.05)
refused(here.barrier, "b")
"""
    gang = start_gang(2)
    late = "TimeoutError get('l'): no trainer shared it within 0.05 s"
    passed = "Misuse barrier 'b' was passed already in this generation: give each its own name, as f'pass-{n}'"
    assert gang.run(script) == [["[0] [1]", late, passed]] * 2
    assert len(gang.services[0].callers) == 7
    assert gang.services[0].progress == {"pass": 1, "loss": 0.5}


def test_what_importing_it_costs() -> None:
    measure = "import time; t = time.perf_counter(); from launcher import here; print(time.perf_counter() - t)"
    costs = [float(subprocess.check_output([sys.executable, "-c", measure])) for _ in range(3)]
    print(f"importing launcher.here takes {min(costs) * 1000:.1f} ms")
