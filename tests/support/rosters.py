"""What a pod learns of its gang over its life: the first roster alone, or every change on a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from launcher.pod.peers.gather import Rosters
from launcher.pod.peers.roster import Roster, Waiting
from launcher.pod.peers.seeking import Seeking
from tests.support.waiting import wait_until


def first(states: Rosters) -> Roster:
    """Return the first roster, and ask for no more."""
    with closing(states):
        for state in states:
            if isinstance(state, Roster):
                return state
    raise AssertionError("it ended without a roster")


@dataclass(slots=True, kw_only=True)
class Looking:
    """One pod that looks for its peers, on a thread: all that it learns, what it tells, and how it ends.

    It asks for no more after the first roster, unless it looks for life, or once it is told to leave.
    """

    for_life: bool = False
    states: list[Roster | Waiting] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    told: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    failed: BaseException | None = None
    over: threading.Event = field(default_factory=threading.Event)
    seeking: Seeking = field(default_factory=Seeking)
    leave: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def look(self) -> Rosters:
        """Return what it is to learn from."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._run, name="looking", daemon=True).start()

    def roster(self, timeout: float = 10) -> Roster:
        """Return the first roster as soon as there is one."""
        wait_until(lambda: self.done.is_set() or any(isinstance(state, Roster) for state in self.states), timeout)
        if self.failed:
            raise self.failed
        return next(state for state in self.states if isinstance(state, Roster))

    def error(self, timeout: float = 10) -> BaseException:
        """Return what it ended by."""
        assert self.done.wait(timeout), "still looking"
        assert self.failed, self.states
        return self.failed

    def reasons(self) -> list[str]:
        """Return for whom it was told to wait, so far."""
        return [str(facts["reason"]) for name, facts in self.told if name == "waiting_for_peers"]

    def waits_for(self, text: str, timeout: float = 10) -> None:
        """Wait until it tells that it waits for this."""
        wait_until(lambda: self.reasons() and text in self.reasons()[-1], timeout)

    def learns(self, check: Callable[[Roster | Waiting], bool], timeout: float = 10) -> None:
        """Wait until the last that it learned is so."""
        wait_until(lambda: self.states and check(self.states[-1]), timeout)

    def tell(self, name: str, **facts: object) -> None:
        """Keep what is told."""
        self.told.append((name, facts))

    def end(self) -> None:
        """End it, whatever it waits for that knows how to be ended."""
        self.over.set()
        self.seeking.set()

    def _run(self) -> None:
        try:
            with closing(self.look()) as states:
                for state in states:
                    self.times.append(time.monotonic())
                    self.states.append(state)
                    if self.leave.is_set() or (isinstance(state, Roster) and not self.for_life):
                        break
        except BaseException as error:
            self.failed = error
        finally:
            self.done.set()
