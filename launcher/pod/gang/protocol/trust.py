"""Which statuses are believed: those of this run. What else answers at a peer's address is a stranger, and is told.

No I/O here. With keys on both sides the key decides. Without them the gang's name and its list of peers do; a verdict
then counts only for those whom it names, since an earlier run of the same list may still be saying its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from launcher import text
from launcher.pod.gang.protocol.messages import LeaderMessage, Status
from launcher.pod.gang.protocol.state import Heard, View
from launcher.pod.outcome import Outcome

_LONGEST = 80  # characters of a stranger's words that are repeated


def believed(heard: Mapping[str, Heard], mine: Status) -> dict[str, Heard]:
    """Return what is known of the peers, without what strangers at their addresses say."""
    return {address: _believed(each, mine) for address, each in heard.items()}


def stranger(status: Status, mine: Status) -> str:
    """Return why a status is not of this run, or nothing."""
    if status.key and mine.key:
        run = f"{_quoted(status.gang)} ({_quoted(status.key)})"
        return "" if status.key == mine.key else f"a launcher of another run answers there, {run}"
    if status.gang != mine.gang:
        return f"a launcher of another job answers there, {_quoted(status.gang)}"
    if status.peers != mine.peers:
        return "a launcher with other LAUNCHER_PEERS answers there"
    return ""


def verdict_of(status: Status, view: View) -> Outcome | None:
    """Return the verdict that a believed status gives, if it is this launcher's, too."""
    word = status.word
    if word is None or word.verdict is None:
        return None
    mine = view.mine
    keyed = bool(status.key and status.key == mine.key)
    return word.verdict if keyed or status is mine or _named(mine.who.boot, word) else None


def unnamed(statuses: list[Status], mine: Status) -> tuple[str, ...]:
    """Return the boots that a verdict has to name, since no key says that it is theirs."""
    return tuple(each.who.boot for each in statuses if not (each.key and mine.key))


def _believed(heard: Heard, mine: Status) -> Heard:
    why = stranger(heard.status, mine) if heard.status else ""
    return replace(heard, status=None, stranger=why) if why else heard


def _named(boot: str, word: LeaderMessage) -> bool:
    members = word.generation.members if word.generation else ()
    return boot in word.boots or any(who.boot == boot for who in members)


def _quoted(words: str) -> str:
    return f"'{text.visible(words, _LONGEST)}'"
