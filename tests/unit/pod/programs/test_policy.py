"""What `policy.decide` answers: histories of children in, the next step out; and what holds for every history."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.contract import Code
from launcher.pod.outcome import Outcome
from launcher.pod.programs.policy import (
    FAREWELL,
    KILL_PATIENCE,
    Cause,
    Child,
    Instructions,
    Step,
    decide,
    first_cause,
    may_have_failed,
    stopped,
    trained,
)
from launcher.pod.settings.nouns import Role
from launcher.pod.settings.variables import known

TERM, KILL, INT, SEGV = signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV
GRACE = 10.0

NOT_BOUND = (
    "could it not bind its port? A program that is no parameter server needs -runtime (LAUNCHER_RUNTIME), "
    "such as torch or env"
)


def pserver(**facts: object) -> Child:
    return replace(Child(name="pserver 0", role=Role.PSERVER, pid=11), **facts)  # type: ignore[arg-type]


def trainer(**facts: object) -> Child:
    return replace(Child(name="trainer 0", role=Role.TRAINER, pid=22), **facts)  # type: ignore[arg-type]


def over(child: Child, code: int, ended: float, **facts: object) -> Child:
    return replace(child, left=False, code=code, ended=ended, **facts)  # type: ignore[arg-type]


def stop(at: float, signum: int = TERM) -> Cause:
    return stopped(signum, at)


def tell(*pids: int, until: float) -> Step:
    return Step(signals=tuple((pid, TERM) for pid in pids), until=until)


def kill(*pids: int, until: float) -> Step:
    return Step(signals=tuple((pid, KILL) for pid in pids), until=until)


WAITING = [
    ("all run: nothing to do until something happens", [pserver(), trainer()], None, 5, Step()),
    ("no child at all and no word: nothing", [pserver()], None, 5, Step()),
    ("a stop tells all to end", [pserver(), trainer()], stop(5), 5, tell(11, 22, until=15)),
    ("told and still running: the grace is waited for", [trainer(told=5.0)], stop(5), 6, Step(until=15)),
    ("the grace is over: killed", [trainer(told=5.0)], stop(5), 15, kill(22, until=15)),
    ("killed and not gone: a little patience", [trainer(told=5.0, killed=15.0)], stop(5), 16, Step(until=17)),
    (
        "only what is left is killed",
        [over(pserver(told=5.0), 0, 6), trainer(told=5.0)],
        stop(5),
        15,
        kill(22, until=15),
    ),
    (
        "a trainer that failed: the pserver is told to end",
        [pserver(), over(trainer(), 3, 5)],
        None,
        5,
        tell(11, until=15),
    ),
    (
        "what a failed trainer left behind has no grace",
        [pserver(), trainer(code=3, ended=5.0)],
        None,
        5,
        Step(signals=((11, TERM), (22, KILL)), until=15),
    ),
    (
        "what an obedient child leaves behind has the rest of the grace",
        [trainer(code=0, ended=6.0, told=5.0)],
        stop(5),
        7,
        Step(until=15),
    ),
    (
        "a pserver that failed: the trainer is told to end",
        [over(pserver(), 1, 5), trainer()],
        None,
        5,
        tell(22, until=15),
    ),
    (
        "a trainer that is done: its pserver is told to end",
        [pserver(), over(trainer(), 0, 5)],
        None,
        5,
        tell(11, until=15),
    ),
    (
        "a pserver that ended with 0: its trainer has a farewell's time",
        [over(pserver(), 0, 5), trainer()],
        None,
        6,
        Step(until=5 + FAREWELL),
    ),
    (
        "the farewell is over: the trainer is told to end",
        [over(pserver(), 0, 5), trainer()],
        None,
        5 + FAREWELL,
        tell(22, until=20),
    ),
    (
        "one that is given up no longer wakes anybody while another has its grace",
        [pserver(code=-9, ended=5.0, killed=5.0), trainer(told=5.0)],
        None,
        5 + KILL_PATIENCE,
        Step(until=15),
    ),
]


@pytest.mark.parametrize(
    ("children", "told", "now", "step"), [row[1:] for row in WAITING], ids=[row[0] for row in WAITING]
)
def test_what_comes_next(children: Sequence[Child], told: Cause | None, now: float, step: Step) -> None:
    found = decide(children, told, now, GRACE)
    assert replace(found, cause=None, failure=None) == step
    assert found.cause == first_cause(children, told)


ENDS = [
    (
        "done",
        [over(pserver(told=5.0), -15, 6), over(trainer(), 0, 5)],
        None,
        0,
        "every trainer of this pod is done",
        "",
    ),
    (
        "a pserver alone that ends with 0 is done",
        [over(pserver(), 0, 5)],
        None,
        0,
        "every trainer of this pod is done",
        "",
    ),
    ("a trainer's own code", [over(trainer(), 3, 5)], None, 3, "trainer 0 exited with 3", "trainer 0"),
    ("255", [over(trainer(), 255, 5)], None, 255, "trainer 0 exited with 255", "trainer 0"),
    ("a death", [over(trainer(), -SEGV, 5)], None, 139, "trainer 0 was ended by SIGSEGV", "trainer 0"),
    ("a real-time death", [over(trainer(), -40, 5)], None, 168, "trainer 0 was ended by signal 40", "trainer 0"),
    ("told to stop", [over(trainer(told=5.0), -15, 6)], stop(5), 143, "told to stop by SIGTERM", ""),
    ("told to stop, obeyed with 0", [over(trainer(told=5.0), 0, 6)], stop(5), 143, "told to stop by SIGTERM", ""),
    ("told to stop, obeyed with 7", [over(trainer(told=5.0), 7, 6)], stop(5), 143, "told to stop by SIGTERM", ""),
    ("told by Ctrl-C", [over(trainer(told=5.0), 0, 6)], stop(5, INT), 130, "told to stop by SIGINT", ""),
    ("a failure before the stop", [over(trainer(), 7, 4)], stop(5), 7, "trainer 0 exited with 7", "trainer 0"),
    ("done before the stop", [over(trainer(), 0, 4)], stop(5), 0, "every trainer of this pod is done", ""),
    (
        "the first of two failures",
        [over(pserver(), 1, 5), over(trainer(), 2, 4)],
        None,
        2,
        "trainer 0 exited with 2",
        "trainer 0",
    ),
    (
        "a pserver's farewell before its trainer's good end",
        [over(pserver(), 0, 5), over(trainer(), 0, 5 + FAREWELL / 2)],
        None,
        0,
        "every trainer of this pod is done",
        "",
    ),
    (
        "a pserver's farewell before its trainer's failure",
        [over(pserver(), 0, 5), over(trainer(), 4, 6)],
        None,
        4,
        "trainer 0 exited with 4",
        "trainer 0",
    ),
    (
        "a pserver that left its trainer alone",
        [over(pserver(), 0, 5), over(trainer(told=5 + FAREWELL), -15, 6 + FAREWELL)],
        None,
        Code.GANG,
        f"pserver 0 ended with 0 before the trainers were done; {NOT_BOUND}",
        "pserver 0",
    ),
    (
        "one that is killed and does not go",
        [trainer(told=5.0, killed=15.0)],
        stop(5),
        143,
        "told to stop by SIGTERM",
        "",
    ),
]


@pytest.mark.parametrize(
    ("children", "told", "code", "reason", "culprit"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS]
)
def test_how_it_ends(children: Sequence[Child], told: Cause | None, code: int, reason: str, culprit: str) -> None:
    end = decide(children, told, 100, GRACE).end
    assert end
    assert (end.outcome.code, end.outcome.reason, end.culprit, end.unstarted) == (code, reason, culprit, False)


def test_a_child_that_could_not_be_started_ends_the_others_with_its_own_reason() -> None:
    unstarted = over(trainer(pid=0), Code.CANNOT_START, 5, why="cannot start 'train'")
    cause = Cause(at=5, outcome=Outcome(code=71, reason="cannot start 'train'"), culprit="trainer 0", unstarted=True)
    step = decide([pserver(), unstarted], None, 5, GRACE)
    assert step == replace(tell(11, until=15), cause=cause, failure=cause)
    ended = [over(pserver(told=5.0), -15, 6), unstarted]
    assert decide(ended, None, 6, GRACE) == Step(cause=cause, failure=cause, end=cause)


def test_a_failure_is_told_once_it_is_due_in_full_and_with_its_last_lines() -> None:
    failed = over(trainer(), -9, 5, why="trainer 0 was ended by SIGKILL: no memory", tail="pass 3\n", proof="cafe")
    outcome = Outcome(code=137, reason="trainer 0 was ended by SIGKILL: no memory", tail="pass 3\n")
    cause = Cause(at=5, outcome=outcome, culprit="trainer 0", proof="cafe")
    assert decide([pserver(), failed], None, 5, GRACE).failure == cause
    left = over(pserver(), 0, 5)
    assert decide([left, trainer()], None, 6, GRACE).failure is None
    late = decide([left, trainer()], None, 5 + FAREWELL, GRACE).failure
    reason = f"pserver 0 ended with 0 before the trainers were done; {NOT_BOUND}"
    assert late
    assert late.outcome == Outcome(code=Code.GANG, reason=reason)
    assert decide([trainer(told=5.0)], stop(5), 6, GRACE).failure is None


def test_a_pserver_that_ended_with_0_is_no_failure_once_every_trainer_is_done() -> None:
    """However long the verdict then waits for the volume."""
    checked = Instructions(check=True)
    assert decide([over(pserver(), 0, 5), over(trainer(), 0, 5)], None, 99, GRACE, checked) == Step()
    assert decide([over(pserver(), 1, 5), over(trainer(), 0, 5)], None, 99, GRACE, checked).failure


@pytest.mark.parametrize(
    ("child", "so"),
    [
        (trainer(), False),
        (over(trainer(), 0, 5), False),
        (over(trainer(), 1, 5), True),
        (over(trainer(), -9, 5), True),
        (over(pserver(), 0, 5), True),
        (over(pserver(told=4.0), 1, 5), False),
    ],
)
def test_whether_an_end_may_be_a_failure(child: Child, so: bool) -> None:
    assert may_have_failed(child) == so


IN_A_GANG = Instructions()


@pytest.mark.parametrize(
    ("instructions", "code"), [(IN_A_GANG, 143), (replace(IN_A_GANG, alone=True), 7)], ids=["in a gang", "alone"]
)
def test_a_stop_that_comes_while_the_children_end_for_another_cause_holds_for_a_pod_of_a_gang(
    instructions: Instructions, code: int
) -> None:
    children = [over(pserver(told=5.0), -15, 8), over(trainer(), 7, 5)]
    step = decide(children, stop(6), 8, GRACE, instructions)
    assert step.end
    assert step.end.outcome.code == code
    assert step.end.told == (instructions is IN_A_GANG)
    assert step.failure
    assert step.failure.outcome == Outcome(code=7, reason="trainer 0 exited with 7")


LEASE_OVER = Instructions(cause=Cause(at=7, outcome=Outcome(code=Code.GANG, reason="silent"), grace=0.0))
ENDED_BY_THE_GANG = Instructions(cause=Cause(at=7, outcome=Outcome(code=Code.GANG, reason="ended"), grace=2.5))


@pytest.mark.parametrize(
    ("instructions", "step"),
    [(LEASE_OVER, kill(22, until=6)), (ENDED_BY_THE_GANG, Step(until=16)), (IN_A_GANG, Step(until=16))],
    ids=["the lease is over", "the gang ends its generation", "nothing else"],
)
def test_the_end_of_the_lease_stands_above_the_grace_of_a_stop(instructions: Instructions, step: Step) -> None:
    """A pod that was told to stop has its grace only as long as nothing can have begun beside it."""
    found = decide([trainer(told=6.0)], stop(6), 8, GRACE, instructions)
    assert replace(found, cause=None) == step


def test_a_pod_is_gone_before_the_kubelet_kills_it() -> None:
    """By default: the grace, and the patience with what does not go, are over before Kubernetes' 30 seconds."""
    assert float(known()["LAUNCHER_GRACE"]) + KILL_PATIENCE < 30 - 2


