"""Which part of a gang's seconds nobody counted: by the report's account, and by the clock of who started it all."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from launcher.contract import EVENTS, Spent
from launcher.report.reading import read_events
from launcher.report.story import read_story
from tests.support.gangs import Gang


def unknown(g: Gang) -> float | None:
    """Return that part of a gang that has ended, the larger of both figures; nothing where no ledger was written.

    By the clock only where each pod had one launcher, and nothing is started before it.
    """
    by_account = _by_account(g)
    known = len({each.address for each in g.all}) == len(g.all) and not g.process_one
    return by_account if by_account is None or not known else max(by_account, _by_clock(g))


def _by_account(g: Gang) -> float | None:
    events = g.output / EVENTS
    story = read_story(read_events(events.read_bytes().splitlines())) if events.exists() else None
    if story is None or story.account is None or not story.account.whole:
        return None
    return story.account.seconds.get(Spent.UNKNOWN, 0.0) / story.account.whole


def _by_clock(g: Gang) -> float:
    """Return by which part the launchers' seconds, up to their last ledger, are too few, or too many."""
    told = {each["boot"]: (_time(event), each) for event in g.events("ledger") for each in event["members"]}
    started = {each.address: time.time() - (time.monotonic() - each.started) for each in g.all}
    lived = sum(at - each["ago"] - started[each["address"]] for at, each in told.values())
    counted = sum(sum(each["seconds"].values()) for _, each in told.values())
    return abs(1.0 - float(counted / lived))


def _time(event: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(event["at"]).timestamp()
