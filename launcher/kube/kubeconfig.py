"""The desk's credentials: a token, or a context of the kubeconfig. No message shows a secret."""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from launcher.kube.authorities import fallback
from launcher.kube.plain_login import PlainLogin, plain_login
from launcher.kube.refusals import Unusable
from launcher.kube.server import ApiServer, plain_server


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The API server with the credentials for it, their name in messages, and their namespace."""

    server: ApiServer = field(repr=False)
    who: str
    namespace: str = ""


def by_token(host: str, token: str, authority: str, environ: Mapping[str, str], *, who: str) -> Credentials:
    """Return the credentials that a token is, for a server that this authority's certificate proves."""
    path = _authority(authority)
    server = plain_server(host, partial(ssl.create_default_context, cafile=path), token)
    if server is None:
        from launcher.kube import packaged  # 0.1 s

        server = packaged.server_by_token(host, token, path, environ)
    return Credentials(server=server, who=who)


def by_context(name: str, environ: Mapping[str, str]) -> Credentials:
    """Return a kubeconfig's credentials: of the context of this name, or of its current one; nothing is sent."""
    files = environ.get("KUBECONFIG") or str(_at_home("~/.kube/config"))
    paths = [path for path in map(_at_home, filter(None, files.split(os.pathsep))) if path.is_file()]
    if not paths:
        if environ.get("KUBECONFIG"):
            raise Unusable(
                f"no cluster is configured: -kubeconfig or KUBECONFIG is {files}, which does not exist: name another "
                "file, or add a datacenter to ~/.paddle/config"
            )
        raise Unusable(f"no cluster is configured: add a datacenter to ~/.paddle/config, or a kubeconfig at {files}")
    login = _plain(paths, name)
    server = plain_server(login.host, partial(_tls, login), login.token) if login else None
    if login and server:
        context, namespace = login.context, login.namespace
    else:
        from launcher.kube import packaged  # 0.1 s

        server, context, namespace = packaged.server_by_context(name, files, environ)
    return Credentials(server=server, who=f"context {context!r} of the kubeconfig", namespace=namespace)


def _plain(paths: list[Path], name: str) -> PlainLogin | None:
    import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

    try:
        found = [(str(path.absolute().parent), yaml.safe_load(path.read_text())) for path in paths]
    except (OSError, ValueError, yaml.YAMLError):
        return None
    return plain_login(found, name)


def _tls(login: PlainLogin) -> ssl.SSLContext:
    """Return the TLS of a login; a key that wants a password is none of it."""
    # With a line's end: where nothing is given at all, OpenSSL would trust what this machine trusts.
    authority = base64.b64decode(login.authority_data).decode() + "\n" if login.authority_data else None
    trusted = login.authority or (None if authority else fallback())
    context = ssl.create_default_context(cafile=trusted, cadata=authority)
    if login.certificate:
        context.load_cert_chain(login.certificate, login.key, password="")
    if login.certificate_data:
        with tempfile.NamedTemporaryFile() as file:  # which OpenSSL asks for, and only its user can read
            file.write(b"\n".join(map(base64.b64decode, (login.certificate_data, login.key_data))))
            file.flush()
            context.load_cert_chain(file.name, password="")
    return context


def _authority(named: str) -> str | None:
    if not named:
        return None
    path = _at_home(named)
    if not path.is_file():
        raise Unusable(
            f"certificate-authority: {path} does not exist: expected the PEM file of the server's authority"
        )
    return str(path)


def _at_home(path: str) -> Path:
    """Return a path with ~ as what it stands for; the ~ of an unknown user is left as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib's raises then