@dataclass(frozen=True, slots=True)
class Fate:
    """What a child does by itself: when it ends and how, what it leaves, what it makes of each signal."""

    role: Role
    ends: float | None
    code: int
    leaves: bool
    obeys: float | None
    dies: bool


FATES = st.builds(
    Fate,
    role=st.sampled_from([Role.PSERVER, Role.TRAINER]),
    ends=st.none() | st.floats(0, 30),
    code=st.sampled_from([0, 0, 1, 255, -9, -11, -40]),
    leaves=st.booleans(),
    obeys=st.none() | st.floats(0, 20),
    dies=st.booleans(),
)
STOPS = st.none() | st.builds(stopped, signum=st.sampled_from([TERM, INT]), at=st.floats(0, 40))


Sent = list[tuple[float, int, int]]


def live(fates: Sequence[Fate], told: Cause | None, grace: float) -> tuple[Sent, Cause | None]:
    """Play a pod's life on a made-up clock, event by event; return the signals that were sent, and the end."""
    now = 0.0
    sent: Sent = []
    children = [Child(name=f"child {pid}", role=fate.role, pid=pid) for pid, fate in enumerate(fates, 1)]
    causes: list[Cause] = []
    for _ in range(20 * len(fates) + 20):
        heard = told if told and told.at <= now else None
        children = [_now(child, fate, now) for child, fate in zip(children, fates, strict=True)]
        step = decide(children, heard, now, grace)
        _holds(step, children, heard, now, causes)
        if step.end:
            return sent, step.end
        if step.signals:
            sent += [(now, pid, signum) for pid, signum in step.signals]
            children = [_given(child, dict(step.signals).get(child.pid), now) for child in children]
            continue
        ahead = [at for fate, child in zip(fates, children, strict=True) for at in _ahead(fate, child)]
        times = [at for at in (*ahead, told.at if told else None, step.until) if at is not None and at > now]
        if not times:
            return sent, None
        now = min(times)
    raise AssertionError("it never comes to an end")


