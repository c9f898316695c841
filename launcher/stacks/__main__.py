"""`python -m launcher.stacks [--all]`, in the leader's pod: a line of JSON on where each program of the gang stands.

With a stack for each place at which programs stand, or with `--all` for each program.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Any

from launcher.contract import NAME, STACKS, STATUS_PORT, look_socket, stacks_file
from launcher.safefs.dirs import Below
from launcher.safefs.refusals import SystemRefused
from launcher.safefs.small_file import content

_ANSWER_WITHIN = 40.0  # seconds: others may ask, too
_WRITTEN_WITHIN = 3.0  # until the texts of other pods are on the volume
_READ_WITHIN = 10.0
_LOOK_AGAIN = 0.05
_LINGER = 5.0
_MOST = 16 << 20  # characters of all texts
_LISTENING = Path("/proc/net/unix")

_Json = dict[str, Any]


def main(words: Sequence[str], environ: Mapping[str, str], write: Callable[[str], object]) -> int:
    """Ask, and write what is told; return the exit code."""
    if any(word != "--all" for word in words):
        sys.stderr.write("usage: python -m launcher.stacks [--all]\n")
        return 2
    try:
        told = asked(environ)
    except (OSError, ValueError) as error:
        told = {"problem": f"the launcher of this pod does not answer: {error}"}
    if "programs" in told:
        furnishing = threading.Thread(target=give_texts, args=(told, "--all" in words), daemon=True)
        furnishing.start()
        furnishing.join(_READ_WITHIN)  # a volume may hang: then it is told without the others' stacks
        told = {**told, "programs": [dict(each) for each in told["programs"]]}
    write(json.dumps(told) + "\n")
    return 1 if "problem" in told else 0


def asked(environ: Mapping[str, str]) -> _Json:
    """Return the launcher's answer."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(_ANSWER_WITHIN)
        line.connect(f"\0{_socket_here(environ)}")
        line.sendall(b"look\n")
        with line.makefile("rb") as answer:
            found = json.loads(answer.readline() or b"null")
    if not isinstance(found, dict):
        raise ValueError("it gave no answer")
    return found


def _socket_here(environ: Mapping[str, str]) -> str:
    """Return the socket of this pod's launcher: by its variables, or the only one that there is."""
    given = environ.get("POD_IP")
    name = look_socket(
        str(ip_address(given)) if given else "", int(environ.get("LAUNCHER_STATUS_PORT") or STATUS_PORT)
    )
    begins = f"@{NAME}-look."
    words = (line.rpartition(" ")[2] for line in _LISTENING.read_text(errors="replace").splitlines())
    there = [word[1:] for word in words if word.startswith(begins)]
    return there[0] if name not in there and len(there) == 1 else name


def give_texts(told: _Json, everything: bool) -> None:
    """Give programs their texts: this pod's own came with the answer, the others' are on the volume."""
    own, where = told.pop("texts", {}), told.pop("record", "")
    seen = set()
    until, most = time.monotonic() + _WRITTEN_WITHIN, _MOST
    for program in told["programs"]:
        place = (program["role"], program["digest"] or program["where"], program["state"])
        if not everything and place in seen:
            continue
        text = own.get(f"{program['role']} {program['rank']}") or _on_volume(where, told, program, until)
        if text and len(text) <= most:
            program["text"] = text
            most -= len(text)
            seen.add(place)


def _on_volume(where: str, told: _Json, program: _Json, until: float) -> str:
    """Return a text from the volume, nothing where it does not come."""
    name = stacks_file(told["generation"], told["look"], program["role"], program["rank"])
    while where:
        try:
            with Below(root=PurePosixPath(where), parts=(STACKS,)).found() as here:
                found = content(here, name) if here else None
        except SystemRefused:
            return ""
        if found is not None:
            return found.decode(errors="replace")
        if time.monotonic() >= until:
            break
        time.sleep(_LOOK_AGAIN)
    return ""


def _wait_for_reader() -> None:
    """Wait for who asked to hang up: the last bytes of a process that ends too soon are lost."""
    sys.stdout.flush()
    if not sys.stdin.isatty():
        select.select([sys.stdin], [], [], _LINGER)


if __name__ == "__main__":
    code = main(sys.argv[1:], os.environ, sys.stdout.write)
    _wait_for_reader()
    sys.exit(code)
