"""The pages of `describe`: text in columns.

No I/O here. Texts of the cluster and of pods are shown without characters that move a terminal's cursor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from launcher.contract import LEAVING, Spent
from launcher.desk import columns
from launcher.desk.elastic import taking_part
from launcher.desk.elastic.safety import REPLACES, mended, told_unsafe
from launcher.desk.jobs.job_state import KubeJob, KubePod
from launcher.job.elastic.width import JobWidth
from launcher.job.values import JobEvent
from launcher.kube import objects
from launcher.kube.objects import text_at
from launcher.report.goodput.spending import MEANINGS, brief_words, percent
from launcher.text import one_line, visible

if TYPE_CHECKING:
    from launcher.desk.jobs.lookup import JobGang

MOST_EVENTS = 30
_LONG = 1e10  # seconds
_LONGEST = 300  # characters of a sentence
FIELDS = ("entry", "topology", "package", "image", "launcher", "runtime", "processes", "datacenter", "job_path")


def job_page(gang: JobGang, namespace: str) -> str:
    """Return what a job was asked to be, and how it is."""
    lead = gang.lead
    facts: list[tuple[str, object]] = [("name", gang.name), ("namespace", namespace), ("state", gang.state)]
    facts += [(each, lead.spec[each]) for each in FIELDS if lead.spec.get(each)]
    for role, each in _roles(gang):
        counts = f"{each.active} active, {each.ready} ready, {each.succeeded} succeeded, {each.failed} failed"
        facts += [(role, asked_of(each)), ("", counts + (f"; {each.end}: {each.why}" if each.why else ""))]
    facts += [("passes", lead.passes), ("registry", ", ".join(lead.registries)), ("queue", lead.queue)]
    facts += [("submitted", lead.created), ("started", lead.started), ("ended", lead.ended if lead.end else "")]
    return "".join(f"{name and name + ':':<12} {visible(value)}\n" for name, value in facts if value)


def _roles(gang: JobGang) -> Iterator[tuple[str, KubeJob]]:
    """Yield the Jobs, each with what its pods are."""
    for each in gang.jobs:
        yield ("pods" if each.spec.get("together") else "trainers" if each.leads else "pservers"), each


def asked_of(job: KubeJob) -> str:
    """Return how many pods were asked for, and what each is given at least and at most."""
    said = [f"{name} {value}" for name, value in job.requests.items()]
    most = [f"{name} {value}" for name, value in job.limits.items()]
    each = f", each with {', '.join(said)}" if said else ""
    number = job.width.told(job.wanted) if job.width else job.wanted
    return f"{number}{each}" + (f"; at most {', '.join(most)}" if most else "")


def job_asked(gang: JobGang) -> Mapping[str, object]:
    """Return the same as values."""
    found: dict[str, object] = {each: gang.lead.spec[each] for each in FIELDS if gang.lead.spec.get(each)}
    for role, each in _roles(gang):
        members = {"members": asdict(each.width)} if each.width else {}
        found[role] = {"number": each.wanted, **members, "requests": each.requests, "limits": each.limits}
    return {**found, "passes": gang.lead.passes, "registries": gang.lead.registries}


def gang_page(found: Mapping[str, Any], width: JobWidth | None = None, pods: Sequence[KubePod] = ()) -> str:
    """Return what the gang's leader says of it; of one whose width may change who takes part, and who leaves."""
    word = found.get("word")
    if not isinstance(word, dict):
        return ""
    generation, cause = _object(word.get("generation")), _object(word.get("cause"))
    told = {
        "stage": word.get("stage"),
        "generation": generation.get("number"),
        "width": taking_part.gang_width(found, width),
        LEAVING: taking_part.leaving_line(taking_part.who_leaves(found, pods), taking_part.why_it_ends(found)),
        "restarts": _restarts(generation),
        "after pass": generation.get("resume"),
        "began for": generation.get("cause"),
        "waits for": word.get("waiting"),
        "trouble": cause.get("reason"),
        "goodput": _goodput(found),
    }
    said = {name: _plain(value) for name, value in told.items() if value not in (None, "")}
    text = "".join(f"{name + ':':<12} {visible(value)}\n" for name, value in said.items())
    rows = [each for each in found.get("members") or () if isinstance(each, dict)]
    names = ("address", "role", "rank", "phase", "progress")
    members = _table((names, *(tuple(_plain(each.get(name)) for name in names) for each in rows)))
    return f"\nthe gang, according to its leader\n{text}{members}{_last_failures(found)}"