def _holds(step: Step, children: Sequence[Child], told: Cause | None, now: float, causes: list[Cause]) -> None:
    """Hold what is true of every step: a cause that has come stays, and nobody is woken for nothing."""
    cause = first_cause(children, told)
    if cause and cause.at <= now:
        causes.append(cause)
    assert all(each == causes[0] for each in causes)
    assert step.end in (None, *causes[:1])
    if not step.signals and not step.end:
        assert step.until is None or step.until > now


def _ahead(fate: Fate, child: Child) -> tuple[float | None, ...]:
    if not child.left:
        return ()
    own = fate.ends if child.running else None
    obeyed = child.told + fate.obeys if child.told is not None and fate.obeys is not None else None
    return own, obeyed


def _now(child: Child, fate: Fate, now: float) -> Child:
    """Return what a child has become by now, as `supervise` would find it."""
    if child.running and fate.ends is not None and fate.ends <= now:
        child = replace(child, code=fate.code, ended=now, left=fate.leaves)
    if child.left and child.told is not None and fate.obeys is not None and child.told + fate.obeys <= now:
        child = replace(child, left=False, **({"code": -15, "ended": now} if child.running else {}))  # type: ignore[arg-type]
    if child.left and child.killed is not None and fate.dies:
        child = replace(child, left=False, **({"code": -9, "ended": now} if child.running else {}))  # type: ignore[arg-type]
    return child


