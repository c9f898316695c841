"""Workers: one after the other on a local disk, side by side where each waits, and always in order."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from launcher.safefs import parallel
from launcher.safefs.parallel import FLYING, LATE_ANSWER, SIDE_BY_SIDE, WAITED, Workers


class Works:
    """Works that say their number, a while later, and who is at it meanwhile."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.begun = self.ended = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, number: int) -> int:
        with self._lock:
            self.begun += 1
            self.most = max(self.most, self.begun - self.ended)
        time.sleep(self.seconds)
        with self._lock:
            self.ended += 1
        return number

    def asked_for(self, count: int) -> Iterator[Callable[[], int]]:
        return (partial(self, number) for number in range(count))


def test_what_is_quick_is_done_one_after_the_other() -> None:
    with Workers() as workers:
        assert list(workers.each(partial(int, number) for number in range(5000))) == list(range(5000))
        assert not workers.side_by_side


def test_what_waits_is_done_side_by_side_from_then_on() -> None:
    works = Works(WAITED * 5)
    with Workers() as workers:
        assert list(workers.each(works.asked_for(LATE_ANSWER - 1))) == list(range(LATE_ANSWER - 1))
        assert (workers.side_by_side, works.most) == (False, 1)
        assert list(workers.each(works.asked_for(500))) == list(range(500))
        assert workers.side_by_side
        assert 1 < works.most <= SIDE_BY_SIDE


def test_no_more_is_asked_for_than_may_be_held() -> None:
    asked = 0

    def asking() -> Iterator[Callable[[], int]]:
        nonlocal asked
        for work in works.asked_for(1000):
            asked += 1
            yield work

    works = Works(WAITED * 5)
    with Workers() as workers:
        for number in workers.each(asking()):
            assert asked <= number + FLYING + 2
    assert asked == 1000


def test_a_failure_comes_up_at_its_place_when_all_that_was_begun_has_ended() -> None:
    works = Works(WAITED * 5)

    def asking() -> Iterator[Callable[[], int]]:
        yield from works.asked_for(100)
        yield partial(int, "no number")
        yield from works.asked_for(100)

    got: list[int] = []
    with Workers() as workers:
        with pytest.raises(ValueError, match="no number"):
            got.extend(workers.each(asking()))
        assert workers.side_by_side
        assert works.begun == works.ended
    assert works.begun < 200
    assert got == list(range(100))


def test_what_hangs_holds_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a volume that is gone: whoever is interrupted still has to tidy up elsewhere."""
    monkeypatch.setattr(parallel, "PATIENCE", 0.2)
    forever = threading.Event()

    def asking() -> Iterator[Callable[[], object]]:
        yield from works.asked_for(100)
        yield from itertools.repeat(forever.wait, SIDE_BY_SIDE)
        raise KeyboardInterrupt

    works = Works(WAITED * 5)
    with pytest.raises(KeyboardInterrupt), Workers() as workers:
        for _ in workers.each(asking()):
            pass
    forever.set()  # it was not waited for


def test_who_stops_asking_waits_for_what_was_begun() -> None:
    works = Works(WAITED * 5)
    with Workers() as workers:
        for number in workers.each(works.asked_for(1000)):
            if number == 50:
                break
    assert works.begun == works.ended < 1000


@pytest.mark.parametrize("threads", [1, 4])
def test_a_directory_that_is_left_is_closed_when_all_that_was_begun_in_it_is_done(threads: int) -> None:
    works, closed = Works(0.002), []

    def asking() -> Iterator[Callable[[], int] | ExitStack]:
        for directory in range(100):
            yield from works.asked_for(3)
            left = ExitStack()
            left.callback(lambda number=directory: closed.append((number, works.ended)))  # type: ignore[misc]
            yield left

    with Workers(threads, flying=512, borrowing=True) as workers:
        assert list(workers.each(asking())) == [0, 1, 2] * 100
    assert [number for number, _ in closed] == list(range(100))
    assert all(ended >= 3 * (number + 1) for number, ended in closed)


def test_with_borrowed_descriptors_a_failure_drops_what_is_not_begun_and_waits_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    works, left, closed = Works(0.0), ExitStack(), []
    left.callback(lambda: closed.append(works.begun == works.ended))
    waited_for = threading.Event()

    def waiting(*given: Any) -> object:  # noqa: ANN401  # as wait() takes them
        waited_for.set()
        return wait(*given)

    def held(number: int) -> int:
        assert waited_for.wait(30)
        return works(number)

    monkeypatch.setattr(parallel, "wait", waiting)

    def asking() -> Iterator[Callable[[], int] | ExitStack]:
        yield partial(int, "no number")
        yield from (partial(held, number) for number in range(100))
        yield left

    with Workers(4, flying=512, borrowing=True) as workers, pytest.raises(ValueError, match="no number"):
        list(workers.each(asking()))
    assert works.begun <= 4
    assert closed == [True]
