"""Takes the stacks of this launcher's programs when it is asked to, on a thread of its own, one look at a time."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence

from launcher.pod.programs.stacks import asking
from launcher.pod.programs.stacks.asking import ProgramStacks
from launcher.pod.programs.stacks.files import StackFiles
from launcher.pod.settings.nouns import Role

Keep = Callable[[int, Sequence[ProgramStacks]], None]


class StackTaker:
    """Looks at programs, and has the last look that is complete."""

    def __init__(self, files: StackFiles, nudge: Callable[[], None], keep: Keep = lambda number, found: None) -> None:
        """Have no look yet; on another thread `keep` is given what one saw, and `nudge` is called then."""
        self._files = files
        self._nudge = nudge
        self.keep = keep
        self._refused: set[tuple[int, int]] = set()
        self._busy = False
        self._taken: tuple[int, tuple[ProgramStacks, ...]] = (0, ())

    @property
    def taken(self) -> tuple[int, tuple[ProgramStacks, ...]]:
        """The number of the last look that is complete, and what it saw; 0 before the first."""
        return self._taken

    def ask(self, number: int, programs: Sequence[tuple[Role, int, int]]) -> None:
        """Look at programs, each given as role, rank and the pid of its session's leader, unless a look is under way.

        What is refused is to be asked for again, after the nudge.
        """
        if self._busy or number == self._taken[0]:
            return
        self._busy = True
        threading.Thread(target=self._take, args=(number, tuple(programs)), name="stacks", daemon=True).start()

    def _take(self, number: int, programs: Sequence[tuple[Role, int, int]]) -> None:
        found: tuple[ProgramStacks, ...] = ()
        try:
            found = asking.take(programs, self._files, self._refused)
            self.keep(number, found)
        except Exception:  # a bug: it costs a look, not the training
            traceback.print_exc()
        self._taken = (number, found)
        self._busy = False
        self._nudge()
