"""Stands for `paddle` in a training that is measured: the same, and a line in a file for each pass that it saves.

The line: the seconds of saving, and those of them that v1's parameter files take. Run by the Python that has Paddle.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from launcher.bridge import failure
from launcher.bridge.__main__ import main
from launcher.bridge.engine import Session
from launcher.bridge.v1 import trainer

SAID = "BENCH_SAVED"


class Timed(Session):
    """A training that notes how long it saves."""

    def save(self, number: int, beside: Callable[[Path, Mapping[str, Any]], None] = lambda *_: None) -> None:
        names = 0.0

        def timed(directory: Path, facts: Mapping[str, Any]) -> None:
            nonlocal names
            begun = time.monotonic()
            beside(directory, facts)
            names = time.monotonic() - begun

        begun = time.monotonic()
        super().save(number, timed)
        with Path(os.environ[SAID]).open("a") as said:
            said.write(f"{time.monotonic() - begun} {names}\n")


if __name__ == "__main__":
    trainer.Session = Timed  # type: ignore[attr-defined]
    failure.leave(main())
