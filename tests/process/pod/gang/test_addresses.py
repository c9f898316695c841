"""Addresses that are not what they seem: connections from another source, and a pod's own localhost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.hard_faults import networks
from tests.support.launchers import STATUS_PORT
from tests.support.outcomes import is_done

pytestmark = pytest.mark.timeout(60)

QUICK = {"LAUNCHER_JOIN_TIMEOUT": "15"}


def test_a_gang_whose_connections_come_from_another_source_address_trains(tmp_path: Path) -> None:
    with gang(3, tmp_path, env=QUICK, start=False) as g, networks(g) as nets:
        for place in range(3):
            nets.masquerade(place, f"{g.net}.{100 + place}")
        g.start()
        is_done(g)


def test_a_pod_with_an_address_of_its_own_answers_at_localhost_too(tmp_path: Path) -> None:
    held = Fault("pass 1", "wait", times=0)
    with gang(1, tmp_path, faults=[held], start=False) as g, networks(g) as nets:
        g.start()
        g.await_trace("fault")
        asked = f"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{STATUS_PORT}/healthz').read())"
        words = (*nets.inside(g.address(0)), "python3", "-c", asked)
        assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == "b'ok\\n'\n"
        g.go()
        is_done(g)


def test_a_localhost_that_another_launcher_has_is_no_error(tmp_path: Path) -> None:
    with gang(2, tmp_path, start=False) as g, networks(g) as nets:
        first, second = g.address(0), g.address(1)
        words = ("ip", "address", "add", f"{second}/32", "dev", "lo")
        subprocess.run([*nets.inside(first), *words], check=True, capture_output=True)
        nets.pods[second] = nets.pods[first]  # one machine, two addresses
        g.start()
        is_done(g)
