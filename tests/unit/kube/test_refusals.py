"""What is said of an API server that refuses or cannot be reached."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.kube import refusals

DATACENTER, CONTEXT = {"who": "datacenter 'd'"}, {"who": "context 'c'"}
UNKNOWN: dict[str, Any] = {"tls": True, "certificate": 20, "detail": "no issuer"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, "why; check the address, the network and the VPN"),
        (DATACENTER, "why; check `endpoint:` of datacenter 'd', the network and the VPN"),
        (CONTEXT, "why; check the server's address in context 'c', the network and the VPN"),
        ({"fault": "refused"}, "why; check the address, the network and the VPN"),
        ({"fault": "silent"}, "why; check the address, the network and the VPN"),
        ({"fault": "refused", **DATACENTER}, "why; nothing listens there: check `endpoint:` of datacenter 'd', and"),
        ({"fault": "unknown", **CONTEXT}, "why; check the name in the server's address in context 'c', and the VPN"),
        ({"tls": True}, "why; check the address, the port and the client's certificate"),
        ({"tls": True, "why": "WRONG_VERSION_NUMBER"}, "there is no TLS (WRONG_VERSION_NUMBER); check"),
        (UNKNOWN, "its certificate is not signed by an authority that this machine knows (no issuer)"),
        ({**UNKNOWN, **DATACENTER}, "set `certificate-authority:` in the configuration to"),
        ({**UNKNOWN, **CONTEXT}, "set `certificate-authority:` in the kubeconfig to"),
        ({"tls": True, "certificate": 62, "detail": "not for h."}, "its certificate is for another name: not for h;"),
        ({"tls": True, "certificate": 10}, "its certificate has expired, or is not valid yet;"),
    ],
)  # fmt: skip
def test_who_cannot_be_reached_has_the_remedy_of_its_reason(said: dict[str, Any], expected: str) -> None:
    text = "; ".join(filter(None, refusals.unreachable("h", **{"why": "why", **said})))
    assert text.startswith("the Kubernetes API at h cannot be reached: ")
    assert expected in text
    assert ("set `certificate" in text) == ("set `certificate" in expected)


def test_a_silent_server_can_be_reached() -> None:
    brief, remedy = refusals.unreachable("h", "why", fault="silent", who="datacenter 'd'")
    assert brief == "the Kubernetes API at h takes connections, and does not answer: why"
    assert remedy == "run the command again; if this stays, tell the cluster's administrator"


@pytest.mark.parametrize(
    ("method", "status", "after", "again"),
    [
        ("GET", 429, 0, True),
        ("POST", 429, 0, True),
        ("GET", 503, 0, True),
        ("POST", 503, 1, True),
        ("POST", 503, 0, False),
        ("GET", 500, 1, False),
        ("GET", 404, 1, False),
    ],
)
def test_what_was_not_begun_or_changes_nothing_is_asked_again(
    method: str, status: int, after: float, again: bool
) -> None:
    assert refusals.refused_at_first(method, status, after) == again


def test_http_to_a_server_of_https_is_told() -> None:
    body = b"Client sent an HTTP request to an HTTPS server."
    assert str(refusals.refusal(400, body, host="h")).endswith("HTTPS server.; use https://")
    assert not str(refusals.refusal(400, b"no", host="h")).endswith("https://")
