"""Waiting for what is about to become true, instead of sleeping for as long as it might take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def wait_until(check: Callable[[], Result], timeout: float = 10, every: float = 0.01) -> Result:
    """Return what `check` returns once it is true, or None and raises nothing; else the last AssertionError."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            found = check()
            if found or found is None:
                return found
            failed = AssertionError(f"still {found!r} after {timeout:g} s")
        except AssertionError as error:
            failed = error
        if time.monotonic() > deadline:
            raise failed
        time.sleep(every)
