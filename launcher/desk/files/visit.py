"""A visit to a volume: the pod is made, spoken to as often as one command needs, and removed, whatever happens."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import tenacity

from launcher.contract import FILES_LABEL
from launcher.desk.config import datacenters
from launcher.desk.errors import Problem, Refused
from launcher.desk.files import exec_socket, pod
from launcher.desk.files.exec_socket import Wire
from launcher.desk.files.paths import Remote
from launcher.desk.jobs import job_state
from launcher.desk.jobs.registries import registries_listed
from launcher.desk.jobs.submit import gone
from launcher.desk.jobs.watch import changes
from launcher.desk.session import Desk
from launcher.text import visible
from launcher.transfer.channel import Channel
from launcher.transfer.problem import Broken, OtherEndFailed, TransferError

_Json = dict[str, Any]

POD_PATIENCE = 180.0  # seconds for a pod to start
ATTEMPTS = 5  # to go on where a connection broke off
_EARLY, _OFTEN = 3.0, 0.05  # seconds from a pod's node on, in which it is called without a word that it runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A pod that has the volume, and that runs."""

    desk: Desk
    name: str
    place: Remote
    called: list[Wire] = field(default_factory=list)  # what it has answered already

    @contextmanager
    def speaking(self) -> Iterator[Channel]:
        """Speak with an agent in the pod; what cannot be done is a Problem, a lost connection is Broken."""
        with closing(self.called.pop() if self.called else _call(self.desk, self.name)) as line:
            channel = Channel(line)
            try:
                yield channel
                channel.put("bye")
                channel.flush()
                line.flush()
            except Broken as broken:
                raise Broken(visible(line.words.decode(errors="replace").strip() or str(broken), 1000)) from None
            except OtherEndFailed as told:
                raise Problem(f"{self.place.top}: {visible(told, 1000)}") from None
            except TransferError as trouble:
                raise Problem(visible(trouble, 1000)) from None

    @contextmanager
    def once(self) -> Iterator[Channel]:
        """Speak, where a lost connection is a Problem too."""
        try:
            with self.speaking() as channel:
                yield channel
        except Broken as broken:
            raise Problem(f"{broken}; run the command again") from None


@contextmanager
def visit(desk: Desk, place: Remote, *, image: str = "") -> Iterator[Visit]:
    """Have a pod with the volume behind a place, for as long as the body runs."""
    image = image or desk.datacenter.agent_image
    if not image:
        raise Problem(
            f"datacenter {desk.datacenter.name!r} has no image: files are copied by a pod of the launcher's image, "
            "so set `image:` or `launcher-image:` in its configuration"
        )
    manifest = pod.files_pod(
        f"paddlectl-files-{secrets.token_hex(4)}", image, place.storage, read_only=place.read_only,
        restricted=datacenters.restricted(desk.datacenter), registries=registries(desk),
    )  # fmt: skip
    with had(desk, manifest, place) as there:
        yield there


@contextmanager
def had(desk: Desk, manifest: _Json, place: Remote, *, what: str = "the pod that copies files") -> Iterator[Visit]:
    """Have the pod of a manifest, running, for as long as the body runs."""
    found = Visit(desk=desk, name=str(manifest["metadata"]["name"]), place=place)
    remove_left_over(desk)
    try:
        _create(desk, manifest, what)
        found.called.extend(_wait(desk, found.name, what))
        yield found
    finally:
        for line in found.called:
            line.close()
        _remove(desk, found.name)


def _create(desk: Desk, manifest: _Json, what: str) -> None:
    try:
        desk.api.create(manifest)
    except Refused as refused:
        raise refused.about(f"{what} cannot be made") from None


def _wait(desk: Desk, name: str, what: str) -> tuple[Wire, ...]:
    """Return when the pod runs, with what it has answered; say for what it waits, and why it never will."""
    begun = time.monotonic()
    told = ""
    called = False
    every = changes(desk.api, "Pod", f"{FILES_LABEL}={name}", tell=desk.terminal.note)
    with closing(every):  # Ctrl-C while a generator is only dropped would be lost
        for objects in every:
            found = next(map(job_state.kube_pod, objects), None)
            if found is None:
                raise Problem(f"{what} was removed by someone else: run the command again")
            if found.phase == "Running" and found.begun:
                return ()
            why = found.why or found.phase
            if found.over or found.stuck:
                raise Problem(f"{what} cannot start: {why}")
            if time.monotonic() - begun > POD_PATIENCE:
                raise Problem(f"{what} has not started after {POD_PATIENCE:.0f} s: {why}")
            if found.why and found.why != told and found.why != "ContainerCreating":
                desk.terminal.note(f"waiting for {what}: {found.why}")
                told = found.why
            if found.node and not called:
                called = True
                if line := _early(desk, name):
                    return (line,)
    return ()  # never: a watch has no end


def _early(desk: Desk, name: str) -> Wire | None:
    """Call a pod until it answers: its kubelet takes calls from the first moment, and tells up to a second later.

    Why it takes none, the pod itself says later.
    """
    calling = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_not_yet),
        stop=tenacity.stop_after_delay(_EARLY),
        wait=tenacity.wait_fixed(_OFTEN),
        retry_error_callback=lambda _: None,
    )
    found: Wire | None = calling(_call, desk, name)
    return found


def _not_yet(error: BaseException) -> bool:
    forbidden = isinstance(error, Refused) and error.status in (401, 403)
    return isinstance(error, Problem) and not forbidden


def _call(desk: Desk, name: str) -> Wire:
    return exec_socket.dialed(desk.api, name, pod.CONTAINER, pod.SERVE)


def _remove(desk: Desk, name: str) -> None:
    """Remove the pod; that it cannot be removed hides nothing else that went wrong."""
    try:
        gone(desk.api, "Pod", name)
    except Problem as problem:
        desk.terminal.warn(f"the pod {name} could not be removed, and ends by itself soon: {problem}")


def registries(desk: Desk) -> tuple[str, ...]:
    """Return the pull secrets that there are: the image may be in any of them."""
    try:
        return tuple(each.name for each in registries_listed(desk.api))
    except Refused as refused:
        if refused.status != 403:
            raise
        return ()


def remove_left_over(desk: Desk) -> None:
    """Remove pods that have ended, of desks that were killed."""
    for each in list(desk.api.listed("Pod", FILES_LABEL)):
        if job_state.kube_pod(each).over:
            gone(desk.api, "Pod", each["metadata"]["name"])
