"""Stages a shard as a pod does, and writes the seconds that it took: `python -m bench.data_stage VOLUME WORKDIR`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from launcher.pod.data.stage import stage
from launcher.pod.peers.roster import Peer, Roster
from launcher.pod.settings.nouns import Role
from launcher.pod.settings.variables import read_settings


def main(words: Sequence[str]) -> int:
    """Stage the shard of the only trainer of `job`."""
    volume, workdir = words
    environ = {
        "JOB_NAME": "job",
        "JOB_PATH": volume,
        "LAUNCHER_PEERS": "static:127.0.1.1",
        "LAUNCHER_WORKDIR": workdir,
    }
    settings = read_settings(environ, ["--config=none"])
    peers = (Peer(address="127.0.1.1"),)
    roster = Roster(pservers=peers, trainers=peers, me=peers[0], role=Role.NODE)
    begun = time.monotonic()
    shard = stage(settings, roster, lambda *_, **__: None)
    print(time.monotonic() - begun, shard.files, shard.verified)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
