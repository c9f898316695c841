"""A rack is cut from the API server, but not from the volume: its pods go on while others are made in their place."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from tests.grounds.api.scripted import ApiServer, Status, serving
from tests.support.gangs import Fault, gang
from tests.support.hard_faults import last_run
from tests.support.outcomes import DONE, is_done, note
from tests.support.pods import pod

pytestmark = pytest.mark.timeout(90)

HELD = [Fault("pass 1", "wait", generation=1, times=0)]
QUICK = {"LAUNCHER_PEER_TIMEOUT": "3"}


def test_a_rack_that_is_cut_from_the_api_gives_way_to_the_pods_made_elsewhere(tmp_path: Path) -> None:
    """They find a later generation in the record, end their children, make none, and end with its verdict."""
    authority = trustme.CA()
    with (
        contextmanager(serving)(ApiServer(), authority) as beyond,
        gang(3, tmp_path, process_one=True, api=True, faults=HELD, env=QUICK) as g,
    ):
        g.await_trace("fault", 3)
        assert g.api
        away, old = Status(code=503, message="away"), list(g.places)
        g.api.always.update({"list": away, "watch": away, "get": away})
        g.api.close()
        beyond.put(*(pod(each.name, each.address, leaving=True) for each in old))
        g.env = {**g.env, **beyond.environ(g.account, authority)}
        g.api, at = beyond, g.now()
        for place in range(3):
            g.replace(place)
        starts = g.await_training(2)
        note("a rack is cut from the API", "all train elsewhere", max(each["at"] for each in starts) - at)
        note("a rack is cut from the API", "its last trainer is dead", last_run(g, 1) - at)
        is_done(g)
        g.wait(lambda: None not in [each.code for each in old])
        assert {each.reason() for each in old} == {DONE}
