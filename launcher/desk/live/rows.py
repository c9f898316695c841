"""What `paddlectl top` shows: a head for the gang and a row for each rank, from what its leader and its pods say.

No I/O here. Anybody may have said it: what has the wrong type is read as absent, and each text is made visible.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from launcher.contract import PHASES, PSERVER, TRAINER, TRAINING, Spent
from launcher.desk.elastic import taking_part
from launcher.desk.elastic.taking_part import GangWidth
from launcher.desk.jobs.job_state import KubePod
from launcher.job.elastic.width import JobWidth
from launcher.kube.objects import Object, mapping, parsed_json, rows, text_at, whole_number
from launcher.text import one_line

ALARMS = 3  # the last ones
_SENTENCE, _LINE, _NAME, _PHASE = 300, 300, 100, 20  # characters
_PROGRAM = re.compile(rb"\[([a-z]{1,20} \d{1,9})\] ")  # in front of each line, where several share a pod's output


@dataclass(frozen=True, slots=True, kw_only=True)
class PodMeasure:
    """What a pod's programs took and held at a moment, by name, and the last lines of its log."""

    at: float
    cpu: Mapping[str, float] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    lines: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GangLook:
    """One look: the job's state, its leader's page, its pods, and what was measured last of each by its name."""

    at: float
    state: str
    gang: Object = field(default_factory=dict)
    width: JobWidth | None = None  # as its manifest has it
    pods: tuple[KubePod, ...] = ()
    measures: Mapping[str, PodMeasure] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number of the generation that runs."""
        return whole_number(mapping(self.gang, "word", "generation"), "number")

    @property
    def members(self) -> Mapping[str, Object]:
        """What the leader says of each member, by address."""
        return {text_at(each, "address"): each for each in rows(self.gang, "members")}

    @property
    def paces(self) -> Mapping[int, Object]:
        """How fast each trainer goes, by rank."""
        found = (each for member in rows(self.gang, "members") for each in rows(member, "paces"))
        return {whole_number(each, "rank"): each for each in found}


@dataclass(frozen=True, slots=True, kw_only=True)
class GangHead:
    """How the whole gang is; `goodput` is the share of all its seconds that were training, not known to be lost."""

    state: str
    stage: str
    generation: int
    restarts: int
    goodput: float | None
    seconds: Mapping[str, float]
    waiting: str
    trouble: str
    alarms: tuple[str, ...]
    width: GangWidth | None = None  # of a gang that has no fixed one
    leaving: tuple[str, ...] = ()
    leaving_for: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRow:
    """One rank: `pace` in steps for each second that it was busy, `skew` how long one takes beside the median."""

    role: str
    rank: int
    pod: str
    node: str
    phase: str
    at_pass: int | None = None
    step: int | None = None
    pace: float | None = None
    skew: float | None = None
    cpu: float | None = None  # processors
    memory: float | None = None  # bytes
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _GangPaces:
    """What the leader tells of each trainer's pace, the seconds that a step takes it, and those in the middle."""

    told: Mapping[int, Object]
    takes: Mapping[int, float]
    median: float | None

    def skew(self, rank: int) -> float | None:
        """Return the leader's finding, or where it has none what the desk can reckon."""
        ratio, takes = _number(self.told[rank].get("ratio")), self.takes.get(rank)
        return ratio if ratio is not None else takes / self.median if takes is not None and self.median else None


def gang_head(look: GangLook) -> GangHead:
    """Return how the gang is by its leader; where none answers, by the API alone."""
    word = mapping(look.gang, "word")
    ledgers = [_numbers(each.get("seconds")) for each in rows(look.gang, "members")]
    seconds = {state: math.fsum(each.get(state, 0.0) for each in ledgers) for each in ledgers for state in each}
    stage = _text(word, "stage", _PHASE)
    return GangHead(
        state=look.state,
        stage=stage,
        generation=look.number,
        restarts=whole_number(mapping(word, "generation"), "restarts"),
        goodput=goodput(seconds),
        seconds=seconds,
        waiting="" if stage == TRAINING else _text(word, "waiting"),
        trouble=_text(mapping(word, "cause"), "reason") or _text(mapping(word, "generation"), "cause"),
        alarms=tuple(_text(each, "reason") for each in rows(word, "found")[-ALARMS:]),
        width=taking_part.gang_width(look.gang, look.width),
        leaving=taking_part.who_leaves(look.gang, look.pods),
        leaving_for=taking_part.why_it_ends(look.gang),
    )


def goodput(seconds: Mapping[str, float]) -> float | None:
    """Return which share of seconds was training that is not known to be lost; None where there are none."""
    whole = math.fsum(seconds.values())
    return math.fsum(seconds.get(state, 0.0) for state in Spent.GOOD) / whole if whole > 0 else None


def rank_rows(now: GangLook, before: GangLook | None = None) -> tuple[RankRow, ...]:
    """Return a row for each rank: first what has not begun, then the slowest; an earlier look may be `before`."""
    if before and before.number != now.number:
        return rank_rows(now)
    gang = _gang_paces(now, before)
    members, found = now.members, list[RankRow]()
    pods = _newest(now.pods)
    for pod in pods:
        found += _of_pod(pod, members.get(pod.address, {}), now, before, gang)
    known = {pod.address for pod in pods}
    for address, member in members.items():
        if address not in known:  # it is replaced, or the API has not told of it yet
            found += _of_member(one_line(address, _NAME), member, gang)
    return tuple(sorted(found, key=_slowest_first))


