"""`launcher` for a program whose Python has no package of that name: `from launcher import here`.

PYTHONPATH is searched before what is installed. So this one looks behind itself first: another `launcher` that is
found there is the program's own and takes this one's place, and only what is not in it comes from here.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from os.path import dirname, realpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_HERE = dirname(dirname(realpath(__file__)))  # noqa: PTH120  # each start of a program pays for pathlib
_OURS = dirname(_HERE)  # noqa: PTH120


def _of_the_program() -> ModuleSpec | None:
    """Return what the program's Python would have imported without this directory."""
    others = [each for each in sys.path if realpath(each) != _HERE]
    for finder in sys.meta_path:
        if not hasattr(finder, "find_spec"):  # of a package for an older Python, which that asks in another way
            continue
        found = finder.find_spec(__name__, others if finder is PathFinder else None)
        if found is not None:
            return found
    return None


_own = _of_the_program()
if _own is not None and _own.origin is not None:
    _module = module_from_spec(_own)
    if _own.submodule_search_locations is not None:
        _own.submodule_search_locations.append(_OURS)  # it is the module's __path__
    sys.modules[__name__] = _module
    if _own.loader is not None:
        _own.loader.exec_module(_module)
else:  # nothing, or a directory without a file of its own
    __path__ = [*((_own and _own.submodule_search_locations) or ()), _OURS]
