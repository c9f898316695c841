"""Where the time of a run went: a bar of all its seconds, a table, and what is unknown of it.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping

from launcher.contract import Spent
from launcher.report import scale
from launcher.report.goodput.account import RunAccount
from launcher.report.markup import Markup, Row, join, table_of, tag
from launcher.report.scale import Scale

_WIDTH, _HEIGHT = 1060, 34
GAPS = 20  # that are told one by one
_BRIEF = 1.0  # seconds: so much of a gap is a moment between two questions
MEANINGS = {
    Spent.KEPT: "training that what follows builds on",
    Spent.OPEN: "training of which is not known yet whether it is kept",
    Spent.LOST: "training after the last pass that was gone on from",
    Spent.SAVING: "saving a pass",
    Spent.BARRIER: "trainers that waited for each other",
    Spent.STARTING: "launchers and programs that started",
    Spent.STAGING: "copying the data",
    Spent.WAITING: "waiting for other pods, for the volume, between two restarts",
    Spent.LEAVING: "programs that were told to end",
    Spent.UNKNOWN: "counted by nobody",
}


def goodput_words(account: RunAccount) -> str:
    """Return how much was kept, as the head of a page says it."""
    kept = scale.duration(account.seconds.get(Spent.KEPT, 0.0))
    return f"{percent(account.goodput)} ({kept} of {scale.duration(account.whole)} of {places_words(account)})"


def places_words(account: RunAccount) -> str:
    """Return of how many launchers an account is."""
    return f"{account.places} launcher{'' if account.places == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share; it is all only where nothing is missing, and nothing only where there is none."""
    text = f"{100 * share:.1f} %"
    if share < 1 and text == "100.0 %":
        return "99.9 %"
    return "under 0.1 %" if share > 0 and text == "0.0 %" else text


def brief_words(seconds: Mapping[str, float]) -> str:
    """Return the shares of all states in a line, the largest first."""
    whole = sum(seconds.values())
    order = sorted((state for state in MEANINGS if seconds.get(state)), key=lambda state: -seconds[state])
    return ", ".join(f"{percent(seconds[state] / whole)} {state}" for state in order)


def time_section(account: RunAccount) -> Markup:
    """Return the bar, the table below it, and what there is to say of the unknown and of times without any pod."""
    rows = [_row(account, state) for state in account.seconds]
    table = table_of(("what", "time of all", "share", "meaning"), "snnw", rows)
    return join(_bar(account), table, *(tag("p", words, class_="note") for words in _notes(account)))


def _row(account: RunAccount, state: str) -> Row:
    seconds = account.seconds[state]
    swatch = tag("svg", tag("path", d="M0 0h12v12h-12z", class_=f"spent-{state}"), width=12, height=12)
    share = percent(seconds / account.whole)
    return join(swatch, " ", state), scale.duration(seconds), share, MEANINGS[state]


def _bar(account: RunAccount) -> Markup:
    axis = Scale(low=0.0, high=account.whole, start=0.0, end=float(_WIDTH))
    drawn, until = list[Markup](), 0.0
    for state, seconds in account.seconds.items():
        begin, end = axis.at(until), axis.at(until + seconds)
        until += seconds
        words = f"{state}: {scale.duration(seconds)}, {percent(seconds / account.whole)}"
        shape = f"M{begin:.1f} 0h{max(0.5, end - begin):.1f}v{_HEIGHT}H{begin:.1f}z"
        drawn.append(tag("path", tag("title", words), d=shape, class_=f"spent-{state}"))
    label = f"The time of {places_words(account)}: {brief_words(account.seconds)}"
    return tag("svg", *drawn, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label, class_="spent")


def _notes(account: RunAccount) -> list[str]:
    told = sorted((gap for gap in account.gaps if gap.end - gap.begin >= _BRIEF), key=lambda gap: gap.begin)
    notes = [
        f"Unknown: {scale.duration(gap.end - gap.begin)} of {gap.seat or 'a launcher'} from {scale.clock(gap.begin)} "
        "UTC on: its launcher was gone, or had not told what it did last."
        for gap in told[:GAPS]
    ]
    if len(told) > GAPS:
        notes.append(f"{len(told) - GAPS:,} more such times are not told.")
    if account.away:
        notes.append(f"For {scale.duration(account.away)} no pod was there at all; that counts for nobody.")
    return notes
