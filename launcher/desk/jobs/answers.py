"""What Python gets and `-o json` shows of a job, of its pods and of its events.

No I/O here. The cluster's texts are without characters that move a terminal's cursor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from launcher.desk.jobs.job_state import KubePod, event_time
from launcher.job.text import yaml
from launcher.job.values import JobEvent, JobStatus, JobWorker, LogLine
from launcher.kube.objects import text_at, whole_number
from launcher.text import one_line, visible

if TYPE_CHECKING:
    from launcher.desk.jobs.lookup import JobGang

_LONGEST = 300  # characters of an event's message


def job_status(gang: JobGang, namespace: str) -> JobStatus:
    """Return how a job is."""
    lead, spec = gang.lead, gang.lead.spec
    return JobStatus(
        name=gang.name,
        namespace=namespace,
        state=gang.state,
        submitted=lead.created,
        started=lead.started,
        ended=lead.ended if lead.end else "",
        trainers=lead.wanted,
        pservers=whole_number(spec, "pservers"),
        active=lead.active,
        ready=lead.ready,
        succeeded=lead.succeeded,
        failed=lead.failed,
        image=visible(lead.image),
        datacenter=visible(text_at(spec, "datacenter")),
        why=visible(next((each.why for each in gang.jobs if each.end == "Failed"), gang.held)),
    )


def job_worker(pod: KubePod) -> JobWorker:
    """Return how a pod is."""
    return JobWorker(
        name=pod.name,
        role=pod.role,
        rank=pod.rank,
        status=pod.status,
        ready=pod.ready,
        restarts=pod.restarts,
        started=pod.started,
        address=pod.address,
        node=pod.node,
        code=pod.code,
        why=visible(pod.why),
    )


def job_events(found: Iterable[Mapping[str, Any]]) -> tuple[JobEvent, ...]:
    """Return events, the newest last."""
    events = (
        JobEvent(
            when=event_time(each),
            type=visible(text_at(each, "type")),
            reason=visible(text_at(each, "reason")),
            about=visible(text_at(each.get("involvedObject"), "name")),
            message=one_line(text_at(each, "message"), _LONGEST),
        )
        for each in found
    )
    return tuple(sorted(events, key=lambda each: (each.when, each.type, each.reason, each.about)))


def log_line(pod: KubePod, text: bytes) -> LogLine:
    """Return a line of a pod's log."""
    return LogLine(role=pod.role, rank=pod.rank, pod=pod.name, text=text.decode(errors="replace"))


def values_text(found: Mapping[str, object], output: str) -> str:
    """Return values as JSON or YAML."""
    whole = _plain(found)
    return yaml([whole]) if output == "yaml" else json.dumps(whole, indent=2) + "\n"


def _plain(value: Any) -> Any:  # noqa: ANN401  # whatever JSON can hold, and dataclasses
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
