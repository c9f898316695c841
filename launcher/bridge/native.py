"""Paddle and numpy, imported when they are first asked for and under the settings that this machine needs.

Paddle has no types: its modules are Any here.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from launcher.bridge.failure import CANNOT_START, TrainingFailure
from launcher.bridge.fleet_role import QUIET

Untyped = Any  # Paddle has no types
PADDLE_VERSION = "2.6.2"  # the last version with working parameter servers; 3.3 has none


def module(name: str) -> Untyped:
    """Return a module of Paddle or numpy."""
    for variable, value in QUIET.items():
        os.environ.setdefault(variable, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        raise TrainingFailure(
            CANNOT_START,
            f"{name} cannot be imported: {error}; expected what `pip install 'paddle-launcher[paddle]'` "
            f"installs, for Python 3.8 to 3.12 (this is {sys.version.split()[0]})",
        ) from None


def paddle() -> Untyped:
    """Return Paddle, for static graphs."""
    found = module("paddle")
    if found.__version__ != PADDLE_VERSION:
        raise TrainingFailure(CANNOT_START, f"this is paddlepaddle {found.__version__}: expected {PADDLE_VERSION}")
    found.disable_signal_handler()  # on TERM it would write a page of C++ into the log
    found.enable_static()
    return found


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress Paddle's own output, unless it ends in an error."""
    told, before = io.StringIO(), logging.root.manager.disable
    logging.disable(logging.INFO)
    try:
        with contextlib.redirect_stdout(told), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception:
        sys.stderr.write(told.getvalue())
        raise
    finally:
        logging.disable(before)
