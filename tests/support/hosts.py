"""Host names that real launchers look up and a test changes meanwhile: a private /etc/hosts, and no DNS behind it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launcher.contract import INDEX_ANNOTATION
from tests.support.account import IN_A_POD

LAY_OUT = 'mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && exec "$@"'
SERVICE = "gang"
SIZE = 4000  # always written whole and in place, as the launchers' mount shows this one file


class Hosts:
    """The names in a directory's file; it has room for a gang of a few."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._file = directory / "hosts"
        self._file.touch()
        (directory / "nsswitch.conf").write_text("hosts: files\n")
        self.enter = (*IN_A_POD, LAY_OUT, str(directory))
        self._known: list[tuple[str, str]] = []

    def put(self, name: str, address: str) -> None:
        """Let a name lead to this address, beside those that it leads to already."""
        self._write([*self._known, (name, address)])

    def remove(self, name: str, address: str = "") -> None:
        """Let a name lead nowhere, or no more to this address."""
        self._write([each for each in self._known if each != (name, address or each[1])])

    def _write(self, known: list[tuple[str, str]]) -> None:
        self._known = known
        text = "".join(f"{address} {name}\n" for name, address in known).ljust(SIZE, "\n").encode()
        assert len(text) == SIZE
        file = os.open(self._file, os.O_WRONLY)
        os.pwrite(file, text, 0)
        os.close(file)


class PodNames:
    """The pods of Indexed Jobs by their names in DNS; they are put and removed as at an API server."""

    def __init__(self, directory: Path) -> None:
        self.hosts = Hosts(directory)
        self._pods: dict[str, Mapping[str, Any]] = {}

    def put(self, *pods: Mapping[str, Any]) -> None:
        """Let the names of pods lead to them; that of one that is being deleted does so until it is removed."""
        for each in pods:
            name = each["metadata"]["name"]
            if name not in self._pods:
                self._pods[name] = each
                self.hosts.put(*_leads(each))

    def remove(self, name: str) -> None:
        """Let a pod's name not lead to it any more."""
        self.hosts.remove(*_leads(self._pods.pop(name)))

    def environ(self, name: str) -> dict[str, str]:
        """Return the variables of a pod that looks for the others here."""
        index = self._pods[name]["metadata"]["annotations"][INDEX_ANNOTATION]
        return {"LAUNCHER_PEERS": f"dns:{SERVICE}", "JOB_COMPLETION_INDEX": index}


def _leads(pod: Mapping[str, Any]) -> tuple[str, str]:
    return f"{pod['spec']['hostname']}.{SERVICE}", pod["status"]["podIP"]
