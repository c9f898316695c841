"""Parameters under v1's names and in v1's file format: each saved pass has them too, for programs that read those.

A file is a header, format 0, bytes of a number and how many there are, and the numbers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HEADER = struct.Struct("<iIQ")
AUTOMATIC = re.compile(r"(?P<layer>[a-z_]\w*_\d+)\.(?P<kind>[wb])_(?P<number>\d+)")
OWN = re.compile(r"(?P<layer>[\w-]+)\.(?P<kind>[wb])_(?P<number>\d+)")
LAYERS = {"fc": "fc_layer", "conv2d": "conv"}  # names that differ in v1


def v1_name(name: str) -> str:
    """Return v1's name of a parameter; a name that the config chose is kept."""
    if found := AUTOMATIC.fullmatch(name):
        kind, _, number = found["layer"].rpartition("_")
        return f"___{LAYERS.get(kind, kind)}_{number}__{_suffix(found)}"
    if found := OWN.fullmatch(name):
        return f"_{found['layer']}{_suffix(found)}"
    return name


def _suffix(found: re.Match[str]) -> str:
    if found["kind"] == "b":
        return ".wbias" if found["number"] == "0" else f".wbias{found['number']}"
    return f".w{found['number']}"


def write_v1_files(directory: Path, parameters: Mapping[str, Any]) -> None:
    """Write each parameter, an array of float32, into a file of its v1 name."""
    for name, values in parameters.items():
        content = values.astype("<f4", copy=False)
        header = _HEADER.pack(0, content.itemsize, content.size)
        (directory / v1_name(name)).write_bytes(header + content.tobytes())
