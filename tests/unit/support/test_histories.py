"""Which histories of programs may be, and which words of launchers agree with them."""

from __future__ import annotations

import pytest

from tests.support.histories import Life, Waking, Word, lives, wrong

RUN = "run-1"


def life(who: str, since: float, until: float, code: int | None = None, *, run: str = RUN) -> Life:
    """Return a process that noted something each tenth of a second: `2t1` is trainer 1 of generation 2, of two."""
    times = tuple(since + tenth / 10 for tenth in range(round((until - since) * 10) + 1))
    role = {"t": "trainer", "p": "pserver", "h": "helper"}[who[1]]
    return Life(run=run, generation=int(who[0]), role=role, rank=int(who[2]), trainers=2, times=times, code=code)


WELL = [life("1p0", 0, 5), life("1t0", 1, 5, 0), life("1t1", 1, 4.5, 0)]
LOST = [life("1p0", 0, 3), life("1t0", 1, 3), life("1t1", 1, 3)]
AGAIN = [life("2p0", 4, 9), life("2t0", 4.5, 9, 0), life("2t1", 4.5, 9, 0)]
ZERO = [Word(run=RUN, who="pod-0", code=0), Word(run=RUN, who="pod-1", code=0)]
SEVEN = [Word(run=RUN, who="pod-0", code=7)]


@pytest.mark.parametrize(
    "found",
    [
        [],
        WELL,
        [*LOST, *AGAIN],
        [*LOST, life("1h0", 1, 3), life("1h0", 2, 3), *AGAIN],
        [life("1t0", 0, 3), life("2t0", 3, 4)],
        [life("1t0", 0, 3), life("1t0", 9, 12)],
    ],
    ids=["nothing", "one generation", "two", "helpers", "back to back", "six generations later"],
)
def test_programs_of_one_generation_at_different_places_may_run_at_once(found: list[Life]) -> None:
    assert wrong(found) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (life("1t0", 0, 3.1), life("2t1", 3, 4)),
        (life("1p0", 0, 3.1), life("2t1", 3, 4)),
        (life("1h0", 0, 3.1), life("2t0", 3, 4)),
        (life("2t0", 0, 3.1), life("1t0", 3, 4)),
        (life("1t0", 0, 3.1), life("1t0", 3, 4)),
        (life("1t0", 0, 3.1), life("1t1", 3, 4, run="run-2")),
    ],
    ids=["a trainer", "a pserver", "a helper", "an older one later", "one place twice", "two runs"],
)
def test_others_may_not(one: Life, other: Life) -> None:
    (why,) = wrong([other, one])
    assert why.startswith(f"two at once: {one.name} still ran 0.100 s after {other.name}")


def test_who_was_frozen_and_wakes_may_run_until_its_launcher_ends_it() -> None:
    times = (0.0, 0.1, 5.0, 5.1)
    slept = Life(run=RUN, generation=1, role="trainer", rank=0, trainers=2, address="b", times=times)
    others = [slept, *(life(each, 3, 6) for each in ("2t0", "2t1"))]
    assert len(wrong(others)) == 2
    assert wrong(others, wakings=[Waking(address="b", since=4.9, until=5.4)]) == ()
    assert len(wrong(others, wakings=[Waking(address="b", since=4.9, until=5.05)])) == 2
    assert len(wrong(others, wakings=[Waking(address="c", since=4.9, until=5.4)])) == 2


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (WELL, ZERO),
        (WELL, []),
        ([*LOST, *AGAIN], ZERO),
        ([life("1t0", 0, 1, 0), life("1t1", 0, 1, 0), *WELL[1:]], ZERO),
        ([*WELL[1:], life("1p0", 0, 5.2, 1)], ZERO),
        ([*WELL[1:], life("1p0", 0, 4.9, 0)], ZERO),
        (LOST, SEVEN),
        ([], SEVEN),
        ([*WELL[1:], life("1p0", 0, 4.8, 1)], SEVEN),
        ([*WELL, *(life(each, 6, 7) for each in ("2t0", "2t1"))], SEVEN),
        ([life("1t0", -3, -2, run="run-0"), *WELL], ZERO),
    ],
    ids=[
        "success",
        "no word yet",
        "success in the end",
        "a program behind a shell, after another one",
        "a pserver that fails afterwards",
        "a pserver that was told to end",
        "a failure",
        "nothing began",
        "a pserver's failure",
        "the last generation failed",
        "another run",
    ],
)
def test_a_word_that_is_true(found: list[Life], words: list[Word]) -> None:
    assert wrong(found, words) == ()


@pytest.mark.parametrize(
    ("found", "words", "why"),
    [
        (WELL, [*ZERO, *SEVEN], "more than one verdict: pod-0 says 0, pod-1 says 0, pod-0 says 7"),
        ([], ZERO, "pod-0 says 0, but no program of this run noted anything"),
        (WELL[:2], ZERO, "pod-0 says 0, but trainer 1 noted nothing"),
        (LOST, ZERO, "pod-0 says 0, but trainer 0 noted no end"),
        ([*WELL[:2], life("1t1", 1, 5, 9)], ZERO, "pod-0 says 0, but trainer 1 ended with 9"),
        ([*WELL, life("2t0", 6, 7)], ZERO, "pod-0 says 0, but trainer 0 noted no end"),
        ([*WELL[1:], life("1p0", 0, 4.9, 1)], ZERO, "but pserver 0 ended with 1 before the last trainer"),
        ([*WELL[1:], life("1p0", 0, 2.5)], ZERO, "pserver 0 was last there 2.500 s before the last trainer ended"),
        (WELL, SEVEN, "pod-0 says 7, but every trainer ended well, and no pserver failed before"),
        ([life("1t0", 0, 1, 0, run="run-0"), *WELL[1:2]], ZERO, "but trainer 1 noted nothing"),
    ],
    ids=[
        "two",
        "success of nothing",
        "a trainer that was never there",
        "trainers that were killed",
        "a trainer that failed",
        "another generation had begun",
        "a pserver that failed",
        "a pserver that froze",
        "failure of a success",
        "another run's trainer",
    ],
)
def test_a_word_that_is_not(found: list[Life], words: list[Word], why: str) -> None:
    assert why in " ".join(wrong(found, words))


def test_lines_are_read_by_process_and_half_a_line_is_still_being_written() -> None:
    text = (
        "r 2 trainer 0 3 127.0.0.1 9.1.5 9.7.8 10.5 begins\n"
        "r 2 pserver 0 3 127.0.0.1 9.1.5 9.6.8 10.25 begins\n"
        "r 2 trainer 0 3 127.0.0.1 9.1.5 9.7.8 10.75 ends 7\n"
        "r 2 trainer 0 3 127.0.0.1 9.1.5 9.7.8 99"
    )
    more = {"run": "r", "generation": 2, "rank": 0, "trainers": 3, "address": "127.0.0.1", "boot": "9.1.5"}
    assert lives(text) == (
        Life(**more, role="pserver", process="9.6.8", times=(10.25,)),  # type: ignore[arg-type]
        Life(**more, role="trainer", process="9.7.8", times=(10.5, 10.75), code=7),  # type: ignore[arg-type]
    )
