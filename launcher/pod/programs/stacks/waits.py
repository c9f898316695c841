"""Which calls wait for other programs, by the files and functions of the frameworks. No I/O here.

A small table, and evidence rather than proof: a version of a framework may call them otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# What does nothing but wait for other programs, whatever the CPU does meanwhile: parts of a path, and functions.
_WAITING = (
    (r"(?:^|/)here\.py", r"barrier|get|saving|_together"),
    (r"/torch/distributed/distributed_c10d\.py", r"\w*(?:all_|reduce|broadcast|barrier|gather|scatter|recv|send)\w*"),
    (r"/torch/distributed/(?:rendezvous|elastic/.*)\.py", r".*"),
    (r"/torch/distributed/distributed_c10d\.py", r"init_process_group|_store_based_barrier|new_group"),
    (r"/jax/experimental/multihost_utils\.py", r".*"),
    (r"/jax/_src/distributed\.py", r"initialize|shutdown"),
    (r"/paddle/distributed/(?:communication|collective|parallel|fleet/(?:fleet|base)).*", r"(?!get_)\w+"),
    (r"/paddle/(?:base|fluid)/.*|/paddle/distributed/.*", r"run_server|_run_server|barrier\w*|pull_\w+"),
    (r"/xgboost/collective\.py", r".*"),
    (r"/tensorflow/python/distribute/.*", r"barrier|_?all_?reduce\w*"),
)
# What computes and waits in one call: it waits where the thread sleeps.
_ASLEEP = (
    (r"/torch/autograd/__init__\.py|/torch/_tensor\.py", r"backward|_engine_run_backward"),
    (r"/torch/autograd/graph\.py", r"_engine_run_backward"),
    (r"/torch/nn/parallel/distributed\.py", r"\w+"),
    (
        r"/jax/(?:_src/)?(?:array|api|interpreters/\w+|pjit)\.py",
        r"_value|__array__|block_until_ready|device_get|__float__",
    ),
    (r"/xgboost/(?:core|training)\.py", r"update|train"),
    (r"/lightgbm/(?:basic|engine)\.py", r"update|train|construct|_lazy_init"),
    (r"/paddle/.*", r"backward|run|train_from_dataset|_run_impl|_run"),
)


def only_waits(frames: Sequence[tuple[str, str]], *, asleep: bool) -> bool:
    """Return whether one of these frames (file, function) is known to wait for other programs."""
    table = (*_WAITING, *_ASLEEP) if asleep else _WAITING
    return any(
        re.search(rf"(?:{path})$", file) and re.fullmatch(functions, function)
        for file, function in frames
        for path, functions in table
    )
