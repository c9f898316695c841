"""What a job's pods wrote: one after the other, or as it comes, merged, each line behind its role and rank."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from launcher.desk.errors import Problem, Refused
from launcher.desk.jobs import job_state, lookup, saved_output
from launcher.desk.jobs.answers import log_line
from launcher.desk.jobs.hindrance import Hindered, hindrance, next_step
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.jobs.log_position import LogMark, beyond, in_vain
from launcher.desk.jobs.watch import changes, patiently, worth_another_try
from launcher.desk.session import Desk
from launcher.job.values import LogLine
from launcher.kube import kinds

_HELD = 10_000  # lines between the readers and a slow terminal
_ATTEMPTS = 8  # in vain, one after the other, to go on with a log that broke off
_PAUSE = 0.2  # seconds, longer each time


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which pods' logs, and how much of each."""

    role: str = ""
    worker: str = ""
    tail: int | None = None
    since: int | None = None

    def has(self, pod: KubePod) -> bool:
        """Return whether this pod's log is wanted."""
        return self.role in ("", pod.role) and self.worker in ("", pod.name, pod.title, str(pod.rank))

    def has_file(self, role: str, rank: int) -> bool:
        """Return whether a log file on the volume is wanted; there only role and rank are known."""
        return self.role in ("", role) and self.worker in ("", f"{role}-{rank}", str(rank))

    def query(self, pod: KubePod) -> dict[str, str]:
        """Return the parameters of the API's log request."""
        return {
            "container": pod.container,
            "tailLines": "" if self.tail is None else str(self.tail),
            "sinceSeconds": "" if self.since is None else str(self.since),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog:
    """What a job's pods wrote, and whether the lines may be of several of them."""

    lines: Iterator[LogLine]
    several: bool = True


def logs(
    name: str, desk: Desk, *, follow: bool = False, role: str = "", worker: str = "",
    tail: int | None = None, since: int | None = None,
) -> JobLog:  # fmt: skip
    """Return what the pods wrote; to follow is to wait for those that have not begun, until the job ends."""
    wanted = Wanted(role=role, worker=worker, tail=tail, since=since)
    gang = lookup.found(desk.api, name)
    there = tuple(pod for pod in lookup.gang_pods(desk.api, name) if wanted.has(pod))
    if follow and not (gang.over and not there):
        return JobLog(lines=Following(desk=desk, name=name, wanted=wanted).lines())
    begun = tuple(pod for pod in there if pod.begun)
    if not begun:
        return JobLog(lines=_without(desk, name, wanted, there))
    return JobLog(lines=_one_by_one(desk, begun, wanted), several=len(begun) > 1)


def _one_by_one(desk: Desk, pods: tuple[KubePod, ...], wanted: Wanted) -> Iterator[LogLine]:
    for pod in pods:
        for line in desk.api.log(pod.name, wanted.query(pod)):
            yield log_line(pod, line)


def _without(desk: Desk, name: str, wanted: Wanted, there: tuple[KubePod, ...]) -> Iterator[LogLine]:
    """Say why there is nothing to show, or return what the volume's log files have."""
    if there:
        pod = next((each for each in there if each.stuck), there[0])
        if pod.stuck:
            raise Problem(_cannot_start(pod, name))
        raise Problem(f"{pod.name} has not started: {pod.why or pod.phase}; `paddlectl logs -f {name}` waits for it")
    every = lookup.gang_pods(desk.api, name)
    if every:
        which = wanted.worker or wanted.role
        raise Problem(f"job {name} has no pod {which}: its pods are {', '.join(pod.title for pod in every[:20])}")
    gang = lookup.found(desk.api, name)
    if not gang.left:
        why = hindrance(desk.api, gang, ())
        then = next_step(why, name) if why else gang.held or f"`paddlectl logs -f {name}` waits for them"
        raise Problem(f"{gang.told()} and has no pods yet{f': {why}' if why else ''}; {then}")
    if wanted.since is not None:
        desk.terminal.warn("since is not used: the log files on the volume have no times, all lines are shown")
    return saved_output.saved_logs(desk, gang, wanted.has_file, wanted.tail)


def _cannot_start(pod: KubePod, name: str) -> str:
    return f"{pod.name} cannot start: {pod.why}; `paddlectl describe {name}` shows more"


class _InVain(Exception):
    """An attempt to read on brought nothing."""


class _Left(Exception):
    """Nobody takes the lines any more."""


@dataclass(slots=True, kw_only=True)
class Following:
    """Reads the logs of a gang's pods as they come, each on a thread.

    The queues have no lock of Python's: Ctrl-C would leave it taken, and the end waits for it.
    """

    desk: Desk
    name: str
    wanted: Wanted
    found: queue.SimpleQueue[LogLine | Exception | None] = field(default_factory=queue.SimpleQueue)
    room: queue.SimpleQueue[None] = field(default_factory=queue.SimpleQueue)  # for so many lines
    left: threading.Event = field(default_factory=threading.Event)
    readers: dict[str, threading.Thread] = field(default_factory=dict)
    waited: str = ""

    def lines(self) -> Iterator[LogLine]:
        """Yield the lines of all pods, until the job has ended and all is read."""
        self._make_room(_HELD)
        self._begun(self._watch)
        try:
            while (each := self.found.get()) is not None:
                self._make_room(1)
                if isinstance(each, Exception):
                    raise each
                yield each
        finally:
            self.left.set()
            self._make_room(len(self.readers) + 2)  # a thread that waits for it sees that it is in vain

    def _make_room(self, lines: int) -> None:
        for _ in range(lines):
            self.room.put(None)

    def _hand(self, each: LogLine | Exception | None) -> None:
        if not self.left.is_set():
            self.room.get()
        if self.left.is_set():
            raise _Left
        self.found.put(each)

    def _begun(self, work: Callable[..., None], *about: KubePod) -> threading.Thread:
        """Begin something on a thread; an error in it comes up among the lines, and never goes unnoticed."""

        def working() -> None:
            with suppress(_Left):
                try:
                    work(*about)
                except Exception as error:
                    self._hand(error)

        thread = threading.Thread(target=working, daemon=True)
        thread.start()
        return thread

    def _watch(self) -> None:
        """Start a reader for each pod that has begun; when the job is over, wait for them and end."""
        hindered, placed = Hindered(tell=self.desk.terminal.note), False
        for objects in changes(self.desk.api, "Pod", kinds.of_job(self.name), tell=self.desk.terminal.note):
            there = job_state.in_order(map(job_state.kube_pod, objects))
            pods = [pod for pod in there if self.wanted.has(pod)]
            for pod in pods:
                if pod.begun and pod.name not in self.readers:
                    self.readers[pod.name] = self._begun(self._read, pod)
            if self.left.is_set():
                raise _Left
            over = all(pod.over for pod in pods)
            if self._waits(pods) or (placed and not over):
                continue
            gang = patiently(self.desk.terminal.note)(lookup.looked_up, self.desk.api, self.name)
            if over and (gang is None or gang.over):
                break
            if gang:
                hindered.look(self.desk.api, gang, there)
                placed = not any(each.short for each in gang.jobs)
        for each in self.readers.values():
            each.join()
        self._hand(None)

    def _waits(self, pods: list[KubePod]) -> bool:
        """Say for whom it waits, if it does, once per change; what will never begin is a problem."""
        late = [pod for pod in pods if not pod.begun and (pod.stuck or not pod.over)]
        told = f"waiting for {late[0].name}: {late[0].why or late[0].phase}" if late else ""
        if told and told != self.waited:
            self.desk.terminal.note(told)
        self.waited = told
        for pod in late:
            if pod.stuck:
                raise Problem(_cannot_start(pod, self.name))
        return bool(late)

    def _read(self, pod: KubePod) -> None:
        """Read a log to its end; whatever brings something begins the count of attempts afresh."""
        import tenacity  # which help does without

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_InVain),
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=tenacity.wait_incrementing(_PAUSE, _PAUSE),
            reraise=True,
        )
        mark: LogMark | None = LogMark()
        try:
            while mark:
                mark = retrying(self._read_more, pod, mark)
        except _InVain:
            self.desk.terminal.warn(
                f"{pod.title}: its log brought nothing {_ATTEMPTS} times in a row: not read any further"
            )
        except Problem as problem:
            if not (isinstance(problem, Refused) and problem.status == 404):  # the pod is gone
                self.desk.terminal.warn(f"{pod.title}: {problem}")

    def _read_more(self, pod: KubePod, mark: LogMark) -> LogMark | None:
        """Read on, and return where that ended, None at the log's own end.

        The API server ends an answer in the same way when it has lost the node.
        """
        begun = time.monotonic()
        reached, whole = self._read_on(pod, mark)
        now = job_state.kube_pod(patiently(self.desk.terminal.detail)(self.desk.api.get, "Pod", pod.name))
        if whole and (now.over or now.code is not None):
            return None
        if in_vain(brought=reached != mark, stood=time.monotonic() - begun, over=now.over):
            raise _InVain
        return reached

    def _read_on(self, pod: KubePod, mark: LogMark) -> tuple[LogMark, bool]:
        """Hand over what was written after a mark; return the new one, and whether the answer was whole."""
        query = {**self.wanted.query(pod), "follow": "true", "timestamps": "true"}
        if mark.moment:
            query = {**query, "sinceTime": mark.moment, "tailLines": "", "sinceSeconds": ""}
        try:
            for each, text in beyond(mark, self.desk.api.log(pod.name, query)):
                self._hand(log_line(pod, text))
                mark = each
        except Problem as problem:
            if not worth_another_try(problem):
                raise
            self.desk.terminal.detail(f"{pod.name}: {problem}; going on after {mark.moment or 'nothing'}")
            return mark, False
        return mark, True