def last_line(lines: Iterable[bytes], program: str) -> str:
    """Return the last line that a program wrote, or where none is known to be its any; launchers' events are none."""
    others = ""
    for line in reversed(tuple(lines)):
        text = line.rstrip()
        if not text or _is_event(text):
            continue
        named = _PROGRAM.match(text)
        if named and named[1].decode() == program:
            return one_line(text[named.end() :].decode(errors="replace"), _LINE)
        others = others or ("" if named else one_line(text.decode(errors="replace"), _LINE))
    return others


def _newest(pods: Sequence[KubePod]) -> tuple[KubePod, ...]:
    """Return of the pods of one place the newest: the others were replaced."""
    newest: dict[str, KubePod] = {}
    for pod in sorted(pods, key=lambda each: (each.created, each.name)):
        newest[pod.title] = pod
    return tuple(newest.values())


def _of_pod(pod: KubePod, member: Object, now: GangLook, before: GangLook | None, gang: _GangPaces) -> list[RankRow]:
    measure = now.measures.get(pod.name)
    if not member:
        line = one_line(pod.why, _LINE) or (last_line(measure.lines, "") if measure else "")
        return [RankRow(role=pod.role, rank=pod.rank, pod=pod.name, node=pod.node, phase=pod.status, line=line)]
    former = before.measures.get(pod.name) if before else None
    found = _of_member(pod.name, member, gang)
    names = [_program(each) for each in found]
    return [
        replace(
            each,
            node=pod.node or each.node,
            phase=pod.status if pod.leaving or pod.over else each.phase,
            cpu=_cpu(measure, former, name, names),
            memory=_sum_of(measure.memory, name, names) if measure else None,
            line=last_line(measure.lines, name) if measure else "",
        )
        for each, name in zip(found, names, strict=True)
    ]


def _of_member(pod: str, member: Object, gang: _GangPaces) -> list[RankRow]:
    """Return the rows of a pod's trainers, or of its pserver, by what the leader says of it."""
    several = rows(member, "several") or [mapping(member, "progress")]
    role = text_at(member, "role")
    first = whole_number(member, "rank") * len(several)
    found = []
    for rank, progress in enumerate(several, first):
        pace = gang.told.get(rank, {}) if role != PSERVER and member.get("phase") == TRAINING else {}
        step = _whole(progress.get("step"))
        inside = _text(pace, "phase", _PHASE)
        found.append(
            RankRow(
                role=PSERVER if role == PSERVER else TRAINER,
                rank=rank if member.get("rank") is not None else -1,
                pod=pod,
                node=_text(member, "node", _NAME),
                phase=_text(member, "phase", _PHASE) + (f" ({inside})" if inside else ""),
                at_pass=_whole(progress.get("pass")),
                step=whole_number(pace, "steps") or None if step is None else step,
                pace=1 / gang.takes[rank] if pace and rank in gang.takes else None,
                skew=gang.skew(rank) if pace else None,
            )
        )
    return found


def _gang_paces(now: GangLook, before: GangLook | None) -> _GangPaces:
    """Return how long a step takes each trainer: since the look before, or where none was done, in the generation."""
    told, former = now.paces, before.paces if before else {}
    takes = {}
    for rank, pace in told.items():
        steps, busy = _steps(pace)
        earlier, then = _steps(former.get(rank, {}))
        if steps > earlier and busy > then:
            takes[rank] = (busy - then) / (steps - earlier)
        elif steps and busy > 0:
            takes[rank] = busy / steps
    median = statistics.median_low(takes.values()) if len(takes) > 1 else None
    return _GangPaces(told=told, takes=takes, median=median)


def _steps(pace: Object) -> tuple[int, float]:
    return max(0, int(_number(pace.get("steps")) or 0)), _number(pace.get("busy")) or 0.0


def _cpu(measure: PodMeasure | None, former: PodMeasure | None, name: str, names: Sequence[str]) -> float | None:
    """Return how many processors a rank's programs took; None where they are others than before."""
    if measure is None or former is None or measure.at <= former.at:
        return None
    now, then = _sum_of(measure.cpu, name, names), _sum_of(former.cpu, name, names)
    return (now - then) / (measure.at - former.at) if now is not None and then is not None and now >= then else None


def _sum_of(values: Mapping[str, float], name: str, names: Sequence[str]) -> float | None:
    """Return what a rank's programs have; those of a pod that are nobody's, as a pserver, are its first trainer's."""
    mine = [value for each, value in values.items() if each == name or (name == names[0] and each not in names)]
    return math.fsum(mine) if mine else None


def _program(row: RankRow) -> str:
    return f"{row.role} {row.rank}"


def _slowest_first(row: RankRow) -> tuple[bool, float, bool, int, str]:
    begun = row.phase.partition(" (")[0] in PHASES  # else it is a word of Kubernetes'
    return begun, -(row.skew or 0.0), row.role == PSERVER, row.rank, row.pod


def _is_event(line: bytes) -> bool:
    """Return whether a line is one of the launcher's own."""
    found = parsed_json(line) if line.startswith(b'{"timestamp"') else None
    return bool(text_at(found, "event"))


def _text(found: Object, name: str, limit: int = _SENTENCE) -> str:
    return one_line(text_at(found, name), limit)


def _numbers(found: object) -> Mapping[str, float]:
    told = ((one_line(name, _NAME), _number(value)) for name, value in mapping(found).items())
    return {name: value for name, value in told if value is not None and value >= 0}


def _number(value: object) -> float | None:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if is_one and math.isfinite(value) else None  # type: ignore[arg-type]
    except OverflowError:
        return None


def _whole(value: object) -> int | None:
    found = _number(value)
    return int(found) if found is not None and found == int(found) else None
