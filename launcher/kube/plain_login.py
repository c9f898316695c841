"""What is usual in a kubeconfig: a server by TLS, and a user with a token or a certificate.

No I/O here. Where anything else is said, or something is missing, there is no plain login: the `kubernetes` package
reads all that there can be, and says what is wrong. A file's relative paths are those of its directory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from launcher.kube.objects import Object, mapping, rows, text_at

_AUTHORITY, _CERTIFICATE, _KEY = "certificate-authority", "client-certificate", "client-key"
_DATA = "-data"
_CLUSTERS = tuple({"server", *more} for more in ((), (_AUTHORITY,), (_AUTHORITY + _DATA,)))
_CERTIFICATES: tuple[tuple[str, ...], ...] = ((), (_CERTIFICATE, _KEY), (_CERTIFICATE + _DATA, _KEY + _DATA))
_USERS = tuple({*more, *token} for more in _CERTIFICATES for token in ((), ("token",)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainLogin:
    """A context, its server and its user; `data` is PEM in base64, and the others are paths."""

    context: str
    namespace: str
    host: str
    token: str
    authority: str
    authority_data: str
    certificate: str
    key: str
    certificate_data: str
    key_data: str


def plain_login(files: Sequence[tuple[str, object]], name: str) -> PlainLogin | None:
    """Return the login of a context, or of the current one; `files` are directories and what was read there."""
    said = [text_at(found, "current-context") for _, found in files if "current-context" in mapping(found)]
    name = name or (said[-1] if said else "")
    _, context = _named(files, "context", name)
    beside, cluster = _named(files, "cluster", text_at(context, "cluster"))
    below, user = _named(files, "user", text_at(context, "user"))
    cluster = {key: value for key, value in cluster.items() if key != "extensions"}
    if not (_plain(cluster, _CLUSTERS) and _plain(user, _USERS)):
        return None
    return PlainLogin(
        context=name,
        namespace=text_at(context, "namespace"),
        host=text_at(cluster, "server").rstrip("/"),
        token=text_at(user, "token"),
        authority=_path(beside, text_at(cluster, _AUTHORITY)),
        authority_data=text_at(cluster, _AUTHORITY + _DATA),
        certificate=_path(below, text_at(user, _CERTIFICATE)),
        key=_path(below, text_at(user, _KEY)),
        certificate_data=text_at(user, _CERTIFICATE + _DATA),
        key_data=text_at(user, _KEY + _DATA),
    )


def _named(files: Sequence[tuple[str, object]], kind: str, name: str) -> tuple[str, Object]:
    """Return the first of a kind that has this name, and the directory of its file."""
    for directory, found in files:
        for row in rows(found, f"{kind}s"):
            if name and row.get("name") == name:
                return directory, mapping(row, kind)
    return "", {}


def _plain(found: Object, known: Collection[set[str]]) -> bool:
    """Return whether exactly one of these sets of things is said, all of them in texts."""
    return set(found) in known and bool(found) and all(isinstance(each, str) and each for each in found.values())


def _path(directory: str, path: str) -> str:
    return str(PurePath(directory, path)) if path else ""
