"""The one watch of pods and desks: what it goes on from, whom it tells, and when it gives up."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import cast

import pytest
import tenacity

from launcher.kube import objects, refusals
from launcher.kube.refusals import ApiRefused, ApiUnreachable, KubeError
from launcher.kube.transport import Transport
from launcher.kube.watch import Watch, WatchPatience

Answer = list[bytes] | Exception


def line(kind: str, name: str, version: str) -> bytes:
    body = {"metadata": {"name": name, "resourceVersion": version}}
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


class Server:
    """It lists two objects, and answers its watches as it is told to; then it serves for ever, and in silence."""

    host, silence = "https://h", 1.0

    def __init__(self, *watches: Answer) -> None:
        self.watches = list(watches)
        self.lists = 0
        self.versions: list[str] = []

    def document(self, *_: object, **__: object) -> bytes:
        self.lists += 1
        items = [{"metadata": {"name": name}} for name in ("a", "b")]
        return json.dumps({"metadata": {"resourceVersion": f"list-{self.lists}"}, "items": items}).encode()

    @contextmanager
    def stream(self, _path: str, query: dict[str, str], **_: object) -> Iterator[Callable[[], bytes]]:
        self.versions.append(query["resourceVersion"])
        answer = self.watches.pop(0) if self.watches else [line("MODIFIED", "a", "last")]
        if isinstance(answer, Exception):
            raise answer
        yield iter([*answer, b""]).__next__


def refused(status: int, after: float = 0.0) -> ApiRefused:
    return ApiRefused("no", status=status, message="no", after=after)


def watched(server: Server, *, resumes: bool = True, **patience: object) -> Iterator[list[str]]:
    """Yield the names of all objects at each change."""
    given = {"passes": refusals.may_pass, "heed": lambda *_: None, "wait": tenacity.wait_none(), **patience}
    watch = Watch(
        transport=cast("Transport", server), path="/p", selector="s", seconds=4, resumes=resumes,
        read=lambda found: objects.word(found["metadata"], "name"),
    )  # fmt: skip
    return map(list, watch.changes(WatchPatience(**given)))  # type: ignore[arg-type]  # as they are named


def test_an_object_that_changes_keeps_its_place() -> None:
    server = Server([line("MODIFIED", "a", "7"), line("ADDED", "c", "8"), line("DELETED", "b", "9")])
    found = list(islice(watched(server), 4))
    assert found == [["a", "b"], ["a", "b"], ["a", "b", "c"], ["a", "c"]]


@pytest.mark.parametrize(
    ("answer", "resumes", "lists", "version"),
    [
        ([line("BOOKMARK", "", "5")], True, 1, "5"),
        ([line("MODIFIED", "a", "6")[:-9]], True, 1, "list-1"),
        (refused(503), True, 1, "list-1"),
        (ApiUnreachable("away"), True, 1, "list-1"),
        (refused(410), True, 2, "list-2"),
        ([line("ERROR", "", "")], True, 2, "list-2"),
        (refused(503), False, 2, "list-2"),
        (ApiUnreachable("away"), False, 2, "list-2"),
        ([line("BOOKMARK", "", "5")], False, 1, "5"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_watch_goes_on_from_what_it_knows_or_lists_again(
    answer: Answer, resumes: bool, lists: int, version: str
) -> None:
    server = Server(answer)
    for _ in watched(server, resumes=resumes):
        if len(server.versions) > 1:
            break
    assert (server.lists, server.versions[1]) == (lists, version)


@pytest.mark.parametrize("error", [refused(403), refused(404), KubeError("too much")])
def test_what_does_not_pass_comes_up_at_once(error: Exception) -> None:
    server = Server(error)
    with pytest.raises(KubeError):
        list(watched(server))
    assert len(server.versions) == 1


def test_a_trouble_that_stays_comes_up_when_the_time_is_over_and_each_was_heeded() -> None:
    server, heeded = Server(*[refused(503)] * 99), []
    with pytest.raises(ApiRefused):
        list(watched(server, seconds=0.05, wait=tenacity.wait_fixed(0.02), heed=lambda *each: heeded.append(each)))
    assert [attempt for _, attempt in heeded] == [*range(1, len(heeded) + 1)]
    assert len(server.versions) == len(heeded) + 1


def test_a_watch_that_is_closed_at_once_is_opened_again_whatever_the_time_and_is_no_trouble() -> None:
    server, heeded = Server(*[[]] * 20), []
    found = watched(server, seconds=0.0, heed=lambda *each: heeded.append(each))
    while len(server.versions) < 21:
        next(found)
    assert (server.lists, heeded) == (1, [])


def test_what_the_server_asks_for_is_waited_at_least_and_a_stop_ends_the_wait() -> None:
    stop = threading.Event()
    server = Server(refused(429, after=50.0))
    threading.Timer(0.05, stop.set).start()
    assert list(watched(server, stop=stop)) == [["a", "b"]]
    assert len(server.versions) == 1
