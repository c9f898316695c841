"""Data for training: from a reader to files, from files to each trainer's own reader.

Python 3.8, nothing to install; each name is imported when it is first used.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from launcher.dataset import recordio as recordio
    from launcher.dataset import uci_housing as uci_housing
    from launcher.dataset.problem import Damaged as Damaged
    from launcher.dataset.problem import DatasetError as DatasetError
    from launcher.dataset.readers import cluster_files_reader as cluster_files_reader
    from launcher.dataset.readers import dist_reader as dist_reader
    from launcher.dataset.readers import epoch_reader as epoch_reader
    from launcher.dataset.readers import gen_train_list as gen_train_list
    from launcher.dataset.readers import recordio_reader as recordio_reader
    from launcher.dataset.writing import convert as convert
    from launcher.dataset.writing import dataset_from_reader as dataset_from_reader
    from launcher.dataset.writing import split as split

_PLACES = {
    "Damaged": "problem",
    "DatasetError": "problem",
    "cluster_files_reader": "readers",
    "convert": "writing",
    "dataset_from_reader": "writing",
    "dist_reader": "readers",
    "epoch_reader": "readers",
    "gen_train_list": "readers",
    "recordio": "",
    "recordio_reader": "readers",
    "split": "writing",
    "uci_housing": "",
}
DATA_HOME = os.path.expanduser("~/.cache/paddle/dataset")  # where Paddle's own datasets are kept
common = sys.modules[__name__]  # Paddle's name of the room with these functions, so that programs need no other


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    place = _PLACES[name]
    found = getattr(import_module(f"{__name__}.{place}"), name) if place else import_module(f"{__name__}.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
