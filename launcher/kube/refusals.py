"""What the API server's refusals come to, in a sentence with a remedy.

No I/O here.
"""

from __future__ import annotations

import json
import re

from launcher.desk.errors import Refused
from launcher.text import one_line

LIMIT = 600


def refusal(status: int, body: bytes, *, host: str, who: str) -> Refused:
    """Return the sentence for an answer that is no success."""
    message = said(body)
    if status == 401:
        text = f"{host} does not accept who asks: the token of {who} has expired or is not its own; {_renew(who)}"
    elif status == 403 and "cannot" in message:
        text = f"no right for this: {message}. Whoever gives rights in the namespace can apply k8s/rbac/desk"
    else:
        text = f"{host} answers {status}: {message}"
    return Refused(text, status=status, message=message)


def said(body: bytes) -> str:
    """Return the message of an answer as one line of bounded length."""
    try:
        found = json.loads(body)
        text = found.get("message") if isinstance(found, dict) else None
    except (ValueError, RecursionError):
        text = None
    return one_line(text if isinstance(text, str) else body.decode(errors="replace"), LIMIT)


def _renew(who: str) -> str:
    if who.startswith("datacenter"):
        return "put a new one into `password:` of its configuration"
    return "log in again as for kubectl"


def broken(text: str) -> str:
    """Return what is wrong with a kubeconfig, without the values that the package puts into its messages."""
    for known in (r"Expected key [\w-]+", r"Expected object with name [\w.@:/-]+", r"No configuration found"):
        if found := re.search(known, text):
            return found.group()
    return "it is not complete"
