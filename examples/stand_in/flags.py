"""The v1 flags that the stand-in takes: `--name=value` or `--name value`, booleans as 0, 1, true or false.

An unknown one ends the command, as gflags did.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

BOOLEANS = {"0": False, "false": False, "1": True, "true": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Every flag with v1's default; one set for pserver and trainer, as v1 had it."""

    nics: str = ""
    port: int = 20134
    ports_num: int = 1
    ports_num_for_sparse: int = 0
    num_gradient_servers: int = 1
    comment: str = ""
    pservers: str = "127.0.0.1"
    trainer_id: int = 0
    trainer_count: int = 1
    config: str = ""
    save_dir: str = ""
    init_model_path: str = ""
    num_passes: int = 100
    start_pass: int = 0
    saving_period: int = 1
    log_period: int = 100
    dot_period: int = 1
    test_period: int = 0
    show_parameter_stats_period: int = 0
    test_all_data_in_one_period: bool = False
    local: bool = True
    use_gpu: bool = False


def parse(words: Sequence[str]) -> Flags:
    """Return the flags, or end with a sentence on the first one that cannot be."""
    kinds = {field.name: type(field.default) for field in fields(Flags)}
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        name, given, value = rest.pop(0).removeprefix("--").partition("=")
        if name not in kinds:
            sys.exit(f"ERROR: unknown command line flag {name!r}")
        if not given:
            value = "1" if kinds[name] is bool else rest.pop(0) if rest else ""
        found[name] = _value(name, kinds[name], value)
    return Flags(**found)


def _value(name: str, kind: type, text: str) -> object:
    try:
        return BOOLEANS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        sys.exit(f"ERROR: illegal value {text!r} for {kind.__name__} flag {name!r}")
