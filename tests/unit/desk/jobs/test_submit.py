"""What is sent in which order, what is undone, and how a watch's events are entered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from launcher.desk.errors import Refused, Unreachable
from launcher.desk.jobs import submit
from launcher.desk.jobs.api_calls import Api
from launcher.desk.jobs.watch import changes
from launcher.job import PaddleJob
from launcher.kube import refusals

Json = dict[str, Any]


class Server:
    """An API that takes so many objects, and shows a script of lists and watches."""

    host, namespace, silence = "h", "n", 60.0

    def __init__(self, room: int = 99, *answers: list[Json] | Exception) -> None:
        self.room = room
        self.transport = self
        self.made: list[Json] = []
        self.deleted: list[tuple[str, str]] = []
        self.warned: list[str] = []
        self.answers = list(answers)
        self.pages = 0

    def create(self, manifest: Json) -> Json:
        if len(self.made) >= self.room:
            raise Refused("no", status=403, message="no")
        self.made.append(manifest)
        return {**manifest, "metadata": {**manifest["metadata"], "uid": f"uid-{len(self.made)}"}}

    def delete(self, kind: str, name: str) -> None:
        self.deleted.append((kind, name))

    def document(self, *_: object, **__: object) -> bytes:
        self.pages += 1
        found = {
            "metadata": {"resourceVersion": str(self.pages)},
            "items": [{"metadata": {"name": f"listed-{self.pages}"}}],
        }
        return json.dumps(found).encode()

    @contextmanager
    def stream(self, *_: object, **__: object) -> Iterator[Callable[[], bytes]]:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield iter([*(json.dumps(each).encode() + b"\n" for each in answer), b""]).__next__


def sent(server: Server) -> None:
    job = PaddleJob(job_name="j", entry_point="python t.py", runtime_image="i", volumes=(), namespace="n")
    submit.create(cast("Api", server), job.manifests(), server.warned.append)


def test_the_trainers_job_comes_first_and_owns_the_rest() -> None:
    server = Server()
    sent(server)
    first, *rest = server.made
    assert (first["kind"], first["metadata"]["name"]) == ("Job", "j-trainer")
    assert "ownerReferences" not in first["metadata"]
    for each in rest:
        (owner,) = each["metadata"]["ownerReferences"]
        assert owner == {"apiVersion": "batch/v1", "kind": "Job", "name": "j-trainer", "uid": "uid-1"}


@pytest.mark.parametrize("room", [0, 1, 2, 3])
def test_what_was_made_is_undone_from_the_last_to_the_first(room: int) -> None:
    server = Server(room)
    with pytest.raises(Refused):
        sent(server)
    assert server.deleted == [(each["kind"], each["metadata"]["name"]) for each in reversed(server.made)]
    assert len(server.deleted) == room


class Cut(Server):
    """It makes what is asked for, and its answer to the last one never comes."""

    def __init__(self, room: int, why: BaseException) -> None:
        super().__init__()
        self.room, self.why = room, why

    def create(self, manifest: Json) -> Json:
        found = super().create(manifest)
        if len(self.made) == self.room:
            raise self.why
        return found


@pytest.mark.parametrize("room", [1, 2, 3])
@pytest.mark.parametrize("why", [KeyboardInterrupt(), Unreachable("h breaks off")])
def test_what_was_made_without_an_answer_is_undone_too(room: int, why: BaseException) -> None:
    server = Cut(room, why)
    with pytest.raises(type(why)):
        sent(server)
    assert server.deleted == [(each["kind"], each["metadata"]["name"]) for each in reversed(server.made)]
    assert len(server.deleted) == room


def test_what_cannot_be_undone_is_told_and_hides_nothing() -> None:
    class Away(Server):
        def delete(self, kind: str, name: str) -> None:
            raise Unreachable(f"h cannot be reached for {kind} {name}")

    server = Away(2)
    with pytest.raises(Refused, match="no"):
        sent(server)
    assert [each.split(" may have been created")[0] for each in server.warned] == ["Job j-pserver", "Job j-trainer"]


def test_what_is_the_clusters_has_no_owner() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "uid": "u"}}
    volume = {"kind": "PersistentVolume", "metadata": {"name": "v"}}
    assert submit.owned(volume, owner) == volume


def event(kind: str, name: str, version: str = "9") -> Json:
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": version}}}


def test_a_watch_is_entered_and_a_forgotten_version_lists_again() -> None:
    gone = {"type": "ERROR", "object": {"code": 410}}
    server = Server(0, [event("ADDED", "new"), event("DELETED", "listed-1"), gone])
    found = changes(cast("Api", server), "Pod", "")
    names = [[each["metadata"]["name"] for each in next(found)] for _ in range(4)]
    assert names == [["listed-1"], ["listed-1", "new"], ["new"], ["listed-2"]]


@pytest.mark.parametrize("status", [410, 503])
def test_a_refused_watch_that_passes_lists_again(status: int) -> None:
    server = Server(0, refusals.ApiRefused("busy", status=status, message="busy"))
    found = changes(cast("Api", server), "Pod", "")
    assert [[each["metadata"]["name"] for each in next(found)] for _ in range(2)] == [["listed-1"], ["listed-2"]]


def test_a_right_that_is_missing_ends_a_watch() -> None:
    found = changes(cast("Api", Server(0, refusals.ApiRefused("no", status=403, message="no"))), "Pod", "")
    next(found)
    with pytest.raises(Refused):
        next(found)
