"""What a gang may leave behind: its output and its record, and nothing else."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

# `.saving-*` is of a pass that did not become complete; whoever saves next removes it.
OF_AN_OUTPUT = ("pass-*", ".saving-*", "node_*", "run-*", "events.jsonl", ".launcher")
OF_A_RECORD = (
    *("gen-*.json", "stop-*", "now", "verdict.json", "verdict.spare"),
    *("run-number", "run-*.json", "counter-[01]", "rest", "looks", "nodes.jsonl"),
)


def check(net: str, tmp: Path, output: Path) -> None:
    """Hold that no port is open on these addresses, and that there is no file that is nobody's."""
    left = [line for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if _listens(line, net)]
    assert not left, f"ports are still open: {left}"
    strangers = [str(path) for path in (*tmp.iterdir(), *_strangers(output))]
    assert not strangers, f"files are left: {strangers}"


def _strangers(output: Path) -> Iterator[Path]:
    places = {output: OF_AN_OUTPUT, **dict.fromkeys(output.glob(".launcher/*"), OF_A_RECORD)}
    for place, patterns in places.items():
        for path in place.iterdir() if place.exists() else ():
            if not any(path.match(pattern) for pattern in patterns):
                yield path


def _listens(line: str, net: str) -> bool:
    words = line.split()
    raw = bytes.fromhex(words[1].partition(":")[0])
    address = socket.inet_ntoa(raw[::-1] if sys.byteorder == "little" else raw)
    return words[3] == "0A" and address.startswith(f"{net}.")
