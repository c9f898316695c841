"""The desk's credentials: a token, or a context of the kubeconfig. No message shows a secret."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubernetes.client.configuration import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from launcher.kube import refusals
from launcher.kube.refusals import Unusable


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The API server's address and the credentials for it, their name in messages, and their namespace."""

    configuration: Configuration = field(repr=False)
    who: str
    namespace: str = ""


def by_token(host: str, token: str, authority: str, *, who: str) -> Credentials:
    """Return the credentials that a token is, for a server that this authority's certificate proves."""
    configuration = _configuration()
    configuration.host = host
    configuration.ssl_ca_cert = _authority(authority)
    configuration.api_key["BearerToken"] = f"Bearer {token}"
    return Credentials(configuration=configuration, who=who)


def by_context(name: str, environ: Mapping[str, str]) -> Credentials:
    """Return a kubeconfig's credentials: of the context of this name, or of its current one; nothing is sent."""
    files = environ.get("KUBECONFIG") or str(_at_home("~/.kube/config"))
    if not any(_at_home(each).is_file() for each in files.split(os.pathsep) if each):
        if environ.get("KUBECONFIG"):
            raise Unusable(
                f"no cluster is configured: -kubeconfig or KUBECONFIG is {files}, which does not exist: name another "
                "file, or add a datacenter to ~/.paddle/config"
            )
        raise Unusable(f"no cluster is configured: add a datacenter to ~/.paddle/config, or a kubeconfig at {files}")
    configuration = _configuration()
    context = _entered(configuration, name, files)
    who = f"context {str(context.get('name', ''))!r} of the kubeconfig"
    return Credentials(configuration=configuration, who=who, namespace=str(context["context"].get("namespace") or ""))


def _configuration() -> Configuration:
    configuration = Configuration()
    configuration.retries = False
    configuration.connection_pool_maxsize = 1000  # a log is followed on a connection of its own
    return configuration


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


def _entered(configuration: Configuration, name: str, files: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  # the package's own mapping
    """Enter a context's credentials, and return the context."""
    failures: list[str] = []
    logging.getLogger().addHandler(_Kept(failures))  # an exec plugin's failure is only logged, and only there
    try:
        merged = KubeConfigMerger(files).config  # type: ignore[no-untyped-call]  # the package has no annotations here
        known = [str(each["name"]) for each in merged["contexts"]]
        _check_context(name or str(merged.safe_get("current-context") or ""), known, files)
        loader = KubeConfigLoader(merged, active_context=name or None, config_base_path=None)  # type: ignore[no-untyped-call]
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
        context = loader.current_context
    except (ConfigException, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        why = refusals.broken(str(error))
        raise Unusable(f"the kubeconfig {files} cannot be used: {why}; `kubectl config view` shows it") from None
    except Exception as error:
        if type(error).__module__.startswith("yaml"):  # its own words quote the file
            raise Unusable(f"the kubeconfig {files} is not YAML") from None
        raise
    finally:
        logging.getLogger().handlers = [each for each in logging.getLogger().handlers if not isinstance(each, _Kept)]
    if failures:
        raise Unusable(f"the program that the kubeconfig {files} runs for a token failed: {failures[0][:300]}")
    return context


def _check_context(name: str, known: list[str], files: str) -> None:
    wanted = f"context {name!r}" if name else "current-context: use -context NAME"
    if name not in known:
        raise Unusable(f"the kubeconfig {files} has no {wanted}; it has {', '.join(known) or 'none'}")


class _Kept(logging.Handler):
    def __init__(self, kept: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        self._kept.append(" ".join(record.getMessage().split()))
