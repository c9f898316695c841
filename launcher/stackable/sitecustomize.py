"""Lets the launcher ask a Python where it stands: the directory of this file is first on the PYTHONPATH of programs.

Python imports this by its name before the program's own code, and before a `sitecustomize` of the program's or of
its Python, which then takes this one's place. Any Python 3; an older one only gets what is behind this.
"""

import os
import sys

# By number: SIGRTMIN is another one with another C library.
_MAIN, _ALL = 41, 42  # the frames of the thread that gets it; those of all


def _listen():  # type: ignore[no-untyped-def]  # noqa: ANN202  # an older Python knows no annotations
    """Write frames to the launcher's file whenever one of the signals comes."""
    path = os.environ.get("LAUNCHER_FRAMES")
    if not path or "memfd:paddle-launcher-stacks" not in os.readlink(path):  # noqa: PTH115
        return  # that launcher is gone: what is there now is another's
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    import faulthandler

    faulthandler.register(_MAIN, file=file, all_threads=False, chain=False)
    faulthandler.register(_ALL, file=file, all_threads=True, chain=False)


_this = sys.modules.pop(__name__, None)  # kept, since Python 2 would clear what is in use here
try:  # noqa: SIM105  # contextlib would be most of the cost
    _listen()  # type: ignore[no-untyped-call]
except Exception:  # noqa: S110  # no program fails, or says a word, because it cannot be asked
    pass
_here = os.path.dirname(__file__)  # noqa: PTH120  # as it stands in the path
sys.path[:] = [each for each in sys.path if each != _here]

import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401  # now the one behind this
