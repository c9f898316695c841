"""All pods under a label selector, kept: list, then watch from there, for as long as anybody wants to know."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import tenacity

from launcher.kube import pod_json
from launcher.kube.account import Trouble
from launcher.kube.transport import BACK_OFF, Api, Gone, Unauthorized
from launcher.pod.peers.pod_state import Seen

LINE_LIMIT = 8 << 20  # etcd takes no object over 1.5 MiB
AFTER_LIMIT = 60.0
LIVED = 5.0  # a watch that lasted so long was no failure


class Fruitless(Trouble):
    """A watch was opened, and ended at once."""


@dataclass(slots=True)
class Known:
    """The pods as of a version; without a version they are to be listed."""

    version: str = ""
    pods: dict[str, Seen] = field(default_factory=dict)

    @property
    def all(self) -> tuple[Seen, ...]:
        """Every pod."""
        return tuple(self.pods.values())


def pods(
    api: Api, selector: str, stop: threading.Event, trouble: Callable[[str], None]
) -> Iterator[tuple[Seen, ...]]:
    """Yield all pods under a selector, and again whenever something may have changed, until told to stop."""
    known = Known()
    while not stop.is_set():
        # A watch that brought something or lasted leaves this loop, and so begins the next back-off afresh.
        for attempt in _retrying(api, stop, trouble):
            with attempt:
                yield from _follow(api, selector, known)


def _retrying(api: Api, stop: threading.Event, trouble: Callable[[str], None]) -> tenacity.Retrying:
    def before_sleep(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, Unauthorized):
            with suppress(Trouble):  # the next request meets it again, and says so
                api.account.reload()
        # An API that lists but cannot keep a watch open is no obstacle, only slower.
        if not isinstance(error, (Fruitless, Gone)):
            trouble(str(error))

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Trouble),
        stop=tenacity.stop_when_event_set(stop),
        wait=_wait,
        sleep=tenacity.sleep_using_event(stop),
        before_sleep=before_sleep,
        retry_error_callback=lambda _: None,
    )


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.after if isinstance(error, Trouble) else 0.0
    # What the server asks for is the least: luck on top of it keeps many pods from coming back together.
    return min(asked, AFTER_LIMIT) + BACK_OFF(state)


def _follow(api: Api, selector: str, known: Known) -> Iterator[tuple[Seen, ...]]:
    path = api.pods_path
    if not known.version:
        _list(known, api.document(path, {"labelSelector": selector}))
        yield known.all
    query = {
        "labelSelector": selector,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": known.version,
        "timeoutSeconds": str(api.limits.watch - random.randint(0, api.limits.watch // 4)),  # noqa: S311  # no secret
    }
    try:
        with api.stream(path, query) as read:
            yield known.all  # the API serves again, which ends a trouble
            yield from _changes(read, known)
    except Gone:
        known.version = ""
        raise


def _changes(read: Callable[[], bytes], known: Known) -> Iterator[tuple[Seen, ...]]:
    began, version = time.monotonic(), known.version
    why = "it was closed"
    try:
        for some in lines(read):
            if _apply(some, known):
                yield known.all
    except Gone:
        raise
    except Trouble as error:
        why = str(error)
    if known.version == version and time.monotonic() - began < LIVED:
        raise Fruitless(f"a watch ended at once: {why}")


def _list(known: Known, text: bytes) -> None:
    found = pod_json.listed(text)
    if found is None:
        raise Trouble(f"the Kubernetes API's list of pods cannot be read: {pod_json.message(text)}")
    every, known.version = found
    known.pods = {pod.name: pod for pod in map(pod_json.seen, every) if pod.name}


def _apply(some: list[bytes], known: Known) -> bool:
    """Enter whole lines of a watch, and return whether a pod is among them."""
    touched = False
    for line in some:
        change = pod_json.changed(line)
        if change is None or change.kind == "ERROR":
            raise Gone(f"the Kubernetes API ends the watch: {pod_json.message(line)}")
        if change.kind in ("ADDED", "MODIFIED", "DELETED"):
            pod = pod_json.seen(change.pod)
            known.pods.pop(pod.name, None)
            if pod.name and change.kind != "DELETED":
                known.pods[pod.name] = pod
            touched = True
        known.version = change.version or known.version
    return touched


def lines(read: Callable[[], bytes], limit: int = LINE_LIMIT) -> Iterator[list[bytes]]:
    """Yield the whole lines that came together; a half one at the end is dropped, as if it had never come."""
    half = bytearray()
    while data := read():
        half += data
        if b"\n" in data:
            *whole, rest = bytes(half).split(b"\n")
            half = bytearray(rest)
            yield [line for line in whole if line.strip()]
        if len(half) > limit:
            raise Gone(f"a line of the watch is over {limit} bytes")
