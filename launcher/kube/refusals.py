"""The API's refusals and failures as errors with a sentence; the pod and the desk turn them into their own.

No I/O here.
"""

from __future__ import annotations

import re

from launcher.kube import objects

_LIMIT = 600  # of the server's own words


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
    seconds = float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 0.0
    return ApiRefused(text, status=status, message=message, after=seconds, before=before)


def server_named(host: str) -> str:
    """Return what messages call an API server."""
    return f"the Kubernetes API at {host}"


def may_pass(error: BaseException) -> bool:
    """Return whether trying again may help: the API server is away or overloaded."""
    return isinstance(error, ApiUnreachable) or (isinstance(error, ApiRefused) and busy(error.status))


def busy(status: int) -> bool:
    """Return whether a status code means a server that is overloaded, starting or stopping."""
    return status == 429 or status >= 500


def _renew(who: str) -> str:
    if who.startswith("datacenter"):
        return "put a new one into `password:` in its configuration"
    return "log in again, as you do for kubectl"


def broken(text: str) -> str:
    """Return what is wrong with a kubeconfig, without the values that the package puts into its messages."""
    for known in (r"Expected key [\w-]+", r"Expected object with name [\w.@:/-]+", r"No configuration found"):
        if found := re.search(known, text):
            return found.group()
    return "it is incomplete"
