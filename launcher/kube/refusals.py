"""The API's refusals and failures as errors with a sentence; the pod and the desk turn them into their own.

No I/O here.
"""

from __future__ import annotations

import re
from typing import Literal

from launcher.kube import objects

_LIMIT = 600  # of the server's own words
# OpenSSL's numbers for what is wrong with a certificate, and its words where there is no TLS at the other end.
_OTHER_NAME, _NOT_YET, _EXPIRED = (62, 63, 64), 9, 10
Fault = Literal["", "refused", "silent", "unknown"]
_NO_TLS = ("WRONG_VERSION_NUMBER", "record layer failure", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")


class KubeError(Exception):
    """A request that failed, in a sentence; `after` is the number of seconds that the server asks to wait.

    `remedy` is for who does not ask again; `brief` is the sentence without it.
    """

    after = 0.0

    def __init__(self, brief: str, remedy: str = "") -> None:
        super().__init__(f"{brief}; {remedy}" if remedy else brief)
        self.brief, self.remedy = brief, remedy


class Unusable(KubeError):
    """The credentials, or the address of a proxy, are wrong: nothing was sent."""


class ApiUnreachable(KubeError):
    """The API server could not be reached, or the connection was lost, or the answer cannot be read."""


class ApiRefused(KubeError):
    """The API server's own refusal, with its status code and the message as it came.

    `before` says that it allowed the same before: a server that was just started knows no roles for some seconds.
    """

    def __init__(
        self, brief: str, remedy: str = "", *, status: int, message: str, after: float = 0.0, before: bool = False
    ) -> None:
        super().__init__(brief, remedy)
        self.status = status
        self.message = message
        self.after = after
        self.before = before


def refusal(
    status: int, body: bytes, *, host: str, who: str = "", after: str = "", before: bool = False
) -> ApiRefused:
    """Return the error for a refusal; `who`, where it is given, gets a remedy."""
    message = "a page of HTML, as proxies send it" if body[:1] == b"<" else objects.message(body, _LIMIT)
    seconds = float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 0.0
    return ApiRefused(
        _brief(status, message, host, who), _remedy(status, message, who) if who else _https(status, message),
        status=status, message=message, after=seconds, before=before,
    )  # fmt: skip


def _brief(status: int, message: str, host: str, who: str) -> str:
    if status == 401 and who:
        return f"{server_named(host)} refuses the token of {who}: it has expired or belongs to another cluster"
    if status == 403 and who:
        if " cannot " in message:
            return f"not allowed: {message}"
        if "exceeded quota" in message:
            return f"the namespace's quota has no room: {message}"
    return f"{server_named(host)} answers {status}" + (f": {message}" if message else "")


def _remedy(status: int, message: str, who: str) -> str:
    """Return what whoever asks can do about a refusal."""
    if status == 401:
        return _renew(who)
    if status == 403:
        return _right(message)
    if status == 404 and (" not found" not in message or message.startswith("404 ")):
        return f"this is no Kubernetes API, or an older one: check {_address_of(who)}"
    if status == 404 and message.startswith("namespaces "):
        return "choose another namespace with -namespace, or ask an administrator to make it"
    if status in (404, 409):
        return "somebody removed, made or changed it meanwhile: run the command again"
    if status in (429, 502, 503, 504):
        return "it is overloaded or restarts: run the command again in a minute"
    if status >= 500:
        return "run the command again; if this stays, tell the cluster's administrator: it is the server's own fault"
    if status < 400:
        return f"it wants another address, or a login: check {_address_of(who)}"
    return _https(status, message)


def _https(status: int, message: str) -> str:
    return "use https://" if status == 400 and "HTTP request to an HTTPS server" in message else ""


def _right(message: str) -> str:
    if " cannot " in message:
        return "ask an administrator of the namespace to apply k8s/rbac/desk"
    if "exceeded quota" in message:
        return "`paddlectl get quota` shows what is used"
    return "ask an administrator of the namespace for what this forbids"


def unreachable(
    host: str,
    why: str,
    *,
    who: str = "",
    fault: Fault = "",
    tls: bool = False,
    certificate: int = 0,
    detail: str = "",
) -> tuple[str, str]:
    """Return the sentence for a server that could not be asked and the remedy; `certificate` is OpenSSL's number.

    A pod, which names nobody in `who`, asks again by itself.
    """
    told, where = f"{server_named(host)} cannot be reached: ", _address_of(who)
    if certificate:
        text, remedy = _untrusted(certificate, detail, who)
        return told + text, remedy
    if tls and any(each in why for each in _NO_TLS):
        return f"{told}there is no TLS ({why})", f"check the port in {where}, or whether it is meant to be http://"
    if tls:
        return f"{told}{why}", f"check {where}, the port and the client's certificate"
    if fault == "silent" and who:
        remedy = "run the command again; if this stays, tell the cluster's administrator"
        return f"{server_named(host)} takes connections, and does not answer: {why}", remedy
    return f"{told}{why}", {
        "refused": f"nothing listens there: check {where}, and whether the cluster runs",
        "unknown": f"check the name in {where}, and the VPN, if its name is known only there",
    }.get(fault if who else "", f"check {where}, the network and the VPN")


def _untrusted(certificate: int, detail: str, who: str) -> tuple[str, str]:
    if certificate in _OTHER_NAME:
        return f"its certificate is for another name: {detail.rstrip('.')}", "use an address that it is for"
    if certificate in (_NOT_YET, _EXPIRED):
        return "its certificate has expired, or is not valid yet", "check the clock here, or have it renewed"
    place = "in the configuration" if who.startswith("datacenter") else "in the kubeconfig"
    remedy = f"set `certificate-authority:` {place} to the file of the cluster's authority" if who else ""
    return f"its certificate is not signed by an authority that this machine knows ({detail})", remedy


def _address_of(who: str) -> str:
    """Return where the server's address is written down."""
    if who.startswith("datacenter"):
        return f"`endpoint:` of {who}"
    return f"the server's address in {who}" if who else "the address"


def server_named(host: str) -> str:
    """Return what messages call an API server."""
    return f"the Kubernetes API at {host}"


def may_pass(error: BaseException) -> bool:
    """Return whether trying again may help: the API server is away or overloaded."""
    return isinstance(error, ApiUnreachable) or (isinstance(error, ApiRefused) and busy(error.status))


def busy(status: int) -> bool:
    """Return whether a status code means a server that is overloaded, starting or stopping."""
    return status == 429 or status >= 500


def refused_at_first(method: str, status: int, after: float) -> bool:
    """Return whether a request can be sent again without harm: it was not begun, or it changes nothing."""
    return status == 429 or (status == 503 and (method == "GET" or after > 0))


def _renew(who: str) -> str:
    if who.startswith("datacenter"):
        return "put a new one into `password:` in its configuration"
    return "log in again, as you do for kubectl"


def broken(text: str) -> str:
    """Return what is wrong with a kubeconfig, without the values that the package puts into its messages."""
    if re.search(r"key current-context|name  in .*contexts list", text):
        return "it has no current context: `kubectl config use-context NAME` sets one"
    if found := re.search(r"object with name ([\w.@:/-]+) in .*(context|cluster)s list", text):
        return f"it has no {found[2]} {found[1]}"
    for known in (r"Expected key [\w-]+", r"No configuration found"):
        if found := re.search(known, text):
            return found.group()
    return "it is incomplete"