def _given(child: Child, signum: int | None, now: float) -> Child:
    if signum == TERM:
        return replace(child, told=now)
    return replace(child, killed=now) if signum == KILL else child


@given(st.lists(FATES, min_size=1, max_size=4), STOPS, st.floats(0, 12))
def test_each_child_is_told_once_and_killed_once_and_it_comes_to_an_end(
    fates: list[Fate], told: Cause | None, grace: float
) -> None:
    """For any history: no KILL before the grace but to leftovers; the first cause wins."""
    sent, end = live(fates, told, grace)
    for pid, fate in enumerate(fates, 1):
        terms = [at for at, to, signum in sent if (to, signum) == (pid, TERM)]
        kills = [at for at, to, signum in sent if (to, signum) == (pid, KILL)]
        assert len(terms) <= 1
        assert len(kills) <= 1
        if kills and terms:
            assert kills[0] >= terms[0] + grace
        elif kills:
            assert fate.leaves, "only what a child left behind is killed without a word"
            assert fate.ends is not None
            assert fate.ends <= kills[0]
    if end is None:
        assert told is None
        assert not sent
        assert any(fate.ends is None for fate in fates)
    elif told:
        assert end.at <= told.at, "what came first is the cause"


@given(st.lists(FATES, min_size=1, max_size=4), st.floats(0, 40), st.floats(0, 12))
def test_a_stop_always_leads_to_an_end(fates: list[Fate], at: float, grace: float) -> None:
    """Whatever the children do, and even if none of them ever dies."""
    sent, end = live(fates, stop(at), grace)
    assert end
    assert end.at <= at
    assert all(when <= at + grace + KILL_PATIENCE for when, _, _ in sent)


def test_a_stop_leaves_children_a_while_that_is_taken_off_their_grace() -> None:
    told = stopped(TERM, 100.0, window=4.0, grace=GRACE)
    assert (told.at, told.grace, told.told) == (104.0, 6.0, True)
    assert decide([trainer()], told, 101.0, GRACE) == Step(cause=told, until=104.0)
    assert decide([trainer()], told, 104.0, GRACE).signals == ((22, TERM),)
    killed = decide([trainer(told=104.0)], told, 110.0, GRACE)
    assert killed.signals == ((22, KILL),)
    assert stopped(TERM, 100.0, grace=GRACE) == stopped(TERM, 100.0)


def test_who_ends_while_all_are_to_end_soon_has_obeyed() -> None:
    soon = Instructions(leaving=50.0)
    for code in (0, 3, -TERM):
        assert first_cause([over(trainer(), code, 51.0)], None, soon) is None
        assert not trained([over(trainer(), code, 51.0)], 50.0)
    early = over(trainer(), 0, 49.0)
    assert trained([early], 50.0)
    failed = first_cause([over(trainer(), 3, 49.0)], None, soon)
    assert failed
    assert failed.outcome.code == 3
