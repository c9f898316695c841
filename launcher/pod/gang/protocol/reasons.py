"""Who is waited for, and why, in a sentence that changes only when something did.

No I/O here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, product

from launcher.contract import Code
from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import Failure, LeaderMessage, Stage, Status, Who
from launcher.pod.gang.protocol.state import Recorded, Rules, View
from launcher.pod.settings.nouns import NODE_NAME

_LAST, _MOST = 5, 3  # failures, and how many of them are of one node before it is named


def unmet(view: View, rules: Rules) -> str:
    """Return why there cannot be a new generation yet, or nothing.

    Who looks at the passes waits until all others are there and at rest, an earlier run of the name too, and so is
    named last.
    """
    reasons = chain(
        (unstaged(view, rules), _held(view.record)),
        (_unsurveyed(address, view) for address in view.order),
    )
    return next(filter(None, reasons), "")


def unstaged(view: View, rules: Rules) -> str:
    """Return who is not there, at rest and with its data, or nothing."""
    return next(filter(None, (_absent(address, view, rules) for address in view.order)), "")


def _absent(address: str, view: View, rules: Rules) -> str:
    heard, name = view.of(address), view.name(address)
    status = heard.status
    if heard.stranger:
        return f"{name}: {heard.stranger}"
    if status is None:
        return f"{name} has not answered yet"
    if not lease.answers(heard, view.now, rules.limits):
        return f"{name} does not answer"
    if lease.unasking(heard, view.now, rules.limits):
        return f"{name} does not poll the leader"
    wrong = (
        (status.stopping, "was told to stop"),
        (status.digest != view.mine.digest, "waits for its peers, or sees other pods"),
        (not status.staged, "is staging its data"),
        (bool(status.children or status.ready), "is ending its programs"),
        (not status.quiet, "waits until no program of the last generation can still run"),
    )
    return next((f"{name} {why}" for is_so, why in wrong if is_so), "")


def _held(record: Recorded) -> str:
    return f"{record.held}: {record.trouble}" if record.held and record.trouble else record.held


def _unsurveyed(address: str, view: View) -> str:
    status = view.of(address).status
    return "" if status and status.surveyed else f"{view.name(address)} is looking at the complete passes"


# What every pod is to have alike: their leases would not fit together, nor would their programs' ranks.
_ALIKE: Mapping[str, Callable[[Status], str]] = {
    "LAUNCHER_PEER_TIMEOUT": lambda status: f"{status.peer_timeout:g} s",
    "LAUNCHER_PROCESSES": lambda status: str(len(status.trainers)),
    "LAUNCHER_MEMBERS": lambda status: status.width or "one number",
}


def unequal(view: View) -> Failure | None:
    """Return which member has other settings than its leader, where they have to be the same."""
    leader = view.name(view.mine.who.address)
    for address, (name, told) in product(view.order, _ALIKE.items()):
        status, here = view.of(address).status, told(view.mine)
        if status and (there := told(status)) != here:
            names = f"{here} on {leader} and {there} on {view.name(address)}"
            reason = f"{name} is {names}: set the same on every pod"
            return Failure(generation=0, code=Code.SETTINGS, reason=reason, address=address)
    return None


def told(who: Who, view: View) -> bool:
    """Return whether a member was told to stop: its loss is nobody's failure."""
    status = view.of(who.address).status
    return status is not None and status.who.boot == who.boot and status.stopping


def unrecorded(view: View, what: str) -> str:
    """Return that the record is not read or written yet, with the trouble that it has."""
    trouble = view.record.trouble
    return f"the gang's record on the volume is not {what} yet{f': {trouble}' if trouble else ''}"


def told_by(status: Status, cause: Failure) -> bool:
    """Return whether why a generation ended is what a member said of itself; more may have been said of it since."""
    told = status.failure
    same = told is not None and (told.generation, told.address) == (cause.generation, cause.address)
    return same and told is not None and cause.reason.startswith(told.reason)


def of_one_node(nodes: Sequence[str]) -> str:
    """Return which node has most of the last failures, if it is so, from the nodes of all of them in order."""
    last = nodes[-_LAST:]
    (name, count), *_ = Counter(last).most_common(1) or [("", 0)]
    if count < _MOST or not NODE_NAME.fullmatch(name):
        return ""
    return f"{name}: {count} of the last {len(last)} failures (submit -avoid {name})"


def deserted(who: Who, word: LeaderMessage, view: View, rules: Rules) -> str:
    """Return why a member is lost to a generation under way, or nothing; one that was checked is not needed again."""
    heard, name, limits = view.of(who.address), view.name(who.address), rules.limits
    status = heard.status
    if word.stage is Stage.CHECKING and status and status.checked == word.number:
        return ""
    if status is None or status.who.boot != who.boot:
        return f"{name} was started again"
    reached = word.number if word.stage is Stage.READYING else 0
    # Without a record two leaders may give their generations one number.
    another = word.generation is not None and status.digest != word.generation.digest
    wrong = (
        (status.stopping and word.stage is not Stage.LEAVING, "was told to stop"),
        (heard.refused, "is gone: its launcher no longer listens"),
        (lease.silent(heard, view.now, limits), f"has not answered for {limits.lease:g} s"),
        (lease.unasking(heard, view.now, limits), f"has not polled the leader for {limits.lost:g} s"),
        (status.known > word.number or (another and status.ready == word.number), "follows another leader"),
        (status.ready != word.number and status.known >= reached, "left the generation"),
    )
    return next((f"{name} {why}" for is_so, why in wrong if is_so), "")


def lacking(address: str, word: LeaderMessage, view: View) -> str:
    """Return what a member has still to do before the next stage, or nothing."""
    status, name = view.of(address).status, view.name(address)
    if status is None:
        return f"{name} has not answered yet"
    reached, doing = {
        Stage.READYING: (status.ready, "is getting ready"),
        Stage.SERVING: (status.serving, "is starting its pserver"),
        Stage.TRAINING: (status.trained, "is training"),
        Stage.LEAVING: (status.trained, "is about to end, as planned"),
        Stage.CHECKING: (status.checked, "has not said yet how its pserver is"),
    }[word.stage]
    return "" if reached == word.number else f"{name} {doing}"


def seconds_words(seconds: float) -> str:
    """Return seconds as people read them: two digits of small ones."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