def _restarts(generation: Mapping[str, Any]) -> str:
    given_back = f", of which new passes gave {generation['regained']} back" if generation.get("regained") else ""
    return f"{_plain(generation.get('restarts'))}{given_back}"


def _last_failures(found: Mapping[str, Any]) -> str:
    """Return what failed last on which node, in all runs of the name; an older leader does not say it."""
    last = found.get("failures")
    rows = [each for each in last if isinstance(each, dict)] if isinstance(last, list) else []
    if not rows:
        return ""
    names = ("at", "node", "role", "rank", "code", "reason")
    table = _table((names, *(tuple(_plain(each.get(name)) for name in names) for each in rows)))
    return f"\nthe last failures\n{table}"


def _goodput(found: Mapping[str, Any]) -> str:
    """Return what the seconds of all members were so far, the largest part first."""
    ledgers = [_object(each.get("seconds")) for each in found.get("members") or () if isinstance(each, dict)]
    states = {state for each in ledgers for state in each if state in MEANINGS}
    told = {state: math.fsum(_seconds(each.get(state)) for each in ledgers) for state in states}
    whole = math.fsum(told.values())
    good = math.fsum(told.get(state, 0.0) for state in Spent.GOOD)
    return f"{percent(good / whole)} so far: {brief_words(told)}" if whole else ""


def _seconds(value: object) -> float:
    """Return a number of seconds; anything else is none."""
    return float(value) if isinstance(value, int | float) and 0 <= value < _LONG else 0.0


def unsafe_width(gang: JobGang) -> str:
    """Return what an elastic job's manifest lacks, so that two of its pods could train as one."""
    lead = gang.lead
    if lead.end or lead.width is None or lead.width.fixed or lead.replaces == REPLACES:
        return ""
    return f"{told_unsafe((lead.name,))}; {mended(lead.name)}"


def pods_page(found: Sequence[KubePod]) -> str:
    """Return the pods."""
    if not found:
        return "\nno pods\n"
    head = ("POD", "ROLE", "RANK", "PHASE", "READY", "RESTARTS", "NODE", "WHY")
    rows = (
        (
            each.name,
            each.role,
            each.rank if each.rank >= 0 else "",
            each.status,
            "yes" if each.ready else "no",
            each.restarts,
            each.node or "-",
            each.why,
        )
        for each in found
    )
    return "\n" + _table((head, *rows))


def own_sentence(log: Iterable[bytes]) -> str:
    """Return what a launcher said last in its pod's log: its reason, or else the event itself in words."""
    said = [each for line in log if line.startswith(b"{") and isinstance(each := objects.parsed_json(line), dict)]
    last = next((each for each in reversed(said) if text_at(each, "event")), {})
    reason = next(filter(None, (text_at(last, name) for name in ("reason", "error", "why"))), "")
    return one_line(reason or text_at(last, "event").replace("_", " "), _LONGEST)


def hindered(why: str) -> str:
    """Return what keeps the whole job from beginning."""
    return f"\n{visible(why)}\n" if why else ""


def failures(found: Sequence[KubePod]) -> str:
    """Return the last words of pods that failed, each once: usually all of a gang have the same."""
    said: dict[str, list[str]] = {}
    for each in found:
        if each.code and each.message:
            said.setdefault(each.message, []).append(each.name)
    return "".join(f"\nlast words of {', '.join(names)}\n{indented(message)}" for message, names in said.items())


def events(found: Sequence[JobEvent]) -> str:
    """Return the newest events, the last at the end."""
    if not found:
        return "\nno events (a cluster usually keeps them for an hour)\n"
    rows = [(each.when, each.type, each.reason, each.about, each.message) for each in found[-MOST_EVENTS:]]
    return "\n" + _table((("WHEN", "TYPE", "REASON", "OF", "MESSAGE"), *rows))


def _table(rows: Iterable[Sequence[object]]) -> str:
    return columns.table([["" if each in ("", None) else visible(each) for each in row] for row in rows]) + "\n"


def indented(text: str) -> str:
    """Return a text of several lines, each a little to the right."""
    return "".join(f"  {visible(line)}\n" for line in text.splitlines() if line)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={each}" for key, each in value.items())
    return "" if value is None else str(value)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
