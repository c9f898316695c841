"""The desk's logins at a real server: what is usual goes without the `kubernetes` package, and comes to the same."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from launcher.kube import kubeconfig, packaged, refusals
from launcher.kube.kubeconfig import Credentials
from launcher.kube.server import ApiServer
from launcher.kube.transport import Transport
from tests.support.serving import served

TOKEN = "token-of-the-test"  # noqa: S105  # opens nothing
# Asks who it is, and says whether the package was imported for that.
PROGRAM = """
import os, sys
from launcher.kube import kubeconfig
from launcher.kube.transport import Transport
credentials = kubeconfig.by_context("", os.environ)
print(Transport(credentials.server, agent="test", connect=5, silence=5).document("GET", "/who").decode())
print("kubernetes" in sys.modules, credentials.who, credentials.namespace)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A server that says who asked, and a directory with a kubeconfig and the files beside it."""

    directory: Path
    host: str

    def kubeconfig(self, user: dict[str, Any], **cluster: object) -> str:
        path = self.directory / "config"
        whole = {
            "current-context": "one",
            "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "train"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.host, **cluster}}],
            "users": [{"name": "u", "user": user}],
        }
        path.write_text(json.dumps(whole))  # which is YAML
        return str(path)

    def data(self, name: str) -> str:
        return base64.b64encode((self.directory / name).read_bytes()).decode()


class _Who(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.connection, ssl.SSLSocket)
        shown = self.connection.getpeercert() or {}
        said = json.dumps({"token": self.headers.get("Authorization"), "certificate": str(shown.get("subject"))})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    mine = ca.issue_cert("me@example.com", common_name="who-it-is")
    mine.cert_chain_pems[0].write_to_path(tmp_path / "me.pem")
    mine.private_key_pem.write_to_path(tmp_path / "me.key")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    ca.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Who)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with served(server) as host:
        yield Place(directory=tmp_path, host=f"https://{host}")


def who(server: ApiServer) -> dict[str, str]:
    transport = Transport(server, agent="test", connect=5, silence=5)
    found: dict[str, str] = json.loads(transport.document("GET", "/who"))
    transport.hang_up()
    return found


def asked(config: str, **more: str) -> tuple[dict[str, str], str]:
    """Ask from a process of its own, and return who was seen, and whether the package was imported."""
    environ = {"KUBECONFIG": config, **more}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer, imported = done.stdout.splitlines()
    return json.loads(answer), imported


USERS: dict[str, Callable[[Place], dict[str, Any]]] = {
    "a token": lambda _: {"token": TOKEN},
    "a token of two lines": lambda _: {"token": f"{TOKEN}\nmore\n"},
    "a certificate's files": lambda _: {"client-certificate": "me.pem", "client-key": "me.key"},
    "a certificate": lambda at: {"client-certificate-data": at.data("me.pem"), "client-key-data": at.data("me.key")},
    "both": lambda _: {"token": TOKEN, "client-certificate": "me.pem", "client-key": "me.key"},
}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("within", [True, False])
def test_a_usual_login_is_what_the_package_makes_of_it_and_does_without(
    place: Place, user: str, within: bool
) -> None:
    authority = (
        {"certificate-authority-data": place.data("ca.pem")} if within else {"certificate-authority": "ca.pem"}
    )
    config = place.kubeconfig(USERS[user](place), **authority)
    answer, imported = asked(config)
    assert imported == "False context 'one' of the kubeconfig train"
    server, name, namespace = packaged.server_by_context("", config, {})
    assert (who(server), name, namespace) == (answer, "one", "train")
    assert (TOKEN in str(answer["token"]), "who-it-is" in answer["certificate"]) == (
        "token" in user or user == "both",
        "certificate" in user or user == "both",
    )


def test_the_rest_is_read_by_the_package(place: Place) -> None:
    (place.directory / "token").write_text(TOKEN)
    version = "client.authentication.k8s.io/v1"
    says = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": TOKEN}})
    program = place.directory / "login"
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    called = {"apiVersion": version, "command": str(program), "interactiveMode": "Never"}
    for user in ({"tokenFile": "token"}, {"exec": called}):
        answer, imported = asked(place.kubeconfig(user, **{"certificate-authority": "ca.pem"}))
        assert imported == "True context 'one' of the kubeconfig train"
        assert answer["token"] == f"Bearer {TOKEN}"


def test_a_proxy_of_the_environment_is_the_packages(place: Place) -> None:
    config = place.kubeconfig({"token": TOKEN}, **{"certificate-authority": "ca.pem"})
    answer, imported = asked(config, https_proxy="http://192.0.2.1:1", no_proxy="127.0.0.0/8")
    assert imported == "True context 'one' of the kubeconfig train"
    assert answer["token"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("data", [False, True])
def test_a_server_of_another_authority_is_refused(place: Place, data: bool) -> None:
    trustme.CA().cert_pem.write_to_path(place.directory / "other.pem")
    authority = (
        {"certificate-authority-data": place.data("other.pem")} if data else {"certificate-authority": "other.pem"}
    )
    environ = {"KUBECONFIG": place.kubeconfig({"token": TOKEN}, **authority)}
    found = kubeconfig.by_context("", environ)
    by_token = kubeconfig.by_token(place.host, TOKEN, str(place.directory / "other.pem"), environ, who="me")
    for each in (found, by_token):
        assert_refused(each)


def assert_refused(credentials: Credentials) -> None:
    with pytest.raises(refusals.ApiUnreachable, match="not signed by an authority that this machine knows"):
        who(credentials.server)


def test_what_cannot_be_read_is_told_in_the_packages_words(place: Place) -> None:
    """An authority that is none never means that any will do."""
    for broken in ("", base64.b64encode(b"none").decode(), "%"):
        environ = {"KUBECONFIG": place.kubeconfig({"token": TOKEN}, **{"certificate-authority-data": broken})}
        with pytest.raises(refusals.KubeError) as told:
            who(kubeconfig.by_context("", environ).server)
        assert TOKEN not in str(told.value)
    missing = place.kubeconfig({"token": TOKEN}, **{"certificate-authority": "nowhere.pem"})
    with pytest.raises(refusals.Unusable, match="cannot be used"):
        kubeconfig.by_context("", {"KUBECONFIG": missing})
    Path(missing).write_text("{ not YAML")
    with pytest.raises(refusals.Unusable, match="is not YAML"):
        kubeconfig.by_context("", {"KUBECONFIG": missing})


def test_a_token_alone_is_a_login_too(place: Place) -> None:
    found = kubeconfig.by_token(place.host, TOKEN, str(place.directory / "ca.pem"), {}, who="me")
    assert who(found.server)["token"] == f"Bearer {TOKEN}"
    assert TOKEN not in repr(found)
