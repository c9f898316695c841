"""What the desk says when something is wrong: the thing, what it did, and what to do; each fault is made for real.

The faults of TLS, of a kubeconfig and of pods are made in the tests beside this one, on a real API server.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from launcher.desk.cli import main
from launcher.desk.errors import Problem
from launcher.desk.session import Desk, DeskFlags
from tests.support.desks import User
from tests.support.serving import served
from tests.support.vectors import objects

pytestmark = pytest.mark.timeout(60)

SUBMIT = ("submit", "-jobname", "j", "-entry", "python train.py", "/pfs/datacenter1/home/me/package")
SILENT, TORN = "silent", "torn"
AGAIN = "run the command again"
STAYS = f"{AGAIN}; if this stays, tell the cluster's administrator"
BUSY = f"it is overloaded or restarts: {AGAIN} in a minute"
NO_POD = "the pod that copies files cannot be made"
MEANWHILE = f"somebody removed, made or changed it meanwhile: {AGAIN}"
LATE = "Timeout: request did not complete within the allotted timeout"
FULL = 'pods "x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3'
DENIED = 'admission webhook "w" denied the request: no team'
LISTED = json.dumps({"metadata": {}, "items": objects("complete", "Job")}).encode()
Script = Mapping[str, tuple[int, str | bytes] | str]


@contextmanager
def api(script: Script) -> Iterator[str]:
    """Serve an API that takes everything but what is scripted, by a method and a kind; yield its address."""
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            url = urlsplit(self.path)
            sent = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            kind = url.path.split("/namespaces/team/")[1].split("/")[0]
            asked = f"{'DRY' if 'dryRun' in parse_qs(url.query) else self.command} {kind}"
            match script.get(asked, (200, "")):
                case "silent":
                    over.wait()
                case "torn":
                    self.send(200, b'{"metadata"', more=100)
                case (int() as status, bytes() as body):
                    self.send(status, body)
                case (int() as status, message):
                    found = {**sent, "message": message, "metadata": {"name": "n", "uid": "u"}, "items": []}
                    self.send(status, json.dumps(found).encode())

        do_GET = do_POST = do_DELETE = do_PATCH = answer  # noqa: N815  # the names that http.server looks for

        def send(self, status: int, body: bytes, *, more: int = 0) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) + more))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as host:
        try:
            yield f"http://{host}"
        finally:
            over.set()


def at(endpoint: str, home: Path) -> None:
    """Give somebody a datacenter."""
    place: dict[str, Any] = {"username": "me", "password": "t", "namespace": "team", "image": "repo/paddle:1"}
    User(home=home).configure(**place, endpoint=endpoint, volume={"claim": "mfs"})


def typed(home: Path, *words: str, **environ: str) -> tuple[int, str]:
    """Type a command in this process, and return its exit code and the last line on stderr."""
    err = io.StringIO()
    with pytest.MonkeyPatch.context() as variables, redirect_stderr(err):
        variables.setenv("HOME", str(home))
        for name, value in environ.items():
            variables.setenv(name, value)
        code = main(words)
    return code, err.getvalue().splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "script", "told"),
    [
        (("get", "jobs"), {"GET jobs": (500, "boom")},
         f"{{api}} answers 500: boom; {STAYS}: it is the server's own fault"),
        (("get", "jobs"), {"GET jobs": (504, LATE)}, f"{{api}} answers 504: {LATE}; {BUSY}"),
        (("get", "jobs"), {"GET jobs": (502, b"<html>bad gateway</html>")},
         f"{{api}} answers 502: a page of HTML, as proxies send it; {BUSY}"),
        (("get", "jobs"), {"GET jobs": (302, b"")},
         "{api} answers 302; it wants another address, or a login: check `endpoint:` of datacenter 'datacenter1'"),
        (("get", "jobs"), {"GET jobs": (200, b"<html>log in</html>")},
         "{host} answers, but not as a Kubernetes API server does: check its address"),
        (("get", "jobs"), {"GET jobs": (404, "the server could not find the requested resource")},
         "{api} answers 404: the server could not find the requested resource; this is no Kubernetes API, or an "
         "older one: check `endpoint:` of datacenter 'datacenter1'"),
        (("get", "jobs"), {"GET jobs": (404, b"404 page not found\n")},
         "{api} answers 404: 404 page not found; this is no Kubernetes API, or an older one: check `endpoint:` of "
         "datacenter 'datacenter1'"),
        (("get", "jobs"), {"GET jobs": (401, "Unauthorized")},
         "{api} refuses the token of datacenter 'datacenter1': it has expired or belongs to another cluster; put a "
         "new one into `password:` in its configuration"),
        (("get", "jobs"), {"GET jobs": (403, 'jobs is forbidden: User "u" cannot list resource "jobs"')},
         'not allowed: jobs is forbidden: User "u" cannot list resource "jobs"; ask an administrator of the '
         "namespace to apply k8s/rbac/desk"),
        (("get", "jobs"), {"GET jobs": TORN}, f"the connection to {{api}} was lost: .*; {AGAIN}"),
        (("describe", "j"), {}, "there is no job j in the namespace team: `paddlectl get jobs` lists the jobs"),
        (("ls",), {"POST pods": (403, FULL)},
         f"{NO_POD}: the namespace's quota has no room: {FULL}; `paddlectl get quota` shows what is used"),
        (("report", "my-job"), {"GET jobs": (200, LISTED), "POST pods": (403, FULL)},
         f"{NO_POD}: the namespace's quota has no room: {FULL}; `paddlectl get quota` shows what is used"),
        (("ls",), {"POST pods": (403, DENIED)},
         f"{NO_POD}: {{api}} answers 403: {DENIED}; ask an administrator of the namespace for what this forbids"),
        (("ls",), {"POST pods": (503, "leader changed")}, f"{NO_POD}: {{api}} answers 503: leader changed; {BUSY}"),
        (("ls",), {"POST pods": (404, 'namespaces "team" not found')},
         f'{NO_POD}: {{api}} answers 404: namespaces "team" not found; choose another namespace with -namespace, '
         "or ask an administrator to make it"),
        (SUBMIT, {"GET persistentvolumeclaims": (404, 'persistentvolumeclaims "mfs" not found')},
         "there is no PersistentVolumeClaim mfs in the namespace team: it is the volume behind /pfs: ask the "
         "namespace's administrator"),
        (SUBMIT, {"DRY pods": (403, FULL)},
         f"the quota has no room for a single pod: {FULL}; `paddlectl get quota` shows what is used"),
        (SUBMIT, {"POST networkpolicies": (409, 'networkpolicies "j" already exists')},
         'the NetworkPolicy j was not created, and nothing of the job is left: {api} answers 409: networkpolicies '
         f'"j" already exists; {MEANWHILE}'),
        (SUBMIT, {"POST networkpolicies": (500, "boom"), "DELETE services": (500, "boom")},
         f"the NetworkPolicy j was not created: {{api}} answers 500: boom; {STAYS}: it is the server's own fault"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_success_is_told_with_what_to_do(
    words: tuple[str, ...], script: Script, told: str, tmp_path: Path
) -> None:
    with api(script) as host:
        at(host, tmp_path)
        code, last = typed(tmp_path, *words)
    assert code == 1
    told = told.replace("{api}", "the Kubernetes API at {host}").replace("{host}", host)
    assert re.fullmatch("paddlectl: " + re.escape(told).replace(r"\.\*", ".*"), last), last


@pytest.mark.parametrize(
    ("endpoint", "told"),
    [
        ("https://127.0.0.1:1",
         "Connection refused; nothing listens there: check `endpoint:` of datacenter 'datacenter1', and whether the "
         "cluster runs"),
        ("https://cluster.invalid:6443",
         "{why}; check the name in `endpoint:` of datacenter 'datacenter1', and the VPN, if its name is known only "
         "there"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_reached_is_told_with_where_its_address_stands(
    endpoint: str, told: str, tmp_path: Path
) -> None:
    at(endpoint, tmp_path)
    code, last = typed(tmp_path, "get", "jobs")
    assert code == 1
    wanted = re.escape(told).replace(r"\{why\}", "[A-Z][a-z ]+")  # the system's own words
    assert re.fullmatch(f"paddlectl: the Kubernetes API at {endpoint} cannot be reached: {wanted}", last), last


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ({"GET jobs": SILENT}, f"{{api}} takes connections, and does not answer: .*; {STAYS}"),
        ({"GET jobs": (429, "Too many requests")}, f"{{api}} answers 429: Too many requests; {BUSY}"),
        ({"GET jobs": (503, "apiserver not ready")}, f"{{api}} answers 503: apiserver not ready; {BUSY}"),
    ],
)
def test_a_server_that_is_silent_or_stays_busy_is_told_when_the_wait_for_it_is_over(
    script: Script, told: str, tmp_path: Path
) -> None:
    with api(script) as host:
        at(host, tmp_path)
        desk = Desk(DeskFlags(config=str(tmp_path / ".paddle" / "config")), environ={})
        impatient = dataclasses.replace(desk.api, patience=0.3)
        if SILENT in script.values():  # any other may answer late on a busy machine
            impatient.transport.silence = 0.3
        with pytest.raises(Problem) as error:
            list(impatient.listed("Job"))
    assert re.fullmatch(told.format(api=f"the Kubernetes API at {host}"), str(error.value))


def test_a_server_that_does_not_shake_hands_is_silent_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # the kernel takes the connection, and nobody answers
        host = f"https://127.0.0.1:{server.getsockname()[1]}"
        at(host, tmp_path)
        api = Desk(DeskFlags(config=str(tmp_path / ".paddle" / "config")), environ={}).api
        api.transport.connect = 0.3
        with pytest.raises(Problem) as error:
            list(api.listed("Job"))
    why = "The handshake operation timed out"
    assert str(error.value) == f"the Kubernetes API at {host} takes connections, and does not answer: {why}; {STAYS}"


DATACENTER = "datacenters:\n- {name: a, username: me, endpoint: 'https://h', password: t"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{DATACENTER}, endpont: 'https://h'}}\n",
         "{path}: datacenter 'a' has an unknown key 'endpont': did you mean 'endpoint'?"),
        (f"{DATACENTER}}}\n- {{name: a, username: you, endpoint: 'https://i', password: t}}\n",
         "{path}: two datacenters have the name 'a': rename one of them"),
        (f"{DATACENTER}}}\ncurrent-datacenter: b\n", "datacenter 'b' is not in {path}: it has a"),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_be_is_told(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / ".paddle" / "config"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o600)
    assert typed(tmp_path, "get", "jobs") == (1, f"paddlectl: {told.format(path=path)}")


CLUSTER = {"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}
CONTEXT = {"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}
NO_CONTEXT = "the kubeconfig {path} has no current-context: use -context NAME; it has "


@pytest.mark.parametrize(
    ("kubeconfig", "told"),
    [
        (None,
         "no cluster is configured: -kubeconfig or KUBECONFIG is {path}, which does not exist: name another file, "
         "or add a datacenter to ~/.paddle/config"),
        ({**CLUSTER, "contexts": []}, f"{NO_CONTEXT}none"),
        ({**CLUSTER, **CONTEXT}, f"{NO_CONTEXT}x"),
        ({**CLUSTER, **CONTEXT, "current-context": "y"},
         "the kubeconfig {path} has no context 'y'; it has x"),
        ({**CLUSTER, **CONTEXT, "current-context": "x", "users": [{"name": "u", "user": {}}]},
         "the Kubernetes API at https://127.0.0.1:1 cannot be reached: Connection refused; nothing listens there: "
         "check the server's address in context 'x' of the kubeconfig, and whether the cluster runs"),
    ],
)  # fmt: skip
def test_a_kubeconfig_that_names_no_cluster_is_told(
    kubeconfig: dict[str, Any] | None, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    if kubeconfig is not None:
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **kubeconfig}))
    said = typed(tmp_path, "get", "jobs", KUBECONFIG=str(path))
    assert said == (1, f"paddlectl: {told.format(path=path)}")
