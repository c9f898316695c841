"""The API's refusals and failures as errors with a sentence; the pod and the desk turn them into their own.

No I/O here.
"""

from __future__ import annotations

import re

from launcher.kube import objects

_LIMIT = 600  # of the server's own words
# OpenSSL's numbers for what is wrong with a certificate, and its words where there is no TLS at the other end.
_OTHER_NAME, _NOT_YET, _EXPIRED = (62, 63, 64), 9, 10
_NO_TLS = ("WRONG_VERSION_NUMBER", "record layer failure", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")


class KubeError(Exception):
    """A request that failed, in a sentence; `after` is the number of seconds that the server asks to wait."""

    after = 0.0


class Unusable(KubeError):
    """The credentials, or the address of a proxy, are wrong: nothing was sent."""


class ApiUnreachable(KubeError):
    """The API server could not be reached, or the connection was lost, or the answer cannot be read."""


class ApiRefused(KubeError):
    """The API server's own refusal, with its status code and the message as it came.

    `before` says that it allowed the same before: a server that was just started knows no roles for some seconds.
    """

    def __init__(self, sentence: str, *, status: int, message: str, after: float = 0.0, before: bool = False) -> None:
        super().__init__(sentence)
        self.status = status
        self.message = message
        self.after = after
        self.before = before


def refusal(
    status: int, body: bytes, *, host: str, who: str = "", after: str = "", before: bool = False
) -> ApiRefused:
    """Return the error for a refusal; `who`, where it is given, gets a remedy."""
    message = objects.message(body, _LIMIT)
    if status == 401 and who:
        text = (
            f"{server_named(host)} refuses the token of {who}: it has expired or belongs to another cluster; "
            f"{_renew(who)}"
        )
    elif status == 403 and who and "cannot" in message:
        text = f"not allowed: {message}; ask an administrator of the namespace to apply k8s/rbac/desk"
    else:
        text = f"{server_named(host)} answers {status}: {message}"
        text += "; use https://" if status == 400 and "HTTP request to an HTTPS server" in message else ""
    seconds = float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 0.0
    return ApiRefused(text, status=status, message=message, after=seconds, before=before)


def unreachable(
    host: str, why: str, *, who: str = "", tls: bool = False, certificate: int = 0, detail: str = ""
) -> str:
    """Return the sentence for a server that could not be asked; `certificate` is OpenSSL's number of its fault."""
    told = f"{server_named(host)} cannot be reached: "
    if certificate in _OTHER_NAME:
        return f"{told}its certificate is for another name: {detail.rstrip('.')}; use an address that it is for"
    if certificate in (_NOT_YET, _EXPIRED):
        return f"{told}its certificate has expired, or is not valid yet; check the clock here, or have it renewed"
    if certificate:
        where = "in the configuration" if who.startswith("datacenter") else "in the kubeconfig"
        remedy = f"; set `certificate-authority:` {where} to the file of the cluster's authority" if who else ""
        return f"{told}its certificate is not signed by an authority that this machine knows ({detail}){remedy}"
    if tls and any(each in why for each in _NO_TLS):
        return f"{told}there is no TLS ({why}); check the port, or whether it is meant to be http://"
    remedy = "the address, the port and the client's certificate" if tls else "the address, the network and the VPN"
    return f"{told}{why}; check {remedy}"


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
